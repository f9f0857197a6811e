//! The end of the process: `finish_at_exit` keeps what is in flight, and dropping an engine says what
//! it leaves.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

#[path = "common/watchdog.rs"]
mod watchdog;

use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use ferromix_engine::{Engine, OpSpec};
use watchdog::in_child;

const LIMIT: Duration = Duration::from_secs(5);
const SOON: Duration = Duration::from_millis(40);

/// Names what a process of its own is to do.
const PART: &str = "FERROMIX_TEST_PART";

/// Runs the part in a process of its own.
fn run_part(part: &str) -> Output {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["part", "--exact", "--nocapture", "--test-threads=2"])
        .env(PART, part)
        .stdin(Stdio::null())
        .output();
    child.unwrap()
}

fn work_slowly() {
    for _ in 0..20 {
        let push = Engine::global().push_sync(&OpSpec::new("save"), |_| {
            sleep(Duration::from_millis(2));
            eprint!("saved;");
            Ok(())
        });
        push.unwrap();
    }
}

/// Not a test of its own: what other tests run in processes of their own.
#[test]
fn part() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    let engine = Engine::global();
    match part.as_str() {
        "exit" => {
            engine.finish_at_exit(LIMIT);
            work_slowly();
            std::process::exit(7);
        }
        "return" => {
            engine.finish_at_exit(LIMIT);
            work_slowly();
        }
        "two engines" => {
            let other: &'static Engine = Box::leak(Box::new(Engine::builder().build()));
            other.finish_at_exit(LIMIT);
            engine.finish_at_exit(LIMIT);
            work_slowly();
            std::process::exit(7);
        }
        "stuck" => {
            engine.finish_at_exit(SOON);
            let push = engine.push_async(&OpSpec::new("held"), |_, done| std::mem::forget(done));
            push.unwrap();
            work_slowly();
            std::process::exit(7);
        }
        "inside" => {
            engine.finish_at_exit(SOON);
            let push = engine.push_sync(&OpSpec::new("ends"), |_| std::process::exit(7));
            push.unwrap();
            sleep(LIMIT);
        }
        "unfinished" => {
            work_slowly();
            std::process::exit(7);
        }
        "dropped" => {
            let engine = Engine::builder().workers(1).drop_limit(SOON).build();
            let name = OpSpec::new("never completed");
            let push = engine.push_async(&name, |_, done| std::mem::forget(done));
            push.unwrap();
            drop(engine);
            std::process::exit(7);
        }
        other => panic!("no such part: {other}"),
    }
}

/// What the part ended with, how often it said that it saved, and everything that it said.
fn outcome(part: &str) -> (Option<i32>, usize, String) {
    let output = run_part(part);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), text.matches("saved;").count(), text)
}

#[test]
fn what_is_in_flight_at_the_end_of_the_process_is_finished() {
    let name = "what_is_in_flight_at_the_end_of_the_process_is_finished";
    in_child(name, 15, || {
        for (part, code) in [("exit", 7), ("return", 0), ("two engines", 7)] {
            let (status, saved, text) = outcome(part);
            assert_eq!((status, saved), (Some(code), 20), "{part}: {text}");
        }
        // Without the call the process ends all the same, and some of it may be lost.
        let (status, saved, text) = outcome("unfinished");
        assert_eq!(status, Some(7), "{text}");
        assert!(saved <= 20);
    });
}

#[test]
fn the_end_of_the_process_does_not_wait_for_ever_and_says_so() {
    let name = "the_end_of_the_process_does_not_wait_for_ever_and_says_so";
    in_child(name, 15, || {
        for part in ["stuck", "inside"] {
            let (status, _, text) = outcome(part);
            assert_eq!(status, Some(7), "{part}: {text}");
            assert!(text.contains("ferromix-engine"), "{part}: {text}");
        }
    });
}

#[test]
fn dropping_says_what_it_left() {
    let name = "dropping_says_what_it_left";
    in_child(name, 15, || {
        let (status, _, text) = outcome("dropped");
        assert_eq!(status, Some(7), "{text}");
        assert!(text.contains("never completed"), "{text}");
    });
}
