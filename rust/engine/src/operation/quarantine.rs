//! Operation blocks while the whole engine is explored: counted, and kept for a while after they
//! were given back, filled with a pattern that makes every further touch of their cells fail.

use std::alloc::{Layout, dealloc};
use std::cell::RefCell;
use std::collections::VecDeque;

/// Blocks in quarantine at most.
const CAPACITY: usize = 64;
/// An atomic or a cell of these bytes counts as borrowed or in use.
const POISON: u8 = 0xA5;

#[derive(Default)]
struct Quarantine {
    /// Blocks taken and not given back.
    alive: usize,
    buried: VecDeque<(*mut u8, Layout)>,
}

// All threads of a model are one thread of the system's.
thread_local! {
    static QUARANTINE: RefCell<Quarantine> = RefCell::default();
}

/// A block was allocated.
pub(crate) fn count() {
    QUARANTINE.with_borrow_mut(|quarantine| quarantine.alive += 1);
}

/// # Safety
/// `place` was allocated with this layout, and is the caller's to free.
pub(crate) unsafe fn bury(place: *mut u8, layout: Layout) {
    // SAFETY: the caller owns the memory.
    unsafe { place.write_bytes(POISON, layout.size()) };
    let oldest = QUARANTINE.with_borrow_mut(|quarantine| {
        quarantine.alive -= 1;
        quarantine.buried.push_back((place, layout));
        (quarantine.buried.len() > CAPACITY).then(|| quarantine.buried.pop_front())
    });
    if let Some((place, layout)) = oldest.flatten() {
        // SAFETY: buried earlier, by a caller who owned it.
        unsafe {
            let bytes = std::slice::from_raw_parts(place, layout.size());
            let touched = bytes.iter().any(|byte| *byte != POISON);
            dealloc(place, layout);
            assert!(!touched, "a block was written to after it was given back");
        }
    }
}

/// Blocks taken and not given back.
#[cfg(test)]
pub(crate) fn alive() -> usize {
    QUARANTINE.with_borrow(|quarantine| quarantine.alive)
}

/// Forgets the blocks of an execution that failed.
#[cfg(test)]
pub(crate) fn begin() {
    QUARANTINE.with_borrow_mut(|quarantine| quarantine.alive = 0);
}
