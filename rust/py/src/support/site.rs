//! Where the user pushed an operation: the innermost line outside of the package, as a number
//! that travels with the operation, so that an error on a worker can name the line.
//!
//! Every push asks, so asking is a look at the frame's code and instruction, both of which are known
//! from the second time on; the line of an instruction is worked out once.

use crate::support::hash::Hashing;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Instructions that are kept, with their code. A program that makes code without end gets further
/// ones worked out each time.
const MOST: usize = 1 << 16;

/// A code object by its address, which is its own as long as the table holds it.
type Code = usize;

#[derive(Default)]
struct Sites {
    /// Known code: whether it is the package's.
    codes: HashMap<Code, (Py<PyAny>, bool), Hashing>,
    /// Numbers of the instructions of users' code.
    instructions: HashMap<(Code, i32), u64, Hashing>,
    numbers: HashMap<String, HashMap<i32, u64>>,
    rows: Vec<(String, i32)>,
}

/// The folder of the package, with a separator at its end.
static PACKAGE: PyOnceLock<String> = PyOnceLock::new();
static SITES: Mutex<Option<Sites>> = Mutex::new(None);

/// The number of the line that called into the package; 0 where there is none.
pub(crate) fn current(py: Python<'_>) -> u64 {
    find(py).unwrap_or(0)
}

/// The line of a number, as `file:line`.
pub(crate) fn describe(site: u64) -> String {
    let sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    let row = sites
        .as_ref()
        .and_then(|s| s.rows.get((site as usize).checked_sub(1)?));
    row.map_or_else(
        || "an unknown line".to_owned(),
        |(file, line)| format!("{file}:{line}"),
    )
}

fn find(py: Python<'_>) -> Option<u64> {
    // SAFETY: the interpreter is attached; the frame is borrowed and may be null, which the call
    // handles.
    let mut frame = unsafe {
        Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast::<ffi::PyObject>())
    }?;
    let package = PACKAGE.get_or_try_init(py, || package_folder(py)).ok()?;
    loop {
        // SAFETY: a frame has code; the call returns a new reference.
        let code = unsafe {
            let code = ffi::PyFrame_GetCode(frame.as_ptr().cast::<ffi::PyFrameObject>());
            Bound::from_owned_ptr_or_opt(py, code.cast::<ffi::PyObject>())
        }?;
        if !is_internal(&code, package)? {
            return number(&frame, &code);
        }
        frame = frame
            .getattr(intern!(py, "f_back"))
            .ok()
            .filter(|f| !f.is_none())?;
    }
}

/// Looks something up in the table, or adds it.
///
/// `f` must not call into the interpreter: that may let another thread have its lock, which would then
/// wait here, or run a finalizer that pushes.
fn with_sites<R>(f: impl FnOnce(&mut Sites) -> R) -> R {
    let mut sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    f(sites.get_or_insert_with(Sites::default))
}

/// Whether the code is the package's.
fn is_internal(code: &Bound<'_, PyAny>, package: &str) -> Option<bool> {
    let key = code.as_ptr() as Code;
    if let Some(internal) = with_sites(|s| s.codes.get(&key).map(|known| known.1)) {
        return Some(internal);
    }
    let internal = file_of(code)?.starts_with(package);
    let known = (code.clone().unbind(), internal);
    // What another thread has put there meanwhile, or what there is no room for, is dropped outside.
    let dropped = with_sites(|s| match s.codes.len() < MOST {
        true => s.codes.insert(key, known),
        false => Some(known),
    });
    drop(dropped);
    Some(internal)
}

/// The number of the line that `frame`, of a user's `code`, is at.
fn number(frame: &Bound<'_, PyAny>, code: &Bound<'_, PyAny>) -> Option<u64> {
    let at: i32 = frame
        .getattr(intern!(frame.py(), "f_lasti"))
        .ok()?
        .extract()
        .ok()?;
    let key = (code.as_ptr() as Code, at);
    if let Some(number) = with_sites(|s| s.instructions.get(&key).copied()) {
        return Some(number);
    }
    let line = frame
        .getattr(intern!(frame.py(), "f_lineno"))
        .ok()?
        .extract()
        .ok()?;
    let file = file_of(code)?;
    Some(with_sites(|s| s.add(key, file, line)))
}

fn package_folder(py: Python<'_>) -> PyResult<String> {
    let file: String = py.import("ferromix")?.getattr("__file__")?.extract()?;
    Ok(file.trim_end_matches("__init__.py").to_owned())
}

fn file_of(code: &Bound<'_, PyAny>) -> Option<String> {
    let file = code.getattr(intern!(code.py(), "co_filename")).ok()?;
    Some(file.cast_into::<PyString>().ok()?.to_str().ok()?.to_owned())
}

impl Sites {
    /// The number of a line, which is that of an instruction.
    fn add(&mut self, key: (Code, i32), file: String, line: i32) -> u64 {
        let lines = self.numbers.entry(file.clone()).or_default();
        let number = *lines.entry(line).or_insert_with(|| {
            self.rows.push((file, line));
            self.rows.len() as u64
        });
        // Only code that the table holds keeps its address.
        if self.instructions.len() < MOST && self.codes.contains_key(&key.0) {
            self.instructions.insert(key, number);
        }
        number
    }
}
