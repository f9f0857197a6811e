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
    use std::io;
    pub(crate) use std::thread::sleep;
    pub(crate) use std::time::Instant;

    #[cfg(all(unix, not(loom)))]
    use crate::base::native::NativeThread;

    /// A thread of the engine.
    pub(crate) enum JoinHandle {
        Library(std::thread::JoinHandle<()>),
        /// In the child of a fork.
        #[cfg(all(unix, not(loom)))]
        Native(NativeThread),
    }

    pub(crate) fn start_thread(
        name: String,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<JoinHandle> {
        #[cfg(all(unix, not(loom)))]
        if crate::base::process::number() > 0 {
            return NativeThread::start(work).map(JoinHandle::Native);
        }
        let builder = std::thread::Builder::new().name(name);
        builder.spawn(work).map(JoinHandle::Library)
    }

    impl JoinHandle {
        pub(crate) fn has_ended(&self) -> bool {
            match self {
                Self::Library(thread) => thread.is_finished(),
                #[cfg(all(unix, not(loom)))]
                Self::Native(thread) => thread.has_ended(),
            }
        }

        pub(crate) fn is_current(&self) -> bool {
            match self {
                Self::Library(thread) => thread.thread().id() == std::thread::current().id(),
                #[cfg(all(unix, not(loom)))]
                Self::Native(thread) => thread.is_current(),
            }
        }

        /// Waits for the end. The engine's threads do not panic: operations are caught.
        pub(crate) fn join(self) {
            match self {
                Self::Library(thread) => drop(thread.join()),
                #[cfg(all(unix, not(loom)))]
                Self::Native(thread) => thread.join(),
            }
        }
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
    pub(crate) use shuttle::thread::sleep;
    use std::cell::Cell;
    use std::io;
    use std::time::Duration;

    pub(crate) struct JoinHandle(shuttle::thread::JoinHandle<()>);

    pub(crate) fn start_thread(
        name: String,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<JoinHandle> {
        let builder = shuttle::thread::Builder::new().name(name);
        builder.spawn(work).map(JoinHandle)
    }

    impl JoinHandle {
        pub(crate) fn has_ended(&self) -> bool {
            false
        }

        pub(crate) fn is_current(&self) -> bool {
            self.0.thread().id() == shuttle::thread::current().id()
        }

        pub(crate) fn join(self) {
            drop(self.0.join());
        }
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
/// The whole engine is being explored: limits are small, so that small programs reach them.
pub(crate) const SMALL: bool = cfg!(shuttle);

/// Locks a mutex whose critical sections cannot leave it inconsistent when they panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
