//! Files of tensors: idx and `.params`.

use crate::support::convert::dtype;
use crate::support::errors::to_py;
use ferromix_base::{DType, StorageType};
use ferromix_io as io;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use std::path::PathBuf;

/// Shape, element type and bytes of an idx file, gzipped or not.
#[pyfunction]
fn read_idx(py: Python<'_>, path: PathBuf) -> PyResult<Part<'_>> {
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

/// Extents, element type and bytes in C order.
type Part<'py> = (Vec<usize>, &'static str, Bound<'py, PyBytes>);
/// Storage type, extents of the whole, and index arrays.
type SparsePart<'py> = (&'static str, Vec<usize>, Vec<Part<'py>>);
/// A tensor, or the stored values of a sparse one.
type Row<'py> = (
    Vec<usize>,
    &'static str,
    Bound<'py, PyBytes>,
    Option<SparsePart<'py>>,
);

fn part<'py>(py: Python<'py>, tensor: &io::Tensor) -> Part<'py> {
    let data = PyBytes::new(py, &tensor.data);
    (tensor.shape.to_vec(), tensor.dtype.name(), data)
}

fn row<'py>(py: Python<'py>, tensor: &io::Tensor) -> Row<'py> {
    let sparse = tensor.sparse.as_ref().map(|s| {
        let indices = s.indices.iter().map(|t| part(py, t)).collect();
        (s.storage.name(), s.shape.to_vec(), indices)
    });
    let (shape, dtype, data) = part(py, tensor);
    (shape, dtype, data, sparse)
}

/// The names and tensors of a `.params` file.
#[pyfunction]
fn read_params(py: Python<'_>, path: PathBuf) -> PyResult<(Vec<String>, Bound<'_, PyList>)> {
    let read = py.detach(|| io::read_params(&path)).map_err(to_py)?;
    rows(py, read)
}

/// The names and tensors of the bytes of a `.params` file, which errors call `name`.
#[pyfunction]
fn read_params_bytes<'py>(
    py: Python<'py>,
    name: &str,
    data: &[u8],
) -> PyResult<(Vec<String>, Bound<'py, PyList>)> {
    let read = py
        .detach(|| io::read_params_bytes(name, data))
        .map_err(to_py)?;
    rows(py, read)
}

fn rows(py: Python<'_>, read: io::Params) -> PyResult<(Vec<String>, Bound<'_, PyList>)> {
    let list = PyList::empty(py);
    // One by one, so that the elements are never there twice as a whole.
    for tensor in read.tensors {
        list.append(row(py, &tensor))?;
    }
    Ok((read.names, list))
}

/// What Python gives for a part: element type, extents, bytes in C order.
type Given = (String, Vec<usize>, PyBuffer<u8>);
/// Storage type, extents of the whole, index arrays.
type GivenSparse = (String, Vec<usize>, Vec<Given>);

/// Elements of a part that were copied out of Python's memory.
struct Copied(DType, Vec<usize>, Vec<u8>);

impl Copied {
    fn new(py: Python<'_>, (kind, shape, buffer): &Given) -> PyResult<Self> {
        Ok(Copied(dtype(kind)?, shape.clone(), buffer.to_vec(py)?))
    }

    fn part(&self) -> io::Part<'_> {
        (self.0, &self.1, &self.2)
    }
}

struct CopiedRow {
    name: String,
    values: Copied,
    sparse: Option<(StorageType, Vec<usize>, Vec<Copied>)>,
}

impl CopiedRow {
    fn new(
        py: Python<'_>,
        (name, values, sparse): (String, Given, Option<GivenSparse>),
    ) -> PyResult<Self> {
        let copied = |(stype, shape, indices): GivenSparse| {
            let unknown = || PyValueError::new_err(format!("unknown storage type '{stype}'"));
            let storage = StorageType::from_name(&stype).ok_or_else(unknown)?;
            let indices = indices.iter().map(|given| Copied::new(py, given));
            Ok::<_, PyErr>((storage, shape, indices.collect::<PyResult<Vec<_>>>()?))
        };
        Ok(CopiedRow {
            name,
            values: Copied::new(py, &values)?,
            sparse: sparse.map(copied).transpose()?,
        })
    }

    fn entry(&self) -> io::Entry<'_> {
        let sparse = self
            .sparse
            .as_ref()
            .map(|(storage, shape, indices)| io::SparseEntry {
                storage: *storage,
                shape,
                indices: indices.iter().map(Copied::part).collect(),
            });
        io::Entry {
            name: &self.name,
            values: self.values.part(),
            sparse,
        }
    }
}

/// Writes a `.params` file from tensors as (name, (element type, shape, bytes), None); for a sparse
/// one, the last is (storage type, shape, index arrays as the second).
#[pyfunction]
fn write_params(
    py: Python<'_>,
    path: PathBuf,
    rows: Vec<(String, Given, Option<GivenSparse>)>,
    named: bool,
) -> PyResult<()> {
    let rows = rows.into_iter().map(|row| CopiedRow::new(py, row));
    let rows = rows.collect::<PyResult<Vec<_>>>()?;
    let entries: Vec<_> = rows.iter().map(CopiedRow::entry).collect();
    py.detach(|| io::write_params(&path, &entries, named))
        .map_err(to_py)
}

type Texts = Vec<(String, String)>;

/// Names, tensors and metadata of a safetensors file.
#[pyfunction]
fn read_safetensors<'py>(
    py: Python<'py>,
    path: PathBuf,
) -> PyResult<(Vec<String>, Bound<'py, PyList>, Texts)> {
    let read = py.detach(|| io::read_safetensors(&path)).map_err(to_py)?;
    let (names, tensors) = read.tensors.into_iter().unzip();
    let (names, list) = rows(py, io::Params { names, tensors })?;
    Ok((names, list, read.metadata))
}

/// Writes a safetensors file from tensors as (name, (element type, shape, bytes)).
#[pyfunction]
fn write_safetensors(
    py: Python<'_>,
    path: PathBuf,
    rows: Vec<(String, Given)>,
    metadata: Texts,
) -> PyResult<()> {
    let copied = rows
        .iter()
        .map(|(name, given)| Ok((name, Copied::new(py, given)?)));
    let copied = copied.collect::<PyResult<Vec<_>>>()?;
    let tensors: Vec<_> = copied
        .iter()
        .map(|(name, c)| (name.as_str(), c.part()))
        .collect();
    let metadata = metadata
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()));
    let metadata: Vec<_> = metadata.collect();
    py.detach(|| io::write_safetensors(&path, &tensors, &metadata))
        .map_err(to_py)
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(read_idx, m)?)?;
    m.add_function(wrap_pyfunction!(write_idx, m)?)?;
    m.add_function(wrap_pyfunction!(read_params, m)?)?;
    m.add_function(wrap_pyfunction!(read_params_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(read_safetensors, m)?)?;
    m.add_function(wrap_pyfunction!(write_safetensors, m)?)?;
    m.add_function(wrap_pyfunction!(write_params, m)?)
}
