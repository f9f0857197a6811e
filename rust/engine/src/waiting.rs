//! Waits: operations of the engine's own that let a thread go when their turn comes.

use std::ptr;

use crate::core::Core;
use crate::failure::WaitError;
use crate::lane::LaneKey;
use crate::op::{Fields, Kind, OpPtr};
use crate::ready::Agenda;
use crate::spec::OpSpec;
use crate::thread::{self, Blocking};
use crate::var::Var;
use crate::wait::{Patience, Report, Waiter};

impl Core {
    /// A new operation, its accesses and its function still to be set.
    #[inline]
    pub(crate) fn new_op(
        &self,
        kind: Kind,
        spec: &OpSpec<'_>,
        accesses: usize,
        waiter: *const Waiter,
    ) -> OpPtr {
        let lane = if kind.runs_inline() || spec.runs_inline() {
            ptr::null()
        } else {
            ptr::from_ref(self.lanes.find(LaneKey::new(spec.device, spec.property)))
        };
        let fields = Fields {
            kind,
            name: spec.name,
            tag: spec.tag,
            device: spec.device,
            priority: spec.priority,
            threads: spec.threads,
            lane,
            waiter,
        };
        OpPtr::new(accesses, &fields)
    }

    /// Whether all writes of the variable that were pushed before this call have finished, with
    /// nothing for a wait to report. Says no in vain while somebody pushes.
    #[inline]
    pub(crate) fn is_quiet(&self, var: Var) -> bool {
        self.push_collected();
        // In this order: what is registered counts in the variable; what has finished with a
        // failure has counted that, too.
        self.log.is_idle() && self.vars.is_quiet(var) && !self.failures.any_alive()
    }

    /// See [`Engine::wait_for_var`](crate::Engine::wait_for_var). Without patience, for ever.
    pub(crate) fn wait_for_var(
        &self,
        var: Var,
        patience: Option<&mut dyn Patience>,
    ) -> Result<(), WaitError> {
        if self.is_quiet(var) {
            return Ok(());
        }
        let Some(slot) = self.vars.live(var) else {
            return Err(WaitError::StaleVariable(var));
        };
        let mutates = |op: OpPtr| {
            op.accesses().any(|access| {
                access.writes()
                    && !access.is_finished()
                    && access
                        .slot_for_core(self)
                        .is_some_and(|own| ptr::eq(own, slot))
            })
        };
        if thread::running_ops(self).any(mutates) {
            return Err(WaitError::SelfDependency(var));
        }
        let spec = OpSpec::new("wait for variable");
        let fill = |op: OpPtr| {
            // SAFETY: the one access, of an operation that is not shared yet.
            unsafe { op.init_access(0, slot, var.generation, false) };
        };
        let begin = self.tracer.begin();
        let report = match patience {
            None => self.wait(spec, Kind::Wait, fill),
            Some(patience) => self.wait_with(spec, Kind::Wait, fill, patience),
        };
        if let Some(begin) = begin {
            self.trace_wait(spec.name, begin);
        }
        let report = report?;
        match report.failure {
            Some(failure) => Err(WaitError::Failed(failure)),
            None if report.stale => Err(WaitError::StaleVariable(var)),
            None => Ok(()),
        }
    }

    /// Waits for all, and leaves failures where they are. Returns the wait's place in the log.
    pub(crate) fn finish_all(
        &self,
        mut patience: Option<&mut dyn Patience>,
    ) -> Result<u64, WaitError> {
        if thread::running_ops(self).next().is_some() {
            return Err(WaitError::InsideOperation);
        }
        // Without patience: the fence waits for nothing but its registration.
        self.push_collected();
        let spec = OpSpec::new("wait for all");
        let begin = self.tracer.begin();
        let report = self.wait(spec, Kind::Fence, |_| {})?;
        let blocking = Blocking::enter();
        let over = self.epochs.wait(report.epoch, |event| {
            self.assist();
            self.run_own_frames();
            if let Some(blocking) = &blocking {
                blocking.cover();
            }
            match &mut patience {
                None => {
                    event.wait();
                    true
                }
                Some(patience) => event.wait_with(&mut **patience),
            }
        });
        if let Some(begin) = begin {
            self.trace_wait(spec.name, begin);
        }
        over.then_some(report.seq).ok_or(WaitError::GivenUp)
    }

    /// Submits a wait's operation and waits for it.
    fn wait(
        &self,
        spec: OpSpec<'_>,
        kind: Kind,
        fill: impl FnOnce(OpPtr),
    ) -> Result<Report, WaitError> {
        let blocking = Blocking::enter().ok_or(WaitError::TooManyBlocked)?;
        let mut waiter = Waiter::new();
        let accesses = usize::from(kind == Kind::Wait);
        let op = self.new_op(kind, &spec, accesses, &raw const waiter);
        fill(op);
        self.submit(op);
        if !waiter.is_done() {
            blocking.cover();
            self.block_on(&waiter);
        }
        Ok(waiter.take_report())
    }

    /// The same, as long as `patience` says. Not for a fence, whose waiter must stay.
    fn wait_with(
        &self,
        spec: OpSpec<'_>,
        kind: Kind,
        fill: impl FnOnce(OpPtr),
        patience: &mut dyn Patience,
    ) -> Result<Report, WaitError> {
        debug_assert!(kind == Kind::Wait);
        let blocking = Blocking::enter().ok_or(WaitError::TooManyBlocked)?;
        let waiter = Box::into_raw(Box::new(Waiter::new()));
        let op = self.new_op(kind, &spec, 1, waiter);
        fill(op);
        self.submit(op);
        // SAFETY: ours until `wait_with`.
        if !unsafe { (*waiter).is_done() } {
            blocking.cover();
            self.assist();
            self.run_own_frames();
        }
        // SAFETY: from a box; the operation, once it is ready, signals.
        let waiter = unsafe { Waiter::wait_with(waiter, patience) };
        waiter
            .map(|mut waiter| waiter.take_report())
            .ok_or(WaitError::GivenUp)
    }

    /// Waits for the signal of an operation that was submitted, after doing what might otherwise
    /// wait for this very thread.
    pub(crate) fn block_on(&self, waiter: &Waiter) {
        if !waiter.is_done() {
            self.assist();
            self.run_own_frames();
            waiter.wait();
        }
    }

    /// See [`Engine::blocking`](crate::Engine::blocking).
    pub(crate) fn blocking<R>(&self, f: impl FnOnce() -> R) -> R {
        self.push_collected();
        let blocking = Blocking::enter();
        self.assist();
        self.run_own_frames();
        if let Some(blocking) = &blocking {
            blocking.cover();
        }
        f()
    }

    /// Whether waiting for all operations could end, seen from this thread.
    pub(crate) fn may_block_here(&self) -> bool {
        !thread::is_worker_of(self) && thread::running_ops(self).next().is_none()
    }

    /// Finishes everything and ends the threads, for good.
    pub(crate) fn shut_down(&self) {
        // Somebody may have stopped the engine and pushed afterwards.
        self.lanes.start(self);
        // Cannot fail: no operation of this engine is on this thread's stack.
        let _ = self.finish_all(None);
        self.lanes.stop();
        // Invitations to launches that were over before anybody followed.
        for lane in self.lanes.iter() {
            while let Some(op) = lane.queue.pop_foreign() {
                self.execute(op, &mut Agenda::new());
            }
        }
    }
}
