//! The engine behind the handles: registration, readiness, execution and completion.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Weak;

use crate::access::{AccessPtr, Finished, Linked, Message, Received};
use crate::context::{OnComplete, RunContext};
use crate::epoch::{Epoch, Epochs};
use crate::failure::{FailureCell, Failures, OpError, PanicError, PushError};
use crate::lane::{Lanes, Sizes};
use crate::log::{Baton, Log};
use crate::op::{Fields, Kind, OpList, OpPtr};
use crate::spec::{Device, Name};
use crate::sync::{Acquire, Arc, AtomicBool, AtomicUsize, Relaxed, UnsafeCell};
use crate::task::Task;
use crate::thread::{self, here};
use crate::var::{Var, VarSlab};
use crate::wait::Waiter;
use crate::worker::Worker;

/// Operations that one call registers before it hands the baton over.
const REGISTER_MOST: usize = 64;

/// Everything that one engine shares between threads.
pub(crate) struct Core {
    me: Weak<Core>,
    pub(crate) log: Log,
    pub(crate) vars: VarSlab,
    pub(crate) failures: Failures,
    pub(crate) epochs: Epochs,
    pub(crate) lanes: Lanes,
    /// Run everything on the pushing thread.
    pub(crate) naive: bool,
    pub(crate) shutting_down: AtomicBool,
    shards: AtomicUsize,
    registrar: UnsafeCell<Registrar>,
}

/// What only the holder of the baton touches, besides the variables' chains.
struct Registrar {
    next_seq: u64,
    epoch: *const Epoch,
}

// SAFETY: `registrar` is touched under the baton alone; the rest is shared by design.
unsafe impl Sync for Core {}
// SAFETY: as above; the raw pointer is to an epoch that `epochs` owns.
unsafe impl Send for Core {}

/// What one step of the protocol made ready, until it is safe to run it.
pub(crate) struct Agenda<'w> {
    inline: OpList,
    worker: Option<&'w Worker<'w>>,
    wake: bool,
}

impl<'w> Agenda<'w> {
    pub(crate) const fn new() -> Self {
        Self {
            inline: OpList::new(),
            worker: None,
            wake: false,
        }
    }

    pub(crate) const fn of_worker(worker: &'w Worker<'w>) -> Self {
        Self {
            inline: OpList::new(),
            worker: Some(worker),
            wake: false,
        }
    }

    pub(crate) fn has_inline(&self) -> bool {
        !self.inline.is_empty()
    }

    /// From here on nothing is left for the worker to run next.
    pub(crate) fn leave_worker(&mut self) {
        self.worker = None;
    }
}

/// Inline operations on a thread's hands, reachable from waits deeper in its stack.
pub(crate) struct Frame {
    core: *const Core,
    list: std::cell::RefCell<OpList>,
    outer: *const Frame,
}

impl Core {
    pub(crate) fn new(naive: bool, sizes: Sizes, shards: usize) -> Arc<Self> {
        let head = OpPtr::new_log_head(Fields {
            kind: Kind::Wait,
            name: Name::new("log head"),
            tag: 0,
            device: Device::CPU,
            priority: 0,
            lane: ptr::null(),
            waiter: ptr::null(),
            task: Task::none(),
        });
        let epochs = Epochs::new(shards);
        let registrar = Registrar {
            next_seq: 1,
            epoch: epochs.open(),
        };
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            log: Log::new(head),
            vars: VarSlab::new(),
            failures: Failures::new(),
            epochs,
            lanes: Lanes::new(sizes),
            naive,
            shutting_down: AtomicBool::new(false),
            shards: AtomicUsize::new(1),
            registrar: UnsafeCell::new(registrar),
        })
    }

    /// Another handle on this core, for a thread of its own.
    pub(crate) fn shared(&self) -> Option<Arc<Self>> {
        self.me.upgrade()
    }

    /// A shard of its own for a worker, as long as there are enough; 0 is for other threads.
    pub(crate) fn next_shard(&self) -> usize {
        self.shards.fetch_add(1, Relaxed)
    }

    // ---- insertion and registration ------------------------------------------------------------

    /// Puts an operation in the log, registers what there is to register, and runs what becomes
    /// ready and is to run inline.
    pub(crate) fn submit(&self, op: OpPtr) {
        match self.log.insert(op) {
            Some(baton) => self.register_from(baton),
            None => self.assist(),
        }
    }

    /// Goes on registering if the last registrar left that to others.
    #[inline]
    pub(crate) fn assist(&self) {
        if let Some(baton) = self.log.take_handed() {
            self.register_from(baton);
        }
    }

    fn register_from(&self, baton: Baton) {
        let mut agenda = Agenda::new();
        let mut next = Some(baton);
        let mut count = 0;
        while let Some(baton) = next {
            if count == REGISTER_MOST && !self.naive {
                self.log.hand_over(baton);
                self.lanes.cpu().wake(self);
                break;
            }
            count += 1;
            self.register(baton.next, &mut agenda);
            next = self.log.advance(baton.next);
        }
        self.settle(agenda);
    }

    /// Gives an operation its place in every chain. Under the baton.
    fn register(&self, op: OpPtr, agenda: &mut Agenda<'_>) {
        // SAFETY: under the baton.
        let (seq, epoch) = self.registrar.with_mut(|registrar| unsafe {
            let seq = (*registrar).next_seq;
            (*registrar).next_seq += 1;
            if op.header().kind == Kind::Fence {
                (*registrar).epoch = self.close_epoch(op);
            }
            (seq, (*registrar).epoch)
        });
        if op.header().kind.counts() {
            self.epochs.count();
        }
        // SAFETY: we are the registrar, and release the operation below.
        unsafe {
            op.place(|placed| {
                placed.seq = seq;
                placed.epoch = epoch;
            });
        }
        let mut started = 1; // The registrar's own pending count.
        let mut dropped = 0;
        for access in op.accesses() {
            match self.append(op, access, agenda) {
                Appended::Started => started += 1,
                Appended::Waiting => {}
                Appended::Dropped => {
                    started += 1;
                    dropped += 1;
                }
            }
        }
        if dropped > 0 {
            op.release(dropped);
        }
        if op.satisfy(started) {
            self.dispatch(op, agenda);
        }
    }

    fn close_epoch(&self, fence: OpPtr) -> *const Epoch {
        let (number, next) = self.epochs.close();
        // SAFETY: a fence has a waiter, and it is signalled later, by its execution.
        unsafe { (*fence.header().waiter).fill(|report| report.epoch = number) };
        next
    }

    /// Puts one access at the end of its variable's chain. Under the baton.
    fn append(&self, op: OpPtr, access: AccessPtr, agenda: &mut Agenda<'_>) -> Appended {
        let Some(slot) = access.slot_for_core(self) else {
            return Appended::Dropped;
        };
        let generation = access.generation();
        // SAFETY: under the baton.
        let tail = slot.chain.with_mut(|chain| unsafe {
            let chain = &mut *chain;
            if chain.generation != generation {
                return Err(true);
            }
            if chain.tail.is_some_and(|tail| tail.op() == op) {
                return Err(false); // Listed twice; the first, a mutation if any, counts.
            }
            if op.header().kind == Kind::Delete {
                chain.generation += 2;
            }
            Ok(chain.tail.replace(access))
        });
        let tail = match tail {
            Ok(tail) => tail,
            Err(stale) => {
                if stale {
                    self.refuse(op, slot.handle(generation));
                }
                // SAFETY: under the baton, and not linked.
                unsafe { access.drop_out() };
                return Appended::Dropped;
            }
        };
        let Some(tail) = tail else {
            access.start_satisfied();
            return Appended::Started;
        };
        if tail.is_over() {
            tail.op().release(1);
            access.start_satisfied();
            return Appended::Started;
        }
        match tail.link(access) {
            Linked::Satisfied => {
                tail.op().release(1);
                access.start_satisfied();
                Appended::Started
            }
            Linked::Readable => {
                self.deliver(access, Message::Read, agenda);
                Appended::Waiting
            }
            Linked::Waiting => Appended::Waiting,
        }
    }

    /// A push raced with the deletion of a variable it uses, and lost.
    fn refuse(&self, op: OpPtr, var: Var) {
        let header = op.header();
        if header.kind == Kind::Wait {
            return; // Its thread is told by `report`.
        }
        // SAFETY: the registrar; the sequence number is set.
        let seq = unsafe { op.seq() };
        let error = Box::new(PushError::StaleVariable(var));
        let cell = self.failures.record(header.name, header.tag, seq, error);
        // SAFETY: the registrar has not released the operation.
        unsafe { op.place(|placed| placed.refused = Some(cell)) };
    }

    // ---- readiness -----------------------------------------------------------------------------

    /// Sends tokens to an access, and on from there as far as they go.
    fn deliver(&self, mut access: AccessPtr, mut message: Message, agenda: &mut Agenda<'_>) {
        loop {
            let op = access.op();
            match access.receive(message) {
                Received::Hold => return,
                Received::Start => {
                    if op.satisfy(1) {
                        self.dispatch(op, agenda);
                    }
                    return;
                }
                Received::StartAndForward(next) => {
                    if op.satisfy(1) {
                        self.dispatch(op, agenda);
                    }
                    (access, message) = (next, Message::Read);
                }
                Received::PassOn(next) => {
                    op.release(1);
                    (access, message) = (next, Message::Rest);
                }
            }
        }
    }

    /// Decides where a ready operation runs. Never runs it: the caller may hold the baton.
    pub(crate) fn dispatch(&self, op: OpPtr, agenda: &mut Agenda<'_>) {
        if self.naive || op.header().kind.runs_inline() {
            agenda.inline.push(op);
            return;
        }
        // SAFETY: every operation that does not run inline has a lane, and lanes live with us.
        let lane = unsafe { &*op.header().lane };
        if let Some(worker) = agenda.worker
            && ptr::eq(worker.lane, lane)
        {
            if worker.keep(op) {
                return;
            }
            if worker.share(op) {
                agenda.wake = true;
                return;
            }
        }
        if let Err(op) = lane.submit(self, op) {
            agenda.inline.push(op);
        }
    }

    /// Runs what the agenda holds, and what that makes ready in turn. Not under the baton.
    pub(crate) fn settle(&self, mut agenda: Agenda<'_>) {
        if agenda.wake
            && let Some(worker) = agenda.worker
        {
            worker.lane.wake(self);
        }
        if agenda.inline.is_empty() {
            return;
        }
        agenda.worker = None;
        let outer = here(|here| here.frames.get());
        let list = std::mem::replace(&mut agenda.inline, OpList::new());
        let frame = Frame {
            core: self,
            list: std::cell::RefCell::new(list),
            outer,
        };
        here(|here| here.frames.set(&raw const frame));
        self.run_frame(&frame);
        here(|here| here.frames.set(outer));
    }

    fn run_frame(&self, frame: &Frame) {
        loop {
            let Some(op) = frame.list.borrow_mut().pop() else {
                return;
            };
            let mut agenda = Agenda::new();
            self.execute(op, &mut agenda);
            let mut list = frame.list.borrow_mut();
            while let Some(op) = agenda.inline.pop() {
                list.push(op);
            }
        }
    }

    /// Before a thread waits: runs the inline operations that lie on its hands, lest it wait for
    /// one of them.
    pub(crate) fn run_own_frames(&self) {
        let mut frame = here(|here| here.frames.get());
        // SAFETY: frames lie further up this thread's stack, and each unlinks itself.
        while let Some(this) = unsafe { frame.as_ref() } {
            if ptr::eq(this.core, self) {
                self.run_frame(this);
            }
            frame = this.outer;
        }
    }

    // ---- execution and completion --------------------------------------------------------------

    /// Runs a ready operation; completes it, unless it is asynchronous.
    pub(crate) fn execute(&self, op: OpPtr, agenda: &mut Agenda<'_>) {
        let outcome = match op.header().kind {
            Kind::Wait => {
                self.report(op);
                Outcome::Untouched
            }
            Kind::Fence => {
                // SAFETY: ready; and the fence's waiter is signalled when it is completed.
                unsafe { (*op.header().waiter).fill(|report| report.seq = op.seq()) };
                Outcome::Untouched
            }
            Kind::Delete => {
                let result = self.call(op, None);
                for slot in op
                    .accesses()
                    .filter_map(|access| access.slot_for_core(self))
                {
                    // SAFETY: the deleting operation has write access.
                    unsafe { self.vars.recycle(slot) };
                }
                drop(result);
                Outcome::Untouched
            }
            Kind::Sync | Kind::Async => match self.skip_for(op) {
                Some(cell) => {
                    self.discard(op);
                    Outcome::Failed(cell)
                }
                None if op.header().kind == Kind::Sync => match self.call(op, None) {
                    Ok(()) => Outcome::Done,
                    Err(cell) => Outcome::Failed(cell),
                },
                None => {
                    let Some(core) = self.shared() else { return };
                    let finish = OnComplete::new(core, op);
                    // A failure here is a panic: `finish` has completed the operation already, or
                    // will, and the failure is on record.
                    let _ = self.call(op, Some(finish));
                    return;
                }
            },
        };
        self.complete(op, outcome, agenda);
    }

    /// Calls the function and catches what it throws.
    fn call(&self, op: OpPtr, finish: Option<OnComplete>) -> Result<(), Arc<FailureCell>> {
        let header = op.header();
        let context = RunContext::new(header.device, header.priority, header.tag);
        // An asynchronous operation may be completed, and its block reused, while its function is
        // still running: the task moves out first, and nothing of `op` is used afterwards.
        // SAFETY: we execute the operation.
        let (name, tag, seq, mut task) = unsafe {
            let task = op.with_task(|task| std::mem::replace(task, Task::none()));
            (header.name, header.tag, op.seq(), task)
        };
        let run = AssertUnwindSafe(|| task.run(&context, finish));
        let error: OpError = match thread::running(self, op, || catch_unwind(run)) {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error,
            Err(payload) => Box::new(PanicError::from_payload(&*payload)),
        };
        Err(self.failures.record(name, tag, seq, error))
    }

    /// Drops the function uncalled.
    fn discard(&self, op: OpPtr) {
        // SAFETY: we execute the operation.
        let task = unsafe { op.with_task(|task| std::mem::replace(task, Task::none())) };
        // What the function owned may have a destructor of the user's.
        let _ = thread::running(self, op, || catch_unwind(AssertUnwindSafe(|| drop(task))));
    }

    /// Why the operation must not run, if so.
    fn skip_for(&self, op: OpPtr) -> Option<Arc<FailureCell>> {
        if !self.failures.any_alive() {
            return None;
        }
        // SAFETY: we execute the operation, so it has all its accesses.
        unsafe {
            let seq = op.seq();
            op.refused().or_else(|| {
                op.accesses()
                    .filter_map(|access| access.slot_for_core(self)?.failure())
                    .find(|cell| cell.binds(seq))
            })
        }
    }

    /// Tells a waiting thread what its variable holds.
    fn report(&self, op: OpPtr) {
        // SAFETY: ready, with read access; and the waiter is signalled by the completion.
        unsafe {
            let seq = op.seq();
            let slot = op.access(0).slot_for_core(self);
            let held = slot
                .filter(|_| self.failures.any_alive())
                .and_then(|slot| slot.failure());
            (*op.header().waiter).fill(|report| {
                report.seq = seq;
                report.stale = slot.is_none();
                report.failure = held
                    .filter(|cell| cell.surface(seq))
                    .map(|cell| cell.failure.clone());
            });
        }
    }

    /// Ends an operation: new versions and failures, tokens to its successors, counting.
    pub(crate) fn complete(&self, op: OpPtr, outcome: Outcome, agenda: &mut Agenda<'_>) {
        // A healthy engine does not look at the variables' failures.
        let write_failures = match outcome {
            Outcome::Failed(_) => true,
            Outcome::Done => self.failures.any_alive(),
            Outcome::Untouched => false,
        };
        let mut retired = 1; // The count of the execution.
        for access in op.accesses() {
            let Some(slot) = access.slot_for_core(self) else {
                continue;
            };
            if access.writes() && !matches!(outcome, Outcome::Untouched) {
                // SAFETY: the operation still has its write access.
                unsafe {
                    slot.bump_version();
                    if write_failures {
                        slot.set_failure(outcome.failure());
                    }
                }
            }
            if let Finished::PassOn(next, message) = access.finish() {
                retired += 1;
                self.deliver(next, message, agenda);
            }
        }
        self.sign_off(op);
        op.release(retired);
    }

    /// Counts a completed operation and lets its waiter go.
    fn sign_off(&self, op: OpPtr) {
        let header = op.header();
        if !header.waiter.is_null() {
            // SAFETY: whoever gave the operation a waiter waits for this, once.
            unsafe { Waiter::signal(header.waiter) };
        }
        if header.kind.counts() {
            let shard = here(|here| here.shard.get());
            // SAFETY: this is the operation's one and last count in its epoch.
            unsafe { Epoch::finish(op.epoch(), shard) };
        }
    }

    /// The end of an asynchronous operation.
    pub(crate) fn complete_async(&self, op: OpPtr, result: Result<(), OpError>) {
        let header = op.header();
        let outcome = match result {
            Ok(()) => Outcome::Done,
            Err(error) => {
                // SAFETY: the operation is being executed.
                let seq = unsafe { op.seq() };
                Outcome::Failed(self.failures.record(header.name, header.tag, seq, error))
            }
        };
        let mut agenda = Agenda::new();
        self.complete(op, outcome, &mut agenda);
        self.settle(agenda);
    }

    /// Whether new work is refused.
    pub(crate) fn is_shutting_down(&self) -> bool {
        // Acquire: pairs with the store in `notify_shutdown`.
        self.shutting_down.load(Acquire)
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.vars.drain_tails(|tail| tail.op().release(1));
        if let Some(last) = self.log.last() {
            debug_assert!(last.is_last(), "something still counts the end of the log");
            last.release(1);
        }
    }
}

/// How an operation ended.
pub(crate) enum Outcome {
    /// Well.
    Done,
    /// Its own failure, or one that it inherited.
    Failed(Arc<FailureCell>),
    /// It was the engine's own and changed no variable.
    Untouched,
}

impl Outcome {
    fn failure(&self) -> Option<Arc<FailureCell>> {
        match self {
            Outcome::Failed(cell) => Some(cell.clone()),
            _ => None,
        }
    }
}

/// What became of an access.
enum Appended {
    Started,
    Waiting,
    Dropped,
}
