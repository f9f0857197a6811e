//! An operator prepared for shapes and types, and one bound to arrays, ready to be pushed.

use crate::scratch::{Scratch, padded};
use crate::{Array, Runtime, held};
use ferromix_base::{Error, Result};
use ferromix_engine::{Name, OpSpec, Var};
use ferromix_kernels::random::Stream;
use ferromix_kernels::{self as kernels, Attrs, Call, Desc, Kernel, Req, Row, SMALL_WORK, View};
use smallvec::SmallVec;
use std::sync::Arc;

/// A kernel for one operator, set of attributes, shapes and element types.
pub struct Prepared {
    operator: Arc<str>,
    row: &'static Row,
    kernel: Box<dyn Kernel>,
    inputs: Vec<Desc>,
    outputs: Vec<Desc>,
    /// The dynamic attributes of runs that bring none.
    scalars: Vec<f64>,
}

impl Prepared {
    /// Prepares the kernel `row` for the operator that users know as `operator`.
    ///
    /// # Errors
    /// A kernel that does not exist, or that cannot take these attributes, shapes or types.
    pub fn new(
        operator: &str,
        row: &str,
        attrs: &Attrs,
        inputs: Vec<Desc>,
        outputs: Vec<Desc>,
    ) -> Result<Arc<Self>> {
        let row = kernels::find(row).ok_or_else(|| {
            Error::internal(format!("operator {operator}: there is no kernel '{row}'"))
        })?;
        let kernel = (row.prepare)(attrs, &inputs, &outputs)
            .map_err(|e| e.within(format_args!("operator {operator}")))?;
        Ok(Arc::new(Prepared {
            operator: operator.into(),
            row,
            kernel,
            inputs,
            outputs,
            scalars: attrs.scalars(),
        }))
    }

    /// The name of the operator.
    pub fn operator(&self) -> &str {
        &self.operator
    }

    /// Shapes and types of the inputs.
    pub fn inputs(&self) -> &[Desc] {
        &self.inputs
    }

    /// Shapes and types of the outputs.
    pub fn outputs(&self) -> &[Desc] {
        &self.outputs
    }

    fn check<'a>(
        &self,
        what: &str,
        expected: &[Desc],
        got: impl ExactSizeIterator<Item = Option<&'a Array>>,
    ) -> Result<()> {
        if expected.len() != got.len() {
            return Err(Error::value(format!(
                "operator {}: expects {} {what}s, got {}",
                self.operator,
                expected.len(),
                got.len()
            )));
        }
        for (i, (e, g)) in expected.iter().zip(got).enumerate() {
            let Some(g) = g else { continue };
            if g.shape() != &e.shape[..] || g.dtype() != e.dtype {
                return Err(Error::value(format!(
                    "operator {}: {what} {i} must be {} {:?}, got {} {:?}",
                    self.operator,
                    e.dtype,
                    &e.shape[..],
                    g.dtype(),
                    g.shape()
                )));
            }
        }
        Ok(())
    }
}

/// Outputs of fewer bytes are not counted as in flight: the bound on operations is enough.
const SMALL: u64 = 64 << 10;

/// A prepared operator bound to arrays. It does not keep them alive: whoever pushes it does, and a
/// push after an array died is an error.
pub struct Bound {
    prepared: Arc<Prepared>,
    name: Name,
    inputs: SmallVec<[View; 3]>,
    outputs: SmallVec<[View; 2]>,
    /// The inputs and the outputs for which the kernel works on a contiguous copy in scratch memory.
    staged: (Vec<usize>, Vec<usize>),
    reqs: SmallVec<[Req; 2]>,
    reads: SmallVec<[Var; 4]>,
    writes: SmallVec<[Var; 4]>,
    scalars: SmallVec<[f64; 4]>,
    scratch: usize,
    /// See [`Bound::work`].
    work: Option<usize>,
    /// Bytes of the outputs.
    bytes: u64,
}

impl Bound {
    /// Binds `prepared` to arrays. `name` is what errors call the operation; an output that is
    /// `None` must have the request `Null`.
    ///
    /// # Errors
    /// Arrays that differ from what was prepared, or memory that cannot be had.
    pub fn new(
        prepared: &Arc<Prepared>,
        name: Name,
        inputs: &[&Array],
        outputs: &[Option<&Array>],
        reqs: &[Req],
    ) -> Result<Arc<Self>> {
        Bound::with_scalars(prepared, name, inputs, outputs, reqs, &[])
    }

    /// [`new`](Bound::new) for one run, with its values of dynamic attributes, by place; the others
    /// are as prepared.
    ///
    /// # Errors
    /// As there.
    pub fn with_scalars(
        prepared: &Arc<Prepared>,
        name: Name,
        inputs: &[&Array],
        outputs: &[Option<&Array>],
        reqs: &[Req],
        scalars: &[(usize, f64)],
    ) -> Result<Arc<Self>> {
        prepared.check("input", &prepared.inputs, inputs.iter().copied().map(Some))?;
        prepared.check("output", &prepared.outputs, outputs.iter().copied())?;
        if reqs.len() != outputs.len() {
            return Err(Error::value("one request is needed for each output"));
        }
        let outs = outputs.iter().flatten();
        let elements = inputs.iter().chain(outs).map(|array| array.len()).sum();
        let mut bound = Bound {
            prepared: prepared.clone(),
            name,
            inputs: SmallVec::new(),
            outputs: SmallVec::new(),
            staged: (Vec::new(), Vec::new()),
            reqs: SmallVec::new(),
            reads: SmallVec::new(),
            writes: SmallVec::new(),
            scalars: SmallVec::from_slice(&prepared.scalars),
            scratch: padded(prepared.kernel.workspace()),
            work: prepared.row.work(elements),
            bytes: 0,
        };
        for &(slot, value) in scalars {
            if let Some(place) = bound.scalars.get_mut(slot) {
                *place = value;
            }
        }
        for input in inputs {
            bound.add_input(input, outputs, reqs)?;
        }
        for (i, (output, &req)) in outputs.iter().zip(reqs).enumerate() {
            bound.add_output(i, *output, req)?;
        }
        Ok(Arc::new(bound))
    }

    fn add_input(&mut self, input: &Array, outputs: &[Option<&Array>], reqs: &[Req]) -> Result<()> {
        let clash = outputs.iter().zip(reqs).any(|(output, &req)| {
            let Some(output) = output else { return false };
            req != Req::Null
                && output.overlaps(input)
                && !(req == Req::Inplace && output.same_view(input))
        });
        let staged = clash || (!self.prepared.row.strided && !input.is_contiguous());
        if staged {
            self.scratch += padded(input.len() * input.dtype().size());
            self.staged.0.push(self.inputs.len());
        }
        self.reads.push(input.chunk().var());
        self.inputs.push(input.view()?);
        Ok(())
    }

    fn add_output(&mut self, index: usize, output: Option<&Array>, req: Req) -> Result<()> {
        let (Some(output), true) = (output, req != Req::Null) else {
            let desc = &self.prepared.outputs[index];
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
            self.outputs.push(view);
            self.reqs.push(Req::Null);
            return Ok(());
        };
        let staged = !self.prepared.row.strided && !output.is_contiguous();
        if staged {
            self.scratch += padded(output.len() * output.dtype().size());
            self.staged.1.push(index);
        }
        self.writes.push(output.chunk().var());
        self.bytes += (output.len() * output.dtype().size()) as u64;
        self.outputs.push(output.view()?);
        self.reqs.push(req);
        Ok(())
    }

    /// Pushes one run on the engine and returns at once. A small one may have run then. `site` says
    /// where the user did so. Inside a user's function that [holds](held) one of the arrays, returns
    /// when the run is over.
    ///
    /// # Errors
    /// An engine that was shut down; inside such a function, also what the run fails with.
    pub fn push(self: &Arc<Self>, runtime: &Arc<Runtime>, site: u64) -> Result<()> {
        let random = self.is_random().then(|| runtime.random().next());
        let me = self.clone();
        let spec = OpSpec::new(self.name)
            .reads(&self.reads)
            .writes(&self.writes)
            .bytes(if self.bytes < SMALL { 0 } else { self.bytes })
            .tag(site)
            .inline(self.is_small());
        held::submit(runtime, &spec, move |runtime| me.run(runtime, random))
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
        self.prepared.row.random
    }

    /// How long a run takes, as a number of additions, if that is known.
    pub(crate) fn work(&self) -> Option<usize> {
        self.work
    }

    /// Whether a run takes no longer than handing it to another thread.
    pub(crate) fn is_small(&self) -> bool {
        self.work.is_some_and(|work| work <= SMALL_WORK)
    }

    /// Runs it; the caller has the variables.
    pub(crate) fn run(&self, runtime: &Runtime, random: Option<Stream>) -> Result<()> {
        let mut outputs = self.outputs.clone();
        if self.scratch == 0 {
            return self.call(&self.inputs, &mut outputs, &self.reqs, &mut [], random);
        }
        let mut scratch = Scratch::new(runtime, self.scratch)
            .map_err(|e| e.within(format_args!("operator {}", self.name)))?;
        let (mut inputs, mut reqs) = (self.inputs.clone(), self.reqs.clone());
        for &i in &self.staged.0 {
            inputs[i] = stage(&inputs[i], &mut scratch, true)?;
        }
        for &i in &self.staged.1 {
            outputs[i] = stage(&outputs[i], &mut scratch, reqs[i] == Req::Add)?;
            if reqs[i] == Req::Inplace {
                reqs[i] = Req::Write;
            }
        }
        let workspace = scratch.bytes(self.prepared.kernel.workspace());
        self.call(&inputs, &mut outputs, &reqs, workspace, random)?;
        for &i in &self.staged.1 {
            kernels::copy(&outputs[i], &mut self.outputs[i].clone())?;
        }
        Ok(())
    }

    fn call(
        &self,
        inputs: &[View],
        outputs: &mut [View],
        reqs: &[Req],
        workspace: &mut [u8],
        random: Option<Stream>,
    ) -> Result<()> {
        let mut call = Call {
            inputs,
            outputs,
            reqs,
            workspace,
            scalars: &self.scalars,
            random,
        };
        let prepared = &self.prepared;
        prepared
            .kernel
            .run(&mut call)
            .map_err(|e| e.within(format_args!("operator {}", prepared.operator)))
    }
}

/// A copy in scratch memory, for the kernel to see instead of an array.
fn stage(view: &View, scratch: &mut Scratch<'_>, filled: bool) -> Result<View> {
    let mut copy = scratch.view(view.dtype(), &view.shape().into());
    if filled {
        kernels::copy(view, &mut copy)?;
    }
    Ok(copy)
}
