//! Threads that wait for one thing: the place where a parked thread is told that it may go on.

use std::ptr;

use crate::base::sync::{
    AcqRel, Acquire, AtomicPtr, AtomicU32, Relaxed, Release, Thread, UnsafeCell, current, park,
    park_timeout, yield_now,
};
use crate::types::failure::Failure;
use crate::types::wait_policy::WaitPolicy;

/// Turns of a short spin before a thread parks: about a microsecond.
#[cfg(not(any(loom, shuttle)))]
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

/// Nobody has said anything yet.
const WAITING: u32 = 0;
/// Somebody is about to fill in the report and to signal.
const CLAIMED: u32 = 1;
/// The signal came.
const DONE: u32 = 2;
/// The owner gave up; who signals frees the waiter.
const ABANDONED: u32 = 3;

/// A thread that waits. On that thread's stack if it stays until the signal; if it may give up, in
/// a box, which belongs to the owner until it gives up, and then to whoever signals.
pub(crate) struct Waiter {
    thread: Thread,
    state: AtomicU32,
    report: UnsafeCell<Report>,
    pub(crate) next: AtomicPtr<Waiter>,
}

// SAFETY: `report` is written before the release of `DONE` by the one thread that signals, and read
// after the acquire of it by the owner.
unsafe impl Sync for Waiter {}

impl Waiter {
    pub(crate) fn new() -> Self {
        Self {
            thread: current(),
            state: AtomicU32::new(WAITING),
            report: UnsafeCell::new(Report::default()),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Whether the owner still waits, and from now on does until the signal. To be asked, by the
    /// one that will signal, before anything is done for this waiter alone.
    pub(crate) fn claim(&self) -> bool {
        // Relaxed: the claim says only that the owner stays; `DONE` carries the report.
        self.state
            .compare_exchange(WAITING, CLAIMED, Relaxed, Relaxed)
            .is_ok()
    }

    /// Fills in the report.
    ///
    /// # Safety
    /// The caller is the one that will signal, and the owner stays until then: it cannot give up,
    /// or the caller has a [claim](Waiter::claim).
    pub(crate) unsafe fn fill(&self, f: impl FnOnce(&mut Report)) {
        // SAFETY: the owner does not look before the signal.
        self.report.with_mut(|report| f(unsafe { &mut *report }));
    }

    /// Lets the owner go. The waiter must not be touched afterwards: it may be gone.
    ///
    /// # Safety
    /// `waiter` is waited for, or was given up, and nobody else signals it.
    pub(crate) unsafe fn signal(waiter: *const Waiter) {
        // SAFETY: it is there until `DONE`, or until we free it; so the handle is taken first.
        let thread = unsafe { (*waiter).thread.clone() };
        // Release: the report, and all that the wait was for. Acquire: the owner's last touch, if
        // it gave up.
        // SAFETY: as above.
        if unsafe { (*waiter).state.swap(DONE, AcqRel) } == ABANDONED {
            // SAFETY: only waiters in boxes are given up; the owner has left it to us.
            drop(unsafe { Box::from_raw(waiter.cast_mut()) });
        } else {
            thread.unpark();
        }
    }

    /// Whether the signal came.
    pub(crate) fn is_done(&self) -> bool {
        // Acquire: pairs with `signal`.
        self.state.load(Acquire) == DONE
    }

    fn spin(&self) -> bool {
        #[cfg(not(any(loom, shuttle)))]
        for _ in 0..SPINS {
            if self.is_done() {
                return true;
            }
            std::hint::spin_loop();
        }
        self.is_done()
    }

    /// Waits for the signal. Call only if somebody will signal.
    pub(crate) fn wait(&self) {
        if self.spin() {
            return;
        }
        while !self.is_done() {
            park(); // May return early, on another signal's token.
        }
    }

    /// Leaves the waiter to whoever signals; false if that has begun already.
    fn give_up(&self) -> bool {
        // Release: our touches, for whoever frees it. Relaxed on failure: the caller looks again.
        self.state
            .compare_exchange(WAITING, ABANDONED, Release, Relaxed)
            .is_ok()
    }

    /// The report, after the wait.
    pub(crate) fn take_report(&mut self) -> Report {
        // SAFETY: exclusive: the signal has come.
        self.report
            .with_mut(|report| std::mem::take(unsafe { &mut *report }))
    }
}

/// A waiter in a box, for whose signal somebody has been or will be found: its owner may leave.
/// Dropped, also by a panic of the owner's policy, it is left to whoever signals.
pub(crate) struct Pending(*const Waiter);

impl Pending {
    pub(crate) fn new() -> Self {
        Self(Box::into_raw(Box::new(Waiter::new())))
    }

    pub(crate) fn as_ptr(&self) -> *const Waiter {
        self.0
    }

    fn waiter(&self) -> &Waiter {
        // SAFETY: it is there until we give it up or free it.
        unsafe { &*self.0 }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.waiter().is_done()
    }

    /// The waiter, signalled, for its owner alone.
    fn into_box(self) -> Box<Waiter> {
        debug_assert!(self.is_done());
        let waiter = std::mem::ManuallyDrop::new(self).0;
        // SAFETY: signalled, so it is ours alone.
        unsafe { Box::from_raw(waiter.cast_mut()) }
    }

    /// Frees a waiter that nobody was told of.
    pub(crate) fn unshared(self) {
        let waiter = std::mem::ManuallyDrop::new(self).0;
        // SAFETY: by the caller's word.
        drop(unsafe { Box::from_raw(waiter.cast_mut()) });
    }

    /// Leaves it to whoever signals; returned if that has begun already.
    pub(crate) fn give_up(self) -> Option<Box<Waiter>> {
        loop {
            if self.waiter().give_up() {
                std::mem::forget(self);
                return None;
            }
            if self.is_done() {
                return Some(self.into_box());
            }
            yield_now(); // It is about to be signalled.
        }
    }

    /// Waits for the signal as long as `policy` says. `None` if it was given up.
    pub(crate) fn wait_with(self, policy: &mut dyn WaitPolicy) -> Option<Box<Waiter>> {
        let this = self.waiter();
        let mut done = this.spin();
        if !done {
            policy.meanwhile(&|| this.is_done());
            done = this.is_done();
        }
        while !done {
            let Some(time) = policy.before_sleep() else {
                return self.give_up();
            };
            // It may have come while the policy was asked.
            if !this.is_done() {
                park_timeout(time);
            }
            policy.after_sleep();
            done = this.is_done();
        }
        Some(self.into_box())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // SAFETY: ours, and not used again.
        drop(unsafe { std::ptr::read(self) }.give_up());
    }
}
