//! Runs the body of a test in a process of its own, which is ended if it takes too long: so that
//! what hangs or crashes is a failed test.
#![allow(dead_code)] // Each file of tests uses some.

use std::io::Read;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Names the test whose body the process is to run.
const INSIDE: &str = "FERROMIX_TEST_IN_CHILD";
/// Printed when the body has ended well.
const ENDED: &str = "the body has ended";

/// Runs `body`, the whole of the test called `name`, in a child process: it must end well, and
/// within so many seconds.
pub(crate) fn in_child(name: &str, seconds: u64, body: impl FnOnce()) {
    if std::env::var(INSIDE).is_ok_and(|inside| inside == name) {
        body();
        println!("{ENDED}");
        return;
    }
    // The thread of a test has its name, with the module that it is in.
    let thread = std::thread::current();
    let full = thread.name().filter(|full| full.ends_with(name));
    // With one thread the test would run on the main one, whose stack is larger.
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            full.unwrap_or(name),
            "--exact",
            "--nocapture",
            "--test-threads=2",
        ])
        .env(INSIDE, name)
        .env("RUST_BACKTRACE", "0") // What is said last is shown.
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = collect(child.stdout.take().unwrap());
    let complained = collect(child.stderr.take().unwrap());
    let end = Instant::now() + Duration::from_secs(seconds);
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if Instant::now() > end => {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let (said, complained) = (said.join().unwrap(), complained.join().unwrap());
    let lines: Vec<&str> = complained.lines().collect();
    let last = lines[lines.len().saturating_sub(12)..].join("\n");
    match status {
        None => panic!("it hangs: nothing for {seconds} s\n{last}"),
        Some(status) => assert!(
            status.success() && said.contains(ENDED),
            "it ended with {status}\n{last}"
        ),
    }
}

fn collect(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
