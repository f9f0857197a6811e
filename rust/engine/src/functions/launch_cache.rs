//! Launches of a program that are over, to be used again: a few places that are taken from and put
//! into by exchanges, so that no fork finds them locked.

use std::ptr;

use crate::base::sync::{AcqRel, Acquire, AtomicPtr, AtomicUsize, MODEL, Relaxed, Release};
use crate::functions::launch::Launch;

/// Launches in the cache. More than are in flight at once, but in rare cases.
const PLACES: usize = if MODEL { 2 } else { 8 };

pub(crate) struct LaunchCache {
    places: [AtomicPtr<Launch>; PLACES],
    /// How many there are, those in flight included.
    made: AtomicUsize,
}

impl LaunchCache {
    pub(crate) fn new() -> Self {
        Self {
            places: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            made: AtomicUsize::new(0),
        }
    }

    /// One that is over, or a `new` one if there are fewer than `most`.
    pub(crate) fn take(
        &self,
        most: usize,
        new: impl FnOnce() -> Box<Launch>,
    ) -> Option<Box<Launch>> {
        for place in &self.places {
            if place.load(Relaxed).is_null() {
                continue;
            }
            // Acquire: its contents; pairs with `give`.
            let found = place.swap(ptr::null_mut(), Acquire);
            if !found.is_null() {
                // SAFETY: from a box, in `give`, and nobody else has it.
                return Some(unsafe { Box::from_raw(found) });
            }
        }
        // Relaxed: a count alone.
        let more = |made| (made < most).then_some(made + 1);
        self.made
            .fetch_update(Relaxed, Relaxed, more)
            .is_ok()
            .then(new)
    }

    /// Takes one back.
    pub(crate) fn give(&self, launch: Box<Launch>) {
        let raw = Box::into_raw(launch);
        for place in &self.places {
            // Release: its contents; pairs with `take`.
            if place
                .compare_exchange(ptr::null_mut(), raw, Release, Relaxed)
                .is_ok()
            {
                return;
            }
        }
        self.made.fetch_sub(1, Relaxed);
        // SAFETY: from the box above, and not shared.
        drop(unsafe { Box::from_raw(raw) });
    }
}

impl Drop for LaunchCache {
    fn drop(&mut self) {
        for place in &self.places {
            let raw = place.swap(ptr::null_mut(), AcqRel);
            if !raw.is_null() {
                // SAFETY: from a box, in `give`.
                drop(unsafe { Box::from_raw(raw) });
            }
        }
    }
}
