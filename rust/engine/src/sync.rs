//! The one place that names atomics, threads and cells: std in a product build, loom when the
//! protocol is model-checked (`--cfg loom`). Nothing else in the crate imports `std::sync::atomic`.

#[cfg(not(loom))]
mod imp {
    pub(crate) use std::sync::Mutex;
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    pub(crate) use std::thread::{Thread, current, park};

    /// `std::cell::UnsafeCell` with loom's closure interface, so that both builds share the code.
    #[derive(Debug, Default)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }
        #[inline(always)]
        pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }
        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }

    macro_rules! per_thread {
        ($(#[$meta:meta])* static $name:ident: $type:ty = $init:expr;) => {
            std::thread_local! { $(#[$meta])* static $name: $type = const { $init }; }
        };
    }
    pub(crate) use per_thread;
}

#[cfg(loom)]
mod imp {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::Mutex;
    pub(crate) use loom::sync::atomic::{
        AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    pub(crate) use loom::thread::{Thread, current, park};

    macro_rules! per_thread {
        ($(#[$meta:meta])* static $name:ident: $type:ty = $init:expr;) => {
            loom::thread_local! { $(#[$meta])* static $name: $type = $init; }
        };
    }
    pub(crate) use per_thread;
}

pub(crate) use imp::*;
pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

/// Locks a mutex whose critical sections cannot leave it inconsistent when they panic.
#[cfg(not(loom))]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Locks a mutex whose critical sections cannot leave it inconsistent when they panic.
#[cfg(loom)]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> loom::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
