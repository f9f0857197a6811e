//! Runs of operators on a device: by their recipes, or on the CPU where there is none.

use super::copy::{self, Place};
use super::device::{Device, Lane, Origin};
use super::recipe::{Filling, Recipe};
use super::uses::Uses;
use crate::Runtime;
use crate::scratch::{Scratch, padded};
use ferromix_base::{Error, Result, Shape, contiguous_strides};
use ferromix_kernels::random::Stream;
use ferromix_kernels::{Call, Kernel, Req, View};
use ferromix_storage::Handle;
use smallvec::SmallVec;
use std::sync::Arc;

/// The arrays of a run, and what else comes with it.
pub(crate) struct Operands<'a> {
    pub(crate) inputs: &'a [View],
    pub(crate) outputs: &'a [View],
    pub(crate) reqs: &'a [Req],
    pub(crate) scalars: &'a [f64],
    pub(crate) draws: Option<Stream>,
    /// The inputs and the outputs of which the kernels get copies without gaps.
    pub(crate) staged: (&'a [usize], &'a [usize]),
    /// Of the inputs, and of the outputs that are wanted.
    pub(crate) uses: (&'a [Arc<Uses>], &'a [Option<Arc<Uses>>]),
}

/// Temporary memory on a device: back in its pool when dropped, where its next user waits for this one.
pub(crate) struct Temporary<'a> {
    runtime: &'a Runtime,
    handle: Option<Handle>,
    pub(crate) uses: Arc<Uses>,
    used: usize,
}

impl<'a> Temporary<'a> {
    pub(crate) fn new(runtime: &'a Runtime, device: &Device, size: usize) -> Result<Self> {
        let handle = runtime.pool_of(device.context())?.alloc(size)?;
        Ok(Temporary {
            runtime,
            uses: device.uses_of(handle.as_ptr().addr()),
            handle: Some(handle),
            used: 0,
        })
    }

    /// The address of the next piece.
    pub(crate) fn cut(&mut self, size: usize) -> *mut u8 {
        let start = self.used;
        self.used += padded(size);
        self.handle
            .as_ref()
            .map_or(std::ptr::null_mut(), |h| h.as_ptr().wrapping_add(start))
    }

    /// The next piece, for elements such as those of `view`, without gaps.
    pub(crate) fn like(&mut self, view: &View) -> View {
        let shape = Shape::from_slice(view.shape());
        let (ptr, strides) = (self.cut(bytes_of(view)), contiguous_strides(&shape));
        // SAFETY: the piece is as long as the elements; nobody on the host touches it.
        unsafe { View::from_raw(ptr, view.dtype(), shape, strides) }
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        let pool = self.handle.as_ref().map(Handle::context);
        let pool = pool.and_then(|context| self.runtime.pools().existing(context));
        if let (Some(pool), Some(handle)) = (pool, self.handle.take()) {
            pool.free(handle);
        }
    }
}

pub(crate) fn bytes_of(view: &View) -> usize {
    view.len() * view.dtype().size()
}

/// Enqueues an operator's launches.
///
/// # Errors
/// What the driver refuses; memory that cannot be had.
pub(crate) fn run(
    runtime: &Runtime,
    recipe: &Recipe,
    operands: &Operands<'_>,
    origin: Origin,
) -> Result<()> {
    let device = &recipe.device;
    let (ins, outs) = operands.staged;
    let staged = ins.iter().map(|&i| bytes_of(&operands.inputs[i]));
    let staged = staged.chain(outs.iter().map(|&i| bytes_of(&operands.outputs[i])));
    let size = padded(recipe.temporary) + staged.map(padded).sum::<usize>();
    let mut temporary = match size {
        0 => None,
        _ => Some(Temporary::new(runtime, device, size)?),
    };
    let (mut inputs, mut outputs) = (operands.inputs.to_vec(), operands.outputs.to_vec());
    let mut reqs: SmallVec<[Req; 4]> = SmallVec::from_slice(operands.reqs);
    let start = temporary
        .as_mut()
        .map_or(0, |block| block.cut(recipe.temporary).addr() as u64);
    if let Some(block) = &mut temporary {
        ins.iter()
            .for_each(|&i| inputs[i] = block.like(&operands.inputs[i]));
        for &i in outs {
            outputs[i] = block.like(&operands.outputs[i]);
            if reqs[i] == Req::Inplace {
                reqs[i] = Req::Write;
            }
        }
    }
    let mut uses: SmallVec<[(&Arc<Uses>, bool); 8]> = SmallVec::new();
    uses.extend(operands.uses.0.iter().map(|block| (block, false)));
    let wanted = operands.uses.1.iter().flatten();
    uses.extend(wanted.map(|block| (block, true)));
    uses.extend(temporary.iter().map(|block| (&block.uses, true)));
    let filling = Filling {
        inputs: &inputs,
        outputs: &outputs,
        reqs: &reqs,
        scalars: operands.scalars,
        draws: operands.draws,
        temporary: start,
    };
    let spans = Spans::of(&filling, size);
    device
        .enqueue(
            runtime.gpus()?,
            Lane::Compute,
            origin,
            &uses,
            |port, stream| {
                for &i in ins {
                    device.launch_copy(stream, &operands.inputs[i], &inputs[i])?;
                }
                for &i in outs {
                    if reqs[i] == Req::Add {
                        device.launch_copy(stream, &operands.outputs[i], &outputs[i])?;
                    }
                }
                for launch in &recipe.launches {
                    if port.driver().wants_declarations() {
                        port.driver().declare(&spans.reads, &spans.writes);
                    }
                    launch.enqueue(port, stream, &filling)?;
                }
                outs.iter().try_for_each(|&i| {
                    device.launch_copy(stream, &outputs[i], &operands.outputs[i])
                })
            },
        )
        .map(|_| ())
}

/// The bytes that the launches of a run may read, and write.
struct Spans {
    reads: Vec<[u64; 2]>,
    writes: Vec<[u64; 2]>,
}

impl Spans {
    fn of(filling: &Filling<'_>, temporary: usize) -> Self {
        let reads = filling.inputs.iter().map(span).collect();
        let outputs = filling.outputs.iter().zip(filling.reqs);
        let wanted = outputs.filter(|(_, req)| **req != Req::Null);
        let mut writes: Vec<[u64; 2]> = wanted.map(|(view, _)| span(view)).collect();
        if temporary > 0 {
            writes.push([filling.temporary, filling.temporary + temporary as u64]);
        }
        Spans { reads, writes }
    }
}

/// First byte and the byte after the last of a view.
pub(crate) fn span(view: &View) -> [u64; 2] {
    let start = view.ptr().addr() as u64;
    if view.is_empty() {
        return [start, start];
    }
    let size = view.dtype().size() as isize;
    let (low, high) = crate::array::extent(view.shape(), view.strides(), size).unwrap_or((0, size));
    [
        start.wrapping_add_signed(low as i64),
        start.wrapping_add_signed(high as i64),
    ]
}

/// Runs a kernel of the CPU on copies of arrays on a device, and waits for it.
///
/// # Errors
/// What the kernel or the driver says.
pub(crate) fn detour(
    runtime: &Runtime,
    device: &Arc<Device>,
    kernel: &dyn Kernel,
    operands: &Operands<'_>,
    origin: Origin,
) -> Result<()> {
    let wanted = |i: usize| operands.reqs[i] != Req::Null;
    let sizes = operands.inputs.iter().map(bytes_of);
    let outs = (0..operands.outputs.len()).filter(|&i| wanted(i));
    let sizes = sizes.chain(outs.map(|i| bytes_of(&operands.outputs[i])));
    let size = sizes.map(padded).sum::<usize>() + padded(kernel.workspace());
    let mut scratch = Scratch::new(runtime, size)?;
    let mut load = |view: &View, uses: &Arc<Uses>, filled: bool| -> Result<View> {
        let copy = scratch.view(view.dtype(), &Shape::from_slice(view.shape()));
        if filled && !view.is_empty() {
            let place = Place::on(device, view, uses);
            // SAFETY: a piece of the scratch memory, as long as the elements, and this run's own.
            let bytes = unsafe { std::slice::from_raw_parts_mut(copy.ptr(), bytes_of(view)) };
            copy::read(runtime, &place, bytes, origin).map_err(|failure| failure.error)?;
        }
        Ok(copy)
    };
    let mut inputs = Vec::with_capacity(operands.inputs.len());
    for (view, uses) in operands.inputs.iter().zip(operands.uses.0) {
        inputs.push(load(view, uses, true)?);
    }
    let mut outputs = operands.outputs.to_vec();
    let mut reqs: SmallVec<[Req; 4]> = SmallVec::from_slice(operands.reqs);
    for (i, output) in outputs.iter_mut().enumerate() {
        if let Some(uses) = &operands.uses.1[i] {
            *output = load(&operands.outputs[i], uses, reqs[i] == Req::Add)?;
            if reqs[i] == Req::Inplace {
                reqs[i] = Req::Write;
            }
        }
    }
    let workspace = scratch.bytes(kernel.workspace());
    kernel.run(&mut Call {
        inputs: &inputs,
        outputs: &mut outputs,
        reqs: &reqs,
        workspace,
        scalars: operands.scalars,
        random: operands.draws,
    })?;
    for (i, output) in outputs.iter().enumerate() {
        let Some(uses) = &operands.uses.1[i] else {
            continue;
        };
        let to = Place::on(device, &operands.outputs[i], uses);
        copy::run(runtime, &Place::host(output), &to, origin)?;
    }
    Ok(())
}

/// An error of an operator that has no kernel for where its arrays are.
pub(crate) fn elsewhere(operator: &str) -> Error {
    Error::internal(format!(
        "operator {operator}: prepared for another device than that of its arrays"
    ))
}
