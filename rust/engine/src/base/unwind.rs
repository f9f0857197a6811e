//! The border to users' code: what it throws, also from destructors, goes no further than here.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The error of an operation whose function panicked.
///
/// ```
/// use ferromix_engine::{Engine, OpSpec, PanicError, WaitError};
/// let engine = Engine::builder().build();
/// engine.push_sync(&OpSpec::new("panics"), |_| panic!("help"))?;
/// let Err(WaitError::Failed(failure)) = engine.wait_for_all() else {
///     return Err("it should have failed".into());
/// };
/// let panic = failure.error().downcast_ref::<PanicError>();
/// assert_eq!(panic.map(PanicError::message), Some("help"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PanicError {
    message: String,
}

impl PanicError {
    pub(crate) fn from_payload(payload: &(dyn Any + Send)) -> Self {
        let text = payload
            .downcast_ref::<&'static str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned());
        Self {
            message: text.unwrap_or_else(|| "(no message)".to_owned()),
        }
    }

    /// What was passed to `panic!`.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec, PanicError, WaitError};
    /// let engine = Engine::builder().build();
    /// engine.push_sync(&OpSpec::new("panics"), |_| panic!("help"))?;
    /// let Err(WaitError::Failed(failure)) = engine.wait_for_all() else {
    ///     return Err("it should have failed".into());
    /// };
    /// let panic = failure.error().downcast_ref::<PanicError>();
    /// assert_eq!(panic.map(PanicError::message), Some("help"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for PanicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "panicked: {}", self.message)
    }
}

impl Error for PanicError {}

/// Payloads that throw when dropped, one out of the other, before the last one is leaked.
const ATTEMPTS: u32 = 4;

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
    for _ in 0..ATTEMPTS {
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
