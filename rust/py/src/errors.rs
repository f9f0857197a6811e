//! From the core's errors to the exceptions of `ferromix.error`.

use crate::site;
use ferromix_base::{Error, ErrorKind};
use ferromix_engine::{PushError, WaitError};
use ferromix_runtime::ReadError;
use pyo3::PyErr;
use pyo3::prelude::*;
use std::error::Error as _;

/// The class in `ferromix.error` for each kind.
fn class_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Value => "InvalidArgumentError",
        ErrorKind::Type => "DTypeError",
        ErrorKind::Memory => "OutOfMemoryError",
        ErrorKind::Io => "FileFormatError",
        ErrorKind::Internal => "InternalError",
    }
}

fn raise(kind: ErrorKind, message: String) -> PyErr {
    Python::attach(|py| {
        let class = py
            .import("ferromix.error")
            .and_then(|m| m.getattr(class_name(kind)));
        match class.and_then(|c| c.call1((message,))) {
            Ok(instance) => PyErr::from_value(instance),
            Err(e) => e,
        }
    })
}

/// The exception for an error of the core.
pub(crate) fn to_py(e: Error) -> PyErr {
    raise(e.kind(), e.message().to_owned())
}

/// The exception for a failed push.
pub(crate) fn push_to_py(e: PushError) -> PyErr {
    raise(ErrorKind::Internal, e.to_string())
}

/// The exception for the failure of an operation, with the line that pushed it.
pub(crate) fn wait_to_py(e: WaitError) -> PyErr {
    let WaitError::Failed(failure) = e else {
        return raise(ErrorKind::Internal, e.to_string());
    };
    let origin = site::describe(failure.tag);
    let found = failure.source().and_then(|s| s.downcast_ref::<Error>());
    let (kind, message) = match found {
        Some(e) => (e.kind(), e.message().to_owned()),
        None => (ErrorKind::Internal, failure.to_string()),
    };
    raise(
        kind,
        format!(
            "{message}\n  in operation '{}', pushed at {origin}",
            failure.name
        ),
    )
}

/// The exception for an array that could not be read.
pub(crate) fn read_to_py(e: ReadError) -> PyErr {
    match e {
        ReadError::Call(e) => to_py(e),
        ReadError::Wait(e) => wait_to_py(e),
    }
}
