//! Arrays with Python's buffer protocol: `memoryview(a)`, and NumPy's arrays over the same memory.

use super::settled;
use crate::array::Array;
use ferromix_base::DType;
use ferromix_runtime as rt;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_int};
use std::ptr;

/// What a buffer outside refers to.
struct Lent {
    _array: rt::Array,
    shape: Vec<isize>,
    strides: Vec<isize>,
}

/// The type as the module `struct` names it; bfloat16 has no name there.
fn format(dtype: DType) -> Option<&'static CStr> {
    Some(match dtype {
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::F16 => c"e",
        DType::U8 => c"B",
        DType::I8 => c"b",
        DType::I32 => c"i",
        DType::I64 => c"q",
        DType::Bool => c"?",
        DType::BF16 => return None,
    })
}

/// Fills `view` with the array, for `owner`, after a wait for what is in flight. Read-only unless
/// asked for to be written.
///
/// # Safety
/// `view` must be null, or one that Python asks to be filled.
pub(crate) unsafe fn fill(
    owner: &Bound<'_, PyAny>,
    array: &Array,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    let refuse = |what: &str| Err(PyBufferError::new_err(what.to_owned()));
    if view.is_null() {
        return refuse("there is no view to be filled");
    }
    // SAFETY: not null; errors must leave it without an object.
    unsafe { (*view).obj = ptr::null_mut() };
    let Some(format) = format(array.0.dtype()) else {
        return refuse("the buffer protocol has no type bfloat16; convert the array by astype");
    };
    let asked = |flag: c_int| flags & flag == flag;
    let size = array.0.dtype().size() as isize;
    let rows = is_packed(array.0.shape().iter().zip(array.0.strides()).rev());
    let columns = is_packed(array.0.shape().iter().zip(array.0.strides()));
    let fits = match flags {
        _ if asked(ffi::PyBUF_C_CONTIGUOUS) => rows,
        _ if asked(ffi::PyBUF_F_CONTIGUOUS) => columns,
        _ if asked(ffi::PyBUF_ANY_CONTIGUOUS) => rows || columns,
        _ => rows || asked(ffi::PyBUF_STRIDES),
    };
    if !fits {
        return refuse("the elements of this view do not lie as was asked for; copy it");
    }
    let writing = asked(ffi::PyBUF_WRITABLE);
    let data = settled(owner.py(), array, writing)?;
    let lent = Box::into_raw(Box::new(Lent {
        _array: array.0.clone(),
        shape: array
            .0
            .shape()
            .iter()
            .map(|&extent| extent as isize)
            .collect(),
        strides: array.0.strides().iter().map(|s| s * size).collect(),
    }));
    // SAFETY: `view` is to be filled; what it points to lives until `release`.
    unsafe {
        let (view, lent) = (&mut *view, &mut *lent);
        view.buf = data.cast();
        view.len = array.0.len() as isize * size;
        view.itemsize = size;
        view.readonly = c_int::from(!writing);
        view.ndim = lent.shape.len() as c_int;
        view.format = match asked(ffi::PyBUF_FORMAT) {
            true => format.as_ptr().cast_mut(),
            false => ptr::null_mut(),
        };
        view.shape = match asked(ffi::PyBUF_ND) {
            true => lent.shape.as_mut_ptr(),
            false => ptr::null_mut(),
        };
        view.strides = match asked(ffi::PyBUF_STRIDES) {
            true => lent.strides.as_mut_ptr(),
            false => ptr::null_mut(),
        };
        view.suboffsets = ptr::null_mut();
        view.internal = ptr::from_mut(lent).cast();
        view.obj = owner.clone().into_ptr();
    }
    Ok(())
}

/// Whether elements follow each other without gaps, the axes being given from the fastest on.
fn is_packed<'a>(axes: impl Iterator<Item = (&'a usize, &'a isize)> + Clone) -> bool {
    if axes.clone().any(|(&extent, _)| extent == 0) {
        return true;
    }
    let mut step = 1_isize;
    axes.into_iter().all(|(&extent, &stride)| {
        let fits = extent == 1 || stride == step;
        step = step.saturating_mul(extent as isize);
        fits
    })
}

/// Ends a view that [`fill`] filled.
///
/// # Safety
/// `view` must be one that [`fill`] filled, and be released once.
pub(crate) unsafe fn release(view: *mut ffi::Py_buffer) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw((*view).internal.cast::<Lent>()) });
}

/// The address of the first element, after a wait for writes in flight.
#[pyfunction]
fn address_of(py: Python<'_>, array: &Array) -> PyResult<usize> {
    Ok(settled(py, array, false)? as usize)
}

pub(super) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(address_of, m)?)
}
