//! Arrays as tensors of DLPack, in capsules. The tensor keeps the array's memory until its deleter is
//! called, which any thread may do, with or without the interpreter.

use super::dlpack::{
    self, CPU, CUDA, Device, Element, IS_COPIED, Managed, READ_ONLY, Tensor, VERSION, Versioned,
};
use super::{gpu, settled};
use crate::array::Array;
use ferromix_runtime as rt;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_void};

/// What a tensor outside refers to.
struct Lent<T> {
    managed: T,
    array: rt::Array,
    _shape: Vec<i64>,
    _strides: Vec<i64>,
}

fn tensor(array: &rt::Array, data: *mut u8) -> (Tensor, Vec<i64>, Vec<i64>) {
    let mut shape: Vec<i64> = array.shape().iter().map(|&extent| extent as i64).collect();
    let mut strides: Vec<i64> = array.strides().iter().map(|&s| s as i64).collect();
    let tensor = Tensor {
        data: data.cast(),
        device: device_of(array),
        ndim: shape.len() as i32,
        element: Element::of(array.dtype()),
        shape: shape.as_mut_ptr(),
        strides: strides.as_mut_ptr(),
        byte_offset: 0,
    };
    (tensor, shape, strides)
}

/// Whatever its number here, memory of the CPU has 0 there.
fn device_of(array: &rt::Array) -> Device {
    let context = array.chunk().context();
    match context.is_host() {
        true => Device { kind: CPU, id: 0 },
        false => Device {
            kind: CUDA,
            id: context.device_id.into(),
        },
    }
}

/// Puts it where it stays, as its own context.
fn lend<T>(
    array: &rt::Array,
    data: *mut u8,
    make: impl FnOnce(Tensor) -> T,
    context: impl FnOnce(&mut T) -> &mut *mut c_void,
) -> *mut Lent<T> {
    let (tensor, shape, strides) = tensor(array, data);
    // The vectors' elements stay where they are when the vectors move.
    let lent = Box::into_raw(Box::new(Lent {
        managed: make(tensor),
        array: array.clone(),
        _shape: shape,
        _strides: strides,
    }));
    // SAFETY: made just now.
    *context(unsafe { &mut (*lent).managed }) = lent.cast();
    lent
}

unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: DLPack's promise: called once, for a tensor that `to_dlpack` made.
    drop(unsafe { Box::from_raw((*managed).context.cast::<Lent<Managed>>()) });
}

unsafe extern "C" fn delete_versioned(managed: *mut Versioned) {
    // SAFETY: as above.
    drop(unsafe { Box::from_raw((*managed).context.cast::<Lent<Versioned>>()) });
}

/// The array of a tensor, if this made it; so its users go on to be ordered.
pub(super) fn own(managed: &Managed) -> Option<rt::Array> {
    let ours =
        managed.deleter.map(|deleter| deleter as usize) == Some(delete as *const () as usize);
    // SAFETY: only `to_dlpack` makes tensors with this deleter.
    ours.then(|| unsafe { (*managed.context.cast::<Lent<Managed>>()).array.clone() })
}

/// The same for a tensor with a version.
pub(super) fn own_versioned(managed: &Versioned) -> Option<rt::Array> {
    let deleter = managed.deleter.map(|deleter| deleter as usize);
    let ours = deleter == Some(delete_versioned as *const () as usize);
    // SAFETY: as above.
    ours.then(|| unsafe { (*managed.context.cast::<Lent<Versioned>>()).array.clone() })
}

/// The end of a capsule: that of its tensor, unless somebody took that.
unsafe extern "C" fn end(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls it with a capsule that `capsule` made, attached.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, dlpack::NAME.as_ptr()) != 0 {
            delete(ffi::PyCapsule_GetPointer(capsule, dlpack::NAME.as_ptr()).cast());
        } else if ffi::PyCapsule_IsValid(capsule, dlpack::VERSIONED_NAME.as_ptr()) != 0 {
            let name = dlpack::VERSIONED_NAME.as_ptr();
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, name).cast());
        }
    }
}

fn capsule<'py>(
    py: Python<'py>,
    tensor: *mut c_void,
    name: &'static CStr,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: attached; the name lives for ever, and the result is a new reference or null.
    unsafe {
        let made = ffi::PyCapsule_New(tensor, name.as_ptr(), Some(end));
        Bound::from_owned_ptr_or_err(py, made)
    }
}

/// A capsule with the array as a tensor, after a wait for what is in flight: writes, and reads too
/// unless the array is only for `reading`. On a GPU the wait is the `stream`'s, where one is given.
#[pyfunction]
#[pyo3(signature = (array, versioned, writing, copied, stream=None))]
fn to_dlpack<'py>(
    py: Python<'py>,
    array: &Array,
    versioned: bool,
    writing: bool,
    copied: bool,
    stream: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let read_only = array.0.chunk().is_read_only();
    if read_only && !versioned {
        return Err(PyBufferError::new_err(
            "the array is read-only, which a tensor of DLPack from before version 1.0 cannot say; \
             ask for max_version=(1, 0), or copy the array first",
        ));
    }
    let data = match array.0.chunk().context().is_host() {
        true => settled(py, array, writing && !read_only)?,
        false => gpu::lend(py, array, stream)?.0,
    };
    if !versioned {
        let make = |tensor| Managed {
            tensor,
            context: std::ptr::null_mut(),
            deleter: Some(delete),
        };
        let lent = lend(&array.0, data, make, |managed| &mut managed.context);
        // SAFETY: made just now; an address inside it.
        let managed = unsafe { &raw mut (*lent).managed };
        return capsule(py, managed.cast(), dlpack::NAME)
            // SAFETY: nobody else has it.
            .inspect_err(|_| unsafe { delete(managed) });
    }
    let flags = (u64::from(read_only) * READ_ONLY) | (u64::from(copied) * IS_COPIED);
    let make = |tensor| Versioned {
        version: VERSION,
        context: std::ptr::null_mut(),
        deleter: Some(delete_versioned),
        flags,
        tensor,
    };
    let lent = lend(&array.0, data, make, |managed| &mut managed.context);
    // SAFETY: as above.
    let managed = unsafe { &raw mut (*lent).managed };
    capsule(py, managed.cast(), dlpack::VERSIONED_NAME)
        // SAFETY: as above.
        .inspect_err(|_| unsafe { delete_versioned(managed) })
}

pub(super) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(to_dlpack, m)?)
}
