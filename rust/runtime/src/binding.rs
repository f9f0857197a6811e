//! A prepared operator bound to arrays, ready to be pushed.

mod kept;

use crate::gpu::{self, There};
use crate::prepared::Work;
use crate::scratch::{Scratch, padded};
use crate::{About, Array, Prepared, Runtime, held};
use ferromix_base::{Context, Error, Result};
use ferromix_engine::{Device as Lane, Name, OpSpec, Var};
use ferromix_kernels::random::Stream;
use ferromix_kernels::{self as kernels, Call, Req, SMALL_WORK, View};
use kept::Keep;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, PoisonError};

/// Outputs of fewer bytes are not counted as in flight: the bound on operations is enough.
const SMALL: u64 = 64 << 10;

/// A prepared operator bound to arrays. It does not keep them alive: whoever pushes it does, and a
/// push after an array died is an error.
pub struct Binding {
    pub(crate) prepared: Arc<Prepared>,
    pub(crate) name: Name,
    pub(crate) inputs: SmallVec<[View; 3]>,
    /// Runs want them mutable.
    pub(crate) outputs: Mutex<SmallVec<[View; 2]>>,
    /// The inputs and the outputs for which the kernel works on a contiguous copy in scratch memory.
    pub(crate) staged: (Vec<usize>, Vec<usize>),
    pub(crate) reqs: SmallVec<[Req; 2]>,
    reads: SmallVec<[Var; 4]>,
    writes: SmallVec<[Var; 4]>,
    pub(crate) scalars: SmallVec<[f64; 4]>,
    scratch: usize,
    /// See [`Binding::work`].
    work: Option<usize>,
    /// Bytes of the outputs.
    bytes: u64,
    /// For arrays on a GPU.
    pub(crate) there: Option<Box<There>>,
    /// For steps of plans.
    keep: Option<Box<Keep>>,
}

impl Binding {
    /// Binds `prepared` to arrays. `name` is what errors call the operation; an output that is
    /// `None` must have the request `Null`.
    ///
    /// # Errors
    /// Arrays that differ from what was prepared, or memory that cannot be had.
    pub fn new<A: AsRef<Array>>(
        prepared: &Arc<Prepared>,
        name: Name,
        inputs: &[A],
        outputs: &[Option<A>],
        reqs: &[Req],
    ) -> Result<Arc<Self>> {
        Binding::with_scalars(prepared, name, inputs, outputs, reqs, &[])
    }

    /// [`new`](Binding::new) for one run, with its values of dynamic attributes, by place; the others
    /// are as prepared.
    ///
    /// # Errors
    /// As there.
    pub fn with_scalars<A: AsRef<Array>>(
        prepared: &Arc<Prepared>,
        name: Name,
        inputs: &[A],
        outputs: &[Option<A>],
        reqs: &[Req],
        scalars: &[(usize, f64)],
    ) -> Result<Arc<Self>> {
        let some = inputs.iter().map(|a| Some(a.as_ref()));
        prepared.check("input", prepared.inputs(), some)?;
        prepared.check("output", prepared.outputs(), outputs.iter().map(array))?;
        if reqs.len() != outputs.len() {
            return Err(Error::value("one request is needed for each output"));
        }
        let outs = outputs.iter().flatten();
        let elements = inputs.iter().chain(outs).map(|a| a.as_ref().len()).sum();
        let mut bound = Binding {
            prepared: prepared.clone(),
            name,
            // Views are large, and grown vectors would leave much of their memory unused.
            inputs: SmallVec::with_capacity(inputs.len()),
            outputs: Mutex::new(SmallVec::with_capacity(outputs.len())),
            staged: (Vec::new(), Vec::new()),
            reqs: SmallVec::with_capacity(reqs.len()),
            reads: SmallVec::with_capacity(inputs.len()),
            writes: SmallVec::with_capacity(outputs.len()),
            scalars: SmallVec::from_slice(&prepared.scalars),
            scratch: padded(prepared.workspace()),
            work: prepared.work(elements),
            bytes: 0,
            there: There::of(prepared, inputs, outputs, reqs)?,
            keep: None,
        };
        bound.set_scalars(scalars);
        for input in inputs {
            bound.add_input(input.as_ref(), outputs, reqs)?;
        }
        for (i, (output, &req)) in outputs.iter().zip(reqs).enumerate() {
            bound.add_output(i, array(output), req)?;
        }
        Ok(Arc::new(bound))
    }

    /// Binds to other arrays what was bound for one run, and run, before: at a fifth of the cost of
    /// a new one. False where that is not possible: while it is in use, and for arrays that are on another
    /// device, laid out in another way, that need copies, or whose memory overlaps.
    ///
    /// # Errors
    /// Memory that cannot be had. It must not be pushed then, nor where the answer was false.
    pub fn rebind<A: AsRef<Array>>(
        this: &mut Arc<Self>,
        inputs: &[A],
        outputs: &[Option<A>],
        reqs: &[Req],
        scalars: &[(usize, f64)],
    ) -> Result<bool> {
        let Some(bound) = Arc::get_mut(this) else {
            return Ok(false);
        };
        let explained = in_operator(bound.name);
        let staged = !bound.staged.0.is_empty() || !bound.staged.1.is_empty();
        let views = bound
            .outputs
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        let counts = (bound.inputs.len(), views.len());
        if staged || reqs != &bound.reqs[..] || counts != (inputs.len(), outputs.len()) {
            return Ok(false);
        }
        if let Some(there) = &bound.there
            && !there.fits(inputs, outputs)
        {
            return Ok(false);
        }
        // A kernel of the CPU takes nothing that is on a GPU, though all else is alike.
        let away = |array: &Array| !array.chunk().context().is_host();
        let here = bound.there.is_none();
        let rows = inputs.iter().zip(&mut bound.inputs).zip(&mut bound.reads);
        for ((input, view), var) in rows {
            let input = input.as_ref();
            let elsewhere = here && away(input);
            if elsewhere || !input.is_like(view) || clashes(input, outputs, reqs, false) {
                return Ok(false);
            }
            *var = input.chunk().var();
            // SAFETY: as for `Array::view`; nobody else has the views.
            unsafe { view.move_to(input.address().map_err(explained)?) };
        }
        let mut writes = bound.writes.iter_mut();
        let wanted = outputs.iter().zip(views).zip(reqs);
        for ((output, view), _) in wanted.filter(|(_, req)| **req != Req::Null) {
            let (Some(output), Some(var)) = (array(output), writes.next()) else {
                return Ok(false);
            };
            let elsewhere = here && away(output);
            if elsewhere || !output.is_like(view) || output.chunk().is_read_only() {
                return Ok(false);
            }
            *var = output.chunk().var();
            // SAFETY: as above.
            unsafe { view.move_to(output.address().map_err(explained)?) };
        }
        if let Some(there) = &mut bound.there {
            there.bind(inputs, outputs, reqs)?;
        }
        bound.set_scalars(scalars);
        Ok(true)
    }

    /// Has runs of a plan's step begin with what its kernel made of some inputs the last time, if there is
    /// anything; `stays(i)` says whether nothing but operations of the engine, none of which are steps of
    /// that plan, writes input `i`. False for one that is in use.
    pub fn keep<A: AsRef<Array>>(
        this: &mut Arc<Self>,
        inputs: &[A],
        stays: impl Fn(usize) -> bool,
    ) -> bool {
        let Some(bound) = Arc::get_mut(this) else {
            return false;
        };
        if bound.there.is_none() {
            bound.keep = Keep::new(&bound.prepared, inputs, stays).map(Box::new);
        }
        true
    }

    /// What people may know of it.
    pub(crate) fn about(&self) -> About {
        About {
            name: self.name,
            choice: self.prepared.choice(),
            workspace: self.scratch,
            kept: self.keep.as_ref().map_or(0, |keep| keep.bytes()),
        }
    }

    fn set_scalars(&mut self, scalars: &[(usize, f64)]) {
        self.scalars.copy_from_slice(&self.prepared.scalars);
        for &(slot, value) in scalars {
            if let Some(place) = self.scalars.get_mut(slot) {
                *place = value;
            }
        }
    }

    fn add_input<A: AsRef<Array>>(
        &mut self,
        input: &Array,
        outputs: &[Option<A>],
        reqs: &[Req],
    ) -> Result<()> {
        let shrinks = self.inputs.is_empty() && self.prepared.is_shrinking();
        let clash = clashes(input, outputs, reqs, shrinks);
        let staged = clash || (!self.prepared.is_strided() && !input.is_contiguous());
        if staged {
            self.scratch += padded(input.len() * input.dtype().size());
            self.staged.0.push(self.inputs.len());
        }
        self.reads.push(input.chunk().var());
        let view = input.view().map_err(in_operator(self.name))?;
        self.inputs.push(view);
        Ok(())
    }

    fn add_output(&mut self, index: usize, output: Option<&Array>, req: Req) -> Result<()> {
        let (Some(output), true) = (output, req != Req::Null) else {
            let desc = &self.prepared.outputs()[index];
            let strides = ferromix_base::contiguous_strides(&desc.shape);
            // SAFETY: with the request Null the kernel does not touch the view.
            let view = unsafe {
                View::from_raw(
                    std::ptr::null_mut(),
                    desc.dtype,
                    desc.shape.clone(),
                    strides,
                )
            };
            self.views().push(view);
            self.reqs.push(Req::Null);
            return Ok(());
        };
        output.require_writable(&self.prepared.operator)?;
        let staged = !self.prepared.is_strided() && !output.is_contiguous();
        if staged {
            self.scratch += padded(output.len() * output.dtype().size());
            self.staged.1.push(index);
        }
        self.writes.push(output.chunk().var());
        self.bytes += (output.len() * output.dtype().size()) as u64;
        let view = output.view().map_err(in_operator(self.name))?;
        self.views().push(view);
        self.reqs.push(req);
        Ok(())
    }

    fn views(&mut self) -> &mut SmallVec<[View; 2]> {
        self.outputs
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Pushes one run on the engine and returns at once. A small one may have run then. `site` says
    /// where the user did so. Inside a user's function that [holds](held) one of the arrays, returns
    /// when the run is over.
    ///
    /// # Errors
    /// An engine that was shut down; inside such a function, also what the run fails with.
    pub fn push(self: &Arc<Self>, runtime: &Arc<Runtime>, site: u64) -> Result<()> {
        let random = match &self.there {
            _ if !self.is_random() => None,
            Some(there) => Some(runtime.random().next_on(there.context())?),
            None => Some(runtime.random().next()),
        };
        let me = self.clone();
        let spec = OpSpec::new(self.name)
            .on(self.lane())
            .reads(&self.reads)
            .writes(&self.writes)
            .bytes(if self.bytes < SMALL { 0 } else { self.bytes })
            .tag(site)
            .inline(self.is_small());
        held::submit(runtime, &spec, move |runtime| me.run(runtime, random, site))
    }

    /// What errors call the operation.
    pub(crate) fn name(&self) -> Name {
        self.name
    }

    /// The variables that a run only reads.
    pub(crate) fn reads(&self) -> &[Var] {
        &self.reads
    }

    /// The variables that a run changes.
    pub(crate) fn writes(&self) -> &[Var] {
        &self.writes
    }

    /// Whether a run needs random numbers.
    pub(crate) fn is_random(&self) -> bool {
        self.prepared.is_random()
    }

    /// Where it runs.
    pub(crate) fn context(&self) -> Context {
        self.there
            .as_ref()
            .map_or(Context::cpu(), |there| there.context())
    }

    /// How long a run takes, as a number of additions, if that is known.
    pub(crate) fn work(&self) -> Option<usize> {
        self.work
    }

    /// Whether a run takes no longer than handing it to another thread.
    pub(crate) fn is_small(&self) -> bool {
        self.there.is_none() && self.work.is_some_and(|work| work <= SMALL_WORK)
    }

    /// The threads of the engine that run it: a GPU's launch, and copies for the CPU's kernels wait.
    pub(crate) fn lane(&self) -> Lane {
        let launches = matches!(self.prepared.work, Work::Launches(_));
        let there = self.there.as_ref();
        let there = there.filter(|there| launches && !there.is_across());
        there.map_or(Lane::CPU, |there| Lane::gpu(there.context().device_id))
    }

    /// Runs it as a step of a plan, with what it keeps; the caller has the variables.
    pub(crate) fn run_step(
        &self,
        runtime: &Runtime,
        random: Option<Stream>,
        site: u64,
    ) -> Result<()> {
        let Some(keep) = &self.keep else {
            return self.run(runtime, random, site);
        };
        let Work::Kernel(_, kernel) = &self.prepared.work else {
            return self.run(runtime, random, site);
        };
        let explained = in_operator(self.name);
        let make =
            |views: &[View], memory: &mut [u8]| kernel.keep(views, memory).map_err(explained);
        keep.with(runtime, &self.inputs, make, |kept| {
            self.run_with(runtime, random, site, kept)
        })
    }

    /// Runs it; the caller has the variables.
    pub(crate) fn run(&self, runtime: &Runtime, random: Option<Stream>, site: u64) -> Result<()> {
        self.run_with(runtime, random, site, None)
    }

    fn run_with(
        &self,
        runtime: &Runtime,
        random: Option<Stream>,
        site: u64,
        kept: Option<&[u8]>,
    ) -> Result<()> {
        // Runs write the same memory, so the engine has them follow each other.
        let mut views = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(there) = &self.there {
            return self.run_there(runtime, there, &views, random, site);
        }
        if self.scratch == 0 {
            let given = (random, kept);
            return self.call(&self.inputs, &mut views, &self.reqs, &mut [], given);
        }
        let mut outputs = views.clone();
        let mut scratch = Scratch::new(runtime, self.scratch).map_err(in_operator(self.name))?;
        let (mut inputs, mut reqs) = (self.inputs.clone(), self.reqs.clone());
        for &i in &self.staged.0 {
            inputs[i] = stage(&inputs[i], &mut scratch, true)?;
        }
        for &i in &self.staged.1 {
            let filled = reqs[i] == Req::Add || is_changed(&outputs[i], &self.inputs);
            outputs[i] = stage(&outputs[i], &mut scratch, filled)?;
            if reqs[i] == Req::Inplace {
                reqs[i] = Req::Write;
            }
        }
        let workspace = scratch.bytes(self.prepared.workspace());
        self.call(&inputs, &mut outputs, &reqs, workspace, (random, kept))?;
        for &i in &self.staged.1 {
            kernels::copy(&outputs[i], &mut views[i])?;
        }
        Ok(())
    }

    fn call(
        &self,
        inputs: &[View],
        outputs: &mut [View],
        reqs: &[Req],
        workspace: &mut [u8],
        (random, kept): (Option<Stream>, Option<&[u8]>),
    ) -> Result<()> {
        let mut call = Call {
            inputs,
            outputs,
            reqs,
            workspace,
            scalars: &self.scalars,
            random,
            kept,
        };
        let prepared = &self.prepared;
        let Work::Kernel(_, kernel) = &prepared.work else {
            return Err(gpu::elsewhere(&prepared.operator));
        };
        kernel
            .run(&mut call)
            .map_err(|e| e.within(format_args!("operator {}", prepared.operator)))
    }
}

pub(crate) fn array<A: AsRef<Array>>(output: &Option<A>) -> Option<&Array> {
    output.as_ref().map(AsRef::as_ref)
}

/// What puts the operator's name in front of an error.
fn in_operator(name: Name) -> impl Fn(Error) -> Error + Copy {
    move |error| error.within(format_args!("operator {name}"))
}

/// Whether the kernel must not see this input as it is, as it writes some of its memory; where it `shrinks`
/// it, it may write from its first byte on.
fn clashes<A: AsRef<Array>>(
    input: &Array,
    outputs: &[Option<A>],
    reqs: &[Req],
    shrinks: bool,
) -> bool {
    outputs.iter().zip(reqs).any(|(output, &req)| {
        let Some(output) = array(output) else {
            return false;
        };
        req != Req::Null
            && output.overlaps(input)
            && !(req == Req::Inplace
                && (output.same_view(input) || shrinks && output.begins(input)))
    })
}

/// Whether an output is an input that the kernel changes, of which it may leave any part as it is.
pub(crate) fn is_changed(output: &View, inputs: &[View]) -> bool {
    let start = |view: &View| (view.ptr(), view.is_empty());
    inputs.iter().any(|input| start(input) == start(output))
}

/// A copy in scratch memory, for the kernel to see instead of an array.
fn stage(view: &View, scratch: &mut Scratch<'_>, filled: bool) -> Result<View> {
    let mut copy = scratch.view(view.dtype(), &view.shape().into());
    if filled {
        kernels::copy(view, &mut copy)?;
    }
    Ok(copy)
}
