//! The border to users' code: what it throws, also from destructors, goes no further than here.

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::failure::PanicError;

/// Payloads that throw when dropped, one out of the other, before the last one is leaked.
const PATIENCE: u32 = 4;

/// Calls `f`; a panic becomes an error.
#[inline(always)]
pub(crate) fn catch<R>(f: impl FnOnce() -> R) -> Result<R, Box<PanicError>> {
    catch_unwind(AssertUnwindSafe(f)).map_err(caught)
}

#[cold]
fn caught(payload: Box<dyn Any + Send>) -> Box<PanicError> {
    let error = Box::new(PanicError::from_payload(&*payload));
    discard(payload);
    error
}

/// Drops something that is, or leads to, a user's value. Whatever its destructor throws is gone.
#[inline]
pub(crate) fn discard<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        discard_payload(payload);
    }
}

#[cold]
fn discard_payload(mut payload: Box<dyn Any + Send>) {
    for _ in 0..PATIENCE {
        match catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    mem::forget(payload);
}

/// A user's value that the engine drops, wherever that happens to be.
pub(crate) struct Contained<T>(mem::ManuallyDrop<T>);

impl<T> Contained<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(mem::ManuallyDrop::new(value))
    }
}

impl<T> Contained<T> {
    /// The value, from here on the caller's to drop.
    pub(crate) fn into_inner(self) -> T {
        let mut this = mem::ManuallyDrop::new(self);
        // SAFETY: it is not used again, nor dropped.
        unsafe { mem::ManuallyDrop::take(&mut this.0) }
    }
}

impl<T> std::ops::Deref for Contained<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Drop for Contained<T> {
    fn drop(&mut self) {
        // SAFETY: it is not used again.
        discard(unsafe { mem::ManuallyDrop::take(&mut self.0) });
    }
}
