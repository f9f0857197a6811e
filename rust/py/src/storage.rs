//! The memory pool as Python sees it.

use crate::convert::runtime;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// What the pool holds and how it served.
#[pyfunction]
fn storage_stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let stats = runtime()?.pool().stats();
    let dict = PyDict::new(py);
    dict.set_item("in_use", stats.in_use)?;
    dict.set_item("cached", stats.cached)?;
    dict.set_item("peak", stats.peak)?;
    dict.set_item("peak_reserved", stats.peak_reserved)?;
    dict.set_item("hits", stats.hits)?;
    dict.set_item("misses", stats.misses)?;
    dict.set_item("released", stats.released)?;
    dict.set_item("waste", stats.waste)?;
    Ok(dict)
}

/// Most bytes in use and cached together; None: no limit.
#[pyfunction]
fn storage_limit() -> PyResult<Option<usize>> {
    Ok(runtime()?.pool().stats().limit)
}

/// Limits the bytes in use and cached together; None lifts the limit.
#[pyfunction]
#[pyo3(signature = (limit))]
fn storage_set_limit(limit: Option<usize>) -> PyResult<()> {
    runtime()?.pool().set_limit(limit);
    Ok(())
}

/// Gives cached memory back to the system, but for `keep` bytes.
#[pyfunction]
#[pyo3(signature = (keep))]
fn storage_trim(py: Python<'_>, keep: usize) -> PyResult<()> {
    let pool = runtime()?.pool();
    py.detach(|| pool.trim_to(keep));
    Ok(())
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(storage_stats, m)?)?;
    m.add_function(wrap_pyfunction!(storage_limit, m)?)?;
    m.add_function(wrap_pyfunction!(storage_set_limit, m)?)?;
    m.add_function(wrap_pyfunction!(storage_trim, m)?)
}
