//! Files of tensors: idx and `.params`.

use crate::convert::dtype;
use crate::errors::to_py;
use ferromix_base::DType;
use ferromix_io as io;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use std::path::PathBuf;

type Tensor<'py> = (Vec<usize>, &'static str, Bound<'py, PyBytes>);

/// Shape, element type and bytes of an idx file, gzipped or not.
#[pyfunction]
fn read_idx(py: Python<'_>, path: PathBuf) -> PyResult<Tensor<'_>> {
    let read = py.detach(|| io::read_idx(&path)).map_err(to_py)?;
    Ok((
        read.shape.to_vec(),
        read.dtype.name(),
        PyBytes::new(py, &read.data),
    ))
}

/// Writes an idx file of unsigned bytes.
#[pyfunction]
fn write_idx(py: Python<'_>, path: PathBuf, shape: Vec<usize>, data: &[u8]) -> PyResult<()> {
    let array = io::IdxArray {
        dtype: DType::U8,
        shape: shape.into(),
        data: data.to_vec(),
    };
    py.detach(|| io::write_idx(&path, &array)).map_err(to_py)
}

/// The names and tensors of a `.params` file.
#[pyfunction]
fn read_params(py: Python<'_>, path: PathBuf) -> PyResult<(Vec<String>, Bound<'_, PyList>)> {
    let read = py.detach(|| io::read_params(&path)).map_err(to_py)?;
    let rows = read
        .tensors
        .iter()
        .map(|t| (t.shape.to_vec(), t.dtype.name(), PyBytes::new(py, &t.data)));
    Ok((read.names, PyList::new(py, rows.collect::<Vec<_>>())?))
}

/// Writes a `.params` file from tensors as (name, element type, shape, bytes).
#[pyfunction]
fn write_params(
    py: Python<'_>,
    path: PathBuf,
    rows: Vec<(String, String, Vec<usize>, PyBuffer<u8>)>,
    named: bool,
) -> PyResult<()> {
    let mut data = Vec::with_capacity(rows.len());
    for (name, kind, shape, buffer) in &rows {
        data.push((
            name.as_str(),
            dtype(kind)?,
            shape.as_slice(),
            buffer.to_vec(py)?,
        ));
    }
    let rows: Vec<_> = data
        .iter()
        .map(|(n, d, s, b)| (*n, *d, *s, b.as_slice()))
        .collect();
    py.detach(|| io::write_params(&path, &rows, named))
        .map_err(to_py)
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(read_idx, m)?)?;
    m.add_function(wrap_pyfunction!(write_idx, m)?)?;
    m.add_function(wrap_pyfunction!(read_params, m)?)?;
    m.add_function(wrap_pyfunction!(write_params, m)?)
}
