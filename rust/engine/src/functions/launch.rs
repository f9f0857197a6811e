//! Launches of programs: the steps' counters, and the queue of ready steps.
//!
//! A launch is one operation of the log, with an access for each variable of its program. An access
//! that starts counts down the steps that wait for it, instead of the operation's `pending`; the
//! last user of a variable finishes the access. In between, a step that ends counts down the steps
//! behind it. How threads come to the steps is in `execution/take_part.rs`.

use crossbeam_utils::CachePadded;

use crate::base::sync::{
    AcqRel, Acquire, Arc, AtomicBool, AtomicU32, Relaxed, Release, UnsafeCell,
};
use crate::failures::ledger::FailureCell;
use crate::failures::leftovers::{Leftover, Leftovers};
use crate::functions::compiled_program::CompiledProgram;
use crate::operation::op::OpPtr;
use crate::types::launch_args::LaunchArgs;

/// Steps that a thread takes from the queue at once, at most.
pub(crate) const CHUNK: usize = 16;

/// In `pending`: an asynchronous step that was completed.
pub(crate) const OVER: u32 = u32::MAX;

/// The state of one launch, used again by later ones.
pub(crate) struct Launch {
    /// There while the launch is in flight.
    plan: Option<Arc<CompiledProgram>>,
    pub(crate) pending: Box<[AtomicU32]>,
    pub(crate) last_users: Box<[AtomicU32]>,
    /// Ready steps, plus one; each step is here at most once. 0: not written yet.
    queue: Box<[AtomicU32]>,
    head: CachePadded<AtomicU32>,
    tail: CachePadded<AtomicU32>,
    pub(crate) invited: AtomicBool,
    /// Steps that have not run, or of which nobody has reported.
    pub(crate) left: AtomicU32,
    pub(crate) users: AtomicU32,
    pub(crate) args: LaunchArgs,
    /// Failures that the local variables hold.
    pub(crate) held: Box<[HeldFailure]>,
}

/// The failure of a local variable, touched by the steps that the order gives the variable to.
pub(crate) struct HeldFailure(pub(crate) UnsafeCell<Option<Arc<FailureCell>>>);

// SAFETY: the order of the steps excludes a writer and anybody else, as for any variable.
unsafe impl Sync for HeldFailure {}
// SAFETY: what is in it is shared and `Sync`.
unsafe impl Send for HeldFailure {}

/// Counts down; true for whoever makes the last step.
#[inline]
pub(crate) fn count_down(counter: &AtomicU32) -> bool {
    // Acquire: what the others did before they counted. Nobody else will touch a counter of one.
    // Release: what we did, for the last.
    counter.load(Acquire) == 1 || counter.fetch_sub(1, AcqRel) == 1
}

impl Launch {
    pub(crate) fn new(plan: &CompiledProgram) -> Self {
        let zeros = |len| (0..len).map(|_| AtomicU32::new(0)).collect();
        let mut launch = Self {
            plan: None,
            pending: zeros(plan.steps.len()),
            last_users: zeros(plan.vars()),
            queue: zeros(plan.steps.len()),
            head: CachePadded::new(AtomicU32::new(0)),
            tail: CachePadded::new(AtomicU32::new(0)),
            invited: AtomicBool::new(false),
            left: AtomicU32::new(0),
            users: AtomicU32::new(0),
            args: LaunchArgs::new(),
            held: (0..plan.locals)
                .map(|_| HeldFailure(UnsafeCell::new(None)))
                .collect(),
        };
        launch.reset(plan);
        launch
    }

    /// Makes everything as it is before a launch, but for what users' code left in it. All stores
    /// may be relaxed: nobody else looks before the log, or the cache of launches, has published
    /// them.
    fn reset(&mut self, plan: &CompiledProgram) {
        let copy = |to: &[AtomicU32], from: &[u32]| {
            for (to, from) in to.iter().zip(from) {
                to.store(*from, Relaxed);
            }
        };
        copy(&self.pending, &plan.waits);
        copy(&self.last_users, &plan.last_users);
        self.queue.iter().for_each(|slot| slot.store(0, Relaxed));
        for (slot, step) in self.queue.iter().zip(&plan.free) {
            slot.store(step + 1, Relaxed);
        }
        self.head.store(0, Relaxed);
        self.tail.store(plan.free.len() as u32, Relaxed);
        self.invited.store(false, Relaxed);
        self.left.store(plan.steps.len() as u32, Relaxed);
        // One for the steps, one for the registrar.
        self.users.store(2, Relaxed);
    }

    /// Makes it the launch of a program, to be given to an operation.
    pub(crate) fn begin(
        mut self: Box<Self>,
        plan: &Arc<CompiledProgram>,
        args: LaunchArgs,
    ) -> *const Launch {
        self.args = args;
        self.plan = Some(plan.clone());
        Box::into_raw(self)
    }

    /// # Safety
    /// `this` came from [`Launch::begin`], and nobody else knows it any more.
    pub(crate) unsafe fn end(this: *const Launch, leftovers: &mut Leftovers) {
        // SAFETY: by the contract.
        let mut launch = unsafe { Box::from_raw(this.cast_mut()) };
        if let Some(argument) = std::mem::take(&mut launch.args).argument {
            leftovers.add(Leftover::Argument(argument));
        }
        for held in &launch.held {
            // SAFETY: by the contract nobody else looks.
            leftovers.add_failure(held.0.with_mut(|held| unsafe { (*held).take() }));
        }
        if let Some(plan) = launch.plan.take() {
            launch.reset(&plan);
            plan.cache.give(launch);
            // The last one has the functions of the steps.
            if let Some(plan) = Arc::into_inner(plan) {
                leftovers.add(Leftover::CompiledProgram(Box::new(plan)));
            }
        }
    }

    /// Puts a ready step in the queue.
    pub(crate) fn publish(&self, step: u32) {
        // Relaxed: the place only has to be one's own.
        let place = self.tail.fetch_add(1, Relaxed);
        // Release: what came before the step; pairs with `claim`.
        self.queue[place as usize].store(step + 1, Release);
    }

    /// Takes some ready steps: fewer the fewer there are, so that all who take part get some.
    pub(crate) fn claim(&self, chunk: &mut [u32; CHUNK], threads: usize) -> usize {
        let mut head = self.head.load(Relaxed);
        loop {
            let there = self.tail.load(Relaxed).saturating_sub(head) as usize;
            let most = (there / (4 * threads)).clamp(1, CHUNK);
            let mut count = 0;
            for slot in self.queue[head as usize..].iter().take(most) {
                // Acquire: pairs with `publish`.
                let step = slot.load(Acquire);
                if step == 0 {
                    break;
                }
                chunk[count] = step - 1;
                count += 1;
            }
            if count == 0 {
                return 0;
            }
            // Relaxed: the slots were acquired, and are not written again during the launch.
            match self
                .head
                .compare_exchange_weak(head, head + count as u32, Relaxed, Relaxed)
            {
                Ok(_) => return count,
                Err(now) => head = now,
            }
        }
    }

    /// Whether an asynchronous step, that was begun, has been completed.
    pub(crate) fn is_over(&self, step: u32) -> bool {
        // Acquire: pairs with `complete_step`.
        self.pending[step as usize].load(Acquire) == OVER
    }

    pub(crate) fn has_more(&self) -> bool {
        self.head.load(Relaxed) < self.tail.load(Relaxed)
    }

    /// The variable is there: counts down the steps that wait for it. True if one is ready.
    pub(crate) fn start(&self, plan: &CompiledProgram, var: u32) -> bool {
        let mut any = false;
        for &step in plan.first.row(var) {
            if count_down(&self.pending[step as usize]) {
                self.publish(step);
                any = true;
            }
        }
        any
    }
}

/// A launch in flight, with its operation and its program.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) op: OpPtr,
    pub(crate) launch: &'a Launch,
    pub(crate) plan: &'a CompiledProgram,
}

impl<'a> Run<'a> {
    /// # Safety
    /// `op` is a program's, and `users` counts the caller as long as `'a`; or there is a step that
    /// cannot run before the caller has counted itself.
    pub(crate) unsafe fn of(op: OpPtr) -> Option<Run<'a>> {
        // SAFETY: by the contract the launch is in flight.
        let launch = unsafe { &*op.launch().cast::<Launch>() };
        let plan = launch.plan.as_deref()?;
        Some(Self { op, launch, plan })
    }

    pub(crate) fn is_small(self, step: u32) -> bool {
        self.plan.steps[step as usize].small
    }
}
