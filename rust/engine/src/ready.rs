//! Readiness: tokens travel down the chains, and what they make ready goes where it is to run.

use std::ptr;

use crate::access::{AccessPtr, Message, Received};
use crate::core::Core;
use crate::op::{OpList, OpPtr};
use crate::thread::here;
use crate::worker::Worker;

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
}
