//! Runs of operators on a device: by their recipes, or on the CPU where there is none.

use super::copy::{self, Place};
use super::device::{Device, Origin};
use super::driver::Object;
use super::port::Port;
use super::recipe::{Filling, Recipe};
use super::stream::Lane;
use super::uses::{Ticket, Uses};
use crate::binding::is_changed;
use crate::scratch::{Scratch, padded};
use crate::{Runtime, relief};
use ferromix_base::{Error, Result, Shape, contiguous_strides};
use ferromix_kernels::random::Stream;
use ferromix_kernels::{Call, Kernel, Req, View};
use ferromix_storage::{Handle, Pool};
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

impl Operands<'_> {
    /// The input that an output takes the place of, where kernels get a copy of that: what they change there is
    /// what the output gets.
    fn copied_input(&self, output: usize) -> Option<usize> {
        let lies = |view: &View| (view.ptr(), view.shape().to_vec(), view.strides().to_vec());
        let given = &self.outputs[output];
        let same = |&&i: &&usize| lies(&self.inputs[i]) == lies(given);
        let may = self.reqs[output] == Req::Inplace;
        may.then(|| self.staged.0.iter().find(same).copied())?
    }
}

/// Temporary memory on a device: back in its pool when dropped, where its next user waits for this one.
pub(crate) struct Temporary {
    pool: Pool,
    handle: Option<Handle>,
    pub(crate) uses: Arc<Uses>,
}

impl Temporary {
    pub(crate) fn new(runtime: &Runtime, device: &Device, size: usize) -> Result<Self> {
        let pool = runtime.pool_of(device.context())?;
        let handle = relief::in_kernel(|| pool.alloc(size))?;
        Ok(Temporary {
            pool: pool.clone(),
            uses: device.uses_of(handle.as_ptr().addr()),
            handle: Some(handle),
        })
    }

    /// So many bytes, of which several may make use in turn; none of nothing.
    pub(crate) fn of_size(
        runtime: &Runtime,
        device: &Device,
        size: usize,
    ) -> Result<Option<Arc<Self>>> {
        match size {
            0 => Ok(None),
            _ => Self::new(runtime, device, size).map(|block| Some(Arc::new(block))),
        }
    }

    /// Where it starts.
    fn start(&self) -> *mut u8 {
        self.handle
            .as_ref()
            .map_or(std::ptr::null_mut(), |h| h.as_ptr())
    }
}

/// Temporary memory on its way to who needs a piece of it.
pub(crate) struct Pieces {
    next: *mut u8,
}

impl Pieces {
    pub(crate) fn of(block: &Temporary) -> Self {
        Pieces {
            next: block.start(),
        }
    }

    /// The address of the next piece.
    pub(crate) fn cut(&mut self, size: usize) -> *mut u8 {
        let start = self.next;
        self.next = start.wrapping_add(padded(size));
        start
    }

    /// The next piece, for elements such as those of `view`, without gaps.
    pub(crate) fn like(&mut self, view: &View) -> View {
        let shape = Shape::from_slice(view.shape());
        let (ptr, strides) = (self.cut(bytes_of(view)), contiguous_strides(&shape));
        // SAFETY: the piece is as long as the elements; nobody on the host touches it.
        unsafe { View::from_raw(ptr, view.dtype(), shape, strides) }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            self.pool.free(handle);
        }
    }
}

pub(crate) fn bytes_of(view: &View) -> usize {
    view.len() * view.dtype().size()
}

/// A run with its temporary memory, ready to be enqueued.
pub(crate) struct Staged {
    inputs: Vec<View>,
    outputs: Vec<View>,
    reqs: SmallVec<[Req; 4]>,
    temporary: Option<Arc<Temporary>>,
    start: u64,
    spans: Spans,
}

impl Staged {
    /// Bytes of the temporary memory of a run: for its kernels, and for copies of arrays with gaps.
    pub(crate) fn size(recipe: &Recipe, operands: &Operands<'_>) -> usize {
        let (ins, outs) = operands.staged;
        let sizes = ins.iter().map(|&i| bytes_of(&operands.inputs[i]));
        let sizes = sizes.chain(outs.iter().map(|&i| bytes_of(&operands.outputs[i])));
        padded(recipe.temporary) + sizes.map(padded).sum::<usize>()
    }

    /// Shares that memory out; runs that come one after another on a stream may have the same.
    pub(crate) fn new(
        recipe: &Recipe,
        operands: &Operands<'_>,
        temporary: Option<Arc<Temporary>>,
    ) -> Self {
        let ((ins, outs), size) = (operands.staged, Self::size(recipe, operands));
        let (mut inputs, mut outputs) = (operands.inputs.to_vec(), operands.outputs.to_vec());
        let mut reqs: SmallVec<[Req; 4]> = SmallVec::from_slice(operands.reqs);
        let mut start = 0;
        if let Some(block) = &temporary {
            let mut pieces = Pieces::of(block);
            start = pieces.cut(recipe.temporary).addr() as u64;
            for &i in ins {
                inputs[i] = pieces.like(&operands.inputs[i]);
            }
            for &i in outs {
                if let Some(j) = operands.copied_input(i) {
                    outputs[i] = inputs[j].clone();
                    continue;
                }
                outputs[i] = pieces.like(&operands.outputs[i]);
                if reqs[i] == Req::Inplace {
                    reqs[i] = Req::Write;
                }
            }
        }
        let spans = Spans::of((&inputs, &outputs, &reqs), start, size);
        Staged {
            inputs,
            outputs,
            reqs,
            temporary,
            start,
            spans,
        }
    }

    /// The temporary memory of the run.
    pub(crate) fn block(&self) -> Option<&Temporary> {
        self.temporary.as_deref()
    }

    /// The memory of its arrays, and whether it writes there.
    pub(crate) fn uses<'a>(operands: &Operands<'a>) -> impl Iterator<Item = (&'a Arc<Uses>, bool)> {
        let (inputs, outputs) = operands.uses;
        let reads = inputs.iter().map(|block| (block, false));
        let writes = outputs.iter().flatten().map(|block| (block, true));
        reads.chain(writes)
    }

    /// Enqueues the launches, and the copies around them.
    pub(crate) fn enqueue(
        &self,
        recipe: &Recipe,
        operands: &Operands<'_>,
        port: &Port,
        stream: Object,
    ) -> Result<()> {
        let (device, (ins, outs)) = (&recipe.device, operands.staged);
        for &i in ins {
            device.launch_copy(stream, &operands.inputs[i], &self.inputs[i])?;
        }
        for &i in outs {
            let changed = || is_changed(&operands.outputs[i], operands.inputs);
            let filled = operands.copied_input(i).is_some();
            if !filled && (self.reqs[i] == Req::Add || changed()) {
                device.launch_copy(stream, &operands.outputs[i], &self.outputs[i])?;
            }
        }
        let filling = Filling {
            inputs: &self.inputs,
            outputs: &self.outputs,
            reqs: &self.reqs,
            scalars: operands.scalars,
            draws: operands.draws,
            temporary: self.start,
            refusal: recipe.refusals.as_ref().map_or(0, |r| r.slot),
        };
        recipe.enqueue(port, stream, &filling, || {
            port.driver().declare(&self.spans.reads, &self.spans.writes);
        })?;
        outs.iter()
            .try_for_each(|&i| device.launch_copy(stream, &self.outputs[i], &operands.outputs[i]))
    }
}

/// Enqueues an operator's launches; with the naive engine, waits for them.
///
/// # Errors
/// What the driver refuses; memory that cannot be had.
pub(crate) fn run(
    runtime: &Runtime,
    recipe: &Recipe,
    operands: &Operands<'_>,
    origin: Origin,
) -> Result<()> {
    let (device, gpus) = (&recipe.device, runtime.gpus()?);
    let block = Temporary::of_size(runtime, device, Staged::size(recipe, operands))?;
    let staged = Staged::new(recipe, operands, block);
    let mut uses: SmallVec<[(&Arc<Uses>, bool); 8]> = Staged::uses(operands).collect();
    uses.extend(staged.block().map(|block| (&block.uses, true)));
    let work = |port: &Port, stream| staged.enqueue(recipe, operands, port, stream);
    let ticket = device.enqueue(gpus, Lane::Compute, origin, &uses, work)?;
    recipe.watch(ticket, origin);
    finish(runtime, device, ticket)
}

/// With the naive engine, waits for a piece of work, so that its errors are its own.
pub(crate) fn finish(runtime: &Runtime, device: &Device, ticket: Ticket) -> Result<()> {
    match runtime.is_naive() {
        true => device
            .wait(runtime.gpus()?, ticket)
            .and_then(|()| device.refused())
            .map_err(|failure| failure.error),
        false => Ok(()),
    }
}

/// The bytes that the launches of a run may read, and write.
struct Spans {
    reads: Vec<[u64; 2]>,
    writes: Vec<[u64; 2]>,
}

impl Spans {
    fn of((inputs, outputs, reqs): (&[View], &[View], &[Req]), start: u64, size: usize) -> Self {
        let wanted = outputs.iter().zip(reqs);
        let wanted = wanted.filter(|(_, req)| **req != Req::Null);
        let mut writes: Vec<[u64; 2]> = wanted.map(|(view, _)| span(view)).collect();
        if size > 0 {
            writes.push([start, start + size as u64]);
        }
        Spans {
            reads: inputs.iter().map(span).collect(),
            writes,
        }
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
            let given = &operands.outputs[i];
            let filled = reqs[i] == Req::Add || is_changed(given, operands.inputs);
            *output = load(given, uses, filled)?;
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
        kept: None,
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
