//! Other owners' memory as arrays: capsules of DLPack, and buffers.

use super::dlpack::{self, CPU, CUDA, CUDA_HOST, Managed, READ_ONLY, Tensor, VERSION, Versioned};
use super::export;
use super::release::{Lease, Owner, tell_all};
use crate::array::Array;
use crate::support::convert::{dtype, runtime};
use crate::support::errors::to_py;
use ferromix_base::{Context, DType, DeviceType, Error, Result};
use ferromix_runtime as rt;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::CStr;
use std::ptr::NonNull;
use std::slice;

/// Most dimensions of foreign memory, as many as NumPy's.
const MAX_NDIM: usize = 64;

/// What a tensor says, once it is known to make sense.
pub(super) struct Found {
    pub(super) context: Context,
    pub(super) dtype: DType,
    pub(super) address: *mut u8,
    pub(super) shape: Vec<usize>,
    pub(super) strides: Option<Vec<isize>>,
}

fn refuse(what: impl std::fmt::Display) -> Error {
    Error::value(format!("DLPack: {what}"))
}

fn context(device: dlpack::Device) -> Result<Context> {
    let device_type = match device.kind {
        CPU => DeviceType::Cpu,
        CUDA_HOST => DeviceType::CpuPinned,
        CUDA => {
            let number = u16::try_from(device.id);
            let number =
                number.map_err(|_| refuse(format_args!("a GPU of number {}", device.id)))?;
            return Ok(Context::gpu(number));
        }
        other => {
            return Err(refuse(format_args!(
                "the tensor is on a device of type {other}, number {}; this build reaches memory of \
                 the CPU and of NVIDIA's GPUs (types 1, 2 and 3) only: copy it there first",
                device.id
            )));
        }
    };
    Ok(Context {
        device_type,
        device_id: 0,
    })
}

/// # Safety
/// The pointers of the tensor must be null, or point to what DLPack says.
unsafe fn examine(tensor: &Tensor) -> Result<Found> {
    let context = context(tensor.device)?;
    let dtype = tensor.element.dtype()?;
    let ndim = usize::try_from(tensor.ndim)
        .ok()
        .filter(|&ndim| ndim <= MAX_NDIM)
        .ok_or_else(|| refuse(format_args!("a tensor of {} dimensions", tensor.ndim)))?;
    if ndim > 0 && tensor.shape.is_null() {
        return Err(refuse("a tensor without a shape"));
    }
    let numbers = |at: *mut i64| match ndim {
        0 => &[],
        // SAFETY: not null, and so as long as the tensor has dimensions.
        _ => unsafe { slice::from_raw_parts(at, ndim) },
    };
    let shape = numbers(tensor.shape)
        .iter()
        .map(|&extent| usize::try_from(extent))
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(|_| refuse(format_args!("extents {:?}", numbers(tensor.shape))))?;
    let strides = (!tensor.strides.is_null()).then(|| {
        let strides = numbers(tensor.strides).iter();
        strides.map(|&stride| stride as isize).collect()
    });
    let beyond = || refuse(format_args!("an offset of {} bytes", tensor.byte_offset));
    let offset = usize::try_from(tensor.byte_offset).map_err(|_| beyond())?;
    let start = tensor.data as usize;
    start.checked_add(offset).ok_or_else(beyond)?;
    let empty = shape.contains(&0);
    if start == 0 && !empty {
        return Err(refuse(format_args!(
            "a tensor of shape {shape:?} without memory"
        )));
    }
    Ok(Found {
        context,
        dtype,
        address: tensor.data.cast::<u8>().wrapping_add(offset),
        shape,
        strides,
    })
}

/// An array over what a tensor says.
///
/// # Safety
/// As for [`rt::Array::foreign`].
pub(super) unsafe fn over(found: &Found, read_only: bool, lease: Lease) -> Result<rt::Array> {
    let desc = rt::ForeignDesc {
        address: found.address,
        dtype: found.dtype,
        shape: &found.shape,
        strides: found.strides.as_deref(),
        read_only,
    };
    let runtime = rt::Runtime::global()?;
    // SAFETY: the caller's promise.
    let array = unsafe { rt::Array::foreign(runtime, found.context, &desc, Box::new(lease)) }?;
    match found.context.is_host() {
        true => require_bools(&array)?,
        false => runtime.gpus()?.note_arrival(&array)?,
    }
    Ok(array)
}

/// Sees to it that a device can be used.
fn reach(py: Python<'_>, context: Context) -> PyResult<()> {
    match context.is_host() {
        true => Ok(()),
        false => crate::gpu::ready(py, context.device_id),
    }
}

/// A byte that is neither 0 nor 1 would be no value of `bool` at all.
fn require_bools(array: &rt::Array) -> Result<()> {
    if array.dtype() != DType::Bool || array.is_empty() {
        return Ok(());
    }
    let start = array.data()?;
    // SAFETY: inside the array's memory, which its owner lets us read; as a byte, whatever it is.
    let wrong = |offset: isize| Some(unsafe { start.offset(offset).read() }).filter(|&b| b > 1);
    let found = if array.is_contiguous() {
        (0..array.len() as isize).find_map(wrong)
    } else {
        offsets(array.shape(), array.strides()).find_map(wrong)
    };
    match found {
        Some(byte) => Err(refuse(format_args!(
            "a bool array must hold bytes of 0 and 1 only, found {byte}"
        ))),
        None => Ok(()),
    }
}

/// Where the elements are, from the first one.
fn offsets(shape: &[usize], strides: &[isize]) -> impl Iterator<Item = isize> {
    let count = shape.iter().product::<usize>();
    (0..count).map(move |mut number| {
        let axes = shape.iter().zip(strides).rev();
        axes.map(|(&extent, &stride)| {
            let index = number % extent;
            number /= extent;
            index as isize * stride
        })
        .sum()
    })
}

fn take(capsule: &Bound<'_, PyAny>, used: &'static CStr) -> PyResult<()> {
    // SAFETY: attached, and it is a capsule; the name lives for ever.
    let failed = unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) };
    match failed {
        0 => Ok(()),
        _ => Err(PyErr::fetch(capsule.py())),
    }
}

/// What a capsule of this name points to; None for a capsule of another name, or something else.
fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> Option<NonNull<T>> {
    // SAFETY: attached; any object may be asked about.
    if unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) } == 0 {
        return None;
    }
    // SAFETY: a valid capsule of that name.
    NonNull::new(unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()) }.cast())
}

/// The array over the tensor in a capsule, which is used up by this.
#[pyfunction]
fn from_dlpack(capsule: &Bound<'_, PyAny>) -> PyResult<Array> {
    runtime()?;
    tell_all(capsule.py());
    if let Some(tensor) = pointer::<Versioned>(capsule, dlpack::VERSIONED_NAME) {
        return versioned(capsule, tensor);
    }
    let Some(tensor) = pointer::<Managed>(capsule, dlpack::NAME) else {
        return Err(no_tensor(capsule));
    };
    // SAFETY: who made a capsule of this name has put such a tensor into it, and keeps it until its
    // deleter is called.
    let managed = unsafe { tensor.as_ref() };
    if let Some(own) = export::own(managed) {
        take(capsule, dlpack::USED)?;
        drop(Lease::new(Owner::Dlpack(tensor)));
        tell_all(capsule.py());
        return Ok(Array::from(own));
    }
    // SAFETY: as above.
    let found = unsafe { examine(&managed.tensor) }.map_err(to_py)?;
    reach(capsule.py(), found.context)?;
    take(capsule, dlpack::USED)?;
    let lease = Lease::new(Owner::Dlpack(tensor));
    // SAFETY: DLPack's promise: the memory is there until the deleter is called.
    unsafe { over(&found, false, lease) }
        .map(Array::from)
        .map_err(to_py)
}

fn versioned(capsule: &Bound<'_, PyAny>, tensor: NonNull<Versioned>) -> PyResult<Array> {
    // SAFETY: as in `from_dlpack`; the version stands first in every version.
    let version = unsafe { tensor.as_ref() }.version;
    if version.major != VERSION.major {
        return Err(PyBufferError::new_err(format!(
            "DLPack: a tensor of version {}.{}; this build reads version {}",
            version.major, version.minor, VERSION.major
        )));
    }
    // SAFETY: as above, of a version whose structure is known.
    let managed = unsafe { tensor.as_ref() };
    if let Some(own) = export::own_versioned(managed) {
        take(capsule, dlpack::VERSIONED_USED)?;
        drop(Lease::new(Owner::Versioned(tensor)));
        tell_all(capsule.py());
        return Ok(Array::from(own));
    }
    // SAFETY: as above.
    let found = unsafe { examine(&managed.tensor) }.map_err(to_py)?;
    reach(capsule.py(), found.context)?;
    take(capsule, dlpack::VERSIONED_USED)?;
    let read_only = managed.flags & READ_ONLY != 0;
    let lease = Lease::new(Owner::Versioned(tensor));
    // SAFETY: as in `from_dlpack`.
    unsafe { over(&found, read_only, lease) }
        .map(Array::from)
        .map_err(to_py)
}

fn no_tensor(found: &Bound<'_, PyAny>) -> PyErr {
    let used = [dlpack::USED, dlpack::VERSIONED_USED];
    if used.iter().any(|name| pointer::<()>(found, name).is_some()) {
        return to_py(refuse(
            "the capsule was used before; each can be taken once, make another one",
        ));
    }
    PyTypeError::new_err(format!(
        "from_dlpack: expected a capsule of DLPack, or an object with __dlpack__, got {}",
        found.get_type()
    ))
}

/// The array over the memory of an object with the buffer protocol, as elements of a type that is as
/// large as the buffer's.
#[pyfunction]
fn from_buffer(object: &Bound<'_, PyAny>, dtype: &str) -> PyResult<Array> {
    runtime()?;
    tell_all(object.py());
    let dtype = self::dtype(dtype)?;
    let buffer = PyUntypedBuffer::get(object)?;
    let size = dtype.size();
    let ragged = buffer
        .strides()
        .iter()
        .any(|stride| stride % size as isize != 0);
    if buffer.item_size() != size || buffer.suboffsets().is_some() || ragged {
        return Err(PyBufferError::new_err(format!(
            "elements of {} bytes, {:?} bytes apart, are no array of {dtype} in place; copy them",
            buffer.item_size(),
            buffer.strides()
        )));
    }
    let strides = buffer.strides().iter().map(|stride| stride / size as isize);
    let found = Found {
        context: Context::cpu(),
        dtype,
        address: buffer.buf_ptr().cast(),
        shape: buffer.shape().to_vec(),
        strides: Some(strides.collect()),
    };
    let read_only = buffer.readonly();
    let lease = Lease::new(Owner::Buffer(buffer));
    // SAFETY: the buffer protocol's promise: the memory is there until the buffer is released.
    unsafe { over(&found, read_only, lease) }
        .map(Array::from)
        .map_err(to_py)
}

pub(super) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(from_dlpack, m)?)?;
    m.add_function(wrap_pyfunction!(from_buffer, m)?)
}
