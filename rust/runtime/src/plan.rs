//! A bound graph: operators on fixed arrays, compiled to programs of the engine, so that a pass is
//! one launch.

use crate::gpu::{self, Origin, Segment};
use crate::random::Shares;
use crate::{Array, Binding, Chunk, Runtime, fork, held};
use ferromix_base::{Context, Error, Result};
use ferromix_engine::{
    Device, LaunchArgs, LocalVar, Name, OnComplete, OpSpec, Program, ProgramBuilder, Var,
};
use ferromix_kernels::random::Stream;
use ferromix_kernels::{SMALL_WORK, par};
use std::any::Any;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Memory that nobody but plans uses: the engine need not order each piece of it.
pub struct Private {
    /// The pieces.
    pub buffers: Vec<Array>,
    /// Stands for all of them: plans that share a piece must share this array. Its memory is not
    /// used.
    pub token: Array,
}

/// [Work](Binding::work) of a step that its thread keeps to itself, a few microseconds: a longer one may
/// run beside others.
const SMALL_STEP: usize = SMALL_WORK / 32;

/// Steps, and [work](Binding::work), of a pass that runs on the thread that launches it if it finds it
/// ready: a few tens of microseconds, about what it takes to wake another thread.
const SMALL_PASS: (usize, usize) = (256, SMALL_WORK / 4);

/// A step that no kernel does. It is started, on a thread that must not be kept, and says when it
/// is over.
pub trait AsyncStep: Send + Sync {
    /// What errors call the operation.
    fn name(&self) -> Name;
    /// The variables that a run only reads.
    fn reads(&self) -> &[Var];
    /// The variables that a run changes.
    fn writes(&self) -> &[Var];
    /// Starts a run; the caller has the variables.
    fn start(&self, on_complete: OnComplete);
    /// Pushes a run. Inside a user's function that [holds](held) one of the variables, returns when
    /// it is over.
    ///
    /// # Errors
    /// An engine that takes no work; inside such a function, also what the run fails with.
    fn push(&self, site: u64) -> Result<()>;
}

/// One step of a plan.
#[derive(Clone)]
pub enum Step {
    /// A kernel.
    Kernel(Arc<Binding>),
    /// Something else.
    Async(Arc<dyn AsyncStep>),
}

impl Step {
    fn name(&self) -> Name {
        match self {
            Step::Kernel(binding) => binding.name(),
            Step::Async(step) => step.name(),
        }
    }

    fn reads(&self) -> &[Var] {
        match self {
            Step::Kernel(binding) => binding.reads(),
            Step::Async(step) => step.reads(),
        }
    }

    fn writes(&self) -> &[Var] {
        match self {
            Step::Kernel(binding) => binding.writes(),
            Step::Async(step) => step.writes(),
        }
    }

    fn lane(&self) -> Device {
        match self {
            Step::Kernel(binding) => binding.lane(),
            Step::Async(_) => Device::CPU,
        }
    }

    /// The binding of a step that can be part of a graph of a GPU's driver.
    fn captured(&self) -> Option<Arc<Binding>> {
        match self {
            Step::Kernel(binding) if gpu::graphs_are_wanted() => {
                binding.capturable().map(|_| binding.clone())
            }
            _ => None,
        }
    }

    /// The device whose random numbers it takes, if it does.
    fn random_on(&self) -> Option<Context> {
        match self {
            Step::Kernel(binding) if binding.is_random() => Some(binding.context()),
            _ => None,
        }
    }

    fn is_async(&self) -> bool {
        matches!(self, Step::Async(_))
    }

    fn work(&self) -> Option<usize> {
        match self {
            Step::Kernel(binding) => binding.work(),
            Step::Async(_) => None,
        }
    }

    fn push(&self, runtime: &Arc<Runtime>, site: u64) -> Result<()> {
        match self {
            Step::Kernel(binding) => binding.push(runtime, site),
            Step::Async(step) => step.push(site),
        }
    }
}

/// What people may know of a step.
pub struct About {
    /// What errors call the operation.
    pub name: Name,
    /// The way that its kernel chose where there are several.
    pub choice: Option<String>,
    /// Bytes of scratch memory that a run takes for itself.
    pub workspace: usize,
    /// Bytes of what is kept from run to run.
    pub kept: usize,
}

/// What a launch gives to its steps, and what lives until it is over.
struct Given {
    streams: Vec<Stream>,
    _guard: Option<Box<dyn Any + Send + Sync>>,
}

/// A list of bound operators in an order that respects the graph. It keeps their memory alive.
pub struct Plan {
    runtime: Arc<Runtime>,
    steps: Vec<Step>,
    chunks: Arc<Vec<Chunk>>,
    token: Option<Array>,
    /// The local variables of the private buffers, by their engine's.
    locals: HashMap<Var, LocalVar>,
    /// Programs of ranges that were run.
    programs: Mutex<Vec<Compiled>>,
}

#[derive(Clone)]
struct Compiled {
    range: Range<usize>,
    program: Program,
    /// What steps take of random numbers.
    random: Shares,
}

impl Plan {
    /// A plan of `steps`, which work on `chunks`, and on `private` memory.
    pub fn new(
        runtime: &Arc<Runtime>,
        steps: Vec<Step>,
        mut chunks: Vec<Chunk>,
        private: Option<Private>,
    ) -> Self {
        let (mut locals, mut token) = (HashMap::new(), None);
        if let Some(private) = private {
            let numbers = (0..).map(LocalVar::new);
            locals = private
                .buffers
                .iter()
                .map(|buffer| buffer.chunk().var())
                .zip(numbers)
                .collect();
            let buffers = private.buffers.iter();
            chunks.extend(buffers.map(|buffer| buffer.chunk().clone()));
            token = Some(private.token);
        }
        Plan {
            runtime: runtime.clone(),
            steps,
            chunks: Arc::new(chunks),
            token,
            locals,
            programs: Mutex::default(),
        }
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// What people may know of each step.
    pub fn about(&self) -> impl Iterator<Item = About> {
        self.steps.iter().map(|step| match step {
            Step::Kernel(binding) => binding.about(),
            Step::Async(step) => About {
                name: step.name(),
                choice: None,
                workspace: 0,
                kept: 0,
            },
        })
    }

    /// Whether there is no step.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether some step of `range` is no kernel.
    pub fn has_async(&self, range: Range<usize>) -> bool {
        let steps = self.steps.get(range);
        steps.is_some_and(|steps| steps.iter().any(Step::is_async))
    }

    /// Launches the steps of `range`, as if they were pushed in order, and returns at once, unless
    /// two launches of it are under way. Inside a user's function that [holds](held) some arrays,
    /// pushes them one by one. `guard` lives until the launch is over.
    ///
    /// # Errors
    /// A range outside the plan, or an engine that was shut down.
    pub fn run(
        &self,
        range: Range<usize>,
        site: u64,
        guard: Option<Box<dyn Any + Send + Sync>>,
    ) -> Result<()> {
        let steps = self.steps.get(range.clone()).ok_or_else(|| {
            Error::value(format!(
                "steps {range:?} of a plan of {} steps",
                self.steps.len()
            ))
        })?;
        self.runtime.check_pushable()?;
        if steps.is_empty() {
            return Ok(());
        }
        let _inside = fork::enter();
        if held::inside() {
            return self.push_each(steps, site);
        }
        let compiled = self.compiled(range, steps);
        let mut args = LaunchArgs::new().tag(site).threads(par::budget());
        if !compiled.random.is_empty() || guard.is_some() {
            let given = Given {
                streams: compiled.random.take(self.runtime.random())?,
                _guard: guard,
            };
            args = args.argument(Arc::new(given));
        }
        self.runtime
            .engine()
            .launch_with(&compiled.program, args)
            .map_err(held::refused)
    }

    /// Between what launches do with private memory before and afterwards, like a launch.
    fn push_each(&self, steps: &[Step], site: u64) -> Result<()> {
        let push = || {
            steps
                .iter()
                .try_for_each(|step| step.push(&self.runtime, site))
        };
        let Some(token) = &self.token else {
            return push();
        };
        let vars: Vec<Var> = self
            .locals
            .keys()
            .copied()
            .chain([token.chunk().var()])
            .collect();
        let fence = || {
            let spec = OpSpec::new("_memory").writes(&vars).tag(site).inline(true);
            held::submit(&self.runtime, &spec, |_| Ok(()))
        };
        fence()?;
        push()?;
        fence()
    }

    fn compiled(&self, range: Range<usize>, steps: &[Step]) -> Compiled {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = programs.iter().find(|known| known.range == range) {
            return known.clone();
        }
        let compiled = self.compile(range, steps);
        programs.push(compiled.clone());
        compiled
    }

    /// The engine's variables among these, and those that are local to the plan's programs.
    fn split(&self, vars: &[Var]) -> (Vec<Var>, Vec<LocalVar>) {
        let local = vars.iter().filter_map(|var| self.locals.get(var));
        let external = vars.iter().filter(|var| !self.locals.contains_key(var));
        (external.copied().collect(), local.copied().collect())
    }

    fn compile(&self, range: Range<usize>, steps: &[Step]) -> Compiled {
        let mut builder = Program::builder("graph");
        // All private memory is taken first and given back last, so that launches follow each other.
        let memory: Vec<LocalVar> = self.locals.values().copied().collect();
        let token: Vec<Var> = self.token.iter().map(|token| token.chunk().var()).collect();
        let spec = OpSpec::new("_memory").writes(&token).inline(true);
        let has_memory = !self.locals.is_empty();
        if has_memory {
            // Launches in flight keep the memory.
            let chunks = self.chunks.clone();
            builder = builder.op(&spec, move |_| {
                let _ = &chunks;
                Ok(())
            });
            builder = builder.locals(&[], &memory);
        }
        let mut random = Shares::default();
        for part in parts(steps) {
            let step = match part {
                Part::Segment(steps) => {
                    for context in steps.iter().filter_map(Step::random_on) {
                        random.add(context); // which draw nothing, and count like others of theirs
                    }
                    builder = self.add_segment(builder, steps);
                    continue;
                }
                Part::Step(step) => step,
            };
            let share = step.random_on().map(|context| random.add(context));
            let (reads, local_reads) = self.split(step.reads());
            let (writes, local_writes) = self.split(step.writes());
            let spec = OpSpec::new(step.name())
                .on(step.lane())
                .reads(&reads)
                .writes(&writes);
            let small = step.work().is_some_and(|work| work <= SMALL_STEP);
            let (spec, runtime) = (spec.inline(small), self.runtime.clone());
            builder = match step.clone() {
                Step::Kernel(step) => builder.op(&spec, move |context| {
                    let stream =
                        share.and_then(|share| share.of(&context.argument::<Given>()?.streams));
                    let run = || step.run_step(&runtime, stream, context.tag());
                    held::within_budget(context, run).map_err(|e| Box::new(e) as _)
                }),
                Step::Async(step) => builder.async_op(&spec, move |context, on_complete| {
                    held::within_budget(context, || step.start(on_complete));
                }),
            };
            builder = builder.locals(&local_reads, &local_writes);
        }
        if has_memory {
            builder = builder.op(&spec, |_| Ok(())).locals(&[], &memory);
        }
        let work = steps.iter().try_fold(0_usize, |sum, step| {
            step.work().map(|work| sum.saturating_add(work))
        });
        let small = steps.len() <= SMALL_PASS.0 && work.is_some_and(|work| work <= SMALL_PASS.1);
        Compiled {
            range,
            program: builder.inline(small).build(),
            random,
        }
    }

    /// Adds steps that follow each other on a GPU, as one operation.
    fn add_segment(&self, builder: ProgramBuilder, steps: &[Step]) -> ProgramBuilder {
        let bindings: Vec<Arc<Binding>> = steps.iter().filter_map(Step::captured).collect();
        let Some(device) = bindings.first().and_then(|step| step.capturable()).cloned() else {
            return builder;
        };
        let all = |vars: fn(&Step) -> &[Var]| -> Vec<Var> {
            let mut found: Vec<Var> = Vec::new();
            for &var in steps.iter().flat_map(vars) {
                if !found.contains(&var) {
                    found.push(var);
                }
            }
            found
        };
        let (reads, local_reads) = self.split(&all(Step::reads));
        let (writes, local_writes) = self.split(&all(Step::writes));
        let name = Name::new("graph");
        let spec = OpSpec::new(name)
            .on(steps[0].lane())
            .reads(&reads)
            .writes(&writes);
        let runtime = self.runtime.clone();
        let segment = Segment::new(device, bindings);
        builder
            .op(&spec, move |context| {
                let tag = context.tag();
                let run = || segment.run(&runtime, Origin { name, tag });
                held::within_budget(context, run).map_err(|e| Box::new(e) as _)
            })
            .locals(&local_reads, &local_writes)
    }
}

/// Steps that become one operation, or a step that becomes one.
enum Part<'a> {
    Segment(&'a [Step]),
    Step(&'a Step),
}

/// Has neighbours that launch on one GPU go together.
fn parts(steps: &[Step]) -> Vec<Part<'_>> {
    let place = |step: &Step| step.captured().map(|_| step.lane());
    let groups = steps.chunk_by(|a, b| place(a).is_some() && place(a) == place(b));
    groups
        .flat_map(|group| match group {
            [_, _, ..] if place(&group[0]).is_some() => vec![Part::Segment(group)],
            _ => group.iter().map(Part::Step).collect(),
        })
        .collect()
}
