//! Sums of memory that no array of the engine owns, such as what a network brought.

use crate::support::errors::{misuse, to_py};
use ferromix_base::{DType, Shape, contiguous_strides};
use ferromix_kernels::{Attrs, Call, Desc, Req, View, find};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

/// Overwrites `target` by the sums of two buffers of elements of `dtype`; `target` may be `lhs`.
///
/// Nobody else may write any of the three meanwhile, which runs without the interpreter.
#[pyfunction]
fn add_buffers(
    py: Python<'_>,
    dtype: &str,
    target: PyBuffer<u8>,
    lhs: PyBuffer<u8>,
    rhs: PyBuffer<u8>,
) -> PyResult<()> {
    let dtype = DType::from_name(dtype).map_err(to_py)?;
    let shape: Shape = [target.len_bytes() / dtype.size()].into_iter().collect();
    let view = |buffer: &PyBuffer<u8>| {
        let address = buffer.buf_ptr().cast::<u8>();
        let whole = buffer.len_bytes() == shape[0] * dtype.size();
        if !whole || !buffer.is_c_contiguous() || address.addr() % dtype.size() != 0 {
            return Err(misuse(
                "add_buffers: takes contiguous, aligned buffers of one size",
            ));
        }
        // SAFETY: contiguous memory of this many elements, aligned just now, which the buffers keep
        // until this function returns; every bit pattern is an element. That nobody else writes it
        // is what the caller vouches for.
        Ok(unsafe { View::from_raw(address, dtype, shape.clone(), contiguous_strides(&shape)) })
    };
    if target.readonly() {
        return Err(misuse("add_buffers: the target is read-only"));
    }
    let inputs = [view(&lhs)?, view(&rhs)?];
    let mut outputs = [view(&target)?];
    let row = find("broadcast_add").ok_or_else(|| misuse("add_buffers: no kernel adds"))?;
    let desc = Desc::new(&shape, dtype);
    let described = [desc.clone(), desc.clone()];
    let kernel = (row.prepare)(&Attrs::default(), &described, &[desc]).map_err(to_py)?;
    py.detach(|| {
        kernel.run(&mut Call {
            inputs: &inputs,
            outputs: &mut outputs,
            reqs: &[Req::Inplace],
            workspace: &mut [],
            scalars: &[],
            random: None,
            kept: None,
        })
    })
    .map_err(to_py)
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(add_buffers, m)?)
}
