//! What an operator launches: kernels, grids, and what each argument is.

use super::blas::{Blas, Product};
use super::cudnn::Convolution;
use super::device::{Device, Origin};
use super::driver::Object;
use super::port::Port;
use super::refusals::{Refusals, Sentence};
use super::uses::Ticket;
use super::{Function, walk};
use ferromix_base::{Error, Result};
use ferromix_kernels::random::Stream;
use ferromix_kernels::{Req, View};
use std::ffi::c_void;
use std::sync::Arc;

/// What an argument of a kernel is.
#[derive(Clone, Debug)]
pub enum Arg {
    /// The address of an input.
    Input(usize),
    /// The address of an output.
    Output(usize),
    /// An address in the temporary memory.
    Temporary(usize),
    /// An address some bytes behind that of another argument; null where that is null.
    Behind(Box<Arg>, usize),
    /// A value.
    Bytes(Box<[u8]>),
    /// A dynamic attribute of the run, as `double`.
    Dynamic(usize),
    /// The request for an output, as `int`.
    Req(usize),
    /// The random numbers of the run: `fm::Stream`.
    Draws,
    /// How operands lie in memory: `fm::Walk`. All are [`Input`](Arg::Input) or [`Output`](Arg::Output).
    Walk(Vec<Arg>),
    /// Several in one.
    Struct(Vec<Arg>),
    /// Where kernels write what they refuse: `fm::Refusal *`.
    Refusal,
}

/// One launch.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The kernel.
    pub function: Function,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of shared memory that a block gets besides what the kernel declares.
    pub shared: u32,
    /// The arguments.
    pub args: Vec<Arg>,
}

/// What a recipe has a stream do.
#[derive(Clone, Debug)]
pub enum Step {
    /// A kernel.
    Kernel(Launch),
    /// A product of matrices, by the vendor's library.
    Product(Product),
    /// A convolution, or a gradient of one, by the vendor's library.
    Convolution(Convolution),
}

impl Step {
    fn args(&self) -> &[Arg] {
        match self {
            Step::Kernel(launch) => &launch.args,
            Step::Product(product) => &product.factors,
            Step::Convolution(convolution) => &convolution.operands,
        }
    }
}

/// What an operator launches on a device.
pub struct Recipe {
    pub(crate) device: Arc<Device>,
    steps: Vec<Step>,
    blas: Option<Arc<Blas>>,
    /// Bytes of temporary memory.
    pub(crate) temporary: usize,
    pub(crate) strided: bool,
    /// Whether runs take random numbers, as the CPU's kernel does, and whether they draw some.
    pub(crate) random: bool,
    pub(crate) draws: bool,
    /// Where there are sentences.
    pub(crate) refusals: Option<Arc<Refusals>>,
}

impl Recipe {
    /// A recipe for device `id` of `gpus`, for an operator with so many inputs, outputs and dynamic
    /// attributes, which takes random numbers though its kernels may draw none if it is `random`, and whose
    /// kernels may refuse what `sentences` say.
    ///
    /// # Errors
    /// A device that there is not, arguments that the operator does not have, or a product without a
    /// library for it.
    pub fn new(
        gpus: &super::Gpus,
        id: u16,
        steps: Vec<Step>,
        temporary: usize,
        (strided, random): (bool, bool),
        counts: (usize, usize, usize),
        sentences: Vec<Sentence>,
    ) -> Result<Self> {
        let args = || steps.iter().flat_map(Step::args);
        for arg in args() {
            check(arg, counts)?;
        }
        let blas = gpus.blas();
        for step in &steps {
            if let Step::Product(product) = step {
                check(&product.out, counts)?;
                product
                    .req
                    .map_or(Ok(()), |i| check(&Arg::Req(i), counts))?;
                if blas.is_none() || product.workspace > temporary {
                    return Err(Error::internal(format!(
                        "no library, or no room, for {product:?}"
                    )));
                }
            }
        }
        for step in &steps {
            if let Step::Convolution(convolution) = step {
                check(&convolution.out, counts)?;
                check(&Arg::Req(convolution.req), counts)?;
                if convolution.plan.workspace > temporary {
                    return Err(Error::internal(format!("no room for {convolution:?}")));
                }
            }
        }
        let draws = args().any(draws);
        let device = gpus.device(id)?.clone();
        let refusals = match sentences.is_empty() {
            true => None,
            false => Some(device.refusals(sentences)?),
        };
        Ok(Recipe {
            device,
            refusals,
            steps,
            blas,
            temporary,
            strided,
            random: random || draws,
            draws,
        })
    }

    /// Notes a run, if its kernels may refuse something.
    pub(crate) fn watch(&self, ticket: Ticket, origin: Origin) {
        if let Some(refusals) = &self.refusals {
            self.device.watch(refusals, ticket, origin);
        }
    }

    /// Enqueues its steps, each after `before`.
    pub(crate) fn enqueue(
        &self,
        port: &Port,
        stream: Object,
        filling: &Filling<'_>,
        before: impl Fn(),
    ) -> Result<()> {
        for step in &self.steps {
            before();
            match (step, &self.blas) {
                (Step::Kernel(launch), _) => launch.enqueue(port, stream, filling)?,
                (Step::Product(product), Some(blas)) => {
                    product.enqueue(blas, port, stream, filling)?;
                }
                (Step::Convolution(convolution), _) => {
                    convolution.enqueue(port, stream, filling)?;
                }
                (Step::Product(_), None) => {} // which `new` excludes
            }
        }
        Ok(())
    }
}

fn draws(arg: &Arg) -> bool {
    match arg {
        Arg::Draws => true,
        Arg::Struct(parts) => parts.iter().any(draws),
        _ => false,
    }
}

fn check(arg: &Arg, counts: (usize, usize, usize)) -> Result<()> {
    let fine = match arg {
        Arg::Input(i) => *i < counts.0,
        Arg::Output(i) | Arg::Req(i) => *i < counts.1,
        Arg::Dynamic(slot) => *slot < counts.2,
        Arg::Behind(of, _) => check(of, counts).is_ok(),
        Arg::Walk(operands) => {
            let known = |o: &Arg| matches!(o, Arg::Input(_) | Arg::Output(_));
            !operands.is_empty()
                && operands
                    .iter()
                    .all(|o| known(o) && check(o, counts).is_ok())
        }
        Arg::Struct(parts) => parts.iter().all(|part| check(part, counts).is_ok()),
        Arg::Temporary(_) | Arg::Bytes(_) | Arg::Draws | Arg::Refusal => true,
    };
    if fine {
        return Ok(());
    }
    Err(Error::internal(format!(
        "a recipe names {arg:?} of an operator with {} inputs, {} outputs and {} dynamic attributes",
        counts.0, counts.1, counts.2
    )))
}

/// What fills the arguments of a run.
pub(crate) struct Filling<'a> {
    pub(crate) inputs: &'a [View],
    pub(crate) outputs: &'a [View],
    pub(crate) reqs: &'a [Req],
    pub(crate) scalars: &'a [f64],
    pub(crate) draws: Option<Stream>,
    pub(crate) temporary: u64,
    /// 0 where nothing is refused.
    pub(crate) refusal: u64,
}

impl Filling<'_> {
    /// The address that an argument is; 0 where it is something else.
    pub(crate) fn address(&self, arg: &Arg) -> usize {
        match arg {
            Arg::Input(_) | Arg::Output(_) => self.view(arg).ptr().addr(),
            Arg::Temporary(offset) => self.temporary as usize + offset,
            Arg::Behind(of, bytes) => match self.address(of) {
                0 => 0,
                address => address + bytes,
            },
            _ => 0,
        }
    }

    fn view(&self, operand: &Arg) -> &View {
        match operand {
            Arg::Output(i) => &self.outputs[*i],
            Arg::Input(i) => &self.inputs[*i],
            _ => &self.outputs[0], // which `check` excludes
        }
    }

    /// Bytes that the value is aligned to.
    fn alignment(arg: &Arg) -> usize {
        match arg {
            Arg::Bytes(bytes) => bytes.len().clamp(1, 8),
            Arg::Req(_) => 4,
            Arg::Struct(parts) => parts.iter().map(Self::alignment).max().unwrap_or(1),
            _ => 8,
        }
    }

    /// Appends a value at its alignment.
    fn encode(&self, arg: &Arg, into: &mut Vec<u8>) -> Result<()> {
        into.resize(into.len().next_multiple_of(Self::alignment(arg)), 0);
        let mut word = |word: u64| into.extend_from_slice(&word.to_ne_bytes());
        match arg {
            Arg::Input(_) | Arg::Output(_) | Arg::Temporary(_) | Arg::Behind(..) => {
                word(self.address(arg) as u64);
            }
            Arg::Bytes(bytes) => into.extend_from_slice(bytes),
            Arg::Refusal => word(self.refusal),
            Arg::Dynamic(slot) => word(self.scalars[*slot].to_bits()),
            Arg::Req(i) => {
                let code: i32 = match self.reqs[*i] {
                    Req::Null => 0,
                    Req::Write => 1,
                    Req::Inplace => 2,
                    Req::Add => 3,
                };
                into.extend_from_slice(&code.to_ne_bytes());
            }
            Arg::Draws => {
                let stream = self.draws.ok_or_else(|| {
                    Error::internal("a kernel draws random numbers, and the run has none")
                })?;
                word(stream.seed);
                word(stream.number);
            }
            Arg::Walk(operands) => {
                let views: Vec<&View> = operands.iter().map(|o| self.view(o)).collect();
                walk::encode(&views, into)?;
            }
            Arg::Struct(parts) => {
                for part in parts {
                    self.encode(part, into)?;
                }
                into.resize(into.len().next_multiple_of(Self::alignment(arg)), 0);
            }
        }
        Ok(())
    }
}

impl Launch {
    /// Enqueues it.
    pub(crate) fn enqueue(&self, port: &Port, stream: Object, filling: &Filling<'_>) -> Result<()> {
        let (mut bytes, mut starts) = (Vec::with_capacity(512), Vec::with_capacity(8));
        for arg in &self.args {
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            starts.push(bytes.len());
            filling.encode(arg, &mut bytes)?;
        }
        let base = bytes.as_mut_ptr();
        let mut args: Vec<*mut c_void> = starts
            .iter()
            .map(|&start| base.wrapping_add(start).cast())
            .collect();
        let function = std::ptr::with_exposed_provenance_mut(self.function);
        port.launch(
            function,
            (self.grid, self.block, self.shared),
            &mut args,
            stream,
        )
    }
}
