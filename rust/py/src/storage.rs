//! The memory pools as Python sees them, and memory that processes share.

use crate::support::convert::{place, runtime};
use crate::support::errors::to_py;
use crate::support::memory::attached;
use ferromix_base::{DType, Error, Result};
use ferromix_runtime as rt;
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the pool of a device holds and how it served.
#[pyfunction]
fn storage_stats(py: Python<'_>, code: i32, number: u16) -> PyResult<Bound<'_, PyDict>> {
    let (stats, temporary) = runtime()?.storage(place(code, number)?).map_err(to_py)?;
    let dict = PyDict::new(py);
    dict.set_item("in_use", stats.in_use)?;
    dict.set_item("cached", stats.cached)?;
    dict.set_item("temporary", temporary)?;
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
fn storage_limit(code: i32, number: u16) -> PyResult<Option<usize>> {
    let pool = runtime()?.pool_of(place(code, number)?).map_err(to_py)?;
    Ok(pool.stats().limit)
}

/// Limits the bytes in use and cached together; None lifts the limit.
#[pyfunction]
#[pyo3(signature = (limit, code, number))]
fn storage_set_limit(limit: Option<usize>, code: i32, number: u16) -> PyResult<()> {
    let pool = runtime()?.pool_of(place(code, number)?).map_err(to_py)?;
    pool.set_limit(limit);
    Ok(())
}

/// Gives cached memory of a device back to the system, but for `keep` bytes.
#[pyfunction]
fn storage_trim(py: Python<'_>, keep: usize, code: i32, number: u16) -> PyResult<()> {
    let (runtime, context) = (runtime()?, place(code, number)?);
    py.detach(|| runtime.trim(context, keep)).map_err(to_py)
}

/// Gives cached memory of all devices back to the system.
#[pyfunction]
fn storage_release_all(py: Python<'_>) -> PyResult<()> {
    let runtime = runtime()?;
    py.detach(|| runtime.release_all());
    Ok(())
}

/// Takes the memory of an array, and warns, once in a process, if it could not be locked.
pub(crate) fn warn_unless_locked(py: Python<'_>, array: &rt::Array) -> PyResult<()> {
    static WARNED: AtomicBool = AtomicBool::new(false);
    attached(|| array.chunk().address()).map_err(to_py)?;
    let Some(refusal) = array.chunk().runtime().unlocked() else {
        return Ok(());
    };
    // Relaxed: the interpreter lock orders the callers.
    if WARNED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let text = format!(
        "cpu_pinned arrays use ordinary memory: {}",
        refusal.message()
    );
    let text = CString::new(text)?;
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 2)
}

#[cfg(target_os = "linux")]
pub(crate) fn received(fd: i32, dtype: DType) -> PyResult<rt::Array> {
    use std::os::fd::{FromRawFd, OwnedFd};
    if fd < 0 {
        return Err(to_py(Error::value(format!("{fd} is no file descriptor"))));
    }
    // SAFETY: the caller hands over a descriptor that is open and nobody else's.
    let descriptor = unsafe { OwnedFd::from_raw_fd(fd) };
    let make = || -> Result<rt::Array> {
        let block = ferromix_storage::SharedBlock::from_fd(descriptor)?;
        let array = rt::Array::bytes_of(rt::Chunk::received(rt::Runtime::global()?, block));
        array.cast_view(dtype, &[array.len() / dtype.size()])
    };
    make().map_err(to_py)
}

#[cfg(target_os = "linux")]
pub(crate) fn share(array: &rt::Array) -> PyResult<i32> {
    array.chunk().share().map_err(to_py)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn received(_fd: i32, _dtype: DType) -> PyResult<rt::Array> {
    Err(to_py(Error::value("memory of cpu_shared needs Linux")))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn share(_array: &rt::Array) -> PyResult<i32> {
    Err(to_py(Error::value("memory of cpu_shared needs Linux")))
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(storage_stats, m)?)?;
    m.add_function(wrap_pyfunction!(storage_limit, m)?)?;
    m.add_function(wrap_pyfunction!(storage_set_limit, m)?)?;
    m.add_function(wrap_pyfunction!(storage_trim, m)?)?;
    m.add_function(wrap_pyfunction!(storage_release_all, m)?)
}
