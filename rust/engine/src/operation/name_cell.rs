//! The name inside an operation's block. It may be looked at while the block is given to another
//! operation, so it is two atomic words, and the reader has to find out whether they belong together.

use crate::base::sync::{Relaxed, Release, plain};
use crate::types::spec::Name;

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
        // Release: what ended the use of the block before; pairs with `CurrentOp::read`.
        // SAFETY: by the contract. Never through a plain store, as others may look.
        unsafe {
            plain::AtomicPtr::from_ptr((&raw mut (*cell).text).cast::<*mut u8>())
                .store(text.as_ptr().cast_mut(), Release);
            plain::AtomicUsize::from_ptr((&raw mut (*cell).len).cast::<usize>())
                .store(text.len(), Release);
        }
    }

    pub(crate) fn words(&self) -> Words {
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
    pub(crate) unsafe fn name(&self) -> Name {
        // SAFETY: of a `&'static str`, by the contract.
        let text = unsafe { std::slice::from_raw_parts(self.0, self.1) };
        // SAFETY: as above.
        Name::new(unsafe { std::str::from_utf8_unchecked(text) })
    }
}
