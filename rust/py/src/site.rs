//! Where the user pushed an operation: the innermost line outside of the package, as a number
//! that travels with the operation, so that an error on a worker can name the line.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

#[derive(Default)]
struct Sites {
    package: Option<String>,
    numbers: HashMap<String, HashMap<i32, u64>>,
    rows: Vec<(String, i32)>,
}

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
    let mut sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    let sites = sites.get_or_insert_with(Sites::default);
    if sites.package.is_none() {
        sites.package = package_folder(py);
    }
    loop {
        let code = frame.getattr("f_code").ok()?;
        let file = code
            .getattr("co_filename")
            .ok()?
            .cast_into::<PyString>()
            .ok()?;
        let file = file.to_str().ok()?;
        if !sites.package.as_ref().is_some_and(|p| file.starts_with(p)) {
            let line = frame.getattr("f_lineno").ok()?.extract().ok()?;
            return Some(sites.number(file, line));
        }
        frame = frame.getattr("f_back").ok().filter(|f| !f.is_none())?;
    }
}

fn package_folder(py: Python<'_>) -> Option<String> {
    let file: String = py
        .import("ferromix")
        .ok()?
        .getattr("__file__")
        .ok()?
        .extract()
        .ok()?;
    file.strip_suffix("__init__.py").map(str::to_owned)
}

impl Sites {
    fn number(&mut self, file: &str, line: i32) -> u64 {
        if let Some(&n) = self.numbers.get(file).and_then(|lines| lines.get(&line)) {
            return n;
        }
        self.rows.push((file.to_owned(), line));
        let n = self.rows.len() as u64;
        self.numbers
            .entry(file.to_owned())
            .or_default()
            .insert(line, n);
        n
    }
}
