//! The log: the total order of pushes, and the baton that makes registration serial.
//!
//! A push swaps itself in as the log's tail. If the tail was marked idle, everything before is
//! registered and the baton lay there: the pusher is the registrar, alone in reading and writing
//! the variables' chains. Otherwise it links itself behind the entry that was there, where the
//! registrar will find it. At the end of the log the registrar marks the tail idle; if a follower
//! has swapped itself in but not linked itself yet, it leaves the baton in that link instead, and
//! the follower finds it there.

use std::ptr;

use crossbeam_utils::CachePadded;

use crate::base::sync::{AcqRel, Acquire, AtomicPtr, Relaxed, Release};
use crate::operation::op::{Op, OpPtr};

/// In the `log_next` of the last registered entry: the baton, for the follower that comes to link
/// itself there.
const BATON: *mut Op = ptr::without_provenance_mut(1);
/// In the tail: the baton lies there, since everything is registered. (A pointer would do as a
/// mark, but nobody needs the entry any more, so that it need not be kept alive either.)
const IDLE: *mut Op = ptr::without_provenance_mut(2);

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
    pub(crate) fn new() -> Self {
        Self {
            tail: CachePadded::new(AtomicPtr::new(IDLE)),
            handed: CachePadded::new(AtomicPtr::new(ptr::null_mut())),
        }
    }

    /// Appends an operation. With the baton in return, the caller is the registrar, and the
    /// operation is the next to be registered.
    pub(crate) fn insert(&self, op: OpPtr) -> Option<Baton> {
        // Release: the operation's contents, for whoever follows in the log and through it for the
        // registrar. Acquire: the previous entry's contents; or pairs with `advance`, which put
        // the baton down.
        let previous = self.tail.swap(op.as_ptr(), AcqRel);
        if previous == IDLE {
            return Some(Baton { next: op });
        }
        // SAFETY: an entry stays alive until its registrar has moved past it (`advance`), which it
        // cannot before the link below exists.
        let previous = unsafe { OpPtr::from_raw(previous) }?;
        // Release: as above. Acquire: pairs with `advance`, which put the baton down there.
        let old = previous.header().log_next.swap(op.as_ptr(), AcqRel);
        if old == BATON {
            // SAFETY: we are the registrar now.
            if unsafe { previous.is_kept_in_log() } {
                previous.release(1);
            }
            Some(Baton { next: op })
        } else {
            debug_assert!(old.is_null(), "two entries followed one");
            None
        }
    }

    /// Moves on from a registered entry: to its follower, or puts the baton down.
    ///
    /// The caller sees to it that the entry is alive: by an access that is the end of its chain,
    /// which nobody but a registrar retires, or by a count of the log (`OpPtr::keep_in_log`).
    pub(crate) fn advance(&self, registered: OpPtr) -> Option<Baton> {
        let link = &registered.header().log_next;
        // SAFETY: the registrar.
        let counted = unsafe { registered.is_kept_in_log() };
        // Acquire: the follower's contents.
        let mut next = link.load(Acquire);
        if next.is_null() {
            // Release: all that registrars did, for the next one. Relaxed failure: we only learn
            // that there is a follower.
            let tail = registered.as_ptr();
            if self
                .tail
                .compare_exchange(tail, IDLE, AcqRel, Relaxed)
                .is_ok()
            {
                if counted {
                    registered.release(1);
                }
                return None;
            }
            // Release, Acquire: as above; the follower that is about to link itself takes over.
            match link.compare_exchange(ptr::null_mut(), BATON, AcqRel, Acquire) {
                Ok(_) => return None,
                Err(follower) => next = follower,
            }
        }
        if counted {
            registered.release(1);
        }
        // SAFETY: the follower is in the log and not passed yet.
        unsafe { OpPtr::from_raw(next) }.map(|next| Baton { next })
    }

    /// Whether nothing was inserted behind an entry.
    pub(crate) fn ends_at(&self, entry: OpPtr) -> bool {
        self.tail.load(Acquire) == entry.as_ptr()
    }

    /// Forgets what follows a closed end, in a process that has no other thread.
    pub(crate) fn empty(&self) {
        self.handed.store(ptr::null_mut(), Relaxed);
        self.tail.store(IDLE, Release);
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
        // SAFETY: the entry waits to be registered, and lives at least until it is.
        unsafe { OpPtr::from_raw(next) }.map(|next| Baton { next })
    }

    /// Whether the baton lies there to be taken.
    pub(crate) fn has_handed(&self) -> bool {
        !self.handed.load(Relaxed).is_null()
    }

    /// Whether everything that was inserted before is registered. May say no in vain.
    pub(crate) fn is_idle(&self) -> bool {
        // Acquire: all that registrars did; pairs with `advance`.
        self.tail.load(Acquire) == IDLE
    }
}
