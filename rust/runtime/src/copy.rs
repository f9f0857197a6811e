//! Copies between arrays, and between arrays and the caller's memory.

use crate::gpu::{self, DeviceFailure, Origin, Place};
use crate::scratch::{Scratch, padded};
use crate::{Array, Forever, Runtime, fork, held};
use ferromix_base::{Context, DType, Error, Result};
use ferromix_engine::{Device, FnProperty, Name, OpSpec, WaitError, WaitPolicy};
use ferromix_kernels::{self as kernels, View};
use std::sync::Arc;

/// Elements of a copy that is not worth another thread.
const SMALL_COPY: usize = 4096;

/// Bytes that the thread which makes an array clears itself.
const SMALL_ZEROS: usize = 1 << 12;

fn check_bytes(array: &Array, bytes: usize) -> Result<()> {
    let expected = array.len() * array.dtype().size();
    if bytes == expected {
        return Ok(());
    }
    Err(Error::value(format!(
        "an array of {} {:?} holds {expected} bytes, the buffer {bytes}",
        array.dtype(),
        array.shape()
    )))
}

/// Pushes `dst[...] = src`: casts, and broadcasts `src` to `dst`'s shape. The two may overlap.
///
/// # Errors
/// Shapes that do not broadcast, memory that cannot be had, or an engine that was shut down.
pub fn copy(src: &Array, dst: &Array, site: u64) -> Result<()> {
    let n = dst.shape().len();
    let fits = src.shape().len() <= n
        && src
            .shape()
            .iter()
            .rev()
            .zip(dst.shape().iter().rev())
            .all(|(&s, &d)| s == d || s == 1);
    if !fits {
        return Err(Error::value(format!(
            "cannot copy an array of shape {:?} into one of shape {:?}: extents must be equal, \
             or 1 in the source",
            src.shape(),
            dst.shape()
        )));
    }
    dst.require_writable("_copyto")?;
    if !(src.chunk().context().is_host() && dst.chunk().context().is_host()) {
        return copy_there(src, dst, site);
    }
    let (from, to) = (src.view()?, dst.view()?);
    let overlap = src.overlaps(dst);
    let runtime = dst.chunk().runtime().clone();
    let (reads, writes) = ([src.chunk().var()], [dst.chunk().var()]);
    let spec = OpSpec::new("_copyto")
        .reads(&reads)
        .writes(&writes)
        .tag(site)
        .inline(dst.len() <= SMALL_COPY);
    let run = move |rt: &Runtime| -> Result<()> {
        if !overlap {
            return kernels::copy(&from, &mut to.clone());
        }
        let mut scratch = Scratch::new(rt, padded(from.len() * from.dtype().size()))?;
        let mut packed = scratch.view(from.dtype(), &from.shape().into());
        kernels::copy(&from, &mut packed)?;
        kernels::copy(&packed, &mut to.clone())
    };
    held::submit(&runtime, &spec, run)
}

/// A copy from, to or on a GPU.
fn copy_there(src: &Array, dst: &Array, site: u64) -> Result<()> {
    let (from, to) = (Place::of(src)?, Place::of(dst)?);
    let (a, b) = (src.chunk().context(), dst.chunk().context());
    let (device, property) = match (a.is_host(), b.is_host()) {
        (true, _) => (b, FnProperty::CopyToGpu),
        (false, true) => (a, FnProperty::CopyFromGpu),
        (false, false) => (b, FnProperty::Normal),
    };
    let (reads, writes) = ([src.chunk().var()], [dst.chunk().var()]);
    let name = Name::new("_copyto");
    let spec = OpSpec::new(name)
        .on(Device::gpu(device.device_id))
        .property(property)
        .reads(&reads)
        .writes(&writes)
        .tag(site);
    let origin = Origin { name, tag: site };
    let runtime = dst.chunk().runtime().clone();
    held::submit(&runtime, &spec, move |rt| {
        gpu::run_copy(rt, &from, &to, origin)
    })
}

/// Waits for the writes pushed before; not inside a user's function that [holds](held) the array.
///
/// # Errors
/// The failure of an operation that the array depends on.
pub fn wait_to_read(array: &Array) -> std::result::Result<(), ReadError> {
    wait_to_read_with(array, &mut Forever)
}

/// [`wait_to_read`] as long as `policy` says.
///
/// # Errors
/// As there, and [`WaitError::GivenUp`].
pub fn wait_to_read_with(
    array: &Array,
    policy: &mut dyn WaitPolicy,
) -> std::result::Result<(), ReadError> {
    wait_here(array, policy)?;
    wait_there(array)
}

/// Waits for the operations that write the array, which a GPU may still have to do.
fn wait_here(array: &Array, policy: &mut dyn WaitPolicy) -> std::result::Result<(), ReadError> {
    let (runtime, var) = (array.chunk().runtime(), array.chunk().var());
    runtime.check_usable()?;
    if !held::may_read(runtime, var) {
        runtime.wait_for_var(var, policy)?;
    }
    Ok(())
}

/// Waits for what was enqueued on a GPU to write the array.
fn wait_there(array: &Array) -> std::result::Result<(), ReadError> {
    let chunk = array.chunk();
    if chunk.context().is_host() || !chunk.is_allocated() {
        return Ok(());
    }
    let Some(uses) = chunk.uses()? else {
        return Ok(());
    };
    let gpus = chunk.runtime().gpus()?;
    gpus.wait_for(chunk.device()?, &uses)
        .map_err(ReadError::Device)
}

/// Whether [`wait_to_read`] would return without waiting, and well. May say no in vain.
pub fn is_quiet(array: &Array) -> bool {
    let runtime = array.chunk().runtime();
    array.chunk().context().is_host()
        && runtime.check_usable().is_ok()
        && runtime.engine().is_quiet(array.chunk().var())
}

/// Waits for the writes pushed before, then copies the elements in C order into `out`.
///
/// # Errors
/// A buffer of another size, or the failure of an operation that the array depends on.
pub fn read_into(array: &Array, out: &mut [u8]) -> std::result::Result<(), ReadError> {
    read_into_with(array, out, &mut Forever)
}

/// [`read_into`], with a wait as long as `policy` says.
///
/// # Errors
/// As there, and [`WaitError::GivenUp`].
pub fn read_into_with(
    array: &Array,
    out: &mut [u8],
    policy: &mut dyn WaitPolicy,
) -> std::result::Result<(), ReadError> {
    check_bytes(array, out.len())?;
    wait_here(array, policy)?;
    let _inside = fork::enter();
    held::working(|| copy_out(array, out))?;
    Ok(())
}

/// [`read_into`], if it need not wait: with no writes under way, and no failure to report. False
/// otherwise. As for a push, the caller sees to it that the process does not fork meanwhile.
///
/// # Errors
/// A buffer of another size, or a process in which arrays cannot be used.
pub fn read_if_quiet(array: &Array, out: &mut [u8]) -> Result<bool> {
    check_bytes(array, out.len())?;
    let runtime = array.chunk().runtime();
    runtime.check_usable()?;
    // What a GPU has to do takes long.
    let host = array.chunk().context().is_host();
    let quiet = host && runtime.engine().is_quiet(array.chunk().var());
    if quiet {
        copy_from_host(array, out)?;
    }
    Ok(quiet)
}

fn copy_out(array: &Array, out: &mut [u8]) -> std::result::Result<(), ReadError> {
    if array.chunk().context().is_host() {
        return Ok(copy_from_host(array, out)?);
    }
    let origin = Origin {
        name: Name::new("_copyto"),
        tag: 0,
    };
    gpu::read(array.chunk().runtime(), &Place::of(array)?, out, origin).map_err(ReadError::Device)
}

fn copy_from_host(array: &Array, out: &mut [u8]) -> Result<()> {
    if out.is_empty() {
        return Ok(());
    }
    let runtime = array.chunk().runtime();
    let view = array.view()?;
    let mut scratch;
    let packed = if view.is_contiguous() {
        view
    } else {
        scratch = Scratch::new(runtime, padded(out.len()))?;
        let mut packed = scratch.view(array.dtype(), &array.shape().into());
        kernels::copy(&view, &mut packed)?;
        packed
    };
    // SAFETY: `packed` is contiguous and, as `check_bytes` found, as long as `out`, which is
    // exclusively ours.
    unsafe { std::ptr::copy_nonoverlapping(packed.ptr(), out.as_mut_ptr(), out.len()) };
    Ok(())
}

/// Copies `bytes`, elements in C order, into the array: at once where nothing uses its memory yet,
/// otherwise by an operation that runs after the users pushed before.
///
/// # Errors
/// A buffer of another size, memory that cannot be had, or an engine that was shut down.
pub fn write_from(array: &Array, bytes: &[u8], site: u64) -> Result<()> {
    check_bytes(array, bytes.len())?;
    if bytes.is_empty() {
        return Ok(());
    }
    let host = array.chunk().context().is_host();
    if host && !array.chunk().is_allocated() && array.is_contiguous() {
        return fill(array, bytes);
    }
    let staging = Array::new(array.chunk().runtime(), array.shape(), array.dtype())?;
    fill(&staging, bytes)?;
    copy(&staging, array, site)
}

/// A new contiguous array of zeros in memory of the host. Few bytes are written here; more by an
/// operation, as it takes long to touch new memory.
///
/// # Errors
/// A shape with too many elements, memory that cannot be had, or an engine that was shut down.
pub fn zeros(
    runtime: &Arc<Runtime>,
    context: Context,
    shape: &[usize],
    dtype: DType,
    site: u64,
) -> Result<Array> {
    let array = Array::on(runtime, context, shape, dtype)?;
    array.chunk().note_write();
    let bytes = array.len() * dtype.size();
    if bytes <= SMALL_ZEROS {
        if bytes > 0 {
            fill(&array, &ZEROS.0[..bytes])?;
        }
        return Ok(array);
    }
    let one = [1_usize].as_slice();
    // SAFETY: there is an aligned element of any type, which is only read, and lives forever.
    let zero = unsafe {
        let strides = ferromix_base::contiguous_strides(one);
        View::from_raw(ZEROS.0.as_ptr().cast_mut(), dtype, one.into(), strides)
    };
    let (to, writes) = (array.view()?, [array.chunk().var()]);
    let spec = OpSpec::new("_zeros").writes(&writes).tag(site);
    held::submit(runtime, &spec, move |_| {
        kernels::copy(&zero, &mut to.clone())
    })?;
    Ok(array)
}

#[repr(align(64))]
struct Zeros([u8; SMALL_ZEROS]);

static ZEROS: Zeros = Zeros([0; SMALL_ZEROS]);

/// Writes the bytes of an array that no operation was pushed on.
fn fill(array: &Array, bytes: &[u8]) -> Result<()> {
    let view = array.view()?;
    // SAFETY: the array is contiguous and, as `check_bytes` found, as long as `bytes`; its memory
    // was just taken, so that no operation knows it.
    let target = unsafe { std::slice::from_raw_parts_mut(view.ptr(), bytes.len()) };
    if array.dtype() == DType::Bool {
        for (t, &b) in target.iter_mut().zip(bytes) {
            *t = u8::from(b != 0);
        }
    } else {
        target.copy_from_slice(bytes);
    }
    Ok(())
}

/// Why an array could not be read.
#[derive(Debug)]
pub enum ReadError {
    /// The call itself was wrong.
    Call(Error),
    /// An operation that the array depends on failed.
    Wait(WaitError),
    /// A GPU failed at it.
    Device(DeviceFailure),
}

impl From<Error> for ReadError {
    fn from(e: Error) -> Self {
        ReadError::Call(e)
    }
}

impl From<WaitError> for ReadError {
    fn from(e: WaitError) -> Self {
        ReadError::Wait(e)
    }
}
