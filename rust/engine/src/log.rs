//! The log: the total order of pushes, and the baton that makes registration serial.
//!
//! A push is two exchanges: it swaps itself in as the log's tail, then links itself behind the
//! entry that was there. Whoever finds the baton in that link is the registrar: alone in reading
//! and writing the variables' chains, until it puts the baton down at the end of the log.

use std::ptr;

use crossbeam_utils::CachePadded;

use crate::op::{Op, OpPtr};
use crate::sync::{AcqRel, Acquire, AtomicPtr, Relaxed};

/// Lies in the `log_next` of the last entry while nobody registers.
const BATON: *mut Op = ptr::without_provenance_mut(1);

pub(crate) struct Log {
    tail: CachePadded<AtomicPtr<Op>>,
    /// The entry to register next, when a registrar handed the baton over; else null.
    handed: CachePadded<AtomicPtr<Op>>,
}

/// The right to register. `next` is the entry whose turn it is.
#[must_use = "a lost baton stops the engine"]
pub(crate) struct Baton {
    pub(crate) next: OpPtr,
}

impl Log {
    /// A log whose entries so far are just `head`, which counts as registered.
    pub(crate) fn new(head: OpPtr) -> Self {
        // Relaxed: the log is not shared yet.
        head.header().log_next.store(BATON, Relaxed);
        Self {
            tail: CachePadded::new(AtomicPtr::new(head.as_ptr())),
            handed: CachePadded::new(AtomicPtr::new(ptr::null_mut())),
        }
    }

    /// Appends an operation. With the baton in return, the caller is the registrar, and the
    /// operation is the next to be registered.
    pub(crate) fn insert(&self, op: OpPtr) -> Option<Baton> {
        // Release: the operation's contents, for whoever follows in the log and through it for the
        // registrar. Acquire: the previous entry's contents.
        let previous = self.tail.swap(op.as_ptr(), AcqRel);
        // SAFETY: the log counts its tail entry until the registrar has moved past it, which it
        // cannot before the link below exists.
        let previous = unsafe { OpPtr::from_raw(previous) }?;
        // Release: as above. Acquire: pairs with `advance`, which put the baton down there.
        let old = previous.header().log_next.swap(op.as_ptr(), AcqRel);
        if old == BATON {
            previous.release(1);
            Some(Baton { next: op })
        } else {
            debug_assert!(old.is_null(), "two entries followed one");
            None
        }
    }

    /// Moves on from a registered entry: to its follower, or puts the baton down.
    pub(crate) fn advance(&self, registered: OpPtr) -> Option<Baton> {
        let link = &registered.header().log_next;
        // Acquire: the follower's contents.
        let mut next = link.load(Acquire);
        if next.is_null() {
            // Release: all that registrars did, for the next one. Acquire: as above.
            match link.compare_exchange(ptr::null_mut(), BATON, AcqRel, Acquire) {
                Ok(_) => return None,
                Err(follower) => next = follower,
            }
        }
        registered.release(1);
        // SAFETY: the follower is in the log and not passed yet, so it is counted.
        unsafe { OpPtr::from_raw(next) }.map(|next| Baton { next })
    }

    /// Leaves the baton for any thread that looks.
    pub(crate) fn hand_over(&self, baton: Baton) {
        // Release: as in `advance`; pairs with `take_handed`. A swap, though a store would do: it
        // is rare, and shows a doubled baton.
        let old = self.handed.swap(baton.next.as_ptr(), AcqRel);
        debug_assert!(old.is_null(), "there are two batons");
    }

    /// Takes the baton if it was left by [`Log::hand_over`].
    #[inline]
    pub(crate) fn take_handed(&self) -> Option<Baton> {
        // Relaxed: a look that costs nothing; the exchange decides.
        let next = self.handed.load(Relaxed);
        if next.is_null() {
            return None;
        }
        // Acquire: pairs with `hand_over`. Who fails leaves the baton to the winner, or to whom the
        // next registrar that hands it over wakes.
        self.handed
            .compare_exchange(next, ptr::null_mut(), AcqRel, Relaxed)
            .ok()?;
        // SAFETY: the entry waits to be registered, so the log counts it.
        unsafe { OpPtr::from_raw(next) }.map(|next| Baton { next })
    }

    /// Whether the baton lies there to be taken.
    pub(crate) fn has_handed(&self) -> bool {
        !self.handed.load(Relaxed).is_null()
    }

    /// The last entry. For the end of the engine: the log still counts it.
    pub(crate) fn last(&mut self) -> Option<OpPtr> {
        // SAFETY: the log counts its tail entry; nobody else is left.
        unsafe { OpPtr::from_raw(self.tail.load(Acquire)) }
    }
}
