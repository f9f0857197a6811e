//! Asynchronous operations that were begun and not completed, by name: for whoever has to say what
//! does not end.

use std::collections::HashMap;

use crate::base::sync::{MODEL, Mutex, MutexGuard, lock};
use crate::operation::op::OpPtr;
use crate::types::spec::Name;

/// An operation, and which step, of a program.
type Key = (usize, u32);

/// Those of one engine.
pub(crate) struct Promises {
    open: Mutex<HashMap<Key, Name>>,
}

impl Promises {
    pub(crate) fn new() -> Self {
        Self {
            open: Mutex::new(HashMap::new()),
        }
    }

    fn key(op: OpPtr, step: u32) -> Key {
        (op.as_ptr() as usize, step)
    }

    /// The function is about to be called.
    pub(crate) fn begin(&self, op: OpPtr, step: u32, name: Name) {
        if !MODEL {
            lock(&self.open).insert(Self::key(op, step), name);
        }
    }

    /// The operation is about to be completed.
    pub(crate) fn end(&self, op: OpPtr, step: u32) {
        if !MODEL {
            lock(&self.open).remove(&Self::key(op, step));
        }
    }

    pub(crate) fn names(&self) -> Vec<Name> {
        lock(&self.open).values().copied().collect()
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        lock(&self.open).len()
    }

    /// Keeps others from the lock until what is returned is dropped.
    pub(crate) fn hold(&self) -> MutexGuard<'_, impl Sized> {
        lock(&self.open)
    }
}
