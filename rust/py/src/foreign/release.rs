//! Telling owners of memory that it is no longer used, with the interpreter attached.
//!
//! The last user may be an operation on a worker, which must not wait for the interpreter: whoever
//! forks, or stops the engine, may hold it and wait for that worker. So owners are put into a queue, and
//! the interpreter is asked to look into it when it next can; who imports memory looks, too. Once the
//! interpreter is about to end nobody asks it any more, and owners are left alone.

use super::dlpack::{Managed, Versioned};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::{Mutex, PoisonError};

/// Who is to be told.
pub(super) enum Owner {
    /// By the deleter of a tensor of DLPack.
    Dlpack(NonNull<Managed>),
    /// By that of one with a version.
    Versioned(NonNull<Versioned>),
    /// By the end of a buffer.
    Buffer(PyUntypedBuffer),
    /// By one reference less.
    Object(Py<PyAny>),
}

// SAFETY: a tensor is only passed on to its deleter, which any thread may call.
unsafe impl Send for Owner {}
// SAFETY: nothing can be done with a shared owner.
unsafe impl Sync for Owner {}

impl Owner {
    fn tell(self, _py: Python<'_>) {
        // SAFETY: the tensor was taken out of its capsule, so nobody else calls its deleter, and we do
        // once.
        unsafe {
            match self {
                Owner::Dlpack(tensor) => {
                    if let Some(deleter) = tensor.as_ref().deleter {
                        deleter(tensor.as_ptr());
                    }
                }
                Owner::Versioned(tensor) => {
                    if let Some(deleter) = tensor.as_ref().deleter {
                        deleter(tensor.as_ptr());
                    }
                }
                Owner::Buffer(buffer) => drop(buffer),
                Owner::Object(object) => drop(object),
            }
        }
    }
}

/// The right to use an owner's memory; when it is dropped, the owner is told.
pub(super) struct Lease(Option<Owner>);

impl Lease {
    pub(super) fn new(owner: Owner) -> Self {
        Lease(Some(owner))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(owner) = self.0.take() {
            enqueue(owner);
        }
    }
}

#[derive(Default)]
struct Queue {
    owners: Vec<Owner>,
    /// Whether the interpreter was asked to look.
    asked: bool,
    /// Whether the interpreter is about to end.
    closed: bool,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue {
    owners: Vec::new(),
    asked: false,
    closed: false,
});

fn enqueue(owner: Owner) {
    let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    if queue.closed {
        return std::mem::forget(owner);
    }
    queue.owners.push(owner);
    if !queue.asked {
        // SAFETY: any thread may call it, as long as there is an interpreter: `shut_down`, which runs
        // before that ends, waits for this lock. It only takes a note, for the main thread.
        let refused = unsafe { ffi::Py_AddPendingCall(Some(look), ptr::null_mut()) };
        queue.asked = refused == 0;
    }
}

extern "C" fn look(_: *mut c_void) -> c_int {
    Python::attach(tell_all);
    0
}

/// Tells the owners in the queue.
pub(super) fn tell_all(py: Python<'_>) {
    let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    let owners = std::mem::take(&mut queue.owners);
    queue.asked = false;
    // Not under the lock: what an owner does may end here again.
    drop(queue);
    owners.into_iter().for_each(|owner| owner.tell(py));
}

/// The interpreter is about to end: tells the owners that are known, and no further ones.
pub(crate) fn shut_down(py: Python<'_>) {
    tell_all(py);
    let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    queue.closed = true;
    std::mem::forget(std::mem::take(&mut queue.owners));
}
