//! Threads by the system's own calls, where the standard library's cannot be relied on.
//!
//! Those take a lock of their own when they begin and end, to tell of full stacks. The child of a fork
//! may inherit it taken, and then none of its threads would ever begin, or end. And older versions of
//! the library panic when a thread without thread-locals, such as the one that ends the process, starts
//! another one.

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::{io, mem, ptr};

/// A `pthread_t` is a number or a pointer, of a pointer's size.
type Id = usize;
type Start = extern "C" fn(*mut c_void) -> *mut c_void;
type Work = Box<dyn FnOnce() + Send>;

unsafe extern "C" {
    fn pthread_create(
        thread: *mut Id,
        attributes: *const c_void,
        start: Start,
        argument: *mut c_void,
    ) -> c_int;
    fn pthread_join(thread: Id, result: *mut *mut c_void) -> c_int;
    fn pthread_detach(thread: Id) -> c_int;
    fn pthread_self() -> Id;
}

/// A thread, which goes on by itself if this is dropped.
pub(crate) struct NativeThread {
    id: Id,
    ended: Arc<AtomicBool>,
    joined: bool,
}

impl NativeThread {
    /// Starts a thread that does `work`. A panic ends it, after having said so.
    pub(crate) fn start(work: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let ended = Arc::new(AtomicBool::new(false));
        let sign = ended.clone();
        let whole: Work = Box::new(move || {
            // What was thrown might panic when it is dropped.
            mem::forget(catch_unwind(AssertUnwindSafe(work)));
            // Release: what the thread has done; pairs with `has_ended`.
            sign.store(true, Release);
        });
        let argument = Box::into_raw(Box::new(whole));
        let mut id = 0;
        // SAFETY: the signature is POSIX's, and the new thread takes the argument over.
        let code = unsafe { pthread_create(&mut id, ptr::null(), begin, argument.cast()) };
        if code != 0 {
            // SAFETY: there is no thread that has it.
            drop(unsafe { Box::from_raw(argument) });
            return Err(io::Error::from_raw_os_error(code));
        }
        Ok(Self {
            id,
            ended,
            joined: false,
        })
    }

    pub(crate) fn has_ended(&self) -> bool {
        // Acquire: pairs with `start`.
        self.ended.load(Acquire)
    }

    pub(crate) fn is_current(&self) -> bool {
        // SAFETY: the signature is POSIX's.
        self.id == unsafe { pthread_self() }
    }

    /// Waits for the thread's end.
    pub(crate) fn join(mut self) {
        self.joined = true;
        // SAFETY: a thread that was neither joined nor detached, nor will be.
        unsafe { pthread_join(self.id, ptr::null_mut()) };
    }
}

impl Drop for NativeThread {
    fn drop(&mut self) {
        if !self.joined {
            // SAFETY: a thread that was neither joined nor detached.
            unsafe { pthread_detach(self.id) };
        }
    }
}

extern "C" fn begin(work: *mut c_void) -> *mut c_void {
    // SAFETY: from `start`, for this thread alone.
    let work = unsafe { Box::from_raw(work.cast::<Work>()) };
    work();
    ptr::null_mut()
}
