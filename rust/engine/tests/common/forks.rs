//! Forks whose children are watched: what hangs in one is ended, and is a failed test.
#![allow(dead_code)] // Each file of tests uses some.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use super::watchdog;

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    fn kill(pid: i32, signal: i32) -> i32;
    fn alarm(seconds: u32) -> u32;
    fn signal(signal: i32, action: usize) -> usize;
    fn _exit(code: i32) -> !;
    fn pthread_create(
        thread: *mut usize,
        attributes: *const c_void,
        start: extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> i32;
    fn pthread_join(thread: usize, result: *mut *mut c_void) -> i32;
}

const LIMIT: Duration = Duration::from_secs(10);
const WNOHANG: i32 = 1;
const SIGKILL: i32 = 9;
const FAULTS: [i32; 2] = [11, if cfg!(target_os = "linux") { 7 } else { 10 }];
const SIG_IGN: usize = 1;

/// What a child ends with that was ended because it took too long.
pub(crate) const HUNG: i32 = -SIGKILL;

/// Runs the body of a test that forks; see `watchdog`.
///
/// Where nobody handles faults, the standard library does, to tell of full stacks. For that each of its
/// threads takes a lock when it begins, and a child that inherits it locked can start none, but for the
/// engine's. So nobody tells of full stacks here; faults are deadly all the same.
pub(crate) fn in_child(name: &str, seconds: u64, body: impl FnOnce()) {
    for fault in FAULTS {
        // SAFETY: takes a handler away, which the process that runs the body does not install then.
        unsafe { signal(fault, SIG_IGN) };
    }
    watchdog::in_child(name, seconds, body);
}

/// Runs `f` on another thread, to its end: not one of the standard library's, which in a child may
/// never begin, or end, where the parent's threads did so at the fork.
pub(crate) fn on_another_thread(f: impl FnOnce() + Send) {
    extern "C" fn begin(f: *mut c_void) -> *mut c_void {
        // SAFETY: what is below, which waits for this.
        let f: &mut Option<Box<dyn FnOnce() + Send>> = unsafe { &mut *f.cast() };
        f.take().unwrap()();
        null_mut()
    }
    let f: Box<dyn FnOnce() + Send> = Box::new(f);
    let (mut thread, mut f) = (0, Some(f));
    // SAFETY: the signatures are POSIX's; the thread is joined before `f` goes.
    unsafe {
        let code = pthread_create(&mut thread, null_mut(), begin, (&raw mut f).cast());
        assert_eq!(code, 0);
        pthread_join(thread, null_mut());
    }
}

/// A child process.
#[must_use]
pub(crate) struct Child(i32);

/// Forks. `None` in the child, which must not return from its test.
pub(crate) fn fork_here() -> Option<Child> {
    // SAFETY: what the child may do with what other threads had in hand is what is tested.
    let pid = unsafe { fork() };
    assert!(pid >= 0, "the process cannot fork");
    if pid == 0 {
        // SAFETY: ends the child, if nobody does it before.
        unsafe { alarm(LIMIT.as_secs() as u32 + 2) };
        return None;
    }
    Some(Child(pid))
}

/// Ends the process without anything that the end of one does.
pub(crate) fn end(code: i32) -> ! {
    // SAFETY: never returns.
    unsafe { _exit(code) }
}

/// Forks; the child runs `body` and ends, with 0 if that did not panic. In the parent `body` is
/// dropped uncalled, so it should borrow what it uses.
pub(crate) fn fork_child(body: impl FnOnce()) -> Child {
    match fork_here() {
        Some(child) => child,
        None => end(i32::from(catch_unwind(AssertUnwindSafe(body)).is_err())),
    }
}

/// The same, and waits for the child's end.
pub(crate) fn forked(body: impl FnOnce()) -> i32 {
    fork_child(body).wait()
}

impl Child {
    /// The code that it ended with, or the signal with a minus.
    pub(crate) fn wait(self) -> i32 {
        let end = Instant::now() + LIMIT;
        let mut status = 0;
        loop {
            // SAFETY: our child, and a place for its status.
            let pid = unsafe { waitpid(self.0, &raw mut status, WNOHANG) };
            assert!(pid >= 0, "the child is not there");
            if pid == self.0 {
                let signal = status & 0x7f;
                return if signal == 0 {
                    status >> 8 & 0xff
                } else {
                    -signal
                };
            }
            if Instant::now() > end {
                // SAFETY: our child, which was not waited for yet.
                unsafe { kill(self.0, SIGKILL) };
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}
