//! Waits for the engine, without the interpreter; signals get through to the main thread.
//!
//! A thread that sleeps in a wait does not notice a signal: Python's handlers run when the main
//! thread comes back to the interpreter. So the main thread sleeps for short times, and in between
//! asks the interpreter to run the handlers. If one raises, as Ctrl-C's does, the wait is given up;
//! what was waited for goes on.

use crate::lane;
use crate::support::convert::runtime;
use crate::support::errors::{Raise, misuse};
use ferromix_engine::{WaitError, WaitPolicy};
use ferromix_runtime::{IN_VAIN, ReadError, Runtime, StallPolicy, held};
use pyo3::prelude::*;
use std::cell::Cell;
use std::ffi::c_ulong;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long the main thread sleeps before it looks for signals.
const GLANCE: Duration = Duration::from_millis(50);

unsafe extern "C" {
    /// Of CPython's stable interface.
    safe fn PyThread_get_thread_ident() -> c_ulong;
}

/// The interpreter's number for the main thread.
static MAIN: AtomicUsize = AtomicUsize::new(0);

/// Asks which thread is the main one. In the child of a fork, that is the one that forked.
pub(crate) fn find_main_thread(py: Python<'_>) -> PyResult<()> {
    let threading = py.import("threading")?;
    let ident = threading.call_method0("main_thread")?.getattr("ident")?;
    // Relaxed, here and below: a number alone, set before there are threads that ask.
    MAIN.store(ident.extract()?, Ordering::Relaxed);
    Ok(())
}

/// Whether the calling thread is the main one.
pub(crate) fn is_main_thread() -> bool {
    PyThread_get_thread_ident() as usize == MAIN.load(Ordering::Relaxed)
}

/// Says that the calling thread, of the child of a fork, is the main one.
pub(crate) fn become_main_thread() {
    MAIN.store(PyThread_get_thread_ident() as usize, Ordering::Relaxed);
}

/// Until a signal's handler raises, or, in a function that runs as an operation, in vain.
struct Signals {
    is_main: bool,
    next_look: Option<Instant>,
    raised: Option<PyErr>,
    policy: Option<StallPolicy<'static>>,
}

impl Signals {
    fn new() -> Self {
        Signals {
            is_main: is_main_thread(),
            next_look: None,
            raised: None,
            policy: lane::is_member()
                .then(Runtime::existing)
                .flatten()
                .map(|runtime| StallPolicy::new(runtime.engine())),
        }
    }
}

impl WaitPolicy for Signals {
    fn before_sleep(&mut self) -> Option<Duration> {
        if !self.is_main {
            let policy = self.policy.as_mut();
            return policy.map_or(Some(Duration::MAX), WaitPolicy::before_sleep);
        }
        // Not before the first sleep: most are short.
        let now = Instant::now();
        if now < *self.next_look.get_or_insert(now + GLANCE) {
            return Some(GLANCE);
        }
        self.raised = Python::attach(|py| py.check_signals()).err();
        self.next_look = Some(Instant::now() + GLANCE);
        self.raised.is_none().then_some(GLANCE)
    }
}

/// Waits, without the interpreter, for something that the engine does.
pub(crate) fn wait<T: Send, E: From<WaitError> + Raise + Send>(
    py: Python<'_>,
    wait: impl FnOnce(&mut dyn WaitPolicy) -> Result<T, E> + Send,
) -> PyResult<T> {
    let mut signals = Signals::new();
    let result = py
        .detach(|| lane::wait(|| wait(&mut signals)))
        .unwrap_or_else(|| Err(WaitError::TooManyBlocked.into()));
    let Some(raised) = signals.raised else {
        let raise = |error: E| match error.is_given_up() {
            true => misuse(IN_VAIN),
            false => error.raise(),
        };
        return result.map_err(raise);
    };
    // The wait may have ended just then, with a failure that nobody else will be told of.
    if let Err(error) = result
        && !error.is_given_up()
    {
        raised.set_cause(py, Some(error.raise()));
    }
    Err(raised)
}

thread_local! {
    static NAIVE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread's pushes return when everything is done; returns what was set before.
#[pyfunction]
pub(crate) fn set_naive(naive: bool) -> bool {
    NAIVE.replace(naive)
}

/// Joins small operations that its thread pushes as long as it lives, which must be in that thread.
#[pyclass(unsendable, module = "ferromix._core")]
pub(crate) struct Bulk {
    _bulk: ferromix_engine::Bulk,
}

#[pymethods]
impl Bulk {
    #[new]
    fn new(size: usize) -> PyResult<Self> {
        let _bulk = runtime()?.engine().bulk(size);
        Ok(Bulk { _bulk })
    }
}

/// After a push: waits for everything if the thread is to push naively. Not in a function that runs
/// as an operation, which could not end then.
pub(crate) fn settle(py: Python<'_>, runtime: &Runtime) -> PyResult<()> {
    if !NAIVE.get() || held::inside() {
        return Ok(());
    }
    wait(py, |policy| runtime.wait_for_all(policy))?;
    wait(py, |_| runtime.wait_for_gpus().map_err(ReadError::Device))
}

/// Before a push: if too much is in flight, waits until there is room. Not in a function that runs
/// as an operation: what is in flight may wait for it.
pub(crate) fn hold_back(py: Python<'_>, runtime: &Runtime) -> PyResult<()> {
    if !runtime.engine().is_over_limit() || held::inside() {
        return Ok(());
    }
    wait(py, |policy| runtime.wait_below_limit(policy))
}
