//! A bound graph: operators on fixed arrays, compiled to programs of the engine, so that a pass is
//! one launch.

use crate::{Array, Bound, Runtime, fork, held};
use ferromix_base::{Error, Result};
use ferromix_engine::{LaunchArgs, LocalVar, OpSpec, Program, Var};
use ferromix_kernels::random::Stream;
use ferromix_kernels::{SMALL_WORK, par};
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

/// [Work](Bound::work) of a step that its thread keeps to itself, a few microseconds: a longer one may
/// run beside others.
const SMALL_STEP: usize = SMALL_WORK / 32;

/// Steps, and [work](Bound::work), of a pass that runs on the thread that launches it if it finds it
/// ready: a few tens of microseconds, about what it takes to wake another thread.
const SMALL_PASS: (usize, usize) = (256, SMALL_WORK / 4);

/// A list of bound operators in an order that respects the graph. It keeps their arrays alive.
pub struct Plan {
    runtime: Arc<Runtime>,
    steps: Vec<Arc<Bound>>,
    arrays: Arc<Vec<Array>>,
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
    /// How many steps draw random numbers.
    random: u64,
}

impl Plan {
    /// A plan of `steps`, which work on `arrays`, and on `private` memory.
    pub fn new(
        runtime: &Arc<Runtime>,
        steps: Vec<Arc<Bound>>,
        mut arrays: Vec<Array>,
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
            arrays.extend(private.buffers);
            token = Some(private.token);
        }
        Plan {
            runtime: runtime.clone(),
            steps,
            arrays: Arc::new(arrays),
            token,
            locals,
            programs: Mutex::default(),
        }
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is no step.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Launches the steps of `range`, as if they were pushed in order, and returns at once, unless
    /// two launches of it are under way. Inside a user's function that [holds](held) some arrays,
    /// pushes them one by one.
    ///
    /// # Errors
    /// A range outside the plan, or an engine that was shut down.
    pub fn run(&self, range: Range<usize>, site: u64) -> Result<()> {
        let steps = self.steps.get(range.clone()).ok_or_else(|| {
            Error::value(format!(
                "steps {range:?} of a plan of {} steps",
                self.steps.len()
            ))
        })?;
        self.runtime.check_usable()?;
        if steps.is_empty() {
            return Ok(());
        }
        let _inside = fork::enter();
        if held::inside() {
            return self.push_each(steps, site);
        }
        let compiled = self.compiled(range, steps);
        let mut args = LaunchArgs::new().tag(site).threads(par::budget());
        if compiled.random > 0 {
            args = args.argument(Arc::new(self.runtime.random().take(compiled.random)));
        }
        self.runtime
            .engine()
            .launch_with(&compiled.program, args)
            .map_err(|e| Error::internal(e.to_string()))
    }

    /// Between what launches do with private memory before and afterwards, like a launch.
    fn push_each(&self, steps: &[Arc<Bound>], site: u64) -> Result<()> {
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

    fn compiled(&self, range: Range<usize>, steps: &[Arc<Bound>]) -> Compiled {
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

    fn compile(&self, range: Range<usize>, steps: &[Arc<Bound>]) -> Compiled {
        let mut builder = Program::builder("graph");
        // All private memory is taken first and given back last, so that launches follow each other.
        let memory: Vec<LocalVar> = self.locals.values().copied().collect();
        let token: Vec<Var> = self.token.iter().map(|token| token.chunk().var()).collect();
        let spec = OpSpec::new("_memory").writes(&token).inline(true);
        let has_memory = !self.locals.is_empty();
        if has_memory {
            // Launches in flight keep the memory.
            let arrays = self.arrays.clone();
            builder = builder.op(&spec, move |_| {
                let _ = &arrays;
                Ok(())
            });
            builder = builder.locals(&[], &memory);
        }
        let mut random = 0;
        for step in steps {
            let number = step.is_random().then_some(random);
            random += u64::from(step.is_random());
            let (reads, local_reads) = self.split(step.reads());
            let (writes, local_writes) = self.split(step.writes());
            let spec = OpSpec::new(step.name()).reads(&reads).writes(&writes);
            let (step, runtime) = (step.clone(), self.runtime.clone());
            let small = step.work().is_some_and(|work| work <= SMALL_STEP);
            builder = builder.op(&spec.inline(small), move |context| {
                let stream = number.and_then(|number| {
                    let first = context.argument::<Stream>()?;
                    Some(Stream {
                        number: first.number + number,
                        ..*first
                    })
                });
                let run = || step.run(&runtime, stream);
                held::within_budget(context, run).map_err(|e| Box::new(e) as _)
            });
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
}
