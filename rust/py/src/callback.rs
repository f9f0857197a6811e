//! Python functions as operations of the engine.

use ferromix_base::Error;
use ferromix_engine as engine;
use ferromix_engine::{FnProperty, Name, OpError};
use ferromix_runtime::held::{Held, Turn};
use ferromix_runtime::{ReadError, Runtime};
use pyo3::exceptions::{PyBaseException, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::cmp::Reverse;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::profiler::recording;
use crate::support::errors::{misuse, to_py};
use crate::support::memory::attached;
use crate::support::wait::{hold_back, settle, wait};

/// Python operations that were pushed and are not finished.
static PENDING: AtomicUsize = AtomicUsize::new(0);

/// One of the Python operations that are not finished.
pub(crate) struct Ticket(());

impl Ticket {
    pub(crate) fn new() -> Self {
        // Relaxed: only the interpreter lock, which pushers hold, orders this against `pending`.
        PENDING.fetch_add(1, Ordering::Relaxed);
        Ticket(())
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // Release: pairs with `pending`, for what the operation did.
        PENDING.fetch_sub(1, Ordering::Release);
    }
}

/// How many Python operations have ended.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// How many Python operations have ended: where the number grows, functions may have pushed more.
pub(crate) fn ended() -> u64 {
    // Acquire: pairs with `announce`, for the pushes of the function.
    ENDED.load(Ordering::Acquire)
}

/// Number of Python operations that were pushed and are not finished.
pub(crate) fn pending() -> usize {
    PENDING.load(Ordering::Acquire)
}

/// The end of an operation, to be announced once. Dropped instead, it fails the operation.
pub(crate) struct Finish {
    on_complete: engine::OnComplete,
    ticket: Ticket,
}

impl Finish {
    /// Of an operation that is about to be pushed, and counts from now on.
    pub(crate) fn later() -> impl FnOnce(engine::OnComplete) -> Finish + Send {
        let ticket = Ticket::new();
        move |on_complete| Finish {
            on_complete,
            ticket,
        }
    }

    fn announce(self, result: Result<(), OpError>) {
        // Release: pairs with `ended`.
        ENDED.fetch_add(1, Ordering::Release);
        self.on_complete.complete(result);
        drop(self.ticket);
    }
}

/// Given to an asynchronous function, which calls it, from any thread, when its work is done.
#[pyclass(frozen, module = "ferromix._core")]
pub(crate) struct OnComplete(Mutex<Option<Finish>>);

impl OnComplete {
    fn take(&self) -> Option<Finish> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl OnComplete {
    /// Finishes the operation; with an exception for `error`, as failed.
    #[pyo3(signature = (error=None))]
    fn __call__(&self, py: Python<'_>, error: Option<Bound<'_, PyAny>>) -> PyResult<()> {
        let result: Result<(), OpError> = match error {
            None => Ok(()),
            Some(e) if e.is_instance_of::<PyBaseException>() => Err(Box::new(PyErr::from_value(e))),
            Some(other) => {
                return Err(PyTypeError::new_err(format!(
                    "on_complete takes an exception or None, got {}",
                    other.get_type()
                )));
            }
        };
        let finish = self
            .take()
            .ok_or_else(|| misuse("on_complete was called before; call it exactly once"))?;
        py.detach(|| finish.announce(result));
        Ok(())
    }
}

/// Where and how an operation runs, for its function.
#[pyclass(frozen, module = "ferromix._core")]
pub(crate) struct RunContext {
    /// The device that it was pushed for.
    #[pyo3(get)]
    ctx: Py<PyAny>,
    /// The stream of the worker that the engine chose, as a number; None on devices without streams.
    #[pyo3(get)]
    stream: Option<u64>,
    /// The priority that it was pushed with.
    #[pyo3(get)]
    priority: i32,
    name: Name,
}

impl RunContext {
    pub(crate) fn new(ctx: Py<PyAny>, priority: i32, name: Name) -> Self {
        RunContext {
            ctx,
            stream: None,
            priority,
            name,
        }
    }
}

#[pymethods]
impl RunContext {
    /// What errors call the operation.
    #[getter]
    fn name(&self) -> &'static str {
        self.name.as_str()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let ctx = self.ctx.bind(py).repr()?;
        Ok(format!(
            "RunContext({}, priority={}, name={:?})",
            ctx.to_str()?,
            self.priority,
            self.name.as_str()
        ))
    }
}

/// A number for a push, greater than those of pushes before it.
pub(crate) fn next_number() -> u64 {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    // Relaxed: only that numbers grow along each thread's pushes matters.
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// What an operation is to run.
pub(crate) struct Work {
    /// Shared, as operators and programs run their functions again and again.
    pub(crate) function: Arc<Py<PyAny>>,
    /// What it gets, if it takes that.
    pub(crate) context: Option<RunContext>,
    /// Whether it gets an [`OnComplete`].
    pub(crate) asynchronous: bool,
    pub(crate) held: Arc<Held>,
    /// Says whether it still is to run, if its pusher may have given it up.
    pub(crate) turn: Option<Turn>,
    pub(crate) profiled: bool,
    pub(crate) property: FnProperty,
    pub(crate) priority: i32,
    pub(crate) name: Name,
    pub(crate) number: u64,
    /// How deep it is nested in functions that push each other; 0 if no function pushed it.
    pub(crate) depth: u32,
}

impl Work {
    /// Its turn has come, on a worker with this stream.
    pub(crate) fn ready(self, stream: Option<u64>, finish: Finish) -> Job {
        let context = self.context.map(|context| RunContext { stream, ..context });
        Job {
            work: Work { context, ..self },
            finish,
        }
    }
}

/// A function that is ready to run.
pub(crate) struct Job {
    pub(crate) work: Work,
    finish: Finish,
}

/// Why a function did not run.
#[derive(Debug)]
pub(crate) struct Exiting;

impl std::fmt::Display for Exiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the interpreter is about to end, and runs no further operations")
    }
}

impl std::error::Error for Exiting {}

impl Job {
    /// Runs the function on this thread.
    pub(crate) fn run(self) {
        let Job { work, finish } = self;
        if work.turn.as_ref().is_some_and(|turn| !turn.take()) {
            if let Err(work) = with_python(work, |_, work| drop(work)) {
                std::mem::forget(work);
            }
            return finish.announce(Ok(()));
        }
        let (name, profiled) = (work.name, work.profiled);
        let begin = recording().filter(|_| profiled).map(|_| Instant::now());
        let record = || {
            if let (Some(begin), Some(engine)) = (begin, recording()) {
                engine.trace_span(Name::new("python"), name, begin);
            }
        };
        if work.asynchronous {
            let ran = with_python((work, finish), |py, (work, finish)| {
                run_async(py, work, finish)
            });
            return match ran {
                Ok(()) => record(),
                Err((work, finish)) => Job { work, finish }.refuse(),
            };
        }
        // The function and what it refers to go before the operation is finished.
        let ran = with_python(work, |py, work| {
            let arguments = arguments(py, work.context, None)?;
            let Work { function, held, .. } = work;
            // What the function refers to is dropped where its arrays are held, too.
            let run = || {
                let result = call(function.bind(py), arguments);
                drop(function);
                result
            };
            held.during(|| finish.on_complete.during(run))
        });
        let result = match ran {
            Ok(result) => result,
            Err(work) => return Job { work, finish }.refuse(),
        };
        // Before anybody is told that it is over, and may write the profile.
        record();
        finish.announce(result.map_err(|e| Box::new(e) as OpError));
    }

    /// Fails the operation without running the function, whose reference is leaked: there may be
    /// no interpreter to give it back to.
    pub(crate) fn refuse(self) {
        std::mem::forget(self.work);
        self.finish.announce(Err(Box::new(Exiting)));
    }
}

/// Runs something with a value, attached to the interpreter; gives the value back where that has
/// ended.
fn with_python<T, R>(value: T, run: impl FnOnce(Python<'_>, T) -> R) -> Result<R, T> {
    let mut kept = Some(value);
    let ran = Python::try_attach(|py| kept.take().map(|value| run(py, value)));
    match (ran.flatten(), kept) {
        (Some(result), _) => Ok(result),
        (None, Some(value)) => Err(value),
        (None, None) => unreachable!("what was taken has run"),
    }
}

fn arguments<'py>(
    py: Python<'py>,
    context: Option<RunContext>,
    on_complete: Option<&Py<OnComplete>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let context = context.map(|context| Bound::new(py, context)).transpose()?;
    let on_complete = on_complete.map(|object| object.bind(py).clone().into_any());
    let given = context.map(Bound::into_any).into_iter().chain(on_complete);
    PyTuple::new(py, given.collect::<Vec<_>>())
}

fn run_async(py: Python<'_>, work: Work, finish: Finish) {
    let function = work.function.bind(py);
    let on_complete = match Py::new(py, OnComplete(Mutex::new(Some(finish)))) {
        Ok(object) => object,
        // No memory; the operation was failed with the `Finish` that was dropped.
        Err(e) => return e.write_unraisable(py, Some(function)),
    };
    let result = arguments(py, work.context, Some(&on_complete))
        .and_then(|arguments| work.held.during(|| call(function, arguments)));
    let Err(error) = result else { return };
    match on_complete.get().take() {
        Some(finish) => py.detach(|| finish.announce(Err(Box::new(error)))),
        None => error.write_unraisable(py, Some(function)),
    }
}

unsafe extern "C-unwind" {
    /// As in `ffi`, but known to unwind: a thread that asks for the interpreter when that has
    /// ended is ended by CPython before 3.14.
    fn PyObject_CallObject(
        function: *mut ffi::PyObject,
        arguments: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject;
}

/// Keeps the thread from being unwound any further, for good: Rust frames must not be skipped.
struct Hang;

impl Drop for Hang {
    fn drop(&mut self) {
        loop {
            std::thread::park();
        }
    }
}

fn call(function: &Bound<'_, PyAny>, arguments: Bound<'_, PyTuple>) -> PyResult<()> {
    let guard = Hang;
    // SAFETY: attached; both objects live through the call, which returns a new reference or null.
    let result = unsafe { PyObject_CallObject(function.as_ptr(), arguments.as_ptr()) };
    std::mem::forget(guard);
    // SAFETY: as above.
    unsafe { Bound::from_owned_ptr_or_err(function.py(), result) }.map(drop)
}

impl PartialEq for Job {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Job {}

impl PartialOrd for Job {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Greater is sooner: by priority, then by order of push.
impl Ord for Job {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |job: &Job| (job.work.priority, Reverse(job.work.number));
        key(self).cmp(&key(other))
    }
}

/// Pushes operations on arrays. Without the interpreter where the push waits for what it pushes with
/// the naive engine. In a function that holds the arrays small operations run at once, with it: the
/// function would have to wait for it after each of them, behind whoever computes meanwhile.
pub(crate) fn push<T: Send>(
    py: Python<'_>,
    push: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    let runtime = Runtime::existing();
    let waits = runtime.is_some_and(|runtime| runtime.is_naive());
    if !waits {
        runtime.map_or(Ok(()), |runtime| hold_back(py, runtime))?;
        let pushed = attached(push).map_err(to_py)?;
        Runtime::existing().map_or(Ok(()), |runtime| settle(py, runtime))?;
        return Ok(pushed);
    }
    wait(py, |_| push().map_err(ReadError::Call))
}
