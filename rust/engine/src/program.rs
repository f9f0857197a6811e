//! Programs: a fixed list of operations over fixed variables, compiled once and launched as one
//! entry of the log. What happens at a launch is in `launch.rs`.

use std::collections::{HashMap, HashSet};

use crate::context::RunContext;
use crate::failure::OpError;
use crate::launch::Launch;
use crate::spec::{Device, FnProperty, Name, OpSpec};
use crate::sync::{Arc, Mutex, lock};
use crate::var::Var;

type Function = Box<dyn Fn(&RunContext) -> Result<(), OpError> + Send + Sync>;

/// One operation of a program.
pub(crate) struct Step {
    pub(crate) function: Function,
    pub(crate) tag: u64,
    pub(crate) name: Name,
}

/// A list of lists of numbers.
pub(crate) struct Table {
    ends: Box<[u32]>,
    items: Box<[u32]>,
}

impl Table {
    fn new(rows: &[Vec<u32>]) -> Self {
        let mut end = 0;
        let ends = rows.iter().map(|row| {
            end += row.len() as u32;
            end
        });
        Self {
            ends: ends.collect(),
            items: rows.iter().flatten().copied().collect(),
        }
    }

    #[inline]
    pub(crate) fn row(&self, index: u32) -> &[u32] {
        let index = index as usize;
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.items[begin as usize..self.ends[index] as usize]
    }
}

/// A compiled program. Steps are numbered in their order; the variables, all of them external, in
/// the order of the launch's accesses: those that some step mutates first.
pub(crate) struct Plan {
    name: Name,
    device: Device,
    priority: i32,
    pub(crate) steps: Box<[Step]>,
    mutated: Box<[Var]>,
    read: Box<[Var]>,
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
    /// How the launch stands in the log.
    pub(crate) fn spec(&self) -> OpSpec<'_> {
        OpSpec {
            name: self.name,
            device: self.device,
            priority: self.priority,
            property: FnProperty::Normal,
            const_vars: &self.read,
            mutate_vars: &self.mutated,
            tag: 0,
        }
    }

    pub(crate) fn vars(&self) -> usize {
        self.mutated.len() + self.read.len()
    }
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
}

impl Program {
    /// Starts a program; the name is for profiles.
    pub fn builder(name: impl Into<Name>) -> ProgramBuilder {
        ProgramBuilder {
            name: name.into(),
            device: Device::CPU,
            priority: 0,
            steps: Vec::new(),
            uses: Vec::new(),
        }
    }

    /// Its name.
    pub fn name(&self) -> Name {
        self.plan.name
    }

    /// Number of operations.
    pub fn len(&self) -> usize {
        self.plan.steps.len()
    }

    /// Whether it has no operation.
    pub fn is_empty(&self) -> bool {
        self.plan.steps.is_empty()
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program")
            .field("name", &self.plan.name)
            .field("operations", &self.len())
            .field("mutates", &self.plan.mutated)
            .field("reads", &self.plan.read)
            .finish_non_exhaustive()
    }
}

/// Collects the operations of a [`Program`].
#[must_use]
pub struct ProgramBuilder {
    name: Name,
    device: Device,
    priority: i32,
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
    pub fn on(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    /// Sets the priority of the program as a whole.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Adds an operation. Name, tag and variables count; where it runs is the program's affair.
    pub fn op<F>(mut self, spec: &OpSpec<'_>, f: F) -> Self
    where
        F: Fn(&RunContext) -> Result<(), OpError> + Send + Sync + 'static,
    {
        let writes = spec.mutate_vars.iter().map(|var| (*var, true));
        let reads = spec.const_vars.iter().map(|var| (*var, false));
        let mut seen = HashSet::new();
        let uses = writes.chain(reads).filter(|(var, _)| seen.insert(*var));
        self.uses.push(uses.collect());
        self.steps.push(Step {
            function: Box::new(f),
            tag: spec.tag,
            name: spec.name,
        });
        self
    }

    /// Works out the order. The variables must belong to the engine that launches the program,
    /// and are checked by each launch.
    pub fn build(self) -> Program {
        let (mut mutated, mut read) = (Vec::new(), Vec::new());
        let mut mutates = HashMap::new();
        for &(var, writes) in self.uses.iter().flatten() {
            *mutates.entry(var).or_insert(false) |= writes;
        }
        let mut numbers = HashMap::new();
        for &(var, _) in self.uses.iter().flatten() {
            if numbers.insert(var, 0).is_none() {
                if mutates[&var] {
                    &mut mutated
                } else {
                    &mut read
                }
                .push(var);
            }
        }
        for (number, var) in mutated.iter().chain(&read).enumerate() {
            numbers.insert(*var, number as u32);
        }
        let mut order = Order::new(self.steps.len(), numbers.len());
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
                steps: self.steps.into(),
                mutated: mutated.into(),
                read: read.into(),
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
        }
    }
}

/// The users of one variable since its last writer.
#[derive(Clone, Default)]
struct Recent {
    writer: Option<u32>,
    readers: Vec<u32>,
}

/// The order among steps, as it is found out.
struct Order {
    recent: Vec<Recent>,
    /// What the step at hand waits for.
    before: Vec<u32>,
    outside: Vec<u32>,
    waits: Vec<u32>,
    next: Vec<Vec<u32>>,
    first: Vec<Vec<u32>>,
    last: Vec<Vec<u32>>,
    last_users: Vec<u32>,
    writes: Vec<Vec<u32>>,
    uses: Vec<Vec<u32>>,
    /// The variables that each step waits for itself.
    awaited: HashSet<(u32, u32)>,
}

impl Order {
    fn new(steps: usize, vars: usize) -> Self {
        Self {
            recent: vec![Recent::default(); vars],
            before: Vec::new(),
            outside: Vec::new(),
            waits: vec![0; steps],
            next: vec![Vec::new(); steps],
            first: vec![Vec::new(); vars],
            last: vec![Vec::new(); steps],
            last_users: vec![0; vars],
            writes: vec![Vec::new(); steps],
            uses: vec![Vec::new(); steps],
            awaited: HashSet::new(),
        }
    }

    /// The step uses a variable.
    fn add(&mut self, step: u32, var: u32, writes: bool) {
        let recent = &mut self.recent[var as usize];
        self.uses[step as usize].push(var);
        if writes && !recent.readers.is_empty() {
            // The readers have waited for the writer in front of them.
            self.before.extend(&recent.readers);
        } else {
            match recent.writer {
                Some(writer) => self.before.push(writer),
                None => self.outside.push(var),
            }
        }
        if writes {
            self.writes[step as usize].push(var);
            recent.writer = Some(step);
            recent.readers.clear();
        } else {
            recent.readers.push(step);
        }
    }

    /// The step is complete.
    fn seal(&mut self, step: u32) {
        self.before.sort_unstable();
        self.before.dedup();
        for var in std::mem::take(&mut self.outside) {
            // A step in front may wait for the same variable.
            let covered = |before: &u32| self.awaited.contains(&(*before, var));
            if !self.before.iter().any(covered) {
                self.first[var as usize].push(step);
                self.waits[step as usize] += 1;
                self.awaited.insert((step, var));
            }
        }
        self.waits[step as usize] += self.before.len() as u32;
        for before in self.before.drain(..) {
            self.next[before as usize].push(step);
        }
    }

    fn finish(&mut self) {
        for (var, recent) in self.recent.iter().enumerate() {
            let readers = recent.readers.iter().copied();
            let writer = recent.writer.filter(|_| recent.readers.is_empty());
            for step in readers.chain(writer) {
                self.last[step as usize].push(var as u32);
                self.last_users[var] += 1;
            }
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
