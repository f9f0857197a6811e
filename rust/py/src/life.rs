//! The ends of processes and their forks.

use crate::{callback, lane, memory, wait};
use ferromix_kernels::par;
use ferromix_runtime::{Runtime, held};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a fork waits for Python operations to finish.
const PATIENCE: Duration = Duration::from_secs(10);
const NAP: Duration = Duration::from_micros(200);

/// Whether some thread is about to fork. The interpreter lock orders it all.
static FORKING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread is about to fork, and whether it brought the engine to rest for that.
    static FORK: Cell<Option<bool>> = const { Cell::new(None) };
}

/// The interpreter is about to end: nothing waits for what is pending, and nothing new is taken.
#[pyfunction]
fn shut_down() {
    let Some(runtime) = Runtime::existing() else {
        return;
    };
    runtime.engine().notify_shutdown();
    // On a thread that the process need not wait for: there may be millions of functions to refuse.
    let _ = std::thread::Builder::new().spawn(|| lane::lane().close());
}

/// Brings the engine to rest. False if a Python operation does not come to its end.
fn come_to_rest(py: Python<'_>, runtime: &Runtime) -> bool {
    if held::inside() {
        return false;
    }
    let deadline = Instant::now() + PATIENCE;
    loop {
        // Without the interpreter, so that Python operations can run.
        let rest = py.detach(|| {
            while callback::pending() > 0 {
                if Instant::now() > deadline {
                    return false;
                }
                std::thread::sleep(NAP);
            }
            runtime.pause()
        });
        if rest {
            // Other threads may have pushed until the interpreter was ours again.
            if runtime.is_paused() {
                return true;
            }
            runtime.resume();
        }
        // With the interpreter, so that nobody can push.
        if callback::pending() == 0 && runtime.pause() {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
    }
}

#[pyfunction]
fn before_fork(py: Python<'_>) {
    let Some(runtime) = Runtime::existing() else {
        return;
    };
    // Relaxed, here and below: the interpreter lock orders the forks.
    while FORKING.swap(true, Ordering::Relaxed) {
        py.detach(|| std::thread::sleep(NAP));
    }
    FORK.set(Some(come_to_rest(py, runtime)));
}

#[pyfunction]
fn after_fork_in_parent() {
    if let (Some(rested), Some(runtime)) = (FORK.take(), Runtime::existing()) {
        if rested {
            runtime.resume();
        }
        FORKING.store(false, Ordering::Relaxed);
    }
}

#[pyfunction]
fn after_fork_in_child() {
    lane::forget();
    wait::become_main_thread();
    if let (Some(rested), Some(runtime)) = (FORK.take(), Runtime::existing()) {
        if rested {
            runtime.resume_in_child();
        } else {
            par::forget_threads();
            Runtime::give_up();
        }
        FORKING.store(false, Ordering::Relaxed);
    }
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    Runtime::detach_by(memory::detached);
    let py = m.py();
    wait::find_main_thread(py)?;
    let hooks = PyDict::new(py);
    hooks.set_item("before", wrap_pyfunction!(before_fork, m)?)?;
    hooks.set_item(
        "after_in_parent",
        wrap_pyfunction!(after_fork_in_parent, m)?,
    )?;
    hooks.set_item("after_in_child", wrap_pyfunction!(after_fork_in_child, m)?)?;
    py.import("os")?
        .call_method("register_at_fork", (), Some(&hooks))?;
    let shut_down = wrap_pyfunction!(shut_down, m)?;
    py.import("atexit")?
        .call_method1("register", (shut_down,))
        .map(drop)
}
