//! Magazines, and where threads exchange them: a stack of loaded ones per bucket and one of empty
//! ones. Magazines are numbered, live in slabs that only grow, and go when the pool goes; so a
//! warm pool allocates nothing for itself, and the pool's end finds every block, whoever cached it.
//!
//! A large block has a magazine to itself, which goes with its handle, and waits in a slot (see
//! `slots`) before it comes to the stack.

use crate::backend::RawBlock;
use crate::class::{CLASSES, Class};
use crate::clock::Clock;
use crate::slots::{self, Slots};
use crate::stack::{AtomicU32, Links, MAX_NODES, Stack};
use crossbeam_utils::CachePadded;
use std::num::NonZeroU64;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Blocks of a magazine.
pub(crate) const ROUNDS: usize = 16;
/// Magazines of the first slab; each further one has twice as many.
const FIRST_SLAB: usize = 64;
const SLABS: usize = 18;
const MAX_MAGAZINES: usize = FIRST_SLAB * ((1 << SLABS) - 1);

/// A small stack of free blocks. It belongs to one thread at a time (see `stack`), so its words
/// are atomic only to be sound without `unsafe`: every access is Relaxed, that is, a plain move;
/// the stack that hands it over orders them. Aligned, so that owners of neighbours do not share a
/// cache line.
#[repr(align(64))]
pub(crate) struct Magazine {
    /// Its number.
    index: u32,
    next: AtomicU32,
    len: AtomicUsize,
    class: AtomicUsize,
    /// The epoch in which it was put down.
    stamp: AtomicU32,
    rounds: [Round; ROUNDS],
}

struct Round {
    ptr: AtomicPtr<u8>,
    shared_id: AtomicU64,
}

impl Magazine {
    fn new(index: u32) -> Magazine {
        let round = |_| Round {
            ptr: AtomicPtr::new(ptr::null_mut()),
            shared_id: AtomicU64::new(0),
        };
        Magazine {
            index,
            next: AtomicU32::new(0),
            len: AtomicUsize::new(0),
            class: AtomicUsize::new(0),
            stamp: AtomicU32::new(0),
            rounds: std::array::from_fn(round),
        }
    }

    /// Its number.
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// Number of its blocks.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// The bucket of its blocks, if it has any.
    fn class(&self) -> Class {
        Class::at(self.class.load(Ordering::Relaxed))
    }

    /// Adds a block of `class`, the same for all that are in it together, unless full.
    #[must_use]
    #[inline]
    pub(crate) fn push(&self, class: Class, block: RawBlock) -> bool {
        let len = self.len.load(Ordering::Relaxed);
        let Some(round) = self.rounds.get(len) else {
            return false;
        };
        round.ptr.store(block.ptr.as_ptr(), Ordering::Relaxed);
        round.shared_id.store(
            block.shared_id.map_or(0, NonZeroU64::get),
            Ordering::Relaxed,
        );
        self.class.store(class.index, Ordering::Relaxed);
        self.len.store(len + 1, Ordering::Relaxed);
        true
    }

    /// Takes the block added last.
    #[inline]
    pub(crate) fn pop(&self) -> Option<RawBlock> {
        let len = self.len.load(Ordering::Relaxed).checked_sub(1)?;
        let round = self.rounds.get(len)?;
        self.len.store(len, Ordering::Relaxed);
        let shared_id = NonZeroU64::new(round.shared_id.load(Ordering::Relaxed));
        NonNull::new(round.ptr.load(Ordering::Relaxed)).map(|ptr| RawBlock { ptr, shared_id })
    }
}

impl Magazine {
    /// `pop`, unless other processes may see that block.
    #[inline]
    pub(crate) fn pop_private(&self) -> Option<RawBlock> {
        let len = self.len.load(Ordering::Relaxed).checked_sub(1)?;
        let round = self.rounds.get(len)?;
        if round.shared_id.load(Ordering::Relaxed) != 0 {
            return None;
        }
        self.len.store(len, Ordering::Relaxed);
        let ptr = NonNull::new(round.ptr.load(Ordering::Relaxed))?;
        let shared_id = None;
        Some(RawBlock { ptr, shared_id })
    }
}

/// All magazines, by number.
struct Slabs {
    slabs: [OnceLock<Box<[Magazine]>>; SLABS],
    used: AtomicUsize,
}

/// The slab of a magazine and its place there.
#[inline]
fn locate(index: usize) -> (usize, usize) {
    let slab = (index / FIRST_SLAB + 1).ilog2() as usize;
    (slab, index - FIRST_SLAB * ((1 << slab) - 1))
}

impl Slabs {
    #[inline]
    fn magazine(&self, index: u32) -> &Magazine {
        let (slab, place) = locate(index as usize);
        // A number is only ever given out by `add`, which has filled the slab before.
        match self.slabs[slab].get() {
            Some(slab) => &slab[place],
            None => &self.fill(slab)[place],
        }
    }

    #[cold]
    fn fill(&self, slab: usize) -> &[Magazine] {
        self.slabs[slab].get_or_init(|| Self::slab(slab))
    }

    fn slab(slab: usize) -> Box<[Magazine]> {
        let first = FIRST_SLAB * ((1 << slab) - 1);
        (first..first + (FIRST_SLAB << slab))
            .map(|index| Magazine::new(index as u32))
            .collect()
    }

    /// A magazine never used before; `None` when the numbers have run out.
    fn add(&self) -> Option<u32> {
        const { assert!(MAX_MAGAZINES <= MAX_NODES) };
        // Relaxed: only makes numbers distinct; the slab's cell orders its contents.
        let take = |used: usize| (used < MAX_MAGAZINES).then_some(used + 1);
        let index = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .ok()?;
        self.magazine(index as u32);
        Some(index as u32)
    }
}

impl Links for Slabs {
    fn next(&self, index: u32) -> &AtomicU32 {
        &self.magazine(index).next
    }
}

/// The exchange of magazines.
pub(crate) struct Depot {
    slabs: Slabs,
    empty: CachePadded<Stack>,
    loaded: Box<[CachePadded<Stack>]>,
    slots: Box<[OnceLock<Slots>]>,
    clock: Clock,
}

/// A loaded magazine that was taken out of the depot to decide about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) class: Class,
    pub(crate) index: u32,
    /// Epochs since it was put down.
    pub(crate) age: u32,
    /// Bytes of its blocks.
    pub(crate) bytes: usize,
}

impl Depot {
    pub(crate) fn new(clock: Clock) -> Depot {
        let slabs = Slabs {
            slabs: [const { OnceLock::new() }; SLABS],
            used: AtomicUsize::new(0),
        };
        let loaded = (0..CLASSES)
            .map(|_| CachePadded::new(Stack::new()))
            .collect();
        Depot {
            slabs,
            empty: CachePadded::new(Stack::new()),
            loaded,
            slots: (0..CLASSES).map(|_| OnceLock::new()).collect(),
            clock,
        }
    }

    /// By what it tells the age of magazines.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// A magazine by number; only its owner may change it.
    #[inline]
    pub(crate) fn magazine(&self, index: u32) -> &Magazine {
        self.slabs.magazine(index)
    }

    /// An empty magazine, now the caller's; `None` when the numbers have run out.
    pub(crate) fn take_empty(&self) -> Option<u32> {
        self.empty.pop(&self.slabs).or_else(|| self.slabs.add())
    }

    /// A magazine with at least one block of `class`, now the caller's.
    pub(crate) fn take_loaded(&self, class: Class) -> Option<u32> {
        self.loaded[class.index].pop(&self.slabs)
    }

    /// Gives up a magazine of blocks of `class`, be it empty or not.
    pub(crate) fn give(&self, class: Class, index: u32) {
        let magazine = self.magazine(index);
        if magazine.len() == 0 {
            self.empty.push(&self.slabs, index);
        } else {
            magazine.stamp.store(self.clock.epoch(), Ordering::Relaxed);
            self.loaded[class.index].push(&self.slabs, index);
        }
    }

    /// Puts down a large block in its magazine, at `place` of its bucket; `false` if the
    /// magazine is full.
    #[must_use]
    #[inline]
    pub(crate) fn give_large(
        &self,
        class: Class,
        place: usize,
        index: u32,
        block: RawBlock,
    ) -> bool {
        let magazine = self.magazine(index);
        magazine.stamp.store(self.clock.epoch(), Ordering::Relaxed);
        let stored = magazine.push(class, block);
        if let Some(before) = self.slots(class).put(place, index) {
            self.loaded[class.index].push(&self.slabs, before);
        }
        stored
    }

    /// A large block of `place` with its magazine, unless other processes may see it.
    #[inline]
    pub(crate) fn take_own(&self, class: Class, place: usize) -> Option<(u32, RawBlock)> {
        let index = self.slots[class.index].get()?.take(place)?;
        let block = self.magazine(index).pop_private();
        if block.is_none() {
            self.loaded[class.index].push(&self.slabs, index);
        }
        block.map(|block| (index, block))
    }

    /// The magazine of a large block: of `place` first, any other at last.
    #[inline]
    pub(crate) fn take_large(&self, class: Class, place: usize) -> Option<u32> {
        let slots = self.slots(class);
        slots
            .take(place)
            .or_else(|| self.take_loaded(class))
            .or_else(|| slots.take_any(place.wrapping_add(1)))
    }

    #[inline]
    fn slots(&self, class: Class) -> &Slots {
        self.slots[class.index].get_or_init(|| Slots::new(slots::width()))
    }

    /// Takes all loaded magazines out of the slots and stacks, those put down last in front within
    /// each bucket. Whoever asks meanwhile finds nothing.
    pub(crate) fn take_all(&self) -> Vec<Found> {
        let mut all = Vec::new();
        for class in Class::all() {
            let slots = self.slots[class.index].get();
            // Bounded, as others may go on putting blocks down.
            let waiting = slots.into_iter().flat_map(Slots::drain);
            let found = |index| {
                let magazine = self.magazine(index);
                let stamp = magazine.stamp.load(Ordering::Relaxed);
                Found {
                    class,
                    index,
                    age: self.clock.epoch().wrapping_sub(stamp),
                    bytes: magazine.len() * class.size,
                }
            };
            all.extend(waiting.map(found));
            let stack = self.loaded[class.index].take_all(&self.slabs);
            all.extend(stack.into_iter().map(found));
        }
        all
    }

    /// Puts a magazine back, no younger than it was.
    pub(crate) fn put_back(&self, found: Found) {
        self.loaded[found.class.index].push(&self.slabs, found.index);
    }

    /// One block of `class`, past the caches.
    pub(crate) fn take_block(&self, class: Class) -> Option<RawBlock> {
        let index = self.take_loaded(class)?;
        let block = self.magazine(index).pop();
        self.give(class, index);
        block
    }

    /// Stores one block of `class`, past the caches; `false` when the numbers have run out.
    #[must_use]
    pub(crate) fn give_block(&self, class: Class, block: RawBlock) -> bool {
        let Some(index) = self.take_empty() else {
            return false;
        };
        let stored = self.magazine(index).push(class, block);
        self.give(class, index);
        stored
    }

    /// Takes every block out of every magazine, those of thread caches too.
    pub(crate) fn empty_all(&mut self) -> impl Iterator<Item = (Class, RawBlock)> {
        let magazines = self.slabs.slabs.iter().filter_map(OnceLock::get).flatten();
        magazines.flat_map(|m| std::iter::from_fn(|| m.pop().map(|block| (m.class(), block))))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn magazines_are_numbered_without_gaps() {
        let mut expected = (0, 0);
        for index in 0..FIRST_SLAB * 7 {
            assert_eq!(locate(index), expected);
            expected.1 += 1;
            if expected.1 == FIRST_SLAB << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        assert_eq!(
            locate(MAX_MAGAZINES - 1),
            (SLABS - 1, (FIRST_SLAB << (SLABS - 1)) - 1)
        );
    }

    #[test]
    fn a_magazine_holds_its_rounds_and_no_more() {
        let (magazine, class) = (Magazine::new(0), Class::at(3));
        let mut bytes = [0u8; ROUNDS];
        let block = |p: &mut u8| RawBlock {
            ptr: NonNull::from(p),
            shared_id: NonZeroU64::new(7),
        };
        let blocks: Vec<RawBlock> = bytes.iter_mut().map(block).collect();
        assert!(blocks.iter().all(|&block| magazine.push(class, block)));
        assert!(!magazine.push(class, blocks[0]));
        let back: Vec<RawBlock> = std::iter::from_fn(|| magazine.pop()).collect();
        assert!(back.iter().eq(blocks.iter().rev()));
        assert_eq!(magazine.class(), class);
    }
}
