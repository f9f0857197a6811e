//! A stack that many threads push onto and one takes as a whole: push by exchange, take by swap.
//! As nothing is ever popped singly there is no ABA problem, and nothing to reclaim.

use std::ptr;

use crate::base::sync::{AcqRel, Acquire, AtomicPtr, Relaxed, Release};

pub(crate) struct TakeAllStack<T> {
    head: AtomicPtr<T>,
}

impl<T> TakeAllStack<T> {
    pub(crate) fn new() -> Self {
        Self {
            head: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Pushes a chain of elements that the caller owns. `link(next)` must make `next` the element
    /// behind the chain's last; it may be called several times, and the last call counts.
    pub(crate) fn push(&self, first: *mut T, mut link: impl FnMut(*mut T)) {
        let mut old = self.head.load(Relaxed);
        loop {
            link(old);
            // Release: the links and the elements' contents; pairs with `take`, through whatever
            // other pushes came in between (they continue the release sequence).
            match self
                .head
                .compare_exchange_weak(old, first, Release, Relaxed)
            {
                Ok(_) => return,
                Err(now) => old = now,
            }
        }
    }

    /// Takes all elements, last pushed first. Null if there are none.
    pub(crate) fn take(&self) -> *mut T {
        if self.is_empty() {
            return ptr::null_mut();
        }
        // Acquire: pairs with `push`. Release: pairs with `is_empty`.
        self.head.swap(ptr::null_mut(), AcqRel)
    }

    /// Whether it is empty. Who finds that also sees what the one who emptied it did before.
    pub(crate) fn is_empty(&self) -> bool {
        // Acquire: pairs with `take`.
        self.head.load(Acquire).is_null()
    }
}
