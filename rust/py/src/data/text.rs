//! CSV and LibSVM files, parsed without the interpreter.

use crate::support::convert::dtype;
use crate::support::errors::to_py;
use ferromix_base::Result;
use ferromix_io as io;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A place as numbers: offset and line.
type Numbers = (u64, u64);

fn numbers(place: io::Place) -> Numbers {
    (place.offset, place.line)
}

fn place((offset, line): Numbers) -> io::Place {
    io::Place { offset, line }
}

fn lock<T>(reader: &Mutex<T>) -> MutexGuard<'_, T> {
    reader.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Without the interpreter, so that a thread that has the lock can finish.
fn locked<T: Send, R: Send>(
    py: Python<'_>,
    reader: &Mutex<T>,
    act: impl FnOnce(&mut T) -> R + Send,
) -> R {
    py.detach(|| act(&mut lock(reader)))
}

/// Reads rows of numbers from CSV files.
#[pyclass(frozen, module = "ferromix._core")]
struct CsvReader(Mutex<io::CsvReader>);

#[pymethods]
impl CsvReader {
    #[new]
    fn new(py: Python<'_>, paths: Vec<PathBuf>, width: usize, kind: &str) -> PyResult<Self> {
        let kind = dtype(kind)?;
        let reader = py.detach(|| io::CsvReader::open(paths, width, kind));
        Ok(CsvReader(Mutex::new(reader.map_err(to_py)?)))
    }

    /// The bytes of up to so many rows.
    fn read<'py>(&self, py: Python<'py>, rows: usize) -> PyResult<Bound<'py, PyBytes>> {
        let read = |reader: &mut io::CsvReader| {
            let mut bytes = Vec::new();
            reader.read(rows, &mut bytes).map(|_| bytes)
        };
        let bytes: Result<Vec<u8>> = locked(py, &self.0, read);
        Ok(PyBytes::new(py, &bytes.map_err(to_py)?))
    }

    /// Where the next row is.
    fn place(&self, py: Python<'_>) -> Numbers {
        locked(py, &self.0, |reader| numbers(reader.place()))
    }

    /// Goes to such a place.
    fn seek(&self, py: Python<'_>, to: Numbers) {
        locked(py, &self.0, |reader| reader.seek(place(to)));
    }

    /// Goes to the first row.
    fn rewind(&self, py: Python<'_>) {
        locked(py, &self.0, io::CsvReader::rewind);
    }
}

/// Bytes of labels, indptr, indices and values.
type Rows<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
);

/// Reads rows from LibSVM files.
#[pyclass(frozen, module = "ferromix._core")]
struct LibsvmReader(Mutex<io::LibsvmReader>);

#[pymethods]
impl LibsvmReader {
    #[new]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        width: usize,
        parts: u64,
        index: u64,
    ) -> PyResult<Self> {
        let reader = py.detach(|| io::LibsvmReader::open(paths, width, parts, index));
        Ok(LibsvmReader(Mutex::new(reader.map_err(to_py)?)))
    }

    /// Up to so many rows.
    fn read<'py>(&self, py: Python<'py>, rows: usize) -> PyResult<Rows<'py>> {
        let found = locked(py, &self.0, |reader| reader.read(rows)).map_err(to_py)?;
        let floats = |values: &[f32]| bytes(py, values.iter().map(|value| value.to_ne_bytes()));
        let integers = |values: &[i64]| bytes(py, values.iter().map(|value| value.to_ne_bytes()));
        Ok((
            floats(&found.labels),
            integers(&found.indptr),
            integers(&found.indices),
            floats(&found.values),
        ))
    }

    /// Where the next row is.
    fn place(&self, py: Python<'_>) -> Numbers {
        locked(py, &self.0, |reader| numbers(reader.place()))
    }

    /// Goes to such a place.
    fn seek(&self, py: Python<'_>, to: Numbers) {
        locked(py, &self.0, |reader| reader.seek(place(to)));
    }

    /// Goes to the first row.
    fn rewind(&self, py: Python<'_>) {
        locked(py, &self.0, io::LibsvmReader::rewind);
    }
}

fn bytes<'py, const N: usize>(
    py: Python<'py>,
    values: impl Iterator<Item = [u8; N]>,
) -> Bound<'py, PyBytes> {
    let plain: Vec<u8> = values.flatten().collect();
    PyBytes::new(py, &plain)
}

pub(super) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<CsvReader>()?;
    m.add_class::<LibsvmReader>()
}
