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

use std::panic::{AssertUnwindSafe, catch_unwind};

use crossbeam_utils::CachePadded;

use crate::access::{AccessPtr, Finished};
use crate::context::RunContext;
use crate::core::Core;
use crate::failure::{FailureCell, OpError, PanicError};
use crate::op::OpPtr;
use crate::program::{Plan, Step};
use crate::ready::Agenda;
use crate::sync::{AcqRel, Acquire, Arc, AtomicBool, AtomicU32, Relaxed, Release, lock};
use crate::thread;

/// Steps that a thread takes from the queue at once, at most.
const CHUNK: usize = 16;

/// The state of one launch, used again by later ones.
pub(crate) struct Launch {
    /// There while the launch is in flight.
    plan: Option<Arc<Plan>>,
    pending: Box<[AtomicU32]>,
    last_users: Box<[AtomicU32]>,
    /// Ready steps, plus one; each step is here at most once. 0: not written yet.
    queue: Box<[AtomicU32]>,
    head: CachePadded<AtomicU32>,
    tail: CachePadded<AtomicU32>,
    invited: AtomicBool,
    /// Steps that have not run, or of which nobody has reported.
    left: AtomicU32,
    users: AtomicU32,
}

/// Counts down; true for whoever makes the last step.
#[inline]
fn count_down(counter: &AtomicU32) -> bool {
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
        };
        launch.reset(plan);
        launch
    }

    /// Makes everything as it is before a launch. All stores may be relaxed: nobody else looks
    /// before the log, or the lock of the idle launches, has published them.
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
    pub(crate) fn begin(mut self: Box<Self>, plan: &Arc<Plan>) -> *const Launch {
        self.plan = Some(plan.clone());
        Box::into_raw(self)
    }

    /// # Safety
    /// `this` came from [`Launch::begin`], and nobody else knows it any more.
    unsafe fn end(this: *const Launch) {
        // SAFETY: by the contract.
        let mut launch = unsafe { Box::from_raw(this.cast_mut()) };
        if let Some(plan) = launch.plan.take() {
            launch.reset(&plan);
            lock(&plan.idle).launches.push(launch);
        }
    }

    /// Puts a ready step in the queue.
    fn publish(&self, step: u32) {
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
struct Run<'a> {
    op: OpPtr,
    launch: &'a Launch,
    plan: &'a Plan,
}

impl<'a> Run<'a> {
    /// # Safety
    /// `op` is a program's, and `users` counts the caller as long as `'a`; or there is a step that
    /// cannot run before the caller has counted itself.
    unsafe fn of(op: OpPtr) -> Option<Run<'a>> {
        // SAFETY: by the contract the launch is in flight.
        let launch = unsafe { &*op.launch() };
        let plan = launch.plan.as_deref()?;
        Some(Self { op, launch, plan })
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
            self.leave(run, 0);
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
            self.leave(run, 0);
        }
    }

    /// Sees to it that a thread looks at the queue. The caller is counted.
    fn invite(&self, run: Run<'_>, agenda: &mut Agenda<'_>) {
        // AcqRel: see the head of this file; pairs with `take_part`.
        if !run.launch.invited.swap(true, AcqRel) {
            // Relaxed: as above.
            run.launch.users.fetch_add(1, Relaxed);
            self.dispatch(run.op, agenda);
        }
    }

    /// Gives up a count of `users`, and reports steps that were run.
    fn leave(&self, run: Run<'_>, ran: u32) {
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
            unsafe { Launch::end(launch) };
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
        let (mut ran, mut chunk) = (0, [0; CHUNK]);
        loop {
            let count = run.launch.claim(&mut chunk, threads);
            if count == 0 {
                break;
            }
            if run.launch.has_more() && !run.launch.invited.load(Relaxed) {
                let mut agenda = agenda.sharing();
                self.invite(run, &mut agenda);
                self.settle(agenda);
            }
            for &step in &chunk[..count] {
                let mut next = Some(step);
                while let Some(step) = next {
                    let mut agenda = agenda.sharing();
                    next = self.run_step(run, step, &mut agenda);
                    ran += 1;
                    // Before the next step, which may take long.
                    self.settle(agenda);
                    self.assist();
                }
            }
        }
        self.leave(run, ran);
    }

    /// Runs or skips a step. Returns a step that is ready by that.
    fn run_step(&self, run: Run<'_>, index: u32, agenda: &mut Agenda<'_>) -> Option<u32> {
        let Run { op, launch, plan } = run;
        let step = &plan.steps[index as usize];
        let failure = match self.blame(run, index) {
            Some(cell) => Some(cell),
            None => self.call_step(op, step).err(),
        };
        if failure.is_some() || self.failures.any_alive() {
            for &var in plan.writes.row(index) {
                if let Some(slot) = op.access(var as usize).slot_for_core(self) {
                    // SAFETY: the launch has write access, and the order of the steps gives it to
                    // this one alone.
                    unsafe { slot.set_failure(failure.clone()) };
                }
            }
        }
        for &var in plan.last.row(index) {
            if count_down(&launch.last_users[var as usize]) {
                self.let_go(op, op.access(var as usize), agenda);
            }
        }
        let (mut next, mut published) = (None, false);
        for &step in plan.next.row(index) {
            if count_down(&launch.pending[step as usize]) {
                match next {
                    None => next = Some(step),
                    Some(_) => {
                        launch.publish(step);
                        published = true;
                    }
                }
            }
        }
        // Without an exchange, which may miss: this thread will look at the queue itself.
        if published && !launch.invited.load(Relaxed) {
            self.invite(run, agenda);
        }
        next
    }

    /// All steps that use a variable are through.
    fn let_go(&self, op: OpPtr, access: AccessPtr, agenda: &mut Agenda<'_>) {
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

    /// Why the step must not run, if so.
    fn blame(&self, run: Run<'_>, index: u32) -> Option<Arc<FailureCell>> {
        if !self.failures.any_alive() {
            return None;
        }
        let op = run.op;
        // SAFETY: the launch has the accesses that the step waited for.
        unsafe {
            let seq = op.seq();
            op.refusal().or_else(|| {
                let uses = run.plan.uses.row(index).iter();
                uses.filter_map(|var| op.access(*var as usize).slot_for_core(self)?.failure())
                    .find(|cell| cell.binds(seq))
            })
        }
    }

    fn call_step(&self, op: OpPtr, step: &Step) -> Result<(), Arc<FailureCell>> {
        let header = op.header();
        let context = RunContext::new(header.device, header.priority, step.tag);
        let call = AssertUnwindSafe(|| (step.function)(&context));
        let (result, _) = thread::running(self, op, || catch_unwind(call));
        let error: OpError = match result {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error,
            Err(payload) => Box::new(PanicError::from_payload(&*payload)),
        };
        // SAFETY: the launch is registered.
        let seq = unsafe { op.seq() };
        Err(self.failures.record(step.name, step.tag, seq, error))
    }
}
