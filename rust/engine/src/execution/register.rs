//! Registration: a push gets its place in the log and, under the baton, in its variables' chains.

use crate::base::sync::SMALL;
use crate::execution::ready_batch::ReadyBatch;
use crate::operation::access::{AccessPtr, Linked, Message};
use crate::operation::log::Baton;
use crate::operation::op::{OpKind, OpPtr};
use crate::state::core::Core;
use crate::types::failure::PushError;
use crate::types::var::Var;
use crate::waiters::epoch::Epoch;
use crate::waiters::waiter::Waiter;

/// Operations that one call registers before it hands the baton over.
const REGISTER_MOST: usize = if SMALL { 3 } else { 64 };

/// What became of an access.
enum Appended {
    Started,
    Waiting,
    Dropped,
}

impl Core {
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

    pub(crate) fn register_from(&self, baton: Baton) {
        let mut batch = ReadyBatch::of_registrar();
        let mut next = Some(baton);
        let mut count = 0;
        while let Some(baton) = next {
            if count == REGISTER_MOST && !self.naive {
                self.log.hand_over(baton);
                self.lanes.cpu().wake(self);
                break;
            }
            count += 1;
            if baton.next.header().kind == OpKind::Close {
                // SAFETY: the registrar; whoever waits has the baton from here on.
                unsafe { Waiter::signal(baton.next.waiter()) };
                break;
            }
            self.register(baton.next, &mut batch);
            next = self.log.advance(baton.next);
        }
        self.settle(&mut batch);
    }

    /// Gives an operation its place in every chain. Under the baton.
    fn register(&self, op: OpPtr, batch: &mut ReadyBatch<'_>) {
        // SAFETY: under the baton.
        let (seq, epoch, began) = self.registrar.with_mut(|registrar| unsafe {
            let registrar = &mut *registrar;
            let seq = registrar.next_seq;
            registrar.next_seq += 1;
            if op.header().kind == OpKind::Fence {
                registrar.epoch = self.close_epoch(op);
                registrar.epoch_began = self.epochs.registered();
            }
            (seq, registrar.epoch, registrar.epoch_began)
        });
        if op.header().kind.counts() {
            self.epochs.count();
            // SAFETY: the open epoch is alive as long as we hold the baton.
            let finished = || unsafe { (*epoch).counted() };
            self.limiter.check(self.epochs.registered(), || {
                let of_open = (self.epochs.registered() - began).saturating_sub(finished());
                self.epochs.in_flight(of_open)
            });
        }
        // SAFETY: we are the registrar, and release the operation below.
        unsafe { op.place(seq, epoch) };
        let is_program = op.header().kind == OpKind::Program;
        if is_program {
            self.refuse_stale(op, batch);
        }
        let (len, mut started, mut dropped) = (op.len() as u32, 0, 0);
        for access in op.accesses() {
            match self.append(op, access, batch) {
                Appended::Waiting => continue,
                Appended::Dropped => dropped += 1,
                Appended::Started => {}
            }
            started += 1;
            if is_program {
                self.start_quietly(op, access);
            }
        }
        if dropped == len {
            // SAFETY: the registrar, before the operation is released.
            unsafe { op.keep_in_log() };
        }
        if dropped > 0 {
            op.release(dropped);
        }
        if is_program {
            return self.open_launch(op, batch);
        }
        // If nothing is left to wait for, nobody else will count: no exchange is needed. If nothing
        // has started, others will count it all, or have.
        if started == len || (started > 0 && op.satisfy(started)) {
            self.dispatch(op, batch);
        }
    }

    /// Before a program's steps can start: if a variable was deleted in front of the launch, none
    /// of them will run. Under the baton.
    fn refuse_stale(&self, op: OpPtr, batch: &mut ReadyBatch<'_>) {
        for access in op.accesses() {
            if let Some(slot) = access.slot_in(&self.vars) {
                let generation = access.generation();
                // SAFETY: under the baton.
                if slot.chain.with(|chain| unsafe { (*chain).generation }) != generation {
                    self.refuse(op, slot.handle(generation), batch);
                }
            }
        }
    }

    fn close_epoch(&self, fence: OpPtr) -> *const Epoch {
        let (number, next) = self.epochs.close();
        // SAFETY: a fence has a waiter, and it is signalled later, by its execution.
        unsafe { (*fence.waiter()).fill(|report| report.epoch = number) };
        next
    }

    /// Puts one access at the end of its variable's chain. Under the baton.
    fn append(&self, op: OpPtr, access: AccessPtr, batch: &mut ReadyBatch<'_>) -> Appended {
        let Some(slot) = access.slot_in(&self.vars) else {
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
            if op.header().kind == OpKind::Delete {
                chain.generation += 2;
            }
            Ok(chain.tail.replace(access))
        });
        let tail = match tail {
            Ok(tail) => tail,
            Err(stale) => {
                if stale {
                    self.refuse(op, slot.handle(generation), batch);
                }
                // SAFETY: under the baton, and not linked.
                unsafe { access.drop_out() };
                return Appended::Dropped;
            }
        };
        // (A wait changes nothing, even if it waits until it could.)
        if access.writes() && op.header().kind != OpKind::Wait {
            // SAFETY: under the baton.
            unsafe { slot.expect_write() };
        }
        let Some(tail) = tail else {
            access.start_satisfied();
            return Appended::Started;
        };
        match tail.link(access) {
            Linked::Satisfied => {
                tail.op().release(1);
                Appended::Started
            }
            Linked::Started => Appended::Started,
            Linked::Readable => {
                self.deliver(access, Message::Read, batch);
                Appended::Waiting
            }
            Linked::Waiting => Appended::Waiting,
        }
    }

    /// A push raced with the deletion of a variable it uses, and lost.
    fn refuse(&self, op: OpPtr, var: Var, batch: &mut ReadyBatch<'_>) {
        if op.header().kind == OpKind::Wait {
            return; // Its thread is told by `report`.
        }
        let error = Box::new(PushError::StaleVariable(var));
        // SAFETY: the registrar, who has given the operation its place and not released it.
        let record = || unsafe {
            let leftovers = &mut batch.leftovers;
            self.failures.record(op.origin(), error, leftovers)
        };
        // SAFETY: as above.
        unsafe { op.refuse(record) };
    }
}
