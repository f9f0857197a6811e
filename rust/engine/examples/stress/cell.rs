//! Data that shows whether the engine keeps its promises: an overlap, a wrong order or a lost write
//! ends the process with a message.
//!
//! Everything is relaxed, and counted by load and store, so that no ordering comes from here.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

const WRITER: u32 = 1 << 31;

/// Ends the process: panics and errors of operations would be caught by the engine.
pub(crate) fn violation(what: std::fmt::Arguments<'_>) -> ! {
    eprintln!("VIOLATION: {what}");
    std::process::exit(1);
}

/// The data behind one variable.
pub(crate) struct Cell {
    /// The number of readers that are inside, or `WRITER`.
    inside: AtomicU32,
    writes: AtomicU64,
    /// Finished writes of each pusher.
    by_pusher: Box<[AtomicU64]>,
    gone: AtomicBool,
}

impl Cell {
    pub(crate) fn new(pushers: usize) -> Self {
        Self {
            inside: AtomicU32::new(0),
            writes: AtomicU64::new(0),
            by_pusher: (0..pushers).map(|_| AtomicU64::new(0)).collect(),
            gone: AtomicBool::new(false),
        }
    }

    /// An operation begins to use the variable.
    pub(crate) fn enter(&self, writes: bool) {
        let old = if writes {
            self.inside.swap(WRITER, Relaxed)
        } else {
            self.inside.fetch_add(1, Relaxed)
        };
        if (writes && old != 0) || old & WRITER != 0 {
            violation(format_args!(
                "an operation (writes: {writes}) met others: {old:#x}"
            ));
        }
        if self.gone.load(Relaxed) {
            violation(format_args!("an operation ran after the deletion"));
        }
    }

    /// The operation is through with the variable.
    pub(crate) fn leave(&self, writes: bool, pusher: usize) {
        if writes {
            add_one(&self.writes);
            add_one(&self.by_pusher[pusher]);
            if self.inside.swap(0, Relaxed) != WRITER {
                violation(format_args!("somebody joined a writer"));
            }
        } else {
            self.inside.fetch_sub(1, Relaxed);
        }
    }

    /// The variable is deleted: nobody may be inside, and nobody may come.
    pub(crate) fn end(&self) {
        self.enter(true);
        self.gone.store(true, Relaxed);
    }

    pub(crate) fn writes(&self) -> u64 {
        self.writes.load(Relaxed)
    }

    pub(crate) fn by_pusher(&self, pusher: usize) -> u64 {
        self.by_pusher[pusher].load(Relaxed)
    }
}

/// Not an addition: two at once would lose one.
fn add_one(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Relaxed);
}

/// Small random numbers from a seed (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}
