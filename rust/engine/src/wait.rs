//! Threads that wait: the place where a parked thread is told that it may go on.

use std::ptr;

use crate::failure::Failure;
use crate::sync::{
    AcqRel, Acquire, AtomicBool, AtomicPtr, Relaxed, Release, Thread, UnsafeCell, current, park,
};

/// Turns of a short spin before a thread parks: about a microsecond.
#[cfg(not(loom))]
const SPINS: u32 = 64;

/// What the engine tells a waiting thread.
#[derive(Default)]
pub(crate) struct Report {
    /// The variable was deleted in front of the wait.
    pub(crate) stale: bool,
    /// The failure that the variable held, now surfaced.
    pub(crate) failure: Option<Failure>,
    /// Place of the wait in the log.
    pub(crate) seq: u64,
    /// The epoch that the fence closed.
    pub(crate) epoch: u64,
}

/// A thread that waits, on its own stack.
pub(crate) struct Waiter {
    thread: Thread,
    done: AtomicBool,
    report: UnsafeCell<Report>,
    next: AtomicPtr<Waiter>,
}

// SAFETY: `report` is written before the release of `done` by the one thread that signals, and read
// after the acquire of it by the owner.
unsafe impl Sync for Waiter {}

impl Waiter {
    pub(crate) fn new() -> Self {
        Self {
            thread: current(),
            done: AtomicBool::new(false),
            report: UnsafeCell::new(Report::default()),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Fills in the report.
    ///
    /// # Safety
    /// The caller is the one that will signal.
    pub(crate) unsafe fn fill(&self, f: impl FnOnce(&mut Report)) {
        // SAFETY: the owner does not look before the signal.
        self.report.with_mut(|report| f(unsafe { &mut *report }));
    }

    /// Lets the owner go. The waiter must not be touched afterwards: it may be gone.
    ///
    /// # Safety
    /// `waiter` is waited for, and nobody else signals it.
    pub(crate) unsafe fn signal(waiter: *const Waiter) {
        // SAFETY: the owner stays until `done`; so the handle is taken first.
        let thread = unsafe { (*waiter).thread.clone() };
        // SAFETY: as above. Release: the report, and all that the wait was for.
        unsafe { (*waiter).done.store(true, Release) };
        thread.unpark();
    }

    /// Whether the signal came.
    pub(crate) fn is_done(&self) -> bool {
        // Acquire: pairs with `signal`.
        self.done.load(Acquire)
    }

    /// Waits for the signal. Call only if somebody will signal.
    pub(crate) fn wait(&self) {
        #[cfg(not(loom))]
        for _ in 0..SPINS {
            if self.is_done() {
                return;
            }
            std::hint::spin_loop();
        }
        while !self.is_done() {
            park(); // May return early, on another signal's token.
        }
    }

    /// The report, after the wait.
    pub(crate) fn take_report(&mut self) -> Report {
        // SAFETY: exclusive: the signal has come.
        self.report
            .with_mut(|report| std::mem::take(unsafe { &mut *report }))
    }
}

/// Something that happens once, and that any number of threads may wait for.
pub(crate) struct Event {
    /// Stack of waiting threads, or `SET`.
    waiters: AtomicPtr<Waiter>,
}

const SET: *mut Waiter = ptr::without_provenance_mut(1);

impl Event {
    pub(crate) fn new() -> Self {
        Self {
            waiters: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Lets everybody go. The swap is the last touch of the event itself.
    pub(crate) fn set(&self) {
        // Release: what the event stands for. Acquire: the waiters' contents.
        let mut waiter = self.waiters.swap(SET, AcqRel);
        while !waiter.is_null() && waiter != SET {
            // SAFETY: each waiter stays until it is signalled; its link is read before.
            let next = unsafe { (*waiter).next.load(Relaxed) };
            // SAFETY: taken off the stack by us alone.
            unsafe { Waiter::signal(waiter) };
            waiter = next;
        }
    }

    /// Returns once the event is set.
    pub(crate) fn wait(&self) {
        let waiter = Waiter::new();
        let me = ptr::from_ref(&waiter).cast_mut();
        // Acquire: pairs with `set`.
        let mut top = self.waiters.load(Acquire);
        loop {
            if top == SET {
                return;
            }
            waiter.next.store(top, Relaxed);
            // Release: our contents. Acquire on failure: as above.
            match self.waiters.compare_exchange(top, me, AcqRel, Acquire) {
                Ok(_) => break,
                Err(now) => top = now,
            }
        }
        waiter.wait();
    }
}
