//! From the core's errors to the exceptions of `ferromix.error`.

use crate::callback::Exiting;
use crate::support::site;
use ferromix_base::{Error, ErrorKind};
use ferromix_engine::{NeverCompleted, PushError, WaitError};
use ferromix_runtime::gpu::DeviceFailure;
use ferromix_runtime::{IN_VAIN, ReadError};
use pyo3::PyErr;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::error::Error as _;

/// The class in `ferromix.error` for each kind.
fn class_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Value => "InvalidArgumentError",
        ErrorKind::Index => "IndexOutOfBoundsError",
        ErrorKind::Type => "DTypeError",
        ErrorKind::Memory => "OutOfMemoryError",
        ErrorKind::Io => "FileFormatError",
        ErrorKind::Device => "DeviceError",
        ErrorKind::Misuse => "MXNetError",
        ErrorKind::Internal => "InternalError",
    }
}

thread_local! {
    /// Class and message of the error that this thread raised last.
    static LAST: RefCell<(String, String)> = const { RefCell::new((String::new(), String::new())) };
}

/// Class and message of the error that the core raised last on this thread; empty where there was none.
#[pyfunction]
fn last_error() -> (String, String) {
    LAST.with_borrow(Clone::clone)
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(last_error, m)?)
}

fn raise(class: &str, message: String) -> PyErr {
    LAST.set((class.to_owned(), message.clone()));
    Python::attach(|py| {
        let class = py.import("ferromix.error").and_then(|m| m.getattr(class));
        match class.and_then(|c| c.call1((message,))) {
            Ok(instance) => PyErr::from_value(instance),
            Err(e) => e,
        }
    })
}

/// The exception for an error of the core.
pub(crate) fn to_py(e: Error) -> PyErr {
    raise(class_name(e.kind()), e.message().to_owned())
}

/// The exception for a call that makes no sense here.
pub(crate) fn misuse(message: &str) -> PyErr {
    raise("MXNetError", message.to_owned())
}

/// The exception for a failed push.
pub(crate) fn push_to_py(e: PushError) -> PyErr {
    let class = match e {
        PushError::StaleVariable(_) => "InvalidArgumentError",
        _ => "MXNetError",
    };
    raise(class, e.to_string())
}

/// The exception for a wait that did not end well. For the failure of an operation it names the
/// line that pushed it; what a Python function raised is raised again, the same object.
fn wait_to_py(e: WaitError) -> PyErr {
    let failure = match e {
        WaitError::Failed(failure) => failure,
        WaitError::StaleVariable(var) => return push_to_py(PushError::StaleVariable(var)),
        WaitError::SelfDependency(_) => return misuse(IN_VAIN),
        other => return misuse(&other.to_string()),
    };
    let origin = format!(
        "in operation '{}', pushed at {}",
        failure.name,
        site::describe(failure.tag)
    );
    let Some(source) = failure.source() else {
        return raise("InternalError", format!("{failure}\n  {origin}"));
    };
    if let Some(raised) = source.downcast_ref::<PyErr>() {
        return again(raised, &origin);
    }
    let (class, message) = if let Some(e) = source.downcast_ref::<Error>() {
        (class_name(e.kind()), e.message().to_owned())
    } else if source.is::<Exiting>() || source.is::<NeverCompleted>() {
        ("MXNetError", format!("{failure}: {source}"))
    } else {
        ("InternalError", format!("{failure}: {source}"))
    };
    raise(class, format!("{message}\n  {origin}"))
}

/// The exception that a function raised, with a note of who pushed the function.
fn again(raised: &PyErr, origin: &str) -> PyErr {
    Python::attach(|py| {
        let error = raised.clone_ref(py);
        // An exception whose class refuses notes is raised without.
        let _ = error.value(py).call_method1("add_note", (origin,));
        error
    })
}

/// How a wait that did not end well becomes an exception.
pub(crate) trait Raise {
    fn raise(self) -> PyErr;
    /// Whether the wait ended only because the thread stopped waiting.
    fn is_given_up(&self) -> bool;
}

impl Raise for WaitError {
    fn raise(self) -> PyErr {
        wait_to_py(self)
    }

    fn is_given_up(&self) -> bool {
        matches!(self, WaitError::GivenUp)
    }
}

/// The exception for what failed on a GPU: found at a wait, later than it happened.
fn device_to_py(failure: DeviceFailure) -> PyErr {
    let Some(origin) = failure.origin else {
        return to_py(failure.error);
    };
    let how = match failure.certain {
        true => "in operation",
        false => "found at a wait for operation",
    };
    let message = format!(
        "{}\n  {how} '{}', pushed at {}",
        failure.error.message(),
        origin.name,
        site::describe(origin.tag)
    );
    raise(class_name(failure.error.kind()), message)
}

impl Raise for ReadError {
    fn raise(self) -> PyErr {
        match self {
            ReadError::Call(e) => to_py(e),
            ReadError::Wait(e) => wait_to_py(e),
            ReadError::Device(e) => device_to_py(e),
        }
    }

    fn is_given_up(&self) -> bool {
        matches!(self, ReadError::Wait(WaitError::GivenUp))
    }
}
