//! How a thread that has the interpreter waits for memory, and functions for their operations: without
//! it, since the operations whose end they wait for may be Python functions.

use crate::lane;

use pyo3::prelude::*;
use std::cell::Cell;

thread_local! {
    /// Whether the thread has the interpreter while it asks for memory.
    static ATTACHED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function that needs memory, on a thread that has the interpreter.
pub(crate) fn attached<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            ATTACHED.set(self.0);
        }
    }
    let _restore = Restore(ATTACHED.replace(true));
    f()
}

/// Runs a function that waits, or takes long; `false` where it was not run, as too many functions of
/// operations wait already.
pub(crate) fn detached(wait: &mut (dyn FnMut() + Send)) -> bool {
    if !ATTACHED.get() {
        wait();
        return true;
    }
    Python::attach(|py| {
        py.detach(|| {
            ATTACHED.set(false);
            let done = lane::wait(wait).is_some();
            ATTACHED.set(true);
            done
        })
    })
}
