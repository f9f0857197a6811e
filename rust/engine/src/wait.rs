//! Threads that wait: the place where a parked thread is told that it may go on.

use std::ptr;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::sync::{
    AcqRel, Acquire, AtomicPtr, AtomicU32, Relaxed, Release, Thread, UnsafeCell, current, park,
    park_timeout, yield_now,
};

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

/// How long a thread is ready to wait: asked each time before it sleeps.
///
/// ```
/// use std::time::Duration;
/// use ferromix_engine::{Engine, Patience, WaitError};
///
/// /// Sleeps three times at most.
/// struct Thrice(u32);
///
/// impl Patience for Thrice {
///     fn before_sleep(&mut self) -> Option<Duration> {
///         self.0 = self.0.checked_sub(1)?;
///         Some(Duration::from_millis(1))
///     }
/// }
///
/// let engine = Engine::builder().workers(1).build();
/// engine.wait_for_all_with(&mut Thrice(3))?;
/// # Ok::<(), WaitError>(())
/// ```
pub trait Patience {
    /// Called once, before the first sleep: something of use that the thread may do until `ended`, or
    /// for a short while.
    fn meanwhile(&mut self, _ended: &dyn Fn() -> bool) {}

    /// For how long at most to sleep now; `None` gives the wait up. The thread may wake up earlier
    /// and ask again.
    fn before_sleep(&mut self) -> Option<Duration>;

    /// Called after each sleep, before the thread touches anything of the engine's.
    fn after_sleep(&mut self) {}
}

/// Patience until a point in time.
pub(crate) struct Until(Instant);

impl Until {
    /// From now on; a time beyond all clocks is a long sleep at a time.
    pub(crate) fn after(timeout: Duration) -> Self {
        const LONG: Duration = Duration::from_secs(1 << 32);
        Self(Instant::now() + timeout.min(LONG))
    }
}

impl Patience for Until {
    fn before_sleep(&mut self) -> Option<Duration> {
        let left = self.0.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }
}

/// Patience without end.
pub(crate) struct Endless;

impl Patience for Endless {
    fn before_sleep(&mut self) -> Option<Duration> {
        Some(Duration::MAX)
    }
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
    next: AtomicPtr<Waiter>,
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
/// Dropped, also by a panic of the owner's patience, it is left to whoever signals.
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
    fn unshared(self) {
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

    /// Waits for the signal as long as `patience` says. `None` if it was given up.
    pub(crate) fn wait_with(self, patience: &mut dyn Patience) -> Option<Box<Waiter>> {
        let this = self.waiter();
        let mut done = this.spin();
        if !done {
            patience.meanwhile(&|| this.is_done());
            done = this.is_done();
        }
        while !done {
            let Some(time) = patience.before_sleep() else {
                return self.give_up();
            };
            // It may have come while patience was asked.
            if !this.is_done() {
                park_timeout(time);
            }
            patience.after_sleep();
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

    pub(crate) fn is_set(&self) -> bool {
        // Acquire: pairs with `set`.
        self.waiters.load(Acquire) == SET
    }

    /// Puts a waiter on the stack; false if the event is set already.
    fn enlist(&self, waiter: *const Waiter) -> bool {
        // Acquire: pairs with `set`.
        let mut top = self.waiters.load(Acquire);
        loop {
            if top == SET {
                return false;
            }
            // SAFETY: the caller's, who has not shared it yet.
            unsafe { (*waiter).next.store(top, Relaxed) };
            // Release: the waiter's contents. Acquire on failure: as above.
            match self
                .waiters
                .compare_exchange(top, waiter.cast_mut(), AcqRel, Acquire)
            {
                Ok(_) => return true,
                Err(now) => top = now,
            }
        }
    }

    /// Returns once the event is set.
    pub(crate) fn wait(&self) {
        let waiter = Waiter::new();
        if self.enlist(&raw const waiter) {
            waiter.wait();
        }
    }

    /// Returns once the event is set, or when patience ends; then false.
    pub(crate) fn wait_with(&self, patience: &mut dyn Patience) -> bool {
        if self.is_set() {
            return true;
        }
        let waiter = Pending::new();
        if self.enlist(waiter.as_ptr()) {
            return waiter.wait_with(patience).is_some();
        }
        waiter.unshared();
        true
    }
}
