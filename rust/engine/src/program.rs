//! Programs: a fixed list of operations over fixed variables, compiled once and launched as one
//! entry of the log. What happens at a launch is in `launch.rs`.

use std::collections::{HashMap, HashSet};

use crate::context::{OnComplete, RunContext};
use crate::failure::OpError;
use crate::launch::Launch;
use crate::launch_args::RebindError;
use crate::operator::Function;
use crate::order::{Order, Table};
use crate::spec::{Device, FnProperty, Name, OpSpec};
use crate::sync::{Arc, Mutex, lock};
use crate::var::Var;

/// One operation of a program.
pub(crate) struct Step {
    pub(crate) function: Function,
    pub(crate) tag: u64,
    pub(crate) name: Name,
    /// Whether it runs on the thread that ends the step before it.
    pub(crate) small: bool,
    /// How many threads it may use; 0: no limit.
    pub(crate) threads: u16,
}

/// A compiled program. Steps are numbered in their order; the external variables in the order of the
/// launch's accesses: those that some step mutates first; then the local ones.
pub(crate) struct Plan {
    name: Name,
    device: Device,
    priority: i32,
    /// Whether a launch is a small operation.
    small: bool,
    pub(crate) steps: Box<[Step]>,
    /// How many variables are external, and how many local.
    external: usize,
    pub(crate) locals: usize,
    /// What each step waits for: steps in front, and variables that it is the first to use.
    pub(crate) waits: Box<[u32]>,
    /// Steps that wait for each step.
    pub(crate) next: Table,
    /// Steps that wait for each variable.
    pub(crate) first: Table,
    /// Variables that each step is one of the last to use.
    pub(crate) last: Table,
    /// How many last users each variable has.
    pub(crate) last_users: Box<[u32]>,
    /// Variables that each step mutates, and those that it uses at all.
    pub(crate) writes: Table,
    pub(crate) uses: Table,
    /// Steps that wait for nothing.
    pub(crate) free: Box<[u32]>,
    pub(crate) idle: Mutex<Idle>,
}

/// Launches that are over, to be used again.
pub(crate) struct Idle {
    #[expect(
        clippy::vec_box,
        reason = "operations point to launches, so they must not move"
    )]
    pub(crate) launches: Vec<Box<Launch>>,
    /// How many there are, those in flight included.
    pub(crate) made: usize,
}

impl Plan {
    /// How many variables are external. Local ones have the numbers behind.
    pub(crate) fn vars(&self) -> usize {
        self.external
    }
}

/// The external variables of a program, in the order of their numbers.
#[derive(Debug)]
struct External {
    mutated: Box<[Var]>,
    read: Box<[Var]>,
}

/// A fixed list of operations over fixed variables, prepared to be run again and again; made by
/// [`Program::builder`], run by [`Engine::launch`](crate::Engine::launch).
///
/// The operations of one launch run as if they had been pushed one by one, in their order, at the
/// place of the launch: in parallel where their variables allow it, and each as soon as its own
/// variables are there, so that two launches overlap like pushed operations. But the order among
/// them was worked out when the program was built, so an operation costs a fraction of a push.
/// A variable's version grows by one per launch that mutates it.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use std::sync::Arc;
/// use ferromix_engine::{Engine, OpSpec, Program};
///
/// let engine = Engine::builder().workers(2).build();
/// let (a, b) = (engine.new_variable(), engine.new_variable());
/// let cells = Arc::new([AtomicU64::new(1), AtomicU64::new(1)]);
/// let (first, second) = (cells.clone(), cells.clone());
/// let program = Program::builder("fibonacci")
///     .op(&OpSpec::new("a += b").reads(&[b]).writes(&[a]), move |_| {
///         first[0].fetch_add(first[1].load(Relaxed), Relaxed);
///         Ok(())
///     })
///     .op(&OpSpec::new("b += a").reads(&[a]).writes(&[b]), move |_| {
///         second[1].fetch_add(second[0].load(Relaxed), Relaxed);
///         Ok(())
///     })
///     .build();
/// for _ in 0..10 {
///     engine.launch(&program)?;
/// }
/// engine.wait_for_all()?;
/// assert_eq!(cells[1].load(Relaxed), 17711);
/// assert_eq!(engine.version(a)?, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Program {
    pub(crate) plan: Arc<Plan>,
    external: Arc<External>,
}

impl Program {
    /// Starts a program; the name is for profiles.
    ///
    /// ```
    /// use ferromix_engine::{OpSpec, Program};
    /// let program = Program::builder("two steps")
    ///     .op(&OpSpec::new("first"), |_| Ok(()))
    ///     .op(&OpSpec::new("second"), |_| Ok(()))
    ///     .build();
    /// assert_eq!(program.len(), 2);
    /// ```
    pub fn builder(name: impl Into<Name>) -> ProgramBuilder {
        ProgramBuilder {
            name: name.into(),
            device: Device::CPU,
            priority: 0,
            small: false,
            steps: Vec::new(),
            uses: Vec::new(),
        }
    }

    /// How a launch stands in the log.
    pub(crate) fn spec(&self) -> OpSpec<'_> {
        let plan = &self.plan;
        OpSpec {
            name: plan.name,
            device: plan.device,
            priority: plan.priority,
            property: FnProperty::Normal,
            const_vars: &self.external.read,
            mutate_vars: &self.external.mutated,
            inline: plan.small,
            ..OpSpec::default()
        }
    }

    /// The same program on other variables: `(old, new)`; those that are not named stay. Nothing is
    /// compiled again. The operations' functions are the same; what belongs to the new variables
    /// may come with the [launch](crate::LaunchArgs::argument).
    ///
    /// Launches of both count as launches of one program.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec, Program};
    /// let engine = Engine::builder().workers(2).build();
    /// let (a, b) = (engine.new_variable(), engine.new_variable());
    /// let on_a = Program::builder("any")
    ///     .op(&OpSpec::new("write").writes(&[a]), |_| Ok(()))
    ///     .build();
    /// let on_b = on_a.rebind(&[(a, b)])?;
    /// engine.launch(&on_b)?;
    /// engine.wait_for_all()?;
    /// assert_eq!((engine.version(a)?, engine.version(b)?), (0, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`RebindError`]. Whether the new variables are alive is found out by each launch.
    pub fn rebind(&self, changes: &[(Var, Var)]) -> Result<Program, RebindError> {
        let old = || self.external.mutated.iter().chain(&self.external.read);
        for &(from, to) in changes {
            if !old().any(|var| *var == from) {
                return Err(RebindError::NotUsed(from));
            }
            if to.is_local() {
                return Err(RebindError::Local(to));
            }
        }
        let new = |var: &Var| {
            let change = changes.iter().rev().find(|(from, _)| from == var);
            change.map_or(*var, |(_, to)| *to)
        };
        let mut seen = HashSet::new();
        if let Some(var) = old().map(new).find(|var| !seen.insert(*var)) {
            return Err(RebindError::Twice(var));
        }
        Ok(Program {
            plan: self.plan.clone(),
            external: Arc::new(External {
                mutated: self.external.mutated.iter().map(new).collect(),
                read: self.external.read.iter().map(new).collect(),
            }),
        })
    }

    /// Its name.
    ///
    /// ```
    /// use ferromix_engine::{OpSpec, Program};
    /// let program = Program::builder("two steps")
    ///     .op(&OpSpec::new("first"), |_| Ok(()))
    ///     .op(&OpSpec::new("second"), |_| Ok(()))
    ///     .build();
    /// assert_eq!(program.name().as_str(), "two steps");
    /// ```
    pub fn name(&self) -> Name {
        self.plan.name
    }

    /// Number of operations.
    ///
    /// ```
    /// use ferromix_engine::{OpSpec, Program};
    /// let program = Program::builder("two steps")
    ///     .op(&OpSpec::new("first"), |_| Ok(()))
    ///     .op(&OpSpec::new("second"), |_| Ok(()))
    ///     .build();
    /// assert_eq!(program.len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        self.plan.steps.len()
    }

    /// Whether it has no operation.
    ///
    /// ```
    /// use ferromix_engine::Program;
    /// assert!(Program::builder("nothing").build().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.plan.steps.is_empty()
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program")
            .field("name", &self.plan.name)
            .field("operations", &self.len())
            .field("mutates", &self.external.mutated)
            .field("reads", &self.external.read)
            .finish_non_exhaustive()
    }
}

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
    name: Name,
    device: Device,
    priority: i32,
    small: bool,
    steps: Vec<Step>,
    /// The variables of each step, each once, and whether it is mutated.
    uses: Vec<Vec<(Var, bool)>>,
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
    /// A [local](Var::local) variable orders the operations of each launch, and costs a launch
    /// nothing: it is for what nobody outside the program uses. Launches may overlap, so what a
    /// local variable stands for must be ordered by another one, that some operation mutates in
    /// front of all uses and another behind them; or be a thing of each launch.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec, Program, Var};
    /// let engine = Engine::builder().workers(2).build();
    /// let (out, between) = (engine.new_variable(), Var::local(0));
    /// let program = Program::builder("two steps")
    ///     .op(&OpSpec::new("first").writes(&[between]), |_| Ok(()))
    ///     .op(&OpSpec::new("second").reads(&[between]).writes(&[out]), |_| Ok(()))
    ///     .build();
    /// engine.launch(&program)?;
    /// engine.wait_for_var(out)?;
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
        let writes = spec.mutate_vars.iter().map(|var| (*var, true));
        let reads = spec.const_vars.iter().map(|var| (*var, false));
        let mut seen = HashSet::new();
        let uses = writes.chain(reads).filter(|(var, _)| seen.insert(*var));
        self.uses.push(uses.collect());
        self.steps.push(Step {
            function,
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
        let (mut mutated, mut read, mut local) = (Vec::new(), Vec::new(), Vec::new());
        let mut mutates = HashMap::new();
        for &(var, writes) in self.uses.iter().flatten() {
            *mutates.entry(var).or_insert(false) |= writes;
        }
        let mut numbers = HashMap::new();
        for &(var, _) in self.uses.iter().flatten() {
            if numbers.insert(var, 0).is_none() {
                let list = match mutates[&var] {
                    _ if var.is_local() => &mut local,
                    true => &mut mutated,
                    false => &mut read,
                };
                list.push(var);
            }
        }
        for (number, var) in mutated.iter().chain(&read).chain(&local).enumerate() {
            numbers.insert(*var, number as u32);
        }
        let external = mutated.len() + read.len();
        let mut order = Order::new(self.steps.len(), numbers.len(), external);
        for (step, uses) in self.uses.iter().enumerate() {
            for &(var, writes) in uses {
                order.add(step as u32, numbers[&var], writes);
            }
            order.seal(step as u32);
        }
        order.finish();
        Program {
            plan: Arc::new(Plan {
                name: self.name,
                device: self.device,
                priority: self.priority,
                small: self.small,
                steps: self.steps.into(),
                external,
                locals: local.len(),
                free: (0..order.waits.len() as u32)
                    .filter(|step| order.waits[*step as usize] == 0)
                    .collect(),
                waits: order.waits.into(),
                next: Table::new(&order.next),
                first: Table::new(&order.first),
                last_users: order.last_users.into(),
                last: Table::new(&order.last),
                writes: Table::new(&order.writes),
                uses: Table::new(&order.uses),
                idle: Mutex::new(Idle {
                    launches: Vec::new(),
                    made: 0,
                }),
            }),
            external: Arc::new(External {
                mutated: mutated.into(),
                read: read.into(),
            }),
        }
    }
}

impl Plan {
    /// Counters for a launch, if some are free or there are fewer than `most`.
    pub(crate) fn counters(&self, most: usize) -> Option<Box<Launch>> {
        let mut idle = lock(&self.idle);
        if let Some(launch) = idle.launches.pop() {
            return Some(launch);
        }
        if idle.made >= most {
            return None;
        }
        idle.made += 1;
        Some(Box::new(Launch::new(self)))
    }
}
