//! Readiness: tokens travel down the chains, and what they make ready goes where it is to run.

use std::ptr;

use crate::access::{AccessPtr, Message, Received};
use crate::core::Core;
use crate::lane::Lane;
use crate::op::{Kind, OpPtr};
use crate::op_list::OpList;
use crate::thread::here;
use crate::worker::Worker;

/// Small operations that a thread runs in a row before it leaves further ones to the workers.
const INLINE_ROW: u32 = 64;
/// How deep small operations that push small operations nest on one stack.
const INLINE_DEPTH: u32 = 4;

/// What one step of the protocol made ready, until it is safe to run it.
pub(crate) struct Agenda<'w> {
    inline: OpList,
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

impl<'w> Agenda<'w> {
    const fn of(role: Role<'w>) -> Self {
        Self {
            inline: OpList::new(),
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

    pub(crate) fn has_inline(&self) -> bool {
        !self.inline.is_empty()
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

/// Inline operations on a thread's hands, reachable from waits deeper in its stack.
pub(crate) struct Frame {
    core: *const Core,
    list: std::cell::RefCell<OpList>,
    outer: *const Frame,
    depth: u32,
}

impl Core {
    /// Sends tokens to an access, and on from there as far as they go.
    pub(crate) fn deliver(
        &self,
        mut access: AccessPtr,
        mut message: Message,
        agenda: &mut Agenda<'_>,
    ) {
        loop {
            let op = access.op();
            match access.receive(message) {
                Received::Hold => return,
                Received::Start => return self.start(op, access, agenda),
                Received::StartAndForward(next) => {
                    self.start(op, access, agenda);
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
    fn start(&self, op: OpPtr, access: AccessPtr, agenda: &mut Agenda<'_>) {
        if op.header().kind == Kind::Program {
            self.start_steps(op, access, agenda);
        } else if op.satisfy(1) {
            self.dispatch(op, agenda);
        }
    }

    /// Decides where a ready operation runs. Never runs it: the caller may hold the baton.
    pub(crate) fn dispatch(&self, op: OpPtr, agenda: &mut Agenda<'_>) {
        // SAFETY: null for operations that run inline; otherwise a lane, and lanes live with us.
        let lane = match unsafe { op.header().lane.as_ref() } {
            Some(lane) if !self.naive => lane,
            _ => return agenda.inline.push(op),
        };
        match agenda.role {
            Role::Worker(worker) if ptr::eq(worker.lane, lane) => {
                if worker.keep(op) {
                    return;
                }
                if worker.share(op) {
                    agenda.wake_later(self, lane);
                    return;
                }
            }
            Role::Sharing(worker) if ptr::eq(worker.lane, lane) && worker.share(op) => {
                agenda.wake_later(self, lane);
                return;
            }
            Role::Registrar if lane.is_served(self) => {
                // SAFETY: under the baton.
                unsafe { lane.queue.push_registered(op) };
                agenda.wake_later(self, lane);
                return;
            }
            _ => {}
        }
        if lane.is_served(self) {
            lane.queue.push(op);
            lane.wake(self);
        } else {
            agenda.inline.push(op);
        }
    }

    /// Runs what the agenda holds, and what that makes ready in turn. Not under the baton.
    pub(crate) fn settle(&self, mut agenda: Agenda<'_>) {
        if let Some(lane) = agenda.wake.take() {
            agenda.tell(self, lane);
        }
        if agenda.inline.is_empty() {
            return;
        }
        let outer = here(|here| here.frames.get());
        let list = std::mem::replace(&mut agenda.inline, OpList::new());
        let frame = Frame {
            core: self,
            list: std::cell::RefCell::new(list),
            outer,
            // SAFETY: null, or a frame further up this thread's stack.
            depth: unsafe { outer.as_ref() }.map_or(0, |outer| outer.depth + 1),
        };
        here(|here| here.frames.set(&raw const frame));
        self.run_frame(&frame);
        here(|here| here.frames.set(outer));
    }

    fn run_frame(&self, frame: &Frame) {
        let mut row = 0;
        loop {
            let Some(op) = frame.list.borrow_mut().pop() else {
                return;
            };
            if op.header().is_small() {
                let enough = row == INLINE_ROW || frame.depth > INLINE_DEPTH;
                if self.leave_to_workers(op, enough) {
                    continue;
                }
                row += 1;
            }
            let mut agenda = Agenda::new();
            self.execute(op, &mut agenda);
            let mut list = frame.list.borrow_mut();
            while let Some(op) = agenda.inline.pop() {
                list.push(op);
            }
        }
    }

    /// Queues a small operation after all: if this thread has run `enough`, or the engine is
    /// stopped. Not if there are no workers.
    fn leave_to_workers(&self, op: OpPtr, enough: bool) -> bool {
        let lane = self.lanes.cpu();
        let leaves = !self.naive && (enough || lane.is_stopped()) && lane.is_served(self);
        if leaves {
            lane.queue.push(op);
            lane.wake(self);
        }
        leaves
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
