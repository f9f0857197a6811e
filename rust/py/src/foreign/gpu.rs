//! Memory of GPUs that crosses the border: streams wait for each other, and the host for nobody.

use super::import::{Found, over};
use super::release::{Lease, Owner, tell_all};
use crate::array::Array;
use crate::support::convert::{dtype, runtime};
use crate::support::errors::to_py;
use crate::support::memory::attached;
use crate::support::wait::wait;
use ferromix_base::Context;
use ferromix_runtime::{self as rt, held};
use pyo3::prelude::*;

/// Waits until what was pushed before is enqueued, has `stream` wait for that on the device, and gives the
/// address and the stream; without one, a stream of ours that does.
pub(super) fn lend(
    py: Python<'_>,
    array: &Array,
    stream: Option<usize>,
) -> PyResult<(*mut u8, usize)> {
    let chunk = array.0.chunk();
    let address = attached(|| array.0.address()).map_err(to_py)?;
    if !held::may_read(chunk.runtime(), chunk.var()) {
        chunk.runtime().check_usable().map_err(to_py)?;
        wait(py, |policy| {
            let waited = chunk.runtime().wait_to_write(chunk.var(), policy);
            waited.map_err(rt::ReadError::from)
        })?;
    }
    if !chunk.is_read_only() {
        chunk.note_write();
    }
    let gpus = runtime()?.gpus().map_err(to_py)?;
    let stream = gpus.lend(&array.0, stream).map_err(to_py)?;
    Ok((address, stream))
}

/// The address of an array on a GPU, and a stream on which everything that uses it is enqueued.
#[pyfunction]
fn lend_on_gpu(py: Python<'_>, array: &Array) -> PyResult<(usize, usize)> {
    lend(py, array, None).map(|(address, stream)| (address.addr(), stream))
}

/// The stream of a GPU on which memory of others arrives: they have it wait for them.
#[pyfunction]
fn gpu_arrivals(py: Python<'_>, number: u16) -> PyResult<usize> {
    crate::gpu::ready(py, number)?;
    let gpus = runtime()?.gpus().map_err(to_py)?;
    gpus.arrivals(number).map_err(to_py)
}

/// The number of the GPU that an address is on, after a wait for what is enqueued on `stream`.
#[pyfunction]
#[pyo3(signature = (address, stream))]
fn gpu_of(py: Python<'_>, address: usize, stream: Option<usize>) -> PyResult<u16> {
    crate::gpu::ready(py, 0)?;
    let gpus = runtime()?.gpus().map_err(to_py)?;
    py.detach(|| gpus.device_of(address, stream)).map_err(to_py)
}

/// The array over memory of `owner` on a GPU, at `address`; strides are in elements. Who wrote there must
/// be done, or the stream of [`gpu_arrivals`] wait for it.
#[pyfunction]
fn from_gpu(
    owner: &Bound<'_, PyAny>,
    number: u16,
    address: usize,
    shape: Vec<usize>,
    strides: Option<Vec<isize>>,
    dtype: &str,
    read_only: bool,
) -> PyResult<Array> {
    crate::gpu::ready(owner.py(), number)?;
    tell_all(owner.py());
    let found = Found {
        context: Context::gpu(number),
        dtype: self::dtype(dtype)?,
        address: std::ptr::with_exposed_provenance_mut(address),
        shape,
        strides,
    };
    let lease = Lease::new(Owner::Object(owner.clone().unbind()));
    // SAFETY: the promise of `__cuda_array_interface__`: the memory is there as long as its owner, which
    // the lease keeps.
    unsafe { over(&found, read_only, lease) }
        .map(Array::from)
        .map_err(to_py)
}

pub(super) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(lend_on_gpu, m)?)?;
    m.add_function(wrap_pyfunction!(gpu_arrivals, m)?)?;
    m.add_function(wrap_pyfunction!(gpu_of, m)?)?;
    m.add_function(wrap_pyfunction!(from_gpu, m)?)
}
