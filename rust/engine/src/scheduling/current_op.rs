//! Where a worker publishes the operation that it runs, for whoever has to name what does not end.
//!
//! A block may be used again while somebody reads a name in it. So the worker counts what it begins;
//! who finds the same operation and the same count before and after has read that operation's name.

use crossbeam_utils::CachePadded;

use crate::base::sync::{Acquire, AtomicPtr, AtomicU32, Relaxed, Release, fence};
use crate::operation::op::{Op, OpPtr};
use crate::types::spec::Name;

struct Place {
    op: AtomicPtr<Op>,
    begun: AtomicU32,
}

/// One worker's.
pub(crate) struct CurrentOp(CachePadded<Place>);

impl CurrentOp {
    pub(crate) fn new() -> Self {
        Self(CachePadded::new(Place {
            op: AtomicPtr::new(std::ptr::null_mut()),
            begun: AtomicU32::new(0),
        }))
    }

    /// The worker begins to run an operation. (One in a block of its own is not named, since that
    /// may be freed while somebody looks.)
    #[inline]
    pub(crate) fn enter(&self, op: OpPtr) {
        if !op.is_pooled() {
            return;
        }
        // Relaxed: the worker alone writes. Release, below: the count; pairs with `read`.
        let begun = self.0.begun.load(Relaxed);
        self.0.begun.store(begun.wrapping_add(1), Relaxed);
        self.0.op.store(op.as_ptr(), Release);
    }

    /// The worker goes back to what it ran before, if to anything.
    #[inline]
    pub(crate) fn leave(&self, outer: Option<OpPtr>) {
        match outer {
            None => self.0.op.store(std::ptr::null_mut(), Release),
            Some(op) => self.enter(op),
        }
    }

    /// The name of what the worker runs.
    pub(crate) fn read(&self) -> Option<Name> {
        // Acquire: pairs with `enter`: the operation's header was filled in before.
        let op = self.0.op.load(Acquire);
        let begun = self.0.begun.load(Relaxed);
        // SAFETY: a pooled block, see `enter`; these are readable until the process ends.
        let words = unsafe { OpPtr::from_raw(op)?.header().name_cell().words() };
        // Pairs with `NameCell::set`: if the name is another operation's, so is what follows.
        fence(Acquire);
        let same = self.0.op.load(Acquire) == op && self.0.begun.load(Relaxed) == begun;
        // SAFETY: the operation was being run all the time, so both words are of its own name.
        same.then(|| unsafe { words.name() })
    }
}
