//! The pool behind its public face: the paths between caches, depot and backend.

use crate::backend::{Backend, RawBlock};
use crate::books::{Books, Event};
use crate::cache;
use crate::class::{Class, Classes, MAX_BLOCK};
use crate::clock::Clock;
use crate::config::Config;
use crate::depot::Depot;
use crate::fork;
use crate::handle::Handle;
use ferromix_base::{Context, Error, ErrorKind, Result};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// A block in somebody's hands, with the magazine that a large one takes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) block: RawBlock,
    /// The number of that magazine, or `NONE`: one word, which travels in a register.
    magazine: u32,
}

/// Above the number of any magazine.
const NONE: u32 = u32::MAX;

impl Held {
    /// A block that shares its magazines with others.
    pub(crate) fn small(block: RawBlock) -> Held {
        Held {
            block,
            magazine: NONE,
        }
    }

    /// A block with magazine `index` to itself.
    pub(crate) fn large(block: RawBlock, index: u32) -> Held {
        Held {
            block,
            magazine: index,
        }
    }

    pub(crate) fn has_magazine(self) -> bool {
        self.magazine != NONE
    }

    fn magazine(self) -> Option<u32> {
        self.has_magazine().then_some(self.magazine)
    }
}

/// Waits for memory that is about to be freed; `true`: something came back.
pub(crate) type Relief = Box<dyn Fn() -> bool + Send + Sync>;

/// Buckets that an error names.
const MENTIONED: usize = 4;

/// Trims before a request fails.
const ATTEMPTS: usize = 16;

/// What all users of a pool share.
pub(crate) struct Core {
    pub(crate) id: u64,
    pub(crate) context: Context,
    pub(crate) config: Config,
    pub(crate) depot: Depot,
    pub(crate) books: Books,
    backend: Box<dyn Backend>,
    /// What may bring memory back when all else failed; see `Pool::on_exhaustion`.
    pub(crate) relief: OnceLock<Relief>,
    classes: Classes,
    /// Largest block that threads keep in magazines of their own.
    keeps: usize,
    bell: AtomicU64,
    places: AtomicUsize,
    /// Held while kept blocks are on their way to the backend, so that a thread in need waits for
    /// them rather than fail.
    pub(crate) trimming: Mutex<()>,
}

impl Core {
    pub(crate) fn new(context: Context, backend: Box<dyn Backend>, config: Config) -> Core {
        static IDS: AtomicU64 = AtomicU64::new(1);
        fork::watch();
        Core {
            // Relaxed: only makes ids distinct.
            id: IDS.fetch_add(1, Ordering::Relaxed),
            context,
            depot: Depot::new(Clock::new(config.trim_age)),
            books: Books::new(config.limit),
            classes: Classes::new(config.min_block.max(backend.granule()), config.round_below),
            keeps: config.thread_cache / 16,
            config,
            backend,
            relief: OnceLock::new(),
            bell: AtomicU64::new(0),
            places: AtomicUsize::new(0),
            trimming: Mutex::new(()),
        }
    }

    /// The bucket for `size` bytes, which are at least 1; `None` above the largest.
    #[inline]
    pub(crate) fn class_of(&self, size: usize) -> Option<Class> {
        self.classes.of(size)
    }

    /// Whether threads keep blocks of `class` in magazines of their own. The others, called large
    /// here, have a magazine each and wait in the depot.
    #[inline]
    pub(crate) fn keeps(&self, class: Class) -> bool {
        class.size <= self.keeps
    }

    /// How often the bell rang that asks threads to flush.
    #[inline]
    pub(crate) fn bell(&self) -> u64 {
        // Relaxed: a hint; a thread that sees it late flushes late.
        self.bell.load(Ordering::Relaxed)
    }

    /// Asks all threads to flush at their next call.
    pub(crate) fn ring(&self) {
        // Relaxed: see `bell`.
        self.bell.fetch_add(1, Ordering::Relaxed);
    }

    /// The place of a new thread in the rows of slots.
    pub(crate) fn place(&self) -> usize {
        // Relaxed: only spreads the threads.
        self.places.fetch_add(1, Ordering::Relaxed)
    }

    /// The handle of a block of `class` that was handed out for `size` bytes.
    #[inline]
    pub(crate) fn handle(&self, held: Held, class: Class, size: usize) -> Handle {
        Handle {
            held,
            class: class.index as u16,
            size,
            context: self.context,
            pool: self.id,
        }
    }

    /// A kept block, from this thread's cache or the depot.
    pub(crate) fn take(self: &Arc<Self>, class: Class, size: usize) -> Option<Held> {
        match cache::with(self, |cache| cache.take(self, class, size)) {
            Some(held) => held,
            None => self.take_late(class, size),
        }
    }

    /// `take` on a thread that is ending.
    #[cold]
    fn take_late(&self, class: Class, size: usize) -> Option<Held> {
        let held = self.first_usable(class, || {
            if self.keeps(class) {
                self.depot.take_block(class).map(Held::small)
            } else {
                self.take_large(class, 0)
            }
        })?;
        self.books.note_late(Event::Hit, class, size);
        Some(held)
    }

    /// What `take` finds, passing over, and unmapping, blocks that another process still uses.
    #[inline]
    pub(crate) fn first_usable(
        &self,
        class: Class,
        mut take: impl FnMut() -> Option<Held>,
    ) -> Option<Held> {
        loop {
            let held = take()?;
            // Only blocks that other processes can see are worth the question.
            if held.block.shared_id.is_none() || self.backend.is_reusable(held.block) {
                return Some(held);
            }
            self.drop_held(class, held);
        }
    }

    /// A kept large block, from slot `place` if it has one.
    #[inline]
    pub(crate) fn take_large(&self, class: Class, place: usize) -> Option<Held> {
        let index = self.depot.take_large(class, place)?;
        let block = self.depot.magazine(index).pop()?;
        Some(Held::large(block, index))
    }

    /// Keeps a large block; `false` where the depot has no magazine for it.
    #[must_use]
    #[inline]
    pub(crate) fn give_large(&self, class: Class, place: usize, held: Held) -> bool {
        let Some(index) = held.magazine() else {
            return false;
        };
        self.depot.give_large(class, place, index, held.block)
    }

    /// A block from the backend. Where it has none, step by step: what threads keep and was unused
    /// longest goes back; what is about to be freed is waited for; everything kept goes back, and
    /// again wherever that gave something back which another thread was quicker to take.
    #[cold]
    pub(crate) fn take_fresh(self: &Arc<Self>, class: Class, size: usize) -> Result<Held> {
        let mut mapped = self.map(class);
        // Another fault than a want of memory is none that releasing anything would cure.
        if let Err(fault) = &mapped
            && fault.kind() != ErrorKind::Memory
        {
            return Err(fault.clone());
        }
        if mapped.is_err() {
            self.gather();
            self.trim_to(self.cached().saturating_sub(class.size), 0);
            mapped = self.map(class);
        }
        while mapped.is_err() && self.relief.get().is_some_and(|wait| wait()) {
            self.gather();
            if let Some(held) = self.take(class, size) {
                return Ok(held);
            }
            self.trim_to(self.cached().saturating_sub(class.size), 0);
            mapped = self.map(class);
        }
        for _ in 0..ATTEMPTS {
            if mapped.is_ok() {
                break;
            }
            self.gather();
            let released = self.trim_to(0, 0);
            mapped = self.map(class);
            if !released {
                break;
            }
        }
        let block = mapped.map_err(|reason| self.exhausted(size, class, &reason))?;
        self.note(Event::Miss, class, size);
        let own = (!self.keeps(class)).then(|| self.depot.take_empty());
        Ok(Held {
            block,
            magazine: own.flatten().unwrap_or(NONE),
        })
    }

    fn map(&self, class: Class) -> Result<RawBlock> {
        if !self.books.reserve(class.size) {
            return Err(Error::memory("the limit of the pool is reached"));
        }
        let mapped = self.backend.alloc(class.size, class.align());
        match mapped {
            Ok(_) => self.books.mapped(class),
            Err(_) => self.books.unreserve(class.size),
        }
        mapped
    }

    fn exhausted(&self, size: usize, class: Class, reason: &Error) -> Error {
        let stats = self.books.stats();
        let limit = stats
            .limit
            .map_or("none".to_owned(), |limit| format!("{limit} bytes"));
        let mut holdings = self.books.holdings();
        holdings.sort_by_key(|held| std::cmp::Reverse(held.blocks * held.size));
        let most: Vec<String> = holdings
            .iter()
            .take(MENTIONED)
            .map(|held| format!("{} of {}", held.blocks, held.size))
            .collect();
        let most = if most.is_empty() {
            String::new()
        } else {
            format!(
                ", most of it blocks (number and bytes): {}",
                most.join(", ")
            )
        };
        Error::memory(format!(
            "cannot allocate {size} bytes (a block of {}) on {}: {reason}; in use {} bytes, cached \
             {} bytes, limit {limit}{most}. Free arrays, use smaller batches, or raise the limit",
            class.size, self.context, stats.in_use, stats.cached,
        ))
    }

    /// The error for a size beyond any bucket.
    pub(crate) fn too_large(&self, size: usize) -> Error {
        Error::memory(format!(
            "cannot allocate {size} bytes on {}: more than the largest block, {} bytes",
            self.context, MAX_BLOCK
        ))
    }

    /// Takes a block back for reuse.
    pub(crate) fn give(self: &Arc<Self>, class: Class, size: usize, held: Held) {
        if held.block.shared_id.is_some() && !self.backend.is_keepable(held.block) {
            return self.discard(class, size, held);
        }
        let given = cache::with(self, |cache| cache.give(self, class, size, held));
        if !given.unwrap_or_else(|| self.give_late(class, size, held)) {
            self.unmap(class, held.block);
        }
    }

    /// `give` on a thread that is ending.
    #[cold]
    fn give_late(&self, class: Class, size: usize, held: Held) -> bool {
        self.books.note_late(Event::Free, class, size);
        if self.keeps(class) {
            self.depot.give_block(class, held.block)
        } else {
            self.give_large(class, 0, held)
        }
    }

    /// Hands a block that was in use back to the backend.
    pub(crate) fn discard(self: &Arc<Self>, class: Class, size: usize, held: Held) {
        self.note(Event::Free, class, size);
        self.drop_held(class, held);
    }

    #[cold]
    fn drop_held(&self, class: Class, held: Held) {
        if let Some(index) = held.magazine() {
            self.depot.give(class, index);
        }
        self.unmap(class, held.block);
    }

    fn note(self: &Arc<Self>, event: Event, class: Class, size: usize) {
        cache::with(self, |cache| cache.note(self, event, class, size))
            .unwrap_or_else(|| self.books.note_late(event, class, size));
    }

    /// Returns a block to the backend.
    #[cold]
    pub(crate) fn unmap(&self, class: Class, block: RawBlock) {
        // SAFETY: the block came from `map` for this class and has left caches and handles.
        unsafe { self.backend.free(block, class.size) };
        self.books.unmapped(class);
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        for (class, block) in self.depot.empty_all() {
            // SAFETY: as in `unmap`; nobody else is left to use the pool.
            unsafe { self.backend.free(block, class.size) };
        }
    }
}
