//! What a running operation has said that it uses.

use std::ptr::{self, NonNull};

use crate::functions::compiled_program::CompiledProgram;
use crate::functions::launch::{Launch, Run};
use crate::operation::op::OpPtr;
use crate::operation::var_slots::VarSlot;

/// How an operation uses a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    Reads,
    Writes,
}

/// The variables of an operation whose function runs.
#[derive(Debug)]
pub(crate) struct Declared {
    op: OpPtr,
    part: Part,
}

/// Which of the accesses are the operation's own.
#[derive(Debug)]
enum Part {
    All,
    /// In a bulk.
    Item(OpPtr),
    Step(NonNull<CompiledProgram>, NonNull<Launch>, u32),
}

// SAFETY: shared references to what lives as long as the function runs.
unsafe impl Send for Declared {}
// SAFETY: as above; the protocol's fields that are looked at are atomic, or do not change meanwhile.
unsafe impl Sync for Declared {}

impl Declared {
    /// The operation that is in the log.
    pub(crate) fn op(&self) -> OpPtr {
        self.op
    }

    #[inline]
    pub(crate) fn of(op: OpPtr) -> Self {
        Self {
            op,
            part: Part::All,
        }
    }

    /// # Safety
    /// `op` is in `bulk`.
    pub(crate) unsafe fn of_item(bulk: OpPtr, op: OpPtr) -> Self {
        Self {
            op: bulk,
            part: Part::Item(op),
        }
    }

    #[inline]
    pub(crate) fn of_step(run: Run<'_>, index: u32) -> Self {
        Self {
            op: run.op,
            part: Part::Step(NonNull::from(run.plan), NonNull::from(run.launch), index),
        }
    }

    /// How the operation uses a variable of its engine; `None` if it has not listed it, or has been
    /// completed.
    pub(crate) fn use_of(&self, slot: *const VarSlot) -> Option<Use> {
        let is = |place: &usize| ptr::eq(self.op.access(*place).slot_address(), slot);
        match &self.part {
            Part::All => {
                let access = self
                    .op
                    .accesses()
                    .find(|a| ptr::eq(a.slot_address(), slot))?;
                let how = if access.writes() {
                    Use::Writes
                } else {
                    Use::Reads
                };
                (!access.is_finished()).then_some(how)
            }
            Part::Item(op) => {
                // SAFETY: by the contract of `of_item`.
                let uses = unsafe { op.uses() };
                match uses.written().any(|place| is(&place)) {
                    true => Some(Use::Writes),
                    false => uses.all().find(is).map(|_| Use::Reads),
                }
            }
            Part::Step(plan, launch, index) => {
                // SAFETY: the thread that runs the step, or its promise, holds launch and plan.
                let (plan, launch) = unsafe { (plan.as_ref(), launch.as_ref()) };
                if launch.is_over(*index) {
                    return None;
                }
                let external = |var: &&u32| (**var as usize) < plan.vars();
                let has = |row: &[u32]| {
                    let vars = row.iter().filter(external);
                    vars.map(|var| *var as usize).any(|var| is(&var))
                };
                if has(plan.writes.row(*index)) {
                    Some(Use::Writes)
                } else {
                    has(plan.uses.row(*index)).then_some(Use::Reads)
                }
            }
        }
    }
}
