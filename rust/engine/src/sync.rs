//! The one place that names atomics, threads, cells and clocks: std in a product build, loom when
//! parts of the protocol are model-checked with their memory orderings (`--cfg loom`), shuttle when
//! the whole engine is (`--cfg shuttle`). Nothing else in the crate imports `std::sync::atomic`.

#[cfg(not(any(loom, shuttle)))]
mod imp {
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    pub(crate) use std::sync::{Mutex, MutexGuard};
    pub(crate) use std::thread::{Thread, current, park, park_timeout, yield_now};

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
    pub(crate) use loom::sync::atomic::{
        AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    pub(crate) use loom::sync::{Mutex, MutexGuard};
    pub(crate) use loom::thread::{Thread, current, park, yield_now};

    /// Time does not pass in a model.
    pub(crate) fn park_timeout(_: std::time::Duration) {
        yield_now();
    }

    macro_rules! per_thread {
        ($(#[$meta:meta])* static $name:ident: $type:ty = $init:expr;) => {
            loom::thread_local! { $(#[$meta])* static $name: $type = $init; }
        };
    }
    pub(crate) use per_thread;
}

/// Threads and clocks. Models under loom start none of the engine's own threads.
#[cfg(not(shuttle))]
mod threads {
    pub(crate) use std::thread::{Builder as ThreadBuilder, JoinHandle, sleep};
    pub(crate) use std::time::Instant;

    pub(crate) fn has_ended(handle: &JoinHandle<()>) -> bool {
        handle.is_finished()
    }

    pub(crate) fn is_current(handle: &JoinHandle<()>) -> bool {
        handle.thread().id() == std::thread::current().id()
    }
}

#[cfg(shuttle)]
mod imp {
    pub(crate) use shuttle::sync::atomic::{
        AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    pub(crate) use shuttle::sync::{Mutex, MutexGuard};
    pub(crate) use shuttle::thread::{Thread, current, park, yield_now};
    use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

    /// Time does not pass in a model.
    pub(crate) fn park_timeout(_: std::time::Duration) {
        yield_now();
    }

    /// A cell that notices when it is used while it is being changed. Shuttle runs one thread at a
    /// time, so the marks need no care.
    #[derive(Debug, Default)]
    pub(crate) struct UnsafeCell<T> {
        value: std::cell::UnsafeCell<T>,
        /// Readers inside, or below zero.
        inside: AtomicI32,
    }

    impl<T> UnsafeCell<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self {
                value: std::cell::UnsafeCell::new(value),
                inside: AtomicI32::new(0),
            }
        }
        pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            let old = self.inside.fetch_add(1, Relaxed);
            assert!(old >= 0, "a cell was read while it was changed");
            let result = f(self.value.get());
            self.inside.fetch_sub(1, Relaxed);
            result
        }
        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            let old = self.inside.swap(i32::MIN, Relaxed);
            assert!(old == 0, "a cell was changed while it was in use");
            // Others may run here, and would notice.
            shuttle::thread::sleep(std::time::Duration::ZERO);
            let result = f(self.value.get());
            self.inside.store(0, Relaxed);
            result
        }
    }

    macro_rules! per_thread {
        ($(#[$meta:meta])* static $name:ident: $type:ty = $init:expr;) => {
            shuttle::thread_local! { $(#[$meta])* static $name: $type = $init; }
        };
    }
    pub(crate) use per_thread;
}

#[cfg(shuttle)]
mod threads {
    pub(crate) use shuttle::thread::{Builder as ThreadBuilder, JoinHandle, sleep};
    use std::cell::Cell;
    use std::time::Duration;

    pub(crate) fn has_ended(_: &JoinHandle<()>) -> bool {
        false
    }

    pub(crate) fn is_current(handle: &JoinHandle<()>) -> bool {
        handle.thread().id() == shuttle::thread::current().id()
    }

    /// A clock that a model can rely on: each look at it takes four milliseconds.
    pub(crate) struct Instant(Cell<u32>);

    impl Instant {
        pub(crate) fn now() -> Self {
            Self(Cell::new(0))
        }
        pub(crate) fn elapsed(&self) -> Duration {
            let looks = self.0.get();
            self.0.set(looks + 1);
            Duration::from_millis(4) * looks
        }
    }
}

/// Atomics that no model follows: they are part of no protocol that a model could check.
pub(crate) mod plain {
    pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
}

pub(crate) use imp::*;
pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
pub(crate) use threads::*;

/// A model checker runs the code: memory comes from the heap, and structures start small.
pub(crate) const MODEL: bool = cfg!(any(loom, shuttle));
/// The whole engine is being explored: bounds are small, so that small programs reach them.
pub(crate) const SMALL: bool = cfg!(shuttle);

/// Locks a mutex whose critical sections cannot leave it inconsistent when they panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
