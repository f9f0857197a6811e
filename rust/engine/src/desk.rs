//! Where a worker says what it runs, for whoever has to name what does not end.
//!
//! A block may be used again while somebody reads a name in it. So the worker counts what it begins;
//! who finds the same operation and the same count before and after has read that operation's name.

use crossbeam_utils::CachePadded;

use crate::op::{Op, OpPtr};
use crate::spec::Name;
use crate::sync::{Acquire, AtomicPtr, AtomicU32, Relaxed, Release, fence, plain};

struct Place {
    op: AtomicPtr<Op>,
    begun: AtomicU32,
}

/// One worker's.
pub(crate) struct Desk(CachePadded<Place>);

impl Desk {
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

/// A name inside an operation's block, where it may be looked at while the block changes hands.
pub(crate) struct NameCell {
    text: plain::AtomicPtr<u8>,
    len: plain::AtomicUsize,
}

/// What was found in a [`NameCell`].
pub(crate) struct Words(*const u8, usize);

impl NameCell {
    /// # Safety
    /// `cell` is valid, if not initialised, and the caller owns the block.
    #[inline(always)]
    pub(crate) unsafe fn set(cell: *mut Self, name: Name) {
        let text = name.as_str();
        // Release: what ended the use of the block before; pairs with `Desk::read`.
        // SAFETY: by the contract. Never through a plain store, as others may look.
        unsafe {
            plain::AtomicPtr::from_ptr((&raw mut (*cell).text).cast::<*mut u8>())
                .store(text.as_ptr().cast_mut(), Release);
            plain::AtomicUsize::from_ptr((&raw mut (*cell).len).cast::<usize>())
                .store(text.len(), Release);
        }
    }

    fn words(&self) -> Words {
        Words(self.text.load(Relaxed), self.len.load(Relaxed))
    }

    /// # Safety
    /// The operation is counted by the caller.
    #[inline]
    pub(crate) unsafe fn get(&self) -> Name {
        // SAFETY: nobody sets the name of an operation that is counted.
        unsafe { self.words().name() }
    }
}

impl Words {
    /// # Safety
    /// Both words were set together.
    unsafe fn name(&self) -> Name {
        // SAFETY: of a `&'static str`, by the contract.
        let text = unsafe { std::slice::from_raw_parts(self.0, self.1) };
        // SAFETY: as above.
        Name::new(unsafe { std::str::from_utf8_unchecked(text) })
    }
}
