//! What users' operations leave behind: errors, arguments, functions of programs. Their destructors
//! are users' code, which may push and wait, so they run when nothing is on the thread's hands:
//! not under the baton, and not in the middle of a completion.

use std::any::Any;
use std::mem::ManuallyDrop;

use crate::base::sync::Arc;
use crate::base::unwind::discard;
use crate::failures::ledger::FailureCell;

/// One thing, held for its destructor.
#[allow(dead_code, reason = "held for their destructors")]
pub(crate) enum Leftover {
    Failure(Arc<FailureCell>),
    Argument(Arc<dyn Any + Send + Sync>),
    /// A compiled program, whose type is not known yet here.
    CompiledProgram(Box<dyn Any>),
}

/// Things to be dropped. One takes no memory, and none costs next to nothing.
pub(crate) struct Leftovers {
    first: ManuallyDrop<Option<Leftover>>,
    /// Empty if there is no first.
    more: ManuallyDrop<Option<Box<More>>>,
}

/// Behind a pointer, which is empty as cheaply as can be.
#[derive(Default)]
struct More(Vec<Leftover>);

impl Leftovers {
    pub(crate) const fn new() -> Self {
        Self {
            first: ManuallyDrop::new(None),
            more: ManuallyDrop::new(None),
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    #[cold]
    pub(crate) fn add(&mut self, leftover: Leftover) {
        match &mut *self.first {
            first @ None => *first = Some(leftover),
            Some(_) => self.more.get_or_insert_default().0.push(leftover),
        }
    }

    /// Adds what a variable held, or an operation failed with.
    #[inline]
    pub(crate) fn add_failure(&mut self, failure: Option<Arc<FailureCell>>) {
        if let Some(cell) = failure {
            self.add(Leftover::Failure(cell));
        }
    }

    #[cold]
    fn drop_all(&mut self) {
        self.first.take().into_iter().for_each(discard);
        for leftover in self.more.take().into_iter().flat_map(|more| more.0) {
            discard(leftover);
        }
    }
}

impl Drop for Leftovers {
    #[inline]
    fn drop(&mut self) {
        if self.first.is_some() {
            self.drop_all();
        }
    }
}
