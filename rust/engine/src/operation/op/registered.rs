//! What the registrar says about an operation, and others read afterwards.

use std::ptr;

use super::{IN_LOG, OpPtr, REFUSED, WAITS};
use crate::base::sync::Arc;
use crate::failures::ledger::{FailureCell, Origin};
use crate::waiters::epoch::Epoch;
use crate::waiters::waiter::Waiter;

impl OpPtr {
    /// Place in the log.
    ///
    /// # Safety
    /// The operation has become ready, or the caller is the registrar.
    pub(crate) unsafe fn seq(&self) -> u64 {
        // SAFETY: written by the registrar before it released the operation.
        self.header().seq.with(|seq| unsafe { *seq })
    }

    /// Where the completion is counted.
    ///
    /// # Safety
    /// The operation has become ready.
    pub(crate) unsafe fn epoch(&self) -> *const Epoch {
        // SAFETY: as for `seq`.
        self.header().epoch.with(|epoch| unsafe { *epoch })
    }

    /// What a failure of the operation says about it.
    ///
    /// # Safety
    /// The registrar has given the operation its place, and it is not finished.
    pub(crate) unsafe fn origin(&self) -> Origin {
        let header = self.header();
        Origin {
            name: self.name(),
            tag: header.tag,
            // SAFETY: by the contract.
            seq: unsafe { self.seq() },
            step: 0,
            // SAFETY: an epoch lives until all its operations are counted.
            epoch: unsafe { (*self.epoch()).number() },
        }
    }

    /// Why the registrar refused the operation, if it did.
    ///
    /// # Safety
    /// The caller executes the operation.
    pub(crate) unsafe fn refusal(&self) -> Option<Arc<FailureCell>> {
        let header = self.header();
        // SAFETY: as for `seq`; the flag says that there is one.
        unsafe {
            header.has(REFUSED).then(|| {
                header
                    .refusal
                    .with(|cell| (*cell).assume_init_ref().clone())
            })
        }
    }

    /// Gives the operation its place.
    ///
    /// # Safety
    /// The caller is the registrar and the operation has not been released yet.
    pub(crate) unsafe fn place(&self, seq: u64, epoch: *const Epoch) {
        let header = self.header();
        // SAFETY: nobody else looks before the release of the operation.
        header.seq.with_mut(|place| unsafe { *place = seq });
        // SAFETY: as above.
        header.epoch.with_mut(|place| unsafe { *place = epoch });
    }

    /// Sees to it that the operation fails instead of running. The first reason counts.
    ///
    /// # Safety
    /// As for [`OpPtr::place`].
    pub(crate) unsafe fn refuse(&self, why: impl FnOnce() -> Arc<FailureCell>) {
        let header = self.header();
        // SAFETY: nobody else looks before the release of the operation.
        unsafe {
            if !header.has(REFUSED) {
                let why = why();
                header.refusal.with_mut(|cell| (*cell).write(why));
                header.add_mark(REFUSED);
            }
        }
    }

    /// Gives the log a count of its own, of an operation that no chain holds.
    ///
    /// # Safety
    /// As for [`OpPtr::place`].
    pub(crate) unsafe fn keep_in_log(&self) {
        self.retain();
        // SAFETY: by the contract.
        unsafe { self.header().add_mark(IN_LOG) };
    }

    /// Whether the log has a count.
    ///
    /// # Safety
    /// The caller is the registrar.
    pub(crate) unsafe fn is_kept_in_log(&self) -> bool {
        // SAFETY: by the contract.
        unsafe { self.header().has(IN_LOG) }
    }

    /// Who is woken when the operation is complete, or null.
    ///
    /// # Safety
    /// The operation has become ready, or the caller is the registrar.
    pub(crate) unsafe fn waiter(&self) -> *const Waiter {
        let header = self.header();
        // SAFETY: by the contract; set together with the mark.
        unsafe {
            if header.has(WAITS) {
                header.extra.logged.waiter
            } else {
                ptr::null()
            }
        }
    }
}
