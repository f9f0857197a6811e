//! A value that is borrowed at run time, from any thread: what operations are given of a `Data`.
//!
//! The engine's order sees to it that borrows never meet. The count here makes that sure, whatever a
//! program does, so that nobody has to be trusted with it.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};

use crate::base::sync::{Acquire, AtomicU32, Relaxed, Release};

/// In the count: borrowed to be changed.
const EXCLUSIVE: u32 = u32::MAX;

/// A value and its borrows.
pub(crate) struct BorrowCell<T> {
    /// Shared borrows, or `EXCLUSIVE`.
    borrows: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: references are given out as the count allows: many shared ones, or one to change it.
unsafe impl<T: Send + Sync> Sync for BorrowCell<T> {}
// SAFETY: owns the value.
unsafe impl<T: Send> Send for BorrowCell<T> {}

impl<T> BorrowCell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            borrows: AtomicU32::new(0),
            value: UnsafeCell::new(value),
        }
    }

    /// `None` if it is being changed.
    pub(crate) fn read(&self) -> Option<Read<'_, T>> {
        let more = |count: u32| (count < EXCLUSIVE - 1).then(|| count + 1);
        // Acquire: pairs with the end of whatever changed it.
        let shared = self.borrows.fetch_update(Acquire, Relaxed, more);
        shared.is_ok().then(|| Read(self))
    }

    /// `None` if it is in use.
    pub(crate) fn write(&self) -> Option<Write<'_, T>> {
        // Acquire: pairs with the ends of all borrows before.
        let exclusive = self
            .borrows
            .compare_exchange(0, EXCLUSIVE, Acquire, Relaxed);
        exclusive.is_ok().then(|| Write(self))
    }

    pub(crate) fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

/// A shared reference to the value of a [`Data`](crate::Data), which ends when it is dropped.
#[must_use]
pub struct Read<'a, T>(&'a BorrowCell<T>);

/// A reference to the value of a [`Data`](crate::Data) by which it may be changed, and which ends when
/// it is dropped.
#[must_use]
pub struct Write<'a, T>(&'a BorrowCell<T>);

impl<T> Deref for Read<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: counted, so nobody changes it.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> Drop for Read<'_, T> {
    fn drop(&mut self) {
        // Release: our reads, for whoever changes it next.
        self.0.borrows.fetch_sub(1, Release);
    }
}

impl<T> Deref for Write<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: counted as the only one.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Write<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Write<'_, T> {
    fn drop(&mut self) {
        // Release: our changes, for whoever looks next.
        self.0.borrows.store(0, Release);
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Read<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&**self, f)
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Write<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&**self, f)
    }
}
