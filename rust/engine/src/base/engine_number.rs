//! Numbers of engines, so that no engine takes another's variables for its own.

use crate::base::sync::plain::{AtomicU32, AtomicU64, AtomicUsize};
use crate::base::sync::{AcqRel, Relaxed};

/// Bits of a number.
pub(crate) const BITS: u32 = 12;
/// Turns of a number whose variables differ, and by how much: half of all generations in all.
const TURNS_APART: u32 = 128;
const GENERATIONS_APART: u32 = 1 << (31 - BITS - TURNS_APART.ilog2());
const WORDS: usize = (1 << BITS) / 64;

/// Numbers in use. The first is for engines beyond all others, which share it.
static TAKEN: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];
/// Where to look next: a number comes back as late as can be, since there may be handles with it.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// How often each number was taken.
static TURNS: [AtomicU32; 1 << BITS] = [const { AtomicU32::new(0) }; 1 << BITS];

/// An engine's number, free again when this is dropped.
pub(crate) struct Number {
    number: u32,
    /// How many engines have had it before.
    turn: u32,
}

impl Number {
    pub(crate) fn take() -> Self {
        for _ in 1..1 << BITS {
            // Relaxed: only that each is looked at.
            let number = NEXT.fetch_add(1, Relaxed) % ((1 << BITS) - 1) + 1;
            let bit = 1 << (number % 64);
            // AcqRel: orders the engines of one number.
            if TAKEN[number / 64].fetch_or(bit, AcqRel) & bit == 0 {
                return Self::of(number);
            }
        }
        Self::of(0)
    }

    fn of(number: usize) -> Self {
        Self {
            number: number as u32,
            // Relaxed: a count alone.
            turn: TURNS[number].fetch_add(1, Relaxed),
        }
    }

    /// The stamp of variables before the first, in the upper bits the number: in each turn another
    /// one, so that old handles are stale as long as slots are not given out thousands of times.
    pub(crate) fn first_stamp(&self) -> u32 {
        let generation = self.turn % TURNS_APART * GENERATIONS_APART;
        self.number << (32 - BITS) | generation
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        if self.number != 0 {
            let bit = 1 << (self.number % 64);
            TAKEN[self.number as usize / 64].fetch_and(!bit, AcqRel);
        }
    }
}
