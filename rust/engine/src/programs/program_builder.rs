//! What collects the operations of a program and works out their order, once for all launches.

use std::collections::{HashMap, HashSet};

use crate::base::sync::Arc;
use crate::base::unwind::Contained;
use crate::functions::compiled_program::{CompiledProgram, Step};
use crate::functions::context::{OnComplete, RunContext};
use crate::functions::function::Function;
use crate::functions::launch_cache::LaunchCache;
use crate::functions::step_order::{Order, Rows};
use crate::programs::local_var::ProgramVar;
use crate::programs::program::{External, Program};
use crate::types::device::Device;
use crate::types::failure::OpError;
use crate::types::spec::{Name, OpSpec};
use crate::types::var::Var;

/// Collects the operations of a [`Program`].
///
/// ```
/// use ferromix_engine::{OpSpec, Program};
/// let program = Program::builder("two steps")
///     .op(&OpSpec::new("first"), |_| Ok(()))
///     .op(&OpSpec::new("second"), |_| Ok(()))
///     .build();
/// assert!(!program.is_empty());
/// ```
#[must_use]
pub struct ProgramBuilder {
    pub(crate) name: Name,
    pub(crate) device: Device,
    pub(crate) priority: i32,
    pub(crate) small: bool,
    pub(crate) steps: Vec<Step>,
    /// The variables of each step, each once, and whether it is mutated.
    pub(crate) uses: Vec<Vec<(ProgramVar, bool)>>,
}

impl std::fmt::Debug for ProgramBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProgramBuilder")
            .field("name", &self.name)
            .field("operations", &self.steps.len())
            .finish_non_exhaustive()
    }
}

impl ProgramBuilder {
    /// Sets the device whose compute lane runs the program. Default: the CPU.
    ///
    /// ```
    /// use ferromix_engine::{Device, Engine, OpSpec, Program};
    /// let engine = Engine::builder().build();
    /// let program = Program::builder("over there")
    ///     .on(Device::gpu(0))
    ///     .op(&OpSpec::new("x"), |context| {
    ///         assert_eq!(context.device(), Device::gpu(0));
    ///         Ok(())
    ///     })
    ///     .build();
    /// engine.launch(&program)?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    /// Sets the priority of the program as a whole.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec, Program};
    /// let engine = Engine::builder().build();
    /// let urgent = Program::builder("soon").priority(1).op(&OpSpec::new("x"), |_| Ok(())).build();
    /// engine.launch(&urgent)?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Says that a whole launch is one small operation, as [`OpSpec::inline`] does of others: it
    /// then runs on the thread that finds it ready.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec, Program};
    /// let engine = Engine::builder().workers(2).build();
    /// let me = std::thread::current().id();
    /// let step = move |_: &_| {
    ///     assert_eq!(std::thread::current().id(), me);
    ///     Ok(())
    /// };
    /// let spec = OpSpec::new("tiny");
    /// let program = Program::builder("two").op(&spec, step).op(&spec, step).inline(true).build();
    /// engine.launch(&program)?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn inline(mut self, small: bool) -> Self {
        self.small = small;
        self
    }

    /// Adds an operation. Name, tag and variables count; where it runs is the program's affair. One
    /// that is [small](OpSpec::inline) runs on the thread that ended what it waited for.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec, Program};
    /// let engine = Engine::builder().workers(2).build();
    /// let (a, b) = (engine.new_variable(), engine.new_variable());
    /// let program = Program::builder("two steps")
    ///     .op(&OpSpec::new("first").writes(&[a]), |_| Ok(()))
    ///     .op(&OpSpec::new("second").reads(&[a]).writes(&[b]), |_| Ok(()))
    ///     .build();
    /// engine.launch(&program)?;
    /// engine.wait_for_var(b)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn op<F>(self, spec: &OpSpec<'_>, f: F) -> Self
    where
        F: Fn(&RunContext) -> Result<(), OpError> + Send + Sync + 'static,
    {
        self.add(spec, Function::Sync(Box::new(f)))
    }

    /// Adds an operation that is finished when its [`OnComplete`] is called, by any thread. It holds
    /// no thread meanwhile.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec, Program};
    /// let engine = Engine::builder().workers(1).build();
    /// let a = engine.new_variable();
    /// let program = Program::builder("elsewhere")
    ///     .async_op(&OpSpec::new("send").writes(&[a]), |_, done| {
    ///         std::thread::spawn(move || done.complete(Ok(())));
    ///     })
    ///     .build();
    /// engine.launch(&program)?;
    /// engine.wait_for_var(a)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn async_op<F>(self, spec: &OpSpec<'_>, f: F) -> Self
    where
        F: Fn(&RunContext, OnComplete) + Send + Sync + 'static,
    {
        self.add(spec, Function::Async(Box::new(f)))
    }

    fn add(mut self, spec: &OpSpec<'_>, function: Function) -> Self {
        let writes = spec
            .mutate_vars
            .iter()
            .map(|var| (ProgramVar::External(*var), true));
        let reads = spec
            .const_vars
            .iter()
            .map(|var| (ProgramVar::External(*var), false));
        let mut seen = HashSet::new();
        let uses = writes.chain(reads).filter(|(var, _)| seen.insert(*var));
        self.uses.push(uses.collect());
        self.steps.push(Step {
            function: Contained::new(function),
            tag: spec.tag,
            name: spec.name,
            small: spec.inline,
            threads: spec.threads,
        });
        self
    }

    /// Works out the order. The variables must belong to the engine that launches the program,
    /// and are checked by each launch.
    ///
    /// ```
    /// use ferromix_engine::{OpSpec, Program};
    /// let program = Program::builder("two steps")
    ///     .op(&OpSpec::new("first"), |_| Ok(()))
    ///     .op(&OpSpec::new("second"), |_| Ok(()))
    ///     .build();
    /// assert_eq!(program.len(), 2);
    /// ```
    pub fn build(self) -> Program {
        let places = Places::of(&self.uses);
        let external = places.mutated.len() + places.read.len();
        let mut order = Order::new(self.steps.len(), places.numbers.len(), external);
        for (step, uses) in self.uses.iter().enumerate() {
            for &(var, writes) in uses {
                order.add(step as u32, places.numbers[&var], writes);
            }
            order.seal(step as u32);
        }
        order.finish();
        Program {
            plan: Arc::new(CompiledProgram {
                name: self.name,
                device: self.device,
                priority: self.priority,
                small: self.small,
                steps: self.steps.into(),
                external,
                locals: places.numbers.len() - external,
                free: (0..order.waits.len() as u32)
                    .filter(|step| order.waits[*step as usize] == 0)
                    .collect(),
                waits: order.waits.into(),
                next: Rows::new(&order.next),
                first: Rows::new(&order.first),
                last_users: order.last_users.into(),
                last: Rows::new(&order.last),
                writes: Rows::new(&order.writes),
                uses: Rows::new(&order.uses),
                cache: LaunchCache::new(),
            }),
            external: Arc::new(External {
                mutated: places.mutated.into(),
                read: places.read.into(),
            }),
        }
    }
}

/// The variables of a program and their numbers: external ones that some step mutates come first, then
/// those that are only read, then local ones.
struct Places {
    mutated: Vec<Var>,
    read: Vec<Var>,
    numbers: HashMap<ProgramVar, u32>,
}

impl Places {
    fn of(uses: &[Vec<(ProgramVar, bool)>]) -> Self {
        let (mut mutated, mut read, mut local) = (Vec::new(), Vec::new(), Vec::new());
        let mut mutates = HashMap::new();
        for &(var, writes) in uses.iter().flatten() {
            *mutates.entry(var).or_insert(false) |= writes;
        }
        let mut seen = HashSet::new();
        for &(used, _) in uses.iter().flatten() {
            if seen.insert(used) {
                match used {
                    ProgramVar::Local(_) => local.push(used),
                    ProgramVar::External(var) if mutates[&used] => mutated.push(var),
                    ProgramVar::External(var) => read.push(var),
                }
            }
        }
        let external = mutated
            .iter()
            .chain(&read)
            .map(|var| ProgramVar::External(*var));
        let all = external.chain(local);
        let numbers = all.enumerate().map(|(i, var)| (var, i as u32)).collect();
        Places {
            mutated,
            read,
            numbers,
        }
    }
}
