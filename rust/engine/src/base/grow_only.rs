//! A list of the whole process that only grows: by exchanges, so that no fork finds it locked.

use std::ptr;

use crate::base::sync::plain::AtomicPtr;
use crate::base::sync::{AcqRel, Acquire};

struct Node<T: 'static> {
    value: T,
    next: *mut Node<T>,
}

/// What is put in stays for good.
pub(crate) struct GrowOnly<T: 'static> {
    first: AtomicPtr<Node<T>>,
}

impl<T> GrowOnly<T> {
    pub(crate) const fn new() -> Self {
        Self {
            first: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// From `first` to before `end`, the latest first.
    fn between(first: *mut Node<T>, end: *mut Node<T>) -> impl Iterator<Item = &'static T> {
        let mut node = first;
        std::iter::from_fn(move || {
            // SAFETY: null, or in a list, hence there for good, and not changed any more.
            let this: &'static Node<T> = unsafe { node.as_ref() }.filter(|_| node != end)?;
            node = this.next;
            Some(&this.value)
        })
    }

    pub(crate) fn iter(&'static self) -> impl Iterator<Item = &'static T> {
        // Acquire: what is in the list; pairs with `find_or_push`.
        Self::between(self.first.load(Acquire), ptr::null_mut())
    }

    /// Puts a value in.
    pub(crate) fn push(&'static self, value: T) {
        self.find_or_push(|_| false, || value);
    }

    /// The value that `is` knows, which is made and put in if there is none.
    pub(crate) fn find_or_push(
        &'static self,
        is: impl Fn(&T) -> bool,
        make: impl FnOnce() -> T,
    ) -> &'static T {
        let find = |first, end| Self::between(first, end).find(|value| is(value));
        // Acquire, here and below: as in `iter`.
        let mut first = self.first.load(Acquire);
        if let Some(known) = find(first, ptr::null_mut()) {
            return known;
        }
        let mut new = Box::new(Node {
            value: make(),
            next: first,
        });
        loop {
            let raw = Box::into_raw(new);
            // Release: its contents.
            match self.first.compare_exchange(first, raw, AcqRel, Acquire) {
                // SAFETY: in the list for good.
                Ok(_) => return unsafe { &(*raw).value },
                Err(now) => {
                    // SAFETY: from the box above, and not shared.
                    new = unsafe { Box::from_raw(raw) };
                    if let Some(known) = find(now, first) {
                        return known;
                    }
                    new.next = now;
                    first = now;
                }
            }
        }
    }
}
