//! Where a large block waits first: in a slot of the thread that freed it. A bucket has a row of
//! places, a thread uses one, and each has a few slots for one block each, by the number of its
//! magazine.
//!
//! *Why.* A thread that frees blocks and asks for them again meets nobody: one swap on a cache line
//! of its own for each. Yet no thread hoards: one that finds its own slots and the stack empty looks
//! into the others' slots before it asks the system, and so does a trim.
//!
//! *Soundness.* A number is in at most one slot or stack, since every way in or out is one
//! read-modify-write of the slot, and whoever swaps a number out owns its magazine. *Progress:*
//! wait-free; a look into all slots is bounded by their number.
//!
//! *Order.* The first slots are filled and emptied first, and when all are full the first gives way:
//! so what was freed last, and may still be in the processor's caches, is handed out first.

use crate::stack::{AtomicU32, Ordering};
use crossbeam_utils::CachePadded;
use std::sync::OnceLock;

/// Slots of a place.
const DEPTH: usize = if cfg!(loom) { 2 } else { 8 };

/// Magazine numbers plus one; 0: nothing.
type Place = [AtomicU32; DEPTH];

/// The slots of one bucket.
#[derive(Debug)]
pub(crate) struct Slots {
    row: Box<[CachePadded<Place>]>,
}

/// Places of a bucket: one for each thread that can run at once, at least 8, at most 64.
pub(crate) fn width() -> usize {
    static WIDTH: OnceLock<usize> = OnceLock::new();
    let cores = || std::thread::available_parallelism().map_or(8, std::num::NonZero::get);
    *WIDTH.get_or_init(|| cores().next_power_of_two().clamp(8, 64))
}

impl Slots {
    /// A row of `width` places, a power of two, with empty slots.
    pub(crate) fn new(width: usize) -> Slots {
        debug_assert!(width.is_power_of_two());
        let slot = |_| AtomicU32::new(0);
        let place = |_| CachePadded::new(std::array::from_fn(slot));
        Slots {
            row: (0..width).map(place).collect(),
        }
    }

    #[inline]
    fn place(&self, place: usize) -> &Place {
        &self.row[place & (self.row.len() - 1)]
    }

    /// Puts magazine `index` into a slot of `place` (wrapping around); what was there is now the
    /// caller's.
    #[must_use]
    #[inline]
    pub(crate) fn put(&self, place: usize, index: u32) -> Option<u32> {
        let slots = self.place(place);
        // Relaxed: a hint; the swap finds out what is there.
        let free = slots.iter().find(|slot| slot.load(Ordering::Relaxed) == 0);
        // Release hands the magazine's contents to the swap that takes it out, Acquire takes over
        // those of the magazine that was here.
        let before = free.unwrap_or(&slots[0]).swap(index + 1, Ordering::AcqRel);
        before.checked_sub(1)
    }

    /// Takes a magazine out of a slot of `place` (wrapping around).
    #[inline]
    pub(crate) fn take(&self, place: usize) -> Option<u32> {
        self.place(place).iter().find_map(Self::take_out)
    }

    #[inline]
    fn take_out(slot: &AtomicU32) -> Option<u32> {
        // Relaxed: spares the write where there is nothing; the swap below decides.
        if slot.load(Ordering::Relaxed) == 0 {
            return None;
        }
        // Acquire pairs with the Release of `put`.
        slot.swap(0, Ordering::Acquire).checked_sub(1)
    }

    /// Takes whatever can be found, beginning at `place`.
    pub(crate) fn take_any(&self, place: usize) -> Option<u32> {
        (0..self.row.len()).find_map(|step| self.take(place.wrapping_add(step)))
    }

    /// Takes what is there, looking into each slot once.
    pub(crate) fn drain(&self) -> impl Iterator<Item = u32> {
        self.row
            .iter()
            .flat_map(|place| place.iter())
            .filter_map(Self::take_out)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_full_place_gives_up_what_was_put_last() {
        let slots = Slots::new(4);
        assert_eq!(slots.take_any(7), None);
        for index in 0..DEPTH as u32 {
            assert_eq!(slots.put(1, index), None);
        }
        assert_eq!(slots.put(5, 100), Some(0), "5 wraps around to 1");
        assert_eq!(slots.put(1, 101), Some(100));
        assert_eq!(slots.take(0), None);
        assert_eq!(slots.take(1), Some(101));
        assert_eq!(slots.put(1, 102), None);
        assert_eq!(slots.take_any(2), Some(102));
        assert!(slots.drain().eq(1..DEPTH as u32));
        assert_eq!(slots.take_any(0), None);
    }
}

/// Run with `RUSTFLAGS="--cfg loom" cargo test -p ferromix-storage --release --lib`.
#[cfg(all(test, loom))]
mod loom_model {
    use super::*;
    use crate::stack::{Links, Stack};
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    struct Node {
        next: AtomicU32,
        content: UnsafeCell<u32>,
    }

    impl Links for Vec<Node> {
        fn next(&self, index: u32) -> &AtomicU32 {
            &self[index as usize].next
        }
    }

    /// What the depot does for a large bucket: slots before a stack.
    struct Shared {
        nodes: Vec<Node>,
        slots: Slots,
        stack: Stack,
    }

    impl Shared {
        fn touch(&self, index: u32) {
            // SAFETY: loom checks what is being proved, that whoever takes a node owns it.
            self.nodes[index as usize]
                .content
                .with_mut(|content| unsafe { *content += 1 });
        }

        fn give(&self, place: usize, index: u32) {
            self.touch(index);
            if let Some(before) = self.slots.put(place, index) {
                self.touch(before);
                self.stack.push(&self.nodes, before);
            }
        }

        fn take(&self, place: usize) -> Option<u32> {
            let own = self.slots.take(place);
            let found = own
                .or_else(|| self.stack.pop(&self.nodes))
                .or_else(|| self.slots.take_any(place + 1));
            found.inspect(|&index| self.touch(index))
        }
    }

    fn shared(nodes: u32) -> Arc<Shared> {
        let node = |_| Node {
            next: AtomicU32::new(0),
            content: UnsafeCell::new(0),
        };
        Arc::new(Shared {
            nodes: (0..nodes).map(node).collect(),
            slots: Slots::new(2),
            stack: Stack::new(),
        })
    }

    fn drain(shared: &Shared) -> Vec<u32> {
        let mut all: Vec<u32> = std::iter::from_fn(|| shared.take(0)).collect();
        all.sort_unstable();
        all
    }

    /// One thread uses its slot while another, which has nothing, robs it.
    #[test]
    fn a_robbed_node_has_one_owner() {
        loom::model(|| {
            let shared = shared(1);
            shared.give(0, 0);
            let other = Arc::clone(&shared);
            let thief = thread::spawn(move || {
                let mine = other.take(1);
                mine.into_iter().for_each(|index| other.give(1, index));
            });
            let mine = shared.take(0);
            mine.into_iter().for_each(|index| shared.give(0, index));
            thief.join().unwrap();
            assert_eq!(drain(&shared), [0]);
        });
    }

    /// Two threads give into one place with one free slot: one of them moves a node.
    #[test]
    fn a_node_that_is_displaced_has_one_owner() {
        loom::model(|| {
            let shared = shared(3);
            shared.give(0, 0);
            let other = Arc::clone(&shared);
            let second = thread::spawn(move || other.give(0, 1));
            shared.give(0, 2);
            second.join().unwrap();
            assert_eq!(drain(&shared), [0, 1, 2]);
        });
    }
}
