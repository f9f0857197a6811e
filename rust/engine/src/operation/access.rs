//! One operation's hold on one variable, and the atomic word through which holds talk.
//!
//! The accesses of a variable form a chain in push order. Tokens travel down the chain; the state
//! word records which tokens an access has and what it knows about its successor. Every bit is set
//! once, by one `fetch_add`, and the old value says who completed the set: that thread makes the
//! last touch and retires the access. PROTOCOL.md gives the protocol; this file is the only one that
//! reads or writes the word.

use std::ptr::{self, NonNull};

use crate::base::sync::{AcqRel, Acquire, AtomicPtr, AtomicU32, Relaxed, Release};
use crate::operation::op::OpPtr;
use crate::operation::var_slots::{VarSlab, VarSlot};

/// Every earlier writer has finished. Sent by the predecessor; a reader starts on it.
const R: u32 = 1;
/// Every earlier access has finished. Sent by the predecessor; a writer starts on it.
const W: u32 = 2;
/// The operation has finished. Set by whoever completes it.
const D: u32 = 4;
/// The successor is known. Set by the registrar.
const N: u32 = 8;
/// The successor, if known, is a reader. Set together with `N`.
const NEXT_READS: u32 = 16;
/// This access mutates. Constant.
const WRITES: u32 = 32;

/// What an access tells its successor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Message {
    /// Earlier writers have finished (only ever sent from a reader to a reader).
    Read,
    /// Everything earlier has finished, and [`Message::Read`] came or is not needed.
    Rest,
    /// Everything earlier has finished; this is the first message.
    All,
}

impl Message {
    const fn bits(self) -> u32 {
        match self {
            Message::Read => R,
            Message::Rest => W,
            Message::All => R | W,
        }
    }
}

/// The place of one operation in one variable's chain.
#[repr(C)]
pub(crate) struct Access {
    state: AtomicU32,
    /// Generation of the variable as the pusher named it; the registrar compares it.
    generation: u32,
    op: OpPtr,
    /// Null when the registrar dropped this access (listed twice, or variable deleted).
    slot: *const VarSlot,
    next: AtomicPtr<Access>,
}

/// A counted pointer to an access: whoever may still touch it keeps its operation's block alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AccessPtr(NonNull<Access>);

/// What arriving tokens mean to the access that got them.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Received {
    /// Nothing to do now.
    Hold,
    /// The access may start: drop one pending count of its operation.
    Start,
    /// The same, and the reader behind it may start too: send it [`Message::Read`].
    StartAndForward(AccessPtr),
    /// The access had finished and is now behind everything: retire it, send [`Message::Rest`].
    PassOn(AccessPtr),
}

/// What the registrar learns when it links a successor.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Linked {
    /// The predecessor is wholly finished: retire it. The successor has started.
    Satisfied,
    /// Both read and the predecessor may read already: the successor, too, has started.
    Started,
    /// The same, but found out too late to start it quietly: send it [`Message::Read`].
    Readable,
    /// The predecessor will send the tokens.
    Waiting,
}

/// What the finishing operation must do with one of its accesses.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Finished {
    /// Someone else will retire it (the registrar, or whoever brings the missing token).
    LeftToOthers,
    /// Retire it and send the message on.
    PassOn(AccessPtr, Message),
}

impl AccessPtr {
    /// # Safety
    /// `raw` points to an initialised access.
    pub(crate) unsafe fn from_raw(raw: NonNull<Access>) -> Self {
        Self(raw)
    }

    /// Fills raw memory with a fresh access.
    ///
    /// # Safety
    /// `place` is valid for writes, aligned, and not shared yet.
    pub(crate) unsafe fn init(
        place: *mut Access,
        op: OpPtr,
        slot: *const VarSlot,
        generation: u32,
        writes: bool,
    ) {
        let access = Access {
            state: AtomicU32::new(if writes { WRITES } else { 0 }),
            generation,
            op,
            slot,
            next: AtomicPtr::new(ptr::null_mut()),
        };
        // SAFETY: the caller owns the memory.
        unsafe { place.write(access) }
    }

    /// Where it lies.
    pub(crate) fn address(self) -> usize {
        self.0.as_ptr() as usize
    }

    fn state(&self) -> &AtomicU32 {
        // SAFETY: counted pointer; the reference covers the atomic alone and ends with the call.
        unsafe { &(*self.0.as_ptr()).state }
    }

    fn successor(&self) -> AccessPtr {
        // SAFETY: counted pointer. Relaxed: `next` was stored before the registrar's release of
        // `N`, which the caller has acquired.
        let next = unsafe { (*self.0.as_ptr()).next.load(Relaxed) };
        debug_assert!(!next.is_null(), "successor asked for before it was linked");
        // SAFETY: `N` is only set after a non-null store.
        Self(unsafe { NonNull::new_unchecked(next) })
    }

    /// The access behind this one, if it is known already. It may be looked at as long as this one
    /// has not finished.
    pub(crate) fn known_successor(self) -> Option<AccessPtr> {
        // Acquire: pairs with `link`.
        (self.state().load(Acquire) & N != 0).then(|| self.successor())
    }

    /// The operation that this access belongs to.
    pub(crate) fn op(self) -> OpPtr {
        // SAFETY: counted pointer; the field never changes.
        unsafe { (*self.0.as_ptr()).op }
    }

    /// The variable's slot, or `None` if the registrar dropped the access. The slot lies in `slab`,
    /// which is that of the operation's engine.
    pub(crate) fn slot_in(self, _slab: &VarSlab) -> Option<&VarSlot> {
        // SAFETY: counted pointer; only the registrar changes the field, before the operation is
        // released to run. Slots live as long as their slab.
        unsafe { (*self.0.as_ptr()).slot.as_ref() }
    }

    /// The address of the variable's slot, or null.
    pub(crate) fn slot_address(self) -> *const VarSlot {
        // SAFETY: as above.
        unsafe { (*self.0.as_ptr()).slot }
    }

    /// The generation that the pusher asked for.
    pub(crate) fn generation(self) -> u32 {
        // SAFETY: counted pointer; the field never changes.
        unsafe { (*self.0.as_ptr()).generation }
    }

    /// Whether this access mutates the variable.
    pub(crate) fn writes(self) -> bool {
        // Relaxed: the bit is constant from before the access was shared.
        self.state().load(Relaxed) & WRITES != 0
    }

    /// Registrar: takes the access out of the protocol.
    ///
    /// # Safety
    /// The caller holds the baton and has not linked this access.
    pub(crate) unsafe fn drop_out(self) {
        // SAFETY: by the contract nobody else looks at the field yet.
        unsafe { (*self.0.as_ptr()).slot = ptr::null() }
    }

    /// Registrar: the chain in front is empty; nobody else knows this access yet.
    pub(crate) fn start_satisfied(self) {
        self.set_unshared(R | W);
    }

    /// Registrar: sets bits of an access that nobody else knows yet.
    fn set_unshared(self, bits: u32) {
        let bits = self.state().load(Relaxed) | bits;
        // Relaxed: published by the registrar's release of the operation or of the baton.
        self.state().store(bits, Relaxed);
    }

    /// Whether a reader behind this access may start.
    const fn lets_read(state: u32) -> bool {
        state & (WRITES | R) == R
    }

    /// Whether the operation has finished with the variable.
    pub(crate) fn is_finished(self) -> bool {
        // Acquire: pairs with `finish`.
        self.state().load(Acquire) & D != 0
    }

    /// Registrar: appends `next`, which nobody else knows yet, behind this access.
    pub(crate) fn link(self, next: AccessPtr) -> Linked {
        // Acquire: pairs with the release in `finish` and `receive`; the successor then sees all
        // effects of this operation and of those before it.
        let state = self.state().load(Acquire);
        if state & (W | D) == W | D {
            next.start_satisfied();
            return Linked::Satisfied;
        }
        let next_writes = next.writes();
        let starts = Self::lets_read(state) && !next_writes;
        if starts {
            // Before anybody can send it anything.
            next.set_unshared(R);
        }
        // SAFETY: counted pointer (the variable's tail holds a count until this call ends).
        // Relaxed: released by the `fetch_add` below.
        unsafe { (*self.0.as_ptr()).next.store(next.0.as_ptr(), Relaxed) };
        let add = if next_writes { N } else { N | NEXT_READS };
        // Release: publishes `next`. Acquire: sees the effects of a predecessor that has finished.
        let old = self.state().fetch_add(add, AcqRel);
        debug_assert!(old & N == 0, "an access got two successors");
        if old & (W | D) == W | D {
            // Nobody will send anything: `next` is still the registrar's.
            next.start_satisfied();
            Linked::Satisfied
        } else if starts {
            Linked::Started
        } else if Self::lets_read(old) && !next_writes {
            Linked::Readable
        } else {
            Linked::Waiting
        }
    }

    /// Takes in tokens from the predecessor (or, once, from the registrar on its behalf).
    pub(crate) fn receive(self, message: Message) -> Received {
        let bits = message.bits();
        // Acquire: the successor, if it is there.
        let seen = self.state().load(Acquire);
        let old = if message == Message::All && seen & N != 0 {
            // The registrar is through with this access, and it has not started: nobody else
            // changes the word before it gets what we send, so an exchange is not needed.
            // Release: as below.
            self.state().store(seen | bits, Release);
            seen
        } else {
            // Acquire: the effects of everything in front. Release: passes them on with the tokens.
            self.state().fetch_add(bits, AcqRel)
        };
        debug_assert!(old & bits & (R | W) == 0, "a token came twice");
        if old & WRITES != 0 {
            debug_assert!(bits & W != 0, "a writer got a reader's token");
            return Received::Start;
        }
        if bits & R != 0 {
            if old & (N | NEXT_READS) == N | NEXT_READS {
                return Received::StartAndForward(self.successor());
            }
            return Received::Start;
        }
        if old & (N | D) == N | D {
            Received::PassOn(self.successor())
        } else {
            Received::Hold
        }
    }

    /// The operation has finished with this variable.
    pub(crate) fn finish(self) -> Finished {
        // Acquire: as below.
        let seen = self.state().load(Acquire);
        let old = if seen & (W | N) == W | N {
            // All tokens are here and the registrar is through: nobody else looks at the word any
            // more, so `D` would only tell ourselves (`is_finished`). Our effects travel on in the
            // message, which releases them.
            self.state().store(seen | D, Relaxed);
            seen
        } else {
            // Release: publishes the operation's effects. Acquire: `next`, and the effects that
            // came with `W`, which travel on in the message.
            self.state().fetch_add(D, AcqRel)
        };
        debug_assert!(old & D == 0, "an access finished twice");
        if old & N == 0 {
            Finished::LeftToOthers
        } else if old & WRITES != 0 {
            Finished::PassOn(self.successor(), Message::All)
        } else if old & W != 0 {
            Finished::PassOn(self.successor(), Message::Rest)
        } else {
            Finished::LeftToOthers
        }
    }
}
