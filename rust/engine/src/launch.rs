//! Launches of programs: the steps' counters, the queue of ready steps, and the threads that take
//! part.
//!
//! A launch is one operation of the log, with an access for each variable of its program. An access
//! that starts counts down the steps that wait for it, instead of the operation's `pending`; the
//! last user of a variable finishes the access. In between, a step that ends counts down the steps
//! behind it: one that becomes ready is run next, by the same thread; further ones go into the
//! launch's queue, which every thread that takes part empties.
//!
//! Threads are asked in by *invitations*: the operation itself, put among its lane's ready ones. At
//! most one is under way (`invited`). Whoever puts a step in the queue without taking part itself
//! exchanges `invited` afterwards; who follows an invitation exchanges it, then looks at the queue.
//! One exchange is first: so either a new invitation is sent, or the step is seen. A thread that
//! takes part looks at the queue itself before it leaves, so what it adds is not lost either way.
//!
//! `users` counts threads, invitations, and one for the steps that are left; the last to drop it
//! gives the counters back to the program, and the count of the execution to the operation.

use crossbeam_utils::CachePadded;

use crate::access::{AccessPtr, Finished};
use crate::core::Core;
use crate::inherit;
use crate::launch_args::LaunchArgs;
use crate::ledger::FailureCell;
use crate::leftovers::{Leftover, Leftovers};
use crate::op::OpPtr;
use crate::program::Plan;
use crate::ready::Agenda;
use crate::sync::{AcqRel, Acquire, Arc, AtomicBool, AtomicU32, Relaxed, Release, UnsafeCell};
use crate::thread;

/// Steps that a thread takes from the queue at once, at most.
const CHUNK: usize = 16;

/// In `pending`: an asynchronous step that was completed.
pub(crate) const OVER: u32 = u32::MAX;

/// The state of one launch, used again by later ones.
pub(crate) struct Launch {
    /// There while the launch is in flight.
    plan: Option<Arc<Plan>>,
    pub(crate) pending: Box<[AtomicU32]>,
    pub(crate) last_users: Box<[AtomicU32]>,
    /// Ready steps, plus one; each step is here at most once. 0: not written yet.
    queue: Box<[AtomicU32]>,
    head: CachePadded<AtomicU32>,
    tail: CachePadded<AtomicU32>,
    invited: AtomicBool,
    /// Steps that have not run, or of which nobody has reported.
    left: AtomicU32,
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
    pub(crate) fn new(plan: &Plan) -> Self {
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
    /// may be relaxed: nobody else looks before the log, or the list of idle launches, has published
    /// them.
    fn reset(&mut self, plan: &Plan) {
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
    pub(crate) fn begin(mut self: Box<Self>, plan: &Arc<Plan>, args: LaunchArgs) -> *const Launch {
        self.args = args;
        self.plan = Some(plan.clone());
        Box::into_raw(self)
    }

    /// # Safety
    /// `this` came from [`Launch::begin`], and nobody else knows it any more.
    unsafe fn end(this: *const Launch, leftovers: &mut Leftovers) {
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
            plan.idle.give(launch);
            // The last one has the functions of the steps.
            if let Some(plan) = Arc::into_inner(plan) {
                leftovers.add(Leftover::Plan(Box::new(plan)));
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
    fn claim(&self, chunk: &mut [u32; CHUNK], threads: usize) -> usize {
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

    fn has_more(&self) -> bool {
        self.head.load(Relaxed) < self.tail.load(Relaxed)
    }

    /// The variable is there: counts down the steps that wait for it. True if one is ready.
    fn start(&self, plan: &Plan, var: u32) -> bool {
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
    pub(crate) plan: &'a Plan,
}

impl<'a> Run<'a> {
    /// # Safety
    /// `op` is a program's, and `users` counts the caller as long as `'a`; or there is a step that
    /// cannot run before the caller has counted itself.
    pub(crate) unsafe fn of(op: OpPtr) -> Option<Run<'a>> {
        // SAFETY: by the contract the launch is in flight.
        let launch = unsafe { &*op.launch() };
        let plan = launch.plan.as_deref()?;
        Some(Self { op, launch, plan })
    }

    fn is_small(self, step: u32) -> bool {
        self.plan.steps[step as usize].small
    }
}

impl Core {
    /// Registrar: an access of a program's launch has started at once.
    pub(crate) fn start_quietly(&self, op: OpPtr, access: AccessPtr) {
        // SAFETY: the registrar is counted until `open_launch`.
        if let Some(run) = unsafe { Run::of(op) } {
            run.launch.start(run.plan, op.index_of(access));
        }
    }

    /// Registrar: all accesses are registered.
    pub(crate) fn open_launch(&self, op: OpPtr, agenda: &mut Agenda<'_>) {
        // SAFETY: the registrar is counted until the end of this call.
        if let Some(run) = unsafe { Run::of(op) } {
            if run.launch.has_more() {
                self.invite(run, agenda);
            }
            self.leave(run, 0, agenda);
        }
    }

    /// An access of a program's launch got its token.
    pub(crate) fn start_steps(&self, op: OpPtr, access: AccessPtr, agenda: &mut Agenda<'_>) {
        // SAFETY: the steps that wait for this access cannot run yet.
        if let Some(run) = unsafe { Run::of(op) } {
            // Relaxed: as for any count, the launch is held by what has not run.
            run.launch.users.fetch_add(1, Relaxed);
            if run.launch.start(run.plan, op.index_of(access)) {
                self.invite(run, agenda);
            }
            self.leave(run, 0, agenda);
        }
    }

    /// Sees to it that a thread looks at the queue. The caller is counted.
    pub(crate) fn invite(&self, run: Run<'_>, agenda: &mut Agenda<'_>) {
        // AcqRel: see the head of this file; pairs with `take_part`.
        if !run.launch.invited.swap(true, AcqRel) {
            // Relaxed: as above.
            run.launch.users.fetch_add(1, Relaxed);
            self.dispatch(run.op, agenda);
        }
    }

    /// Gives up a count of `users`, and reports steps that were run.
    pub(crate) fn leave(&self, run: Run<'_>, ran: u32, agenda: &mut Agenda<'_>) {
        let mut counts = 1;
        // Release: what the steps did. Acquire: all of that, for the last.
        if ran > 0 && run.launch.left.fetch_sub(ran, AcqRel) == ran {
            self.sign_off(run.op);
            counts = 2;
        }
        let (op, launch) = (run.op, std::ptr::from_ref(run.launch));
        // Release: our last touches. Acquire: everybody's, for the last.
        if run.launch.users.fetch_sub(counts, AcqRel) == counts {
            // SAFETY: nobody is counted any more, and no step is left that could bring somebody.
            unsafe { Launch::end(launch, &mut agenda.leftovers) };
            op.release(1);
        }
    }

    /// Follows an invitation: runs steps until there is none.
    pub(crate) fn take_part(&self, op: OpPtr, agenda: &Agenda<'_>) {
        // SAFETY: the invitation was counted; now we are.
        let Some(run) = (unsafe { Run::of(op) }) else {
            return;
        };
        // AcqRel: see the head of this file; pairs with `invite`.
        run.launch.invited.swap(false, AcqRel);
        let threads = self.lanes.cpu().size();
        let (mut ran, mut chunk, mut hand) = (0, [0; CHUNK], Hand::new());
        let mut agenda = agenda.sharing();
        let _at_desk = thread::AtDesk::new(op);
        let process = inherit::process();
        loop {
            let count = run.launch.claim(&mut chunk, threads);
            if count == 0 {
                break;
            }
            if run.launch.has_more() && !run.launch.invited.load(Relaxed) {
                self.invite(run, &mut agenda);
                self.settle(&mut agenda);
            }
            for &step in &chunk[..count] {
                hand.next = Some(step);
                while let Some(step) = hand.take() {
                    let result = self.run_step(run, step, &mut agenda.leftovers);
                    if inherit::process() != process {
                        return; // The function forked, and this is the child.
                    }
                    if let Some(result) = result {
                        let mut published = false;
                        self.finish_step(run, step, result, &mut agenda, |step| {
                            if !hand.keep(step, run.is_small(step)) {
                                run.launch.publish(step);
                                published = true;
                            }
                        });
                        // Without an exchange, which may miss: we will look at the queue ourselves.
                        if published && !run.launch.invited.load(Relaxed) {
                            self.invite(run, &mut agenda);
                        }
                        ran += 1;
                    }
                    // Before the next step, which may take long.
                    self.settle(&mut agenda);
                    self.assist();
                }
            }
        }
        self.leave(run, ran, &mut agenda);
        self.settle(&mut agenda);
    }

    /// All steps that use a variable are through.
    pub(crate) fn let_go(&self, op: OpPtr, access: AccessPtr, agenda: &mut Agenda<'_>) {
        let Some(slot) = access.slot_for_core(self) else {
            return;
        };
        if access.writes() {
            // SAFETY: the launch still has its write access.
            unsafe { slot.bump_version() };
        }
        if let Finished::PassOn(next, message) = access.finish() {
            op.release(1);
            self.deliver(next, message, agenda);
        }
    }
}

/// Ready steps that a thread has taken for itself.
struct Hand {
    small: [u32; CHUNK],
    len: usize,
    next: Option<u32>,
}

impl Hand {
    const fn new() -> Self {
        Self {
            small: [0; CHUNK],
            len: 0,
            next: None,
        }
    }

    /// Keeps one step, and small ones as long as there is room.
    fn keep(&mut self, step: u32, small: bool) -> bool {
        if small && self.len < CHUNK {
            self.small[self.len] = step;
            self.len += 1;
            return true;
        }
        self.next.is_none() && {
            self.next = Some(step);
            true
        }
    }

    /// The next step: small ones first, so that what waits for them does not wait for a long one.
    fn take(&mut self) -> Option<u32> {
        match self.len.checked_sub(1) {
            Some(len) => {
                self.len = len;
                Some(self.small[len])
            }
            None => self.next.take(),
        }
    }
}
