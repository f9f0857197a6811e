//! What a program is compiled into: its steps, and the order among them.

use crate::base::unwind::Contained;
use crate::functions::function::Function;
use crate::functions::launch::Launch;
use crate::functions::launch_cache::LaunchCache;
use crate::functions::step_order::Rows;
use crate::types::device::Device;
use crate::types::spec::Name;

/// One operation of a program.
pub(crate) struct Step {
    /// Each dropped by itself, as the destructors are the users'.
    pub(crate) function: Contained<Function>,
    pub(crate) tag: u64,
    pub(crate) name: Name,
    /// Whether it runs on the thread that ends the step before it.
    pub(crate) small: bool,
    /// How many threads it may use; 0: no limit.
    pub(crate) threads: u16,
}

/// A compiled program. Steps are numbered in their order; the external variables in the order of the
/// launch's accesses: those that some step mutates first; then the local ones.
pub(crate) struct CompiledProgram {
    pub(crate) name: Name,
    pub(crate) device: Device,
    pub(crate) priority: i32,
    /// Whether a launch is a small operation.
    pub(crate) small: bool,
    pub(crate) steps: Box<[Step]>,
    /// How many variables are external, and how many local.
    pub(crate) external: usize,
    pub(crate) locals: usize,
    /// What each step waits for: steps in front, and variables that it is the first to use.
    pub(crate) waits: Box<[u32]>,
    /// Steps that wait for each step.
    pub(crate) next: Rows,
    /// Steps that wait for each variable.
    pub(crate) first: Rows,
    /// Variables that each step is one of the last to use.
    pub(crate) last: Rows,
    /// How many last users each variable has.
    pub(crate) last_users: Box<[u32]>,
    /// Variables that each step mutates, and those that it uses at all.
    pub(crate) writes: Rows,
    pub(crate) uses: Rows,
    /// Steps that wait for nothing.
    pub(crate) free: Box<[u32]>,
    pub(crate) cache: LaunchCache,
}

impl CompiledProgram {
    /// How many variables are external. Local ones have the numbers behind.
    pub(crate) fn vars(&self) -> usize {
        self.external
    }

    /// Counters for a launch, if some are free or there are fewer than `most`.
    pub(crate) fn counters(&self, most: usize) -> Option<Box<Launch>> {
        self.cache.take(most, || Box::new(Launch::new(self)))
    }
}
