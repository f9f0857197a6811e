//! The operations of a bulk: run one after another, each skipped for the failures that its own
//! variables hold.

use crate::base::sync::Arc;
use crate::execution::execute::End;
use crate::execution::ready_batch::ReadyBatch;
use crate::failures::ledger::{FailureCell, Origin};
use crate::failures::leftovers::Leftovers;
use crate::functions::context::RunContext;
use crate::functions::task::Task;
use crate::operation::op::{NO_STEP, OpPtr, Uses};
use crate::operation::op_list::OpList;
use crate::state::core::Core;
use crate::state::thread;
use crate::tracing::event::What;

/// The failures of a bulk's variables. Nothing, as long as all is well.
#[derive(Default)]
struct VarFailures(Vec<Option<Arc<FailureCell>>>);

impl VarFailures {
    fn of(&self, place: usize) -> Option<&Arc<FailureCell>> {
        self.0.get(place)?.as_ref()
    }

    /// Why an operation must not run.
    fn blame(&self, uses: &Uses) -> Option<Arc<FailureCell>> {
        if self.0.is_empty() {
            return None;
        }
        uses.all().find_map(|place| self.of(place)).cloned()
    }

    /// An operation failed or was skipped.
    fn set(
        &mut self,
        vars: usize,
        uses: &Uses,
        cell: &Arc<FailureCell>,
        leftovers: &mut Leftovers,
    ) {
        self.0.resize(vars, None);
        for place in uses.written() {
            leftovers.add_failure(self.0[place].replace(cell.clone()));
        }
    }
}

impl Core {
    /// Runs a ready bulk, and completes it.
    pub(crate) fn run_bulk(&self, bulk: OpPtr, batch: &mut ReadyBatch<'_>) {
        let mut held = self.inherited(bulk);
        // SAFETY: the bulk's own list; we execute the bulk.
        let mut ops = unsafe { OpList::rest(bulk.first()) };
        let mut step = 0;
        while let Some(op) = ops.pop() {
            // SAFETY: the operation is in a bulk.
            let uses = unsafe { op.uses() };
            let result = match held.blame(&uses) {
                Some(cell) => {
                    self.discard_item(bulk, op);
                    Err(cell)
                }
                None => self.call_item(bulk, op, step, &mut batch.leftovers),
            };
            if self.is_inherited() {
                return; // The function forked, and this is the child.
            }
            if let Err(cell) = result {
                held.set(bulk.len(), &uses, &cell, &mut batch.leftovers);
                batch.leftovers.add_failure(Some(cell));
            }
            op.release(1);
            step += 1;
            self.assist();
        }
        let look = !held.0.is_empty() || self.failures.any_alive();
        self.end(bulk, true, batch, |place, slot, leftovers| {
            if look {
                // SAFETY: `end` calls while the bulk has its write access.
                leftovers.add_failure(unsafe { slot.set_failure(held.of(place).cloned()) });
            }
        });
        for cell in held.0.into_iter().flatten() {
            batch.leftovers.add_failure(Some(cell));
        }
    }

    /// The failures that the bulk's variables hold in front of it.
    fn inherited(&self, bulk: OpPtr) -> VarFailures {
        if !self.failures.any_alive() {
            return VarFailures::default();
        }
        // SAFETY: we execute the bulk, so it has all its accesses.
        unsafe {
            let seq = bulk.seq();
            let held = |slot: &crate::operation::var_slots::VarSlot| {
                slot.failure().filter(|cell| cell.applies_to(seq))
            };
            let all = bulk
                .accesses()
                // A variable is dropped only if it was deleted in front of the bulk.
                .map(|access| match access.slot_in(&self.vars) {
                    Some(slot) => held(slot),
                    None => bulk.refusal(),
                });
            VarFailures(all.collect())
        }
    }

    fn call_item(
        &self,
        bulk: OpPtr,
        op: OpPtr,
        step: u32,
        leftovers: &mut Leftovers,
    ) -> Result<(), Arc<FailureCell>> {
        let header = op.header();
        let context = RunContext::of_item(self, bulk, op);
        let begin = self.tracer.begin();
        // SAFETY: we execute the operation, and this is the only call.
        let (result, _) = thread::running(self, bulk, || unsafe {
            op.with_task(|task| task.run(&context, None))
        });
        if let Some(begin) = begin {
            self.trace_function((bulk, NO_STEP), What::Step, op.name(), header.tag, begin);
        }
        let origin = || Origin {
            name: op.name(),
            tag: header.tag,
            step,
            // SAFETY: the bulk is registered, and not finished.
            ..unsafe { bulk.origin() }
        };
        let ended = End::of(result, false, false);
        let result = ended.settle(|error| self.failures.record(origin(), error, leftovers));
        result.unwrap_or(Ok(()))
    }

    /// Drops an operation's function uncalled.
    fn discard_item(&self, bulk: OpPtr, op: OpPtr) {
        let header = op.header();
        let begin = self.tracer.begin();
        // SAFETY: we execute the operation, and do not call its function.
        let discard = || unsafe { op.with_task(Task::discard) };
        // What the function owned may have a destructor of the user's.
        let _ = thread::running(self, bulk, discard);
        if let Some(begin) = begin {
            self.trace_function((bulk, NO_STEP), What::Skip, op.name(), header.tag, begin);
        }
    }
}
