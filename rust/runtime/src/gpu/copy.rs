//! Copies to, from, between and on devices.

use super::device::{Device, DeviceFailure, Origin};
use super::driver::Object;
use super::launch::{Pieces, Temporary, bytes_of, span};
use super::port::Port;
use super::recipe::{Arg, Filling, Launch};
use super::stream::Lane;
use super::uses::{Ticket, Uses};
use crate::scratch::{Scratch, padded};
use crate::{Array, Runtime, relief};
use ferromix_base::{Context, DType, DeviceType, Error, Result, Shape};
use ferromix_kernels::{self as kernels, Req, View};
use ferromix_storage::{Handle, Pool};
use std::sync::Arc;

/// Elements somewhere: on the host, or on a device.
pub(crate) struct Place {
    pub(super) view: View,
    pub(super) device: Option<(Arc<Device>, Arc<Uses>)>,
}

impl Place {
    pub(crate) fn host(view: &View) -> Self {
        Place {
            view: view.clone(),
            device: None,
        }
    }

    /// Where the elements of an array are, taking memory first where there is none.
    pub(crate) fn of(array: &Array) -> Result<Self> {
        let view = array.view()?;
        match array.chunk().uses()? {
            Some(uses) => Ok(Place::on(array.chunk().device()?, &view, &uses)),
            None => Ok(Place::host(&view)),
        }
    }

    pub(crate) fn on(device: &Arc<Device>, view: &View, uses: &Arc<Uses>) -> Self {
        Place {
            view: view.clone(),
            device: Some((device.clone(), uses.clone())),
        }
    }
}

/// Threads of a block of a copy.
const THREADS: u32 = 256;

impl Device {
    /// Enqueues a kernel that converts, follows strides and broadcasts.
    pub(crate) fn launch_copy(&self, stream: Object, from: &View, to: &View) -> Result<()> {
        let function = self.copy_function(from.dtype(), to.dtype())?;
        let blocks = (to.len() as u64).div_ceil(u64::from(THREADS));
        let blocks = blocks.clamp(1, u64::from(self.most_blocks())) as u32;
        let launch = Launch {
            function,
            grid: [blocks, 1, 1],
            block: [THREADS, 1, 1],
            shared: 0,
            args: vec![
                Arg::Input(0),
                Arg::Output(0),
                Arg::Walk(vec![Arg::Output(0), Arg::Input(0)]),
                Arg::Req(0),
            ],
        };
        let filling = Filling {
            inputs: std::slice::from_ref(from),
            outputs: std::slice::from_ref(to),
            reqs: &[Req::Write],
            scalars: &[],
            draws: None,
            temporary: 0,
            refusal: 0,
        };
        let port = self.port();
        port.driver().declare(&[span(from)], &[span(to)]);
        launch.enqueue(port, stream, &filling)
    }
}

fn like(a: &View, b: &View) -> bool {
    a.dtype() == b.dtype() && a.shape() == b.shape()
}

/// Bytes that are copied at a time between a device and the host, by way of page-locked memory.
const PART: usize = 4 << 20;

/// Two pieces of page-locked memory, of which one is copied by the device and one by the host.
struct Landing<'a> {
    pool: &'a Pool,
    parts: [Option<Handle>; 2],
}

impl<'a> Landing<'a> {
    fn new(runtime: &'a Runtime, bytes: usize) -> Result<Self> {
        let pool = runtime.pool_of(Context {
            device_type: DeviceType::CpuPinned,
            device_id: 0,
        })?;
        let take = || relief::in_kernel(|| pool.alloc(bytes.min(PART)));
        let mut parts = [Some(take()?), None];
        if bytes > PART {
            parts[1] = Some(take()?);
        }
        Ok(Landing { pool, parts })
    }

    /// The piece for the part of this number, of so many bytes.
    fn part(&mut self, number: usize, bytes: usize) -> &mut [u8] {
        let handle = self.parts[number % 2].as_ref();
        let start = handle.map_or(std::ptr::dangling_mut(), Handle::as_ptr);
        let bytes = handle.map_or(0, |_| bytes);
        // SAFETY: a block of at least so many bytes, this copy's own; any byte is a u8. Who has a part
        // that a device still copies has waited for that.
        unsafe { std::slice::from_raw_parts_mut(start, bytes) }
    }

    /// Takes the part of this number, which the device has copied.
    fn take_off(&mut self, device: &Device, number: usize, to: &mut [u8]) {
        let staged = self.part(number, to.len());
        device.port().driver().touch(staged);
        to.copy_from_slice(staged);
    }
}

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        let parts = self.parts.iter_mut().filter_map(Option::take);
        parts.for_each(|part| self.pool.free(part));
    }
}

/// Waits for what was enqueued before, then copies the elements in C order to `out`, which is as long.
///
/// # Errors
/// What went wrong on the device.
pub(crate) fn read(
    runtime: &Runtime,
    from: &Place,
    out: &mut [u8],
    origin: Origin,
) -> std::result::Result<(), DeviceFailure> {
    let (Some((device, uses)), false) = (&from.device, out.is_empty()) else {
        return Ok(());
    };
    // An error that comes to light here is rather that of who wrote last.
    let last = uses
        .last_write()
        .and_then(|ticket| device.origin_of(ticket));
    let blame = |failure: DeviceFailure| match failure.certain {
        true => failure,
        false => DeviceFailure {
            origin: last.or(failure.origin),
            ..failure
        },
    };
    if from.view.is_contiguous() {
        return land(runtime, (device, uses), from.view.ptr(), out, origin).map_err(blame);
    }
    let packed = Temporary::new(runtime, device, out.len()).and_then(|block| {
        let packed = Pieces::of(&block).like(&from.view);
        let target = (&packed, &block.uses);
        pack(runtime, device, (&from.view, uses), target, origin)?;
        Ok((block, packed))
    });
    let (block, packed) = packed?;
    land(runtime, (device, &block.uses), packed.ptr(), out, origin).map_err(blame)
}

/// Copies bytes of a device to the host, part by part.
fn land(
    runtime: &Runtime,
    (device, uses): (&Arc<Device>, &Arc<Uses>),
    start: *mut u8,
    out: &mut [u8],
    origin: Origin,
) -> std::result::Result<(), DeviceFailure> {
    let gpus = runtime.gpus()?;
    let mut landing = Landing::new(runtime, out.len())?;
    let mut pending: Option<(Ticket, usize, &mut [u8])> = None;
    for (number, part) in out.chunks_mut(PART).enumerate() {
        let (bytes, to) = (part.len(), landing.part(number, part.len()).as_mut_ptr());
        let from = start.wrapping_add(number * PART).addr() as u64;
        let work = |port: &Port, stream| port.copy_out(to, from, bytes, stream);
        let ticket = device.enqueue(gpus, Lane::CopyOut, origin, &[(uses, false)], work);
        let before = pending.take();
        let done = ticket.map(|ticket| pending = Some((ticket, number, part)));
        if let Some((ticket, number, part)) = before {
            device.wait(gpus, ticket)?;
            landing.take_off(device, number, part);
        }
        done?;
    }
    if let Some((ticket, number, part)) = pending {
        device.wait(gpus, ticket)?;
        landing.take_off(device, number, part);
    }
    // What comes of a kernel that refused something has no values.
    device.refused()
}

/// Copies bytes of the host to a device, part by part; they may change when it returns.
fn send(
    runtime: &Runtime,
    (device, uses): (&Arc<Device>, &Arc<Uses>),
    start: *mut u8,
    bytes: &[u8],
    origin: Origin,
) -> std::result::Result<(), DeviceFailure> {
    let gpus = runtime.gpus()?;
    let mut landing = Landing::new(runtime, bytes.len())?;
    let mut pending = [None, None];
    let mut result = Ok(());
    for (number, part) in bytes.chunks(PART).enumerate() {
        if let Some(ticket) = pending[number % 2].take() {
            device.wait(gpus, ticket)?;
        }
        let staged = landing.part(number, part.len());
        device.port().driver().touch(staged);
        staged.copy_from_slice(part);
        let to = start.wrapping_add(number * PART).addr() as u64;
        let work = |port: &Port, stream| port.copy_in(to, staged, stream);
        match device.enqueue(gpus, Lane::CopyIn, origin, &[(uses, true)], work) {
            Ok(ticket) => pending[number % 2] = Some(ticket),
            Err(error) => {
                result = Err(error.into());
                break;
            }
        }
    }
    // Before the page-locked memory is anybody else's.
    for ticket in pending.into_iter().flatten() {
        device.wait(gpus, ticket)?;
    }
    result
}

/// Enqueues a copy on one device by a kernel.
fn pack(
    runtime: &Runtime,
    device: &Arc<Device>,
    from: (&View, &Arc<Uses>),
    to: (&View, &Arc<Uses>),
    origin: Origin,
) -> Result<()> {
    let uses = [(from.1, false), (to.1, true)];
    let work = |_: &_, stream| device.launch_copy(stream, from.0, to.0);
    device
        .enqueue(runtime.gpus()?, Lane::Compute, origin, &uses, work)
        .map(|_| ())
}

/// Copies: converts types, and broadcasts. What the host reads or writes is done when it returns.
///
/// # Errors
/// What the driver says; memory that cannot be had.
pub(crate) fn run(runtime: &Runtime, from: &Place, to: &Place, origin: Origin) -> Result<()> {
    if to.view.is_empty() {
        return Ok(());
    }
    match (&from.device, &to.device) {
        (None, None) => kernels::copy(&from.view, &mut to.view.clone()),
        (None, Some(_)) => copy_in(runtime, &from.view, to, origin),
        (Some(_), None) => copy_out(runtime, from, &to.view, origin),
        (Some((a, ours)), Some((b, theirs))) if Arc::ptr_eq(a, b) => {
            copy_within(runtime, a, (&from.view, ours), (&to.view, theirs), origin)
        }
        (Some(_), Some(_)) => copy_across(runtime, from, to, origin),
    }
}

fn copy_in(runtime: &Runtime, from: &View, to: &Place, origin: Origin) -> Result<()> {
    if like(from, &to.view) && from.is_contiguous() {
        return write(runtime, from, to, origin);
    }
    let mut scratch = Scratch::new(runtime, padded(bytes_of(&to.view)))?;
    let shape = Shape::from_slice(to.view.shape());
    let mut packed = scratch.view(to.view.dtype(), &shape);
    kernels::copy(from, &mut packed)?;
    write(runtime, &packed, to, origin)
}

/// Writes elements without gaps, and waits until their source may change.
fn write(runtime: &Runtime, from: &View, to: &Place, origin: Origin) -> Result<()> {
    let Some((device, uses)) = &to.device else {
        return Err(Error::internal("a copy to a device without one"));
    };
    // SAFETY: the elements lie without gaps, and stay until the copy is over, for which this waits.
    let bytes = unsafe { std::slice::from_raw_parts(from.ptr().cast_const(), bytes_of(from)) };
    let whole = |failure: DeviceFailure| failure.error;
    if to.view.is_contiguous() {
        return send(runtime, (device, uses), to.view.ptr(), bytes, origin).map_err(whole);
    }
    let block = Temporary::new(runtime, device, bytes.len())?;
    let packed = Pieces::of(&block).like(&to.view);
    let staged = (device, &block.uses);
    send(runtime, staged, packed.ptr(), bytes, origin).map_err(whole)?;
    pack(
        runtime,
        device,
        (&packed, &block.uses),
        (&to.view, uses),
        origin,
    )
}

fn copy_out(runtime: &Runtime, from: &Place, to: &View, origin: Origin) -> Result<()> {
    let mut scratch;
    let direct = like(&from.view, to) && to.is_contiguous();
    let landing = if direct {
        to.clone()
    } else {
        scratch = Scratch::new(runtime, padded(bytes_of(&from.view)))?;
        scratch.view(from.view.dtype(), &Shape::from_slice(from.view.shape()))
    };
    // SAFETY: memory of the host without gaps, as long as the elements; the caller, or the scratch
    // memory, has it for this copy alone.
    let bytes = unsafe { std::slice::from_raw_parts_mut(landing.ptr(), bytes_of(&from.view)) };
    read(runtime, from, bytes, origin).map_err(|failure| failure.error)?;
    if direct {
        return Ok(());
    }
    kernels::copy(&landing, &mut to.clone())
}

fn copy_within(
    runtime: &Runtime,
    device: &Arc<Device>,
    from: (&View, &Arc<Uses>),
    to: (&View, &Arc<Uses>),
    origin: Origin,
) -> Result<()> {
    let ([a, b], [c, d]) = (span(from.0), span(to.0));
    if a < d && c < b {
        let block = Temporary::new(runtime, device, padded(bytes_of(from.0)))?;
        let packed = Pieces::of(&block).like(from.0);
        pack(runtime, device, from, (&packed, &block.uses), origin)?;
        return pack(runtime, device, (&packed, &block.uses), to, origin);
    }
    if !(like(from.0, to.0) && from.0.is_contiguous() && to.0.is_contiguous()) {
        return pack(runtime, device, from, to, origin);
    }
    let (bytes, source, target) = (bytes_of(from.0), from.0.ptr(), to.0.ptr());
    let uses = [(from.1, false), (to.1, true)];
    device
        .enqueue(
            runtime.gpus()?,
            Lane::Compute,
            origin,
            &uses,
            |port, stream| {
                port.copy_within(target.addr() as u64, source.addr() as u64, bytes, stream)
            },
        )
        .map(|_| ())
}

fn copy_across(runtime: &Runtime, from: &Place, to: &Place, origin: Origin) -> Result<()> {
    let (Some((a, ours)), Some((b, theirs))) = (&from.device, &to.device) else {
        return Err(Error::internal("a copy between devices without two"));
    };
    let size = padded(bytes_of(&from.view));
    let mut here = None;
    let (source, ours) = if from.view.is_contiguous() {
        (from.view.clone(), ours.clone())
    } else {
        let block = here.insert(Temporary::new(runtime, a, size)?);
        let packed = Pieces::of(block).like(&from.view);
        pack(
            runtime,
            a,
            (&from.view, ours),
            (&packed, &block.uses),
            origin,
        )?;
        (packed, block.uses.clone())
    };
    let direct = like(&source, &to.view) && to.view.is_contiguous();
    let mut there = None;
    let (landing, landed) = if direct {
        (to.view.clone(), theirs.clone())
    } else {
        let block = there.insert(Temporary::new(runtime, b, size)?);
        (Pieces::of(block).like(&source), block.uses.clone())
    };
    let (bytes, target) = (bytes_of(&source), landing.ptr().addr() as u64);
    let uses = [(&ours, false), (&landed, true)];
    b.enqueue(
        runtime.gpus()?,
        Lane::CopyIn,
        origin,
        &uses,
        |port, stream| port.copy_from(target, a.port(), source.ptr().addr() as u64, bytes, stream),
    )?;
    if direct {
        return Ok(());
    }
    pack(runtime, b, (&landing, &landed), (&to.view, theirs), origin)
}

/// The kernel that copies from one type to another, by name.
pub(crate) fn missing_copy(from: DType, to: DType) -> Error {
    Error::internal(format!(
        "the device has no kernel that copies {from} to {to}"
    ))
}
