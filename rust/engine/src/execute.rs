//! Execution: an operation runs, or is skipped for a failure, and hands its variables on.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::access::Finished;
use crate::context::{OnComplete, RunContext};
use crate::core::Core;
use crate::epoch::Epoch;
use crate::failure::{OpError, PanicError};
use crate::ledger::FailureCell;
use crate::op::{Kind, OpPtr};
use crate::ready::Agenda;
use crate::sync::Arc;
use crate::task::Task;
use crate::thread::{self, here};
use crate::trace::What;
use crate::var::VarSlot;
use crate::wait::Waiter;

/// How an operation ended.
pub(crate) enum Outcome {
    /// Well.
    Done,
    /// Its own failure, or one that it inherited.
    Failed(Arc<FailureCell>),
    /// It was the engine's own and changed no variable.
    Untouched,
}

/// What a function threw.
struct Thrown {
    cell: Arc<FailureCell>,
    /// Its `OnComplete` was dropped by the panic, and left the completion to the executor.
    owns_completion: bool,
}

impl Outcome {
    fn failure(&self) -> Option<Arc<FailureCell>> {
        match self {
            Outcome::Failed(cell) => Some(cell.clone()),
            _ => None,
        }
    }
}

impl Core {
    /// Runs a ready operation; completes it, unless it is asynchronous.
    pub(crate) fn execute(&self, op: OpPtr, agenda: &mut Agenda<'_>) {
        let outcome = match op.header().kind {
            Kind::Wait => {
                self.report(op);
                Outcome::Untouched
            }
            Kind::Fence => {
                // SAFETY: ready; and the fence's waiter is signalled when it is completed.
                unsafe { (*op.waiter()).fill(|report| report.seq = op.seq()) };
                Outcome::Untouched
            }
            Kind::Program => return self.take_part(op, agenda),
            Kind::Bulk => return self.run_bulk(op, agenda),
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
                    Err(thrown) => Outcome::Failed(thrown.cell),
                },
                None => match self.start_async(op) {
                    Some(cell) => Outcome::Failed(cell),
                    None => return,
                },
            },
        };
        self.complete(op, outcome, agenda);
    }

    /// Calls an asynchronous operation's function. With a failure in return, the function panicked
    /// and took its `OnComplete` down with it: the operation is the caller's to complete.
    fn start_async(&self, op: OpPtr) -> Option<Arc<FailureCell>> {
        let finish = OnComplete::new(self.shared()?, op);
        // The operation may be completed while its function still runs, and asks about it.
        op.retain();
        let thrown = self.call(op, Some(finish)).err();
        op.release(1);
        // A panic after `OnComplete` went elsewhere stays on record for `wait_for_all`.
        thrown
            .filter(|thrown| thrown.owns_completion)
            .map(|thrown| thrown.cell)
    }

    /// Calls the function and catches what it throws.
    fn call(&self, op: OpPtr, finish: Option<OnComplete>) -> Result<(), Thrown> {
        let header = op.header();
        let context = RunContext::of(header);
        // An asynchronous operation may be finished, and its epoch over, before its function is.
        // SAFETY: we execute the operation.
        let origin = finish.as_ref().map(|_| unsafe { op.origin() });
        // SAFETY: we execute the operation, and this is the only call.
        let run = AssertUnwindSafe(|| unsafe { op.with_task(|task| task.run(&context, finish)) });
        let begin = self.tracer.begin();
        let (result, owns_completion) = thread::running(self, op, || catch_unwind(run));
        if let Some(begin) = begin {
            self.trace_run(op, false, begin);
        }
        let error: OpError = match result {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error,
            Err(payload) => Box::new(PanicError::from_payload(&*payload)),
        };
        // SAFETY: as above; this one is not finished.
        let origin = origin.unwrap_or_else(|| unsafe { op.origin() });
        Err(Thrown {
            cell: self.failures.record(origin, error),
            owns_completion,
        })
    }

    /// Drops the function uncalled.
    fn discard(&self, op: OpPtr) {
        let begin = self.tracer.begin();
        // SAFETY: we execute the operation, and do not call its function.
        let discard = AssertUnwindSafe(|| unsafe { op.with_task(Task::discard) });
        // What the function owned may have a destructor of the user's.
        let _ = thread::running(self, op, || catch_unwind(discard));
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
                    .filter_map(|access| access.slot_for_core(self)?.failure())
                    .find(|cell| cell.binds(seq))
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
            let slot = op.access(0).slot_for_core(self);
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
    pub(crate) fn complete(&self, op: OpPtr, outcome: Outcome, agenda: &mut Agenda<'_>) {
        // A healthy engine does not look at the variables' failures.
        let write_failures = match outcome {
            Outcome::Failed(_) => true,
            Outcome::Done => self.failures.any_alive(),
            Outcome::Untouched => false,
        };
        let writes = !matches!(outcome, Outcome::Untouched);
        self.end(op, writes, agenda, |_, slot| {
            if write_failures {
                // SAFETY: `end` calls while the operation has its write access.
                unsafe { slot.set_failure(outcome.failure()) };
            }
        });
    }

    /// The same; `written` is called with each variable that the operation mutated, if it did, and
    /// its place among the accesses, as long as the operation has it.
    #[inline(always)]
    pub(crate) fn end(
        &self,
        op: OpPtr,
        writes: bool,
        agenda: &mut Agenda<'_>,
        written: impl Fn(usize, &VarSlot),
    ) {
        let mut retired = 1; // The count of the execution.
        for (place, access) in op.accesses().enumerate() {
            let Some(slot) = access.slot_for_core(self) else {
                continue;
            };
            if writes && access.writes() {
                // SAFETY: the operation still has its write access.
                unsafe { slot.bump_version() };
                written(place, slot);
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
            self.trace_function(op, What::Complete, header.name, header.tag, begin);
        }
        let outcome = match result {
            Ok(()) => Outcome::Done,
            // SAFETY: the operation is being executed.
            Err(error) => Outcome::Failed(self.failures.record(unsafe { op.origin() }, error)),
        };
        let mut agenda = Agenda::new();
        self.complete(op, outcome, &mut agenda);
        self.settle(agenda);
    }
}
