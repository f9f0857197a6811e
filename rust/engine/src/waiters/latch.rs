//! A latch: something that happens once, and that any number of threads may wait for.

use std::ptr;

use crate::base::sync::{AcqRel, Acquire, AtomicPtr, Relaxed};
use crate::types::wait_policy::WaitPolicy;
use crate::waiters::waiter::{Pending, Waiter};

/// Set once; lets all go that wait for it.
pub(crate) struct Latch {
    /// Stack of waiting threads, or `SET`.
    waiters: AtomicPtr<Waiter>,
}

const SET: *mut Waiter = ptr::without_provenance_mut(1);

impl Latch {
    pub(crate) fn new() -> Self {
        Self {
            waiters: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Lets everybody go. The swap is the last touch of the latch itself.
    pub(crate) fn set(&self) {
        // Release: what the latch stands for. Acquire: the waiters' contents.
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

    /// Puts a waiter on the stack; false if the latch is set already.
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

    /// Returns once the latch is set.
    pub(crate) fn wait(&self) {
        let waiter = Waiter::new();
        if self.enlist(&raw const waiter) {
            waiter.wait();
        }
    }

    /// Returns once the latch is set, or the policy gives up; then false.
    pub(crate) fn wait_with(&self, policy: &mut dyn WaitPolicy) -> bool {
        if self.is_set() {
            return true;
        }
        let waiter = Pending::new();
        if self.enlist(waiter.as_ptr()) {
            return waiter.wait_with(policy).is_some();
        }
        waiter.unshared();
        true
    }
}
