//! Numbers of engines, so that no engine takes another's variables for its own.

use crate::sync::{AcqRel, Relaxed, plain::AtomicU64, plain::AtomicUsize};

/// Bits of a number.
pub(crate) const BITS: u32 = 12;
const WORDS: usize = (1 << BITS) / 64;

/// Numbers in use. The first is for engines beyond all others, which share it.
static TAKEN: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];
/// Where to look next: a number comes back as late as can be, since there may be handles with it.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// An engine's number, free again when this is dropped.
pub(crate) struct Number(u32);

impl Number {
    pub(crate) fn take() -> Self {
        for _ in 1..1 << BITS {
            // Relaxed: only that each is looked at.
            let number = NEXT.fetch_add(1, Relaxed) % ((1 << BITS) - 1) + 1;
            let bit = 1 << (number % 64);
            // AcqRel: orders the engines of one number.
            if TAKEN[number / 64].fetch_or(bit, AcqRel) & bit == 0 {
                return Self(number as u32);
            }
        }
        Self(0)
    }

    pub(crate) fn get(&self) -> u32 {
        self.0
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        if self.0 != 0 {
            TAKEN[self.0 as usize / 64].fetch_and(!(1 << (self.0 % 64)), AcqRel);
        }
    }
}
