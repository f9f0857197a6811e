//! Steps of a launch: one is run, or skipped for a failure; it ends, on the thread that ran it or,
//! if it is asynchronous, on another.

use crate::base::sync::{Arc, Relaxed, Release};
use crate::execution::execute::End;
use crate::execution::ready_batch::ReadyBatch;
use crate::failures::ledger::{FailureCell, Origin};
use crate::failures::leftovers::Leftovers;
use crate::functions::context::{OnComplete, RunContext};
use crate::functions::function::Function;
use crate::functions::launch::{OVER, Run, count_down};
use crate::operation::op::{NO_STEP, OpPtr};
use crate::state::core::Core;
use crate::state::thread;
use crate::tracing::event::What;
use crate::types::failure::OpError;

impl Core {
    /// Runs or skips a step. `None` if it is finished by somebody else, later or meanwhile.
    pub(crate) fn run_step(
        &self,
        run: Run<'_>,
        index: u32,
        leftovers: &mut Leftovers,
    ) -> Option<Result<(), Arc<FailureCell>>> {
        match self.blame(run, index) {
            Some(cell) => Some(Err(cell)),
            None => self.call_step(run, index, leftovers),
        }
    }

    /// Ends a step; hands steps that are ready by that to `ready`.
    pub(crate) fn finish_step(
        &self,
        run: Run<'_>,
        index: u32,
        result: Result<(), Arc<FailureCell>>,
        batch: &mut ReadyBatch<'_>,
        mut ready: impl FnMut(u32),
    ) {
        let Run { op, launch, plan } = run;
        let failure = result.err();
        if failure.is_some() || self.failures.any_alive() {
            for &var in plan.writes.row(index) {
                let var = var as usize;
                // SAFETY: the launch has write access, and the order of the steps gives it to this
                // one alone. (Local variables: the order alone.)
                let old = unsafe {
                    if let Some(local) = var.checked_sub(plan.vars()) {
                        let held = &launch.held[local].0;
                        held.with_mut(|held| std::mem::replace(&mut *held, failure.clone()))
                    } else {
                        let slot = op.access(var).slot_in(&self.vars);
                        slot.and_then(|slot| slot.set_failure(failure.clone()))
                    }
                };
                batch.leftovers.add_failure(old);
            }
        }
        for &var in plan.last.row(index) {
            if count_down(&launch.last_users[var as usize]) {
                self.let_go(op, op.access(var as usize), batch);
            }
        }
        for &step in plan.next.row(index) {
            if count_down(&launch.pending[step as usize]) {
                ready(step);
            }
        }
        batch.leftovers.add_failure(failure);
    }

    /// The end of an asynchronous step.
    pub(crate) fn complete_step(&self, op: OpPtr, index: u32, result: Result<(), OpError>) {
        // SAFETY: the launch holds until all steps are reported, this one by us.
        let Some(run) = (unsafe { Run::of(op) }) else {
            return;
        };
        // Relaxed: as above.
        run.launch.users.fetch_add(1, Relaxed);
        if let Some(begin) = self.tracer.begin() {
            let step = &run.plan.steps[index as usize];
            self.trace_function((op, index), What::Complete, step.name, step.tag, begin);
        }
        // Release: pairs with `Launch::is_over`.
        run.launch.pending[index as usize].store(OVER, Release);
        let (mut batch, mut any) = (ReadyBatch::new(), false);
        let record = |error| self.record_step(run, index, error, &mut batch.leftovers);
        let result = result.map_err(record);
        self.finish_step(run, index, result, &mut batch, |step| {
            run.launch.publish(step);
            any = true;
        });
        if any {
            self.invite(run, &mut batch);
        }
        self.leave(run, 1, &mut batch);
        self.settle(&mut batch);
    }

    /// Why the step must not run, if so.
    fn blame(&self, run: Run<'_>, index: u32) -> Option<Arc<FailureCell>> {
        if !self.failures.any_alive() {
            return None;
        }
        let op = run.op;
        // SAFETY: the launch has the accesses that the step waited for, and the order of the steps
        // keeps writers of its variables away.
        unsafe {
            let seq = op.seq();
            let held = |var: usize| match var.checked_sub(run.plan.vars()) {
                Some(local) => run.launch.held[local].0.with(|held| (*held).clone()),
                None => op.access(var).slot_in(&self.vars)?.failure(),
            };
            op.refusal().or_else(|| {
                let uses = run.plan.uses.row(index).iter();
                uses.filter_map(|var| held(*var as usize))
                    .find(|cell| cell.applies_to(seq))
            })
        }
    }

    /// Calls a step's function; `None` as for [`Core::run_step`].
    fn call_step(
        &self,
        run: Run<'_>,
        index: u32,
        leftovers: &mut Leftovers,
    ) -> Option<Result<(), Arc<FailureCell>>> {
        let (op, step) = (run.op, &run.plan.steps[index as usize]);
        let args = &run.launch.args;
        let tag = args.tag.unwrap_or(step.tag);
        // SAFETY: we are counted, so the launch stays, and the context ends here.
        let context = unsafe { RunContext::of_step(self, run, index) };
        let begin = self.tracer.begin();
        let (result, is_async, abandoned) = match &*step.function {
            Function::Sync(f) => {
                let (result, _) = thread::running_step(self, op, index, || f(&context));
                (result, false, false)
            }
            Function::Async(f) => {
                if begin.is_some() {
                    self.trace_begin((op, index), step.name, tag);
                }
                let finish = OnComplete::of_step(self.shared()?, op, index);
                let call = || {
                    f(&context, finish);
                    Ok(())
                };
                let (result, abandoned) = thread::running_step(self, op, index, call);
                (result, true, abandoned)
            }
        };
        if let Some(begin) = begin {
            let (what, index) = match is_async {
                true => (What::Start, index),
                false => (What::Step, NO_STEP),
            };
            self.trace_function((op, index), what, step.name, tag, begin);
        }
        let ended = End::of(result, is_async, abandoned);
        ended.settle(|error| self.record_step(run, index, error, leftovers))
    }

    fn record_step(
        &self,
        run: Run<'_>,
        index: u32,
        error: OpError,
        leftovers: &mut Leftovers,
    ) -> Arc<FailureCell> {
        let step = &run.plan.steps[index as usize];
        let tag = run.launch.args.tag.unwrap_or(step.tag);
        let origin = Origin {
            name: step.name,
            tag,
            step: index,
            // SAFETY: the launch is registered.
            ..unsafe { run.op.origin() }
        };
        self.failures.record(origin, error, leftovers)
    }
}
