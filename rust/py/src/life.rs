//! The ends of processes and their forks.

use crate::support::{memory, wait};
use crate::{callback, foreign, lane};
use ferromix_kernels::par;
use ferromix_runtime::{Runtime, held};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a fork waits for Python operations to finish.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// How long it waits for kernels while none finishes: what was pushed might wait for the thread that
/// forks.
const LONGEST_KERNEL: Duration = Duration::from_secs(60);
/// The same with the interpreter lock, which what it waits for might need.
const LOCKED_WAIT: Duration = Duration::from_secs(10);
const NAP: Duration = Duration::from_micros(200);

/// Whether some thread is about to fork. The interpreter lock orders it all.
static FORKING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread is about to fork, and whether it brought the engine to rest for that.
    static FORK: Cell<Option<bool>> = const { Cell::new(None) };
}

/// How long the end of the interpreter waits for threads that are inside.
const LONGEST_VISIT: Duration = Duration::from_secs(5);

/// Whether the interpreter is about to end, and how many calls of threads other than the main one are inside. The
/// interpreter lock orders it all.
static ENDING: AtomicBool = AtomicBool::new(false);
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// A call that runs Python's functions. CPython ends a thread that asks for the interpreter once that has ended, by
/// unwinding, which must not meet frames of ours: so the end waits for those that are inside, and nobody comes in
/// after it.
pub(crate) struct Inside(bool);

impl Inside {
    pub(crate) fn enter(py: Python<'_>) -> Self {
        if wait::is_main_thread() {
            return Inside(false);
        }
        // Relaxed, here and below: see there.
        while ENDING.load(Ordering::Relaxed) {
            py.detach(std::thread::park);
        }
        INSIDE.fetch_add(1, Ordering::Relaxed);
        Inside(true)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // The child of a fork begins with none, also where the one that forked was inside.
        let less = |inside: usize| inside.checked_sub(usize::from(self.0));
        let _ = INSIDE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

/// The interpreter is about to end: nothing waits for what is pending, and nothing new is taken.
#[pyfunction]
fn shut_down(py: Python<'_>) {
    foreign::shut_down(py);
    ENDING.store(true, Ordering::Relaxed);
    let deadline = Instant::now() + LONGEST_VISIT;
    while INSIDE.load(Ordering::Relaxed) > 0 && Instant::now() < deadline {
        py.detach(|| std::thread::sleep(NAP));
    }
    let Some(runtime) = Runtime::existing() else {
        return;
    };
    runtime.engine().notify_shutdown();
    // On a thread that the process need not wait for: there may be millions of functions to refuse.
    let _ = std::thread::Builder::new().spawn(lane::close);
}

/// Brings the engine to rest. False if a Python operation does not come to its end.
///
/// At rest this thread holds the engine's locks, for which a thread that pushes may be waiting, with
/// the interpreter. So it comes to rest with the interpreter, and keeps it until the fork.
fn come_to_rest(py: Python<'_>, runtime: &Runtime) -> bool {
    if held::inside() {
        return false;
    }
    let deadline = Instant::now() + LONGEST_WAIT;
    loop {
        // Without the interpreter, so that Python operations can run.
        let finished = py.detach(|| {
            while callback::pending() > 0 {
                if Instant::now() > deadline {
                    return false;
                }
                std::thread::sleep(NAP);
            }
            runtime.finish_before_pause(LONGEST_KERNEL)
        });
        // With the interpreter, so that nobody can push.
        if finished && callback::pending() == 0 && runtime.pause(LOCKED_WAIT) {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
    }
}

/// Before a push of a function from outside of operations: lets a fork that another thread is about to
/// make come first, which waits until no such function is pending.
pub(crate) fn let_forks_pass(py: Python<'_>) {
    while FORKING.load(Ordering::Relaxed) && FORK.get().is_none() && !held::inside() {
        py.detach(|| std::thread::sleep(NAP));
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
    // Those that were inside are not here.
    INSIDE.store(0, Ordering::Relaxed);
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
    // Before us, so that a fork takes its lock after us: the functions that we wait for may log.
    py.import("logging")?;
    py.import("os")?
        .call_method("register_at_fork", (), Some(&hooks))?;
    let shut_down = wrap_pyfunction!(shut_down, m)?;
    py.import("atexit")?
        .call_method1("register", (shut_down,))
        .map(drop)
}
