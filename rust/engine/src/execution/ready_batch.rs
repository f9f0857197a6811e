//! Readiness: tokens travel down the chains. What they make ready is collected in a batch until it is
//! safe to run it, and then goes where it is to run.

use std::ptr;

use crate::execution::worker::Worker;
use crate::failures::leftovers::Leftovers;
use crate::operation::access::{AccessPtr, Message, Received};
use crate::operation::op::{OpKind, OpPtr};
use crate::operation::op_list::OpList;
use crate::scheduling::lane::Lane;
use crate::state::core::Core;
use crate::state::frame::{Frame, FrameLink};
use crate::state::thread::here;

/// Small operations that a thread runs in a row before it leaves further ones to the workers.
const INLINE_ROW: u32 = 64;
/// How deep functions that make others ready to run at once nest on one stack.
const INLINE_DEPTH: u32 = 4;
/// The same where no worker could run them.
const NAIVE_DEPTH: u32 = 32;

/// What one step of the protocol made ready, until it is safe to run it.
pub(crate) struct ReadyBatch<'w> {
    inline: OpList,
    pub(crate) leftovers: Leftovers,
    role: Role<'w>,
    /// A lane that has got work from us, and whose workers have not been told.
    wake: Option<&'w Lane>,
}

/// What the thread is, as far as queues are concerned.
#[derive(Clone, Copy)]
enum Role<'w> {
    /// A worker that completes an operation, and then runs what it kept.
    Worker(&'w Worker<'w>),
    /// A worker in the middle of a program's launch, which keeps nothing for later.
    Sharing(&'w Worker<'w>),
    /// The holder of the baton.
    Registrar,
    /// Any thread.
    Other,
}

impl<'w> ReadyBatch<'w> {
    const fn of(role: Role<'w>) -> Self {
        Self {
            inline: OpList::new(),
            leftovers: Leftovers::new(),
            role,
            wake: None,
        }
    }

    pub(crate) const fn new() -> Self {
        Self::of(Role::Other)
    }

    pub(crate) const fn of_worker(worker: &'w Worker<'w>) -> Self {
        Self::of(Role::Worker(worker))
    }

    /// For the holder of the baton, as long as it has it.
    pub(crate) const fn of_registrar() -> Self {
        Self::of(Role::Registrar)
    }

    /// For a thread that takes part in a launch, as its worker if it is one.
    pub(crate) const fn sharing(&self) -> Self {
        Self::of(match self.role {
            Role::Worker(worker) | Role::Sharing(worker) => Role::Sharing(worker),
            _ => Role::Other,
        })
    }

    /// Whether it holds users' code to be run.
    pub(crate) fn has_inline(&self) -> bool {
        !(self.inline.is_empty() && self.leftovers.is_empty())
    }

    /// From here on nothing is left for the worker to run next.
    pub(crate) fn leave_worker(&mut self) {
        self.role = Role::Other;
    }

    /// The lane has got work.
    fn wake_later(&mut self, core: &Core, lane: &'w Lane) {
        match self.wake.replace(lane) {
            Some(other) if !ptr::eq(other, lane) => self.tell(core, other),
            _ => {}
        }
    }

    fn tell(&self, core: &Core, lane: &Lane) {
        match self.role {
            Role::Registrar => lane.wake_registered(core),
            _ => lane.wake(core),
        }
    }
}

impl Core {
    /// Sends tokens to an access, and on from there as far as they go.
    pub(crate) fn deliver(
        &self,
        mut access: AccessPtr,
        mut message: Message,
        batch: &mut ReadyBatch<'_>,
    ) {
        loop {
            let op = access.op();
            match access.receive(message) {
                Received::Hold => return,
                Received::Start => return self.start(op, access, batch),
                Received::StartAndForward(next) => {
                    self.start(op, access, batch);
                    (access, message) = (next, Message::Read);
                }
                Received::PassOn(next) => {
                    op.release(1);
                    (access, message) = (next, Message::Rest);
                }
            }
        }
    }

    /// An access may start.
    #[inline]
    fn start(&self, op: OpPtr, access: AccessPtr, batch: &mut ReadyBatch<'_>) {
        if op.header().kind == OpKind::Program {
            self.start_steps(op, access, batch);
        } else if op.satisfy(1) {
            self.dispatch(op, batch);
        }
    }

    /// Decides where a ready operation runs. Never runs it: the caller may hold the baton.
    pub(crate) fn dispatch(&self, op: OpPtr, batch: &mut ReadyBatch<'_>) {
        // SAFETY: null for operations that run inline; otherwise a lane, and lanes live with us.
        let lane = match unsafe { Lane::of(op) } {
            Some(lane) if !self.naive => lane,
            // A wait lets a thread go: it comes before users' functions, which may take their time.
            _ if !op.header().kind.is_users() => return batch.inline.push_front(op),
            _ => return batch.inline.push(op),
        };
        match batch.role {
            Role::Worker(worker) if ptr::eq(worker.lane, lane) => {
                if worker.keep(op) {
                    return;
                }
                if worker.share(op) {
                    batch.wake_later(self, lane);
                    return;
                }
            }
            Role::Sharing(worker) if ptr::eq(worker.lane, lane) && worker.share(op) => {
                batch.wake_later(self, lane);
                return;
            }
            Role::Registrar if lane.is_served(self) => {
                // SAFETY: under the baton.
                unsafe { lane.queue.push_registered(op) };
                batch.wake_later(self, lane);
                return;
            }
            _ => {}
        }
        if lane.is_served(self) {
            lane.queue.push(op);
            lane.wake(self);
        } else {
            batch.inline.push(op);
        }
    }

    /// Runs what the batch holds, and what that makes ready in turn. Not under the baton.
    #[inline]
    pub(crate) fn settle(&self, batch: &mut ReadyBatch<'_>) {
        if batch.wake.is_some() || batch.has_inline() {
            self.settle_all(batch);
        }
    }

    #[inline(never)]
    fn settle_all(&self, batch: &mut ReadyBatch<'_>) {
        if let Some(lane) = batch.wake.take() {
            batch.tell(self, lane);
        }
        let leftovers = std::mem::replace(&mut batch.leftovers, Leftovers::new());
        if !batch.inline.is_empty() {
            self.run_inline(batch);
        }
        drop(leftovers);
    }

    fn run_inline(&self, batch: &mut ReadyBatch<'_>) {
        let outer = here(|here| here.frames.get());
        let list = std::mem::replace(&mut batch.inline, OpList::new());
        let frame = Frame {
            core: self,
            list: std::cell::RefCell::new(list),
            outer,
            // SAFETY: null, or a frame further up this thread's stack.
            depth: unsafe { outer.as_ref() }.map_or(0, |outer| outer.depth + 1),
        };
        let linked = FrameLink::new(&frame);
        self.run_frame(&frame);
        drop(linked);
    }

    fn run_frame(&self, frame: &Frame) {
        let mut row = 0;
        loop {
            let Some(op) = frame.list.borrow_mut().pop() else {
                return;
            };
            if op.header().kind.is_users() {
                if self.leave_to_others(op, frame, row == INLINE_ROW) {
                    continue;
                }
                row += 1;
            }
            let mut batch = ReadyBatch::new();
            self.execute(op, &mut batch);
            let mut list = frame.list.borrow_mut();
            while let Some(op) = batch.inline.pop() {
                match op.header().kind.is_users() {
                    true => list.push(op),
                    false => list.push_front(op),
                }
            }
            drop(list);
            drop(batch); // With what the operation has left behind.
        }
    }

    /// Whether a user's function is left to a worker: if this thread has run `enough` of them, is
    /// deep in them, or the engine is stopped. Where there are no workers, those that lie deep are
    /// left to a frame further up, which goes on once this thread is back there, or waits.
    fn leave_to_others(&self, op: OpPtr, frame: &Frame, enough: bool) -> bool {
        let lane = self.lanes.cpu();
        // A deletion gives memory back, and need not wait for a start.
        let stopped = lane.is_stopped() && op.header().kind != OpKind::Delete;
        if !(enough || stopped || frame.depth > INLINE_DEPTH) {
            return false;
        }
        if self.naive || !lane.is_served(self) {
            return frame.depth > NAIVE_DEPTH && frame.leave_to_outer(op);
        }
        lane.queue.push(op);
        lane.wake(self);
        true
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
}
