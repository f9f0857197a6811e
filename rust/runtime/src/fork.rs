//! Fork: the engine is brought to rest, without threads, for the moment of the fork. Then the
//! child's copy of engine, pool and arrays is as good as the parent's, and both go on.

use crate::Runtime;
use crate::waits::WhileSomethingFinishes;
use ferromix_base::{Error, Result};
use ferromix_kernels::par;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long [`Runtime::pause`] waits for threads that are inside the core.
const LONGEST_WAIT: Duration = Duration::from_millis(100);
const NAP: Duration = Duration::from_micros(50);

const CLOSED: u32 = 1 << 31;

/// Threads that use the core with nothing else to keep a fork away, and whether more may come in.
/// An atomic rather than a lock: no thread that is gone in the child can have left it locked.
static GATE: AtomicU32 = AtomicU32::new(0);

/// Whether this process was forked from one whose engine was not at rest.
static UNUSABLE: AtomicBool = AtomicBool::new(false);

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Keeps [`Runtime::pause`] from succeeding until it is dropped.
pub(crate) struct Inside(());

/// Enters the core: waits while a fork is going on.
pub(crate) fn enter() -> Inside {
    // A thread that is inside already may not wait: the fork waits for it.
    while DEPTH.get() == 0 {
        // Acquire and Release, here and in `drop`: what a thread did inside comes before the fork,
        // whose `close` reads the count, and after the one before, whose `open` wrote it.
        if GATE.fetch_add(1, Ordering::AcqRel) & CLOSED == 0 {
            break;
        }
        GATE.fetch_sub(1, Ordering::AcqRel);
        std::thread::sleep(NAP);
    }
    DEPTH.set(DEPTH.get() + 1);
    Inside(())
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        if DEPTH.get() == 0 {
            GATE.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn close() -> bool {
    let begin = Instant::now();
    // Pairs with `enter` and `drop`, as said there.
    while GATE.fetch_or(CLOSED, Ordering::AcqRel) & !CLOSED != 0 {
        if begin.elapsed() > LONGEST_WAIT {
            open();
            return false;
        }
        std::thread::sleep(NAP);
    }
    true
}

fn open() {
    GATE.fetch_and(!CLOSED, Ordering::AcqRel);
}

impl Runtime {
    /// Finishes what was pushed, so that [`pause`](Runtime::pause) has little to do; false as there.
    pub fn finish_before_pause(&self, limit: Duration) -> bool {
        let finished = self.end_work(limit);
        if finished {
            self.restart();
        }
        finished
    }

    /// Finishes what was pushed and ends the engine's threads; false if nothing finishes for `limit`. What
    /// was pushed may wait for the very thread that forks, so never without end.
    fn end_work(&self, limit: Duration) -> bool {
        let mut policy = WhileSomethingFinishes::new(self.engine(), limit);
        self.engine().stop_with(&mut policy).is_ok()
    }

    /// Finishes what was pushed, ends the engine's threads and keeps other threads out, for a fork.
    /// False if that cannot be, or if nothing finishes for `limit`; then nothing has changed. Failures
    /// stay where they are.
    ///
    /// Must be followed by [`resume`](Runtime::resume), or after a fork by
    /// [`resume_in_child`](Runtime::resume_in_child). The caller keeps threads from pushing that
    /// use arrays from within operations; the calling thread must not be inside an operation. Afterwards
    /// it holds the engine's locks: it must not wait for a thread that pushes.
    pub fn pause(&self, limit: Duration) -> bool {
        if !self.end_work(limit) {
            return false;
        }
        if close() {
            if self.engine().prepare_fork(LONGEST_WAIT).is_ok() {
                return true;
            }
            open();
        }
        self.restart();
        false
    }

    /// Undoes [`pause`](Runtime::pause).
    pub fn resume(&self) {
        self.engine().resume_in_parent();
        self.restart();
        open();
    }

    /// Starts the engine again, unless the user has stopped it.
    fn restart(&self) {
        if !self.is_stopped() {
            self.engine().start();
        }
    }

    /// Undoes [`pause`](Runtime::pause) in the child process.
    pub fn resume_in_child(&self) {
        // Relaxed: this is the only thread.
        GATE.store(0, Ordering::Relaxed);
        par::forget_threads();
        self.settle_switch();
        self.engine().resume_in_child();
        self.restart();
    }

    /// Says that this process is the child of a fork for which [`pause`](Runtime::pause) did not
    /// succeed: arrays cannot be used here any more.
    pub fn give_up() {
        // Relaxed: this is the only thread.
        UNUSABLE.store(true, Ordering::Relaxed);
    }

    /// Whether arrays can be used in this process.
    ///
    /// # Errors
    /// After [`give_up`](Runtime::give_up).
    pub fn check_usable(&self) -> Result<()> {
        // Relaxed: set, if ever, before the process had a second thread.
        if !UNUSABLE.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(Error::internal(
            "this process was forked while a Python operation of the parent's engine was still \
             running, so arrays cannot be used here; fork after mx.nd.waitall(), or start \
             processes by 'spawn' or 'forkserver'",
        ))
    }
}
