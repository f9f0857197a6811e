//! Waits: operations of the engine's own that let a thread go when their turn comes.

use std::ptr;
use std::time::Duration;

use crate::base::sync::{Instant, sleep};
use crate::functions::declared::Use;
use crate::operation::access::AccessPtr;
use crate::operation::op::{OpKind, OpPtr};
use crate::state::core::Core;
use crate::state::thread;
use crate::types::failure::WaitError;
use crate::types::spec::OpSpec;
use crate::types::var::Var;
use crate::types::wait_policy::{Endless, WaitPolicy};
use crate::waiters::waiter::{Pending, Report, Waiter};
use crate::waiting::blocking::Blocking;
use crate::waiting::watchful::Watchful;

/// How long a wait that finds too many others waiting looks whether anything finishes, and how often.
const BLOCKED_LIMIT: Duration = Duration::from_millis(100);
const NAP: Duration = Duration::from_micros(50);

impl Core {
    /// Whether all writes of the variable that were pushed before this call have finished, with
    /// nothing for a wait to report. Says no in vain while somebody pushes.
    #[inline]
    pub(crate) fn is_quiet(&self, var: Var) -> bool {
        self.push_collected();
        // In this order: what is registered counts in the variable; what has finished with a
        // failure has counted that, too.
        self.log.is_idle() && self.vars.is_quiet(var) && !self.failures.any_alive()
    }

    /// See [`Engine::wait_for_var`](crate::Engine::wait_for_var). Without a policy, for ever.
    pub(crate) fn wait_for_var(
        &self,
        var: Var,
        policy: Option<&mut dyn WaitPolicy>,
    ) -> Result<(), WaitError> {
        if self.is_quiet(var) {
            return Ok(());
        }
        self.wait_for_turn(var, Use::Reads, policy)
    }

    /// Waits until the variable may be used like this.
    pub(crate) fn wait_for_turn(
        &self,
        var: Var,
        how: Use,
        policy: Option<&mut dyn WaitPolicy>,
    ) -> Result<(), WaitError> {
        if self.is_inherited() {
            return Err(WaitError::Forked);
        }
        if self.own_rest().is_some() {
            return Err(WaitError::AtRest);
        }
        let Some(slot) = self.vars.live(var) else {
            return Err(WaitError::StaleVariable(var));
        };
        self.check_not_held(var, how)?;
        let spec = OpSpec::new("wait for variable");
        let fill = |op: OpPtr| {
            // SAFETY: the one access, of an operation that is not shared yet.
            unsafe { op.init_access(0, slot, var.generation, how == Use::Writes) };
        };
        let begin = self.tracer.begin();
        let patient = thread::is_worker_of(self) || thread::begun_ops(self).next().is_some();
        let report = match policy {
            None if patient => self.wait_with(var, spec, fill, &mut Endless),
            None => self.wait(spec, OpKind::Wait, fill),
            Some(policy) => self.wait_with(var, spec, fill, policy),
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

    /// Whether a use of the variable can have its turn: none of the operations that this thread is in
    /// uses it in another way.
    pub(crate) fn check_not_held(&self, var: Var, how: Use) -> Result<(), WaitError> {
        let slot = self.vars.live(var).ok_or(WaitError::StaleVariable(var))?;
        let excludes = |access: AccessPtr| {
            (how == Use::Writes || access.writes())
                && ptr::eq(access.slot_address(), slot)
                && !access.is_finished()
        };
        let held = thread::running_ops(self).any(|op| op.accesses().any(excludes));
        if held {
            return Err(WaitError::SelfDependency(var));
        }
        Ok(())
    }

    /// Whether this thread may wait for operations in front of which it does not know itself.
    pub(crate) fn may_wait_here(&self) -> Result<(), WaitError> {
        if self.is_inherited() {
            return Err(WaitError::Forked);
        }
        if thread::running_ops(self).next().is_some() {
            return Err(WaitError::InsideOperation);
        }
        if self.own_rest().is_some() {
            return Err(WaitError::AtRest);
        }
        Ok(())
    }

    /// Waits for all, and leaves failures where they are. Returns the wait's place in the log.
    pub(crate) fn finish_all(
        &self,
        mut policy: Option<&mut dyn WaitPolicy>,
    ) -> Result<u64, WaitError> {
        self.may_wait_here()?;
        // Without a policy: the fence waits for nothing but its registration.
        self.push_collected();
        let spec = OpSpec::new("wait for all");
        let begin = self.tracer.begin();
        let report = self.wait(spec, OpKind::Fence, |_| {})?;
        let blocking = Blocking::enter();
        let over = self.epochs.wait(report.epoch, |latch| {
            self.assist();
            self.run_own_frames();
            if let Some(blocking) = &blocking {
                blocking.cover();
            }
            match &mut policy {
                None => {
                    latch.wait();
                    true
                }
                Some(policy) => latch.wait_with(&mut **policy),
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
        kind: OpKind,
        fill: impl FnOnce(OpPtr),
    ) -> Result<Report, WaitError> {
        let blocking = Blocking::enter().ok_or(WaitError::TooManyBlocked)?;
        let mut waiter = Waiter::new();
        let accesses = usize::from(kind == OpKind::Wait);
        let op = self.new_op(kind, &spec, accesses, &raw const waiter);
        fill(op);
        self.submit(op);
        if !waiter.is_done() {
            blocking.cover();
            self.block_on(&waiter);
        }
        Ok(waiter.take_report())
    }

    /// The same for a read of a variable, as long as `policy` says. A worker runs what the wait
    /// depends on meanwhile.
    fn wait_with(
        &self,
        var: Var,
        spec: OpSpec<'_>,
        fill: impl FnOnce(OpPtr),
        policy: &mut dyn WaitPolicy,
    ) -> Result<Report, WaitError> {
        let waiter = Pending::new();
        let op = self.new_op(OpKind::Wait, &spec, 1, waiter.as_ptr());
        fill(op);
        // For those who compare with it.
        op.retain();
        self.submit(op);
        let ended = match self.give_way(op, &|| waiter.is_done()) {
            Ok(_blocking) => {
                let mut watchful = Watchful::new(self, op, policy);
                let waiter = waiter.wait_with(&mut watchful);
                waiter.ok_or_else(|| watchful.why_not(var))
            }
            Err(error) => waiter.give_up().ok_or(error),
        };
        op.release(1);
        ended.map(|mut waiter| waiter.take_report())
    }

    /// Before a thread waits for an operation, of which it has a count: does what might otherwise wait
    /// for this very thread, runs what leads to the operation, and sees to it that somebody works in
    /// this thread's place. At the limit of such replacements it goes on running what it can, as long
    /// as anything finishes.
    pub(crate) fn give_way(
        &self,
        op: OpPtr,
        over: &dyn Fn() -> bool,
    ) -> Result<Option<Blocking>, WaitError> {
        let mut progress = (0, Instant::now());
        while !over() {
            self.assist();
            self.run_own_frames();
            self.help_wait(op, over);
            if self.is_inherited() {
                return Err(WaitError::Forked);
            }
            if over() {
                break;
            }
            if let Some(blocking) = Blocking::enter() {
                blocking.cover();
                return Ok(Some(blocking));
            }
            let completed = self.epochs.counts().1;
            if completed != progress.0 {
                progress = (completed, Instant::now());
            } else if progress.1.elapsed() > BLOCKED_LIMIT {
                return Err(WaitError::TooManyBlocked);
            }
            sleep(NAP);
        }
        Ok(None)
    }

    /// Waits for the signal of an operation that was submitted, after doing what might otherwise
    /// wait for this very thread.
    pub(crate) fn block_on(&self, waiter: &Waiter) {
        if !waiter.is_done() {
            self.assist();
            self.run_own_frames();
            if !self.is_inherited() {
                waiter.wait();
            }
        }
    }

    /// See [`Engine::blocking`](crate::Engine::blocking).
    pub(crate) fn blocking<R>(&self, f: impl FnOnce() -> R) -> R {
        if self.is_inherited() {
            return f();
        }
        self.push_collected();
        let blocking = Blocking::enter();
        self.assist();
        self.run_own_frames();
        if let Some(blocking) = &blocking {
            blocking.cover();
        }
        f()
    }
}
