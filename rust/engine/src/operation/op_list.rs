//! A list of ready operations, linked through the operations themselves.

use std::ptr;

use crate::base::sync::Relaxed;
use crate::operation::op::{Op, OpPtr};

/// A first-in-first-out list through `queue_next`; the owner has the operations to itself.
pub(crate) struct OpList {
    head: *mut Op,
    tail: *mut Op,
}

impl OpList {
    pub(crate) const fn new() -> Self {
        Self {
            head: ptr::null_mut(),
            tail: ptr::null_mut(),
        }
    }

    /// Empties the list; gives the first operation, which leads to the others.
    pub(crate) fn take(&mut self) -> *mut Op {
        std::mem::replace(self, Self::new()).head
    }

    /// The list of `head` and what it leads to, for taking out only.
    ///
    /// # Safety
    /// `head` came from [`OpList::take`], and nobody else uses the list.
    pub(crate) const unsafe fn rest(head: *mut Op) -> Self {
        Self { head, tail: head }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.head.is_null()
    }

    /// Adds an operation in front.
    pub(crate) fn push_front(&mut self, op: OpPtr) {
        op.header().queue_next.store(self.head, Relaxed);
        if self.head.is_null() {
            self.tail = op.as_ptr();
        }
        self.head = op.as_ptr();
    }

    pub(crate) fn push(&mut self, op: OpPtr) {
        op.header().queue_next.store(ptr::null_mut(), Relaxed);
        // SAFETY: the tail, if any, is an operation of this list, still to be executed.
        match unsafe { OpPtr::from_raw(self.tail) } {
            None => self.head = op.as_ptr(),
            Some(tail) => tail.header().queue_next.store(op.as_ptr(), Relaxed),
        }
        self.tail = op.as_ptr();
    }

    pub(crate) fn pop(&mut self) -> Option<OpPtr> {
        // SAFETY: as in `push`.
        let op = unsafe { OpPtr::from_raw(self.head) }?;
        self.head = op.header().queue_next.load(Relaxed);
        if self.head.is_null() {
            self.tail = ptr::null_mut();
        }
        Some(op)
    }
}
