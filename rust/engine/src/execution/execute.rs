//! Execution: an operation runs, or is skipped for a failure, and hands its variables on.

use crate::base::sync::Arc;
use crate::base::unwind::PanicError;
use crate::execution::ready_batch::ReadyBatch;
use crate::failures::ledger::FailureCell;
use crate::failures::leftovers::Leftovers;
use crate::functions::context::{OnComplete, RunContext};
use crate::functions::task::Task;
use crate::operation::access::Finished;
use crate::operation::op::{NO_STEP, OpKind, OpPtr};
use crate::operation::var_slots::VarSlot;
use crate::state::core::Core;
use crate::state::thread::{self, here};
use crate::tracing::event::What;
use crate::types::failure::{NeverCompleted, OpError};
use crate::waiters::epoch::Epoch;
use crate::waiters::waiter::Waiter;

/// How an operation ended.
pub(crate) enum Outcome {
    /// Well.
    Done,
    /// Its own failure, or one that it inherited.
    Failed(Arc<FailureCell>),
    /// It was the engine's own and changed no variable.
    Untouched,
}

/// How a user's function ended.
pub(crate) struct End {
    error: Option<OpError>,
    /// Its `OnComplete` is with somebody else, who completes the operation.
    elsewhere: bool,
}

impl End {
    /// Of what the function returned, or threw; `abandoned` if it dropped its `OnComplete`.
    #[inline]
    pub(crate) fn of(
        result: Result<Result<(), OpError>, Box<PanicError>>,
        is_async: bool,
        abandoned: bool,
    ) -> Self {
        let error: Option<OpError> = match result {
            Ok(Ok(())) if abandoned => Some(Box::new(NeverCompleted)),
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error),
            Err(panic) => Some(panic),
        };
        Self {
            error,
            elsewhere: is_async && !abandoned,
        }
    }

    /// Records the error, if any. `None` if the operation is not the caller's to complete; then a
    /// panic of its function stays on record for `wait_for_all`.
    #[inline]
    pub(crate) fn settle(
        self,
        record: impl FnOnce(OpError) -> Arc<FailureCell>,
    ) -> Option<Result<(), Arc<FailureCell>>> {
        let result = self.error.map_or(Ok(()), |error| Err(record(error)));
        (!self.elsewhere).then_some(result)
    }
}

impl Outcome {
    /// `None` cannot be: a synchronous function is completed by its caller.
    fn of(ended: Option<Result<(), Arc<FailureCell>>>) -> Self {
        match ended {
            Some(Err(cell)) => Outcome::Failed(cell),
            _ => Outcome::Done,
        }
    }

    fn failure(&self) -> Option<Arc<FailureCell>> {
        match self {
            Outcome::Failed(cell) => Some(cell.clone()),
            _ => None,
        }
    }
}

impl Core {
    /// Runs a ready operation; completes it, unless it is asynchronous.
    pub(crate) fn execute(&self, op: OpPtr, batch: &mut ReadyBatch<'_>) {
        let outcome = match op.header().kind {
            OpKind::Wait => {
                self.report(op);
                Outcome::Untouched
            }
            OpKind::Fence => {
                // SAFETY: ready; and the fence's waiter is signalled when it is completed.
                unsafe { (*op.waiter()).fill(|report| report.seq = op.seq()) };
                Outcome::Untouched
            }
            OpKind::Close => Outcome::Untouched, // The registrar does not release it.
            OpKind::Program => return self.take_part(op, batch),
            OpKind::Bulk => return self.run_bulk(op, batch),
            OpKind::Delete => {
                // A failure is on record for `wait_for_all`.
                let _ = self.call(op, None, batch);
                self.recycle(op, batch);
                Outcome::Untouched
            }
            OpKind::Sync | OpKind::Async => match self.skip_for(op) {
                Some(cell) => {
                    self.discard(op);
                    Outcome::Failed(cell)
                }
                None if op.header().kind == OpKind::Sync => Outcome::of(self.call(op, None, batch)),
                None => match self.start_async(op, batch) {
                    Some(ended) => Outcome::of(Some(ended)),
                    None => return,
                },
            },
        };
        if self.is_inherited() {
            return; // The function forked, and this is the child: nobody goes on with this engine.
        }
        self.complete(op, outcome, batch);
    }

    /// Takes back the slot of a variable whose deletion has run.
    fn recycle(&self, op: OpPtr, batch: &mut ReadyBatch<'_>) {
        if self.is_inherited() {
            return;
        }
        for access in op.accesses() {
            if let Some(slot) = access.slot_in(&self.vars) {
                // SAFETY: the deleting operation has write access.
                batch
                    .leftovers
                    .add_failure(unsafe { self.vars.recycle(slot) });
            }
        }
    }

    /// Calls an asynchronous operation's function. `None` if its `OnComplete` went elsewhere.
    fn start_async(
        &self,
        op: OpPtr,
        batch: &mut ReadyBatch<'_>,
    ) -> Option<Result<(), Arc<FailureCell>>> {
        let finish = OnComplete::new(self.shared()?, op);
        // The operation may be completed while its function still runs, and asks about it.
        op.retain();
        let ended = self.call(op, Some(finish), batch);
        op.release(1);
        ended
    }

    /// Calls the function. `None` if it is asynchronous, and somebody else completes it.
    fn call(
        &self,
        op: OpPtr,
        finish: Option<OnComplete>,
        batch: &mut ReadyBatch<'_>,
    ) -> Option<Result<(), Arc<FailureCell>>> {
        let header = op.header();
        let is_async = finish.is_some();
        let context = RunContext::of(self, op);
        // An asynchronous operation may be finished, and its epoch over, before its function is.
        // SAFETY: we execute the operation.
        let origin = is_async.then(|| unsafe { op.origin() });
        let begin = self.tracer.begin();
        if begin.is_some() && is_async {
            self.trace_begin((op, NO_STEP), op.name(), header.tag);
        }
        // SAFETY: we execute the operation, and this is the only call.
        let (result, abandoned) = thread::running(self, op, || unsafe {
            op.with_task(|task| task.run(&context, finish))
        });
        if let Some(begin) = begin {
            self.trace_run(op, false, begin);
        }
        let ended = End::of(result, is_async, abandoned);
        // SAFETY: as above; this one is not finished.
        let origin = || origin.unwrap_or_else(|| unsafe { op.origin() });
        let record = |error| self.failures.record(origin(), error, &mut batch.leftovers);
        ended.settle(record)
    }

    /// Drops the function uncalled.
    fn discard(&self, op: OpPtr) {
        let begin = self.tracer.begin();
        // SAFETY: we execute the operation, and do not call its function.
        let discard = || unsafe { op.with_task(Task::discard) };
        // What the function owned may have a destructor of the user's.
        let _ = thread::running(self, op, discard);
        if let Some(begin) = begin {
            self.trace_run(op, true, begin);
        }
    }

    /// Why the operation must not run, if so.
    fn skip_for(&self, op: OpPtr) -> Option<Arc<FailureCell>> {
        if !self.failures.any_alive() {
            return None;
        }
        // SAFETY: we execute the operation, so it has all its accesses.
        unsafe {
            let seq = op.seq();
            op.refusal().or_else(|| {
                op.accesses()
                    .filter_map(|access| access.slot_in(&self.vars)?.failure())
                    .find(|cell| cell.applies_to(seq))
            })
        }
    }

    /// Tells a waiting thread what its variable holds, if it still waits: otherwise the failure is
    /// left for another wait.
    fn report(&self, op: OpPtr) {
        // SAFETY: ready, with read access; and the waiter is signalled by the completion.
        unsafe {
            if !(*op.waiter()).claim() {
                return;
            }
            let seq = op.seq();
            let slot = op.access(0).slot_in(&self.vars);
            let held = slot
                .filter(|_| self.failures.any_alive())
                .and_then(|slot| slot.failure());
            (*op.waiter()).fill(|report| {
                report.seq = seq;
                report.stale = slot.is_none();
                report.failure = held.and_then(|cell| self.failures.surface(&cell, seq));
            });
        }
    }

    /// Ends an operation: new versions and failures, tokens to its successors, counting.
    pub(crate) fn complete(&self, op: OpPtr, outcome: Outcome, batch: &mut ReadyBatch<'_>) {
        // A healthy engine does not look at the variables' failures.
        let write_failures = match outcome {
            Outcome::Failed(_) => true,
            Outcome::Done => self.failures.any_alive(),
            Outcome::Untouched => false,
        };
        let writes = !matches!(outcome, Outcome::Untouched);
        self.end(op, writes, batch, |_, slot, leftovers| {
            if write_failures {
                // SAFETY: `end` calls while the operation has its write access.
                leftovers.add_failure(unsafe { slot.set_failure(outcome.failure()) });
            }
        });
        if let Outcome::Failed(cell) = outcome {
            batch.leftovers.add_failure(Some(cell));
        }
    }

    /// The same; `written` is called with each variable that the operation mutated, if it did, and
    /// its place among the accesses, as long as the operation has it.
    #[inline(always)]
    pub(crate) fn end(
        &self,
        op: OpPtr,
        writes: bool,
        batch: &mut ReadyBatch<'_>,
        written: impl Fn(usize, &VarSlot, &mut Leftovers),
    ) {
        let mut retired = 1; // The count of the execution.
        for (place, access) in op.accesses().enumerate() {
            let Some(slot) = access.slot_in(&self.vars) else {
                continue;
            };
            if writes && access.writes() {
                // SAFETY: the operation still has its write access.
                unsafe { slot.bump_version() };
                written(place, slot, &mut batch.leftovers);
            }
            if let Finished::PassOn(next, message) = access.finish() {
                retired += 1;
                self.deliver(next, message, batch);
            }
        }
        self.sign_off(op);
        op.release(retired);
    }

    /// Counts a completed operation and lets its waiter go.
    pub(crate) fn sign_off(&self, op: OpPtr) {
        let header = op.header();
        // SAFETY: the operation was ready.
        let waiter = unsafe { op.waiter() };
        if !waiter.is_null() {
            // SAFETY: whoever gave the operation a waiter waits for this, once.
            unsafe { Waiter::signal(waiter) };
        }
        if header.kind.counts() {
            let shard = here(|here| here.shard.get());
            // SAFETY: this is the operation's one and last count in its epoch.
            unsafe { Epoch::finish(op.epoch(), shard) };
        }
    }

    /// The end of an asynchronous operation.
    pub(crate) fn complete_async(&self, op: OpPtr, result: Result<(), OpError>) {
        if let Some(begin) = self.tracer.begin() {
            let header = op.header();
            self.trace_function((op, NO_STEP), What::Complete, op.name(), header.tag, begin);
        }
        let mut batch = ReadyBatch::new();
        let mut record = |error| {
            // SAFETY: the operation is being executed.
            let origin = unsafe { op.origin() };
            self.failures.record(origin, error, &mut batch.leftovers)
        };
        let outcome = match result {
            Ok(()) => Outcome::Done,
            Err(error) => Outcome::Failed(record(error)),
        };
        self.complete(op, outcome, &mut batch);
        self.settle(&mut batch);
    }
}
