//! Waiting, and the state of the random numbers.

use crate::convert::runtime;
use crate::errors::wait_to_py;
use pyo3::prelude::*;

/// Waits for everything pushed before; raises the first error that no wait has raised yet.
#[pyfunction]
fn wait_all(py: Python<'_>) -> PyResult<()> {
    let engine = runtime()?.engine();
    py.detach(|| engine.wait_for_all()).map_err(wait_to_py)
}

/// Starts the random numbers over.
#[pyfunction]
fn seed(value: u64) -> PyResult<()> {
    runtime()?.random().reseed(value);
    Ok(())
}

/// Threads that kernels share.
#[pyfunction]
fn num_threads() -> PyResult<usize> {
    runtime()?;
    Ok(ferromix_kernels::par::threads())
}

/// Worker threads of the engine.
#[pyfunction]
fn num_workers() -> PyResult<usize> {
    Ok(runtime()?.engine().num_workers())
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(wait_all, m)?)?;
    m.add_function(wrap_pyfunction!(seed, m)?)?;
    m.add_function(wrap_pyfunction!(num_threads, m)?)?;
    m.add_function(wrap_pyfunction!(num_workers, m)?)
}
