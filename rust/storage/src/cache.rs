//! What a thread keeps for itself: two magazines per bucket, so that a run of up to 16 requests or
//! returns at the edge of one does not go to the depot each time. Of the large buckets it keeps
//! nothing, but has a slot in the depot that nobody else uses as long as they have blocks.
//!
//! A thread's caches sit in one thread-local table, by pool. They hold their pool weakly: the last
//! [`Pool`](crate::Pool) frees all blocks, and a thread that ends gives its magazines to the depot.

use crate::backend::RawBlock;
use crate::books::{Event, Ledger};
use crate::class::{CLASSES, Class};
use crate::core::{Core, Held};
use std::cell::RefCell;
use std::sync::{Arc, Weak};

thread_local! {
    static CACHES: RefCell<Caches> = const { RefCell::new(Caches { entries: Vec::new() }) };
}

struct Caches {
    entries: Vec<Entry>,
}

struct Entry {
    id: u64,
    core: Weak<Core>,
    cache: Cache,
}

/// Calls `f` with this thread's cache for the pool. `None` while the thread's own destructors run,
/// or from within another such call: then the caller goes past the caches.
pub(crate) fn with<R>(core: &Arc<Core>, f: impl FnOnce(&mut Cache) -> R) -> Option<R> {
    let call = |caches: &RefCell<Caches>| {
        caches
            .try_borrow_mut()
            .ok()
            .map(|mut caches| f(caches.of(core)))
    };
    CACHES.try_with(call).ok().flatten()
}

impl Caches {
    fn of(&mut self, core: &Arc<Core>) -> &mut Cache {
        // Ids are never reused, so an entry with this id is this pool's.
        let place = match self.entries.iter().position(|entry| entry.id == core.id) {
            Some(place) => place,
            None => self.open(core),
        };
        &mut self.entries[place].cache
    }

    #[cold]
    fn open(&mut self, core: &Arc<Core>) -> usize {
        self.entries.retain(|entry| entry.core.strong_count() > 0);
        let cache = Cache::new(core);
        self.entries.push(Entry {
            id: core.id,
            core: Arc::downgrade(core),
            cache,
        });
        self.entries.len() - 1
    }
}

impl Drop for Caches {
    fn drop(&mut self) {
        for mut entry in self.entries.drain(..) {
            if let Some(core) = entry.core.upgrade() {
                entry.cache.flush(&core);
                core.books.close(&entry.cache.ledger);
            }
        }
    }
}

/// The magazines of one bucket, by number.
#[derive(Clone, Copy, Default)]
struct Pair {
    /// The one in use.
    current: Option<u32>,
    /// The one used before: changing between the two needs no depot.
    other: Option<u32>,
}

/// One thread's cache for one pool.
pub(crate) struct Cache {
    pairs: Box<[Pair]>,
    bytes: usize,
    /// Its slot in each row of the depot.
    place: usize,
    bell: u64,
    /// Calls until the next look at the clock.
    patience: isize,
    ledger: Arc<Ledger>,
}

/// Frees between two looks at the clock; a large block counts once more for each MiB.
const PATIENCE: isize = 256;

impl Cache {
    fn new(core: &Core) -> Cache {
        Cache {
            pairs: vec![Pair::default(); CLASSES].into(),
            bytes: 0,
            place: core.place(),
            bell: core.bell(),
            patience: PATIENCE,
            ledger: core.books.open(),
        }
    }

    /// Writes an event into the accounts.
    pub(crate) fn note(&mut self, core: &Core, event: Event, class: Class, size: usize) {
        core.books.note(&self.ledger, event, class, size);
    }

    /// A kept block of `class`, handed out for `size` bytes.
    #[inline]
    pub(crate) fn take(&mut self, core: &Core, class: Class, size: usize) -> Option<Held> {
        self.follow(core);
        let held = core.first_usable(class, || {
            if core.keeps(class) {
                let block = self.take_kept(core, class)?;
                self.bytes -= class.size;
                Some(Held::small(block))
            } else {
                core.take_large(class, self.place)
            }
        })?;
        self.note(core, Event::Hit, class, size);
        Some(held)
    }

    #[inline]
    fn take_kept(&mut self, core: &Core, class: Class) -> Option<RawBlock> {
        let pair = &mut self.pairs[class.index];
        let pop =
            |magazine: Option<u32>| magazine.and_then(|index| core.depot.magazine(index).pop());
        if let Some(block) = pop(pair.current) {
            return Some(block);
        }
        std::mem::swap(&mut pair.current, &mut pair.other);
        if let Some(block) = pop(pair.current) {
            return Some(block);
        }
        // Both are empty: exchange one.
        let loaded = core.depot.take_loaded(class)?;
        if let Some(empty) = pair.current.replace(loaded) {
            core.depot.give(class, empty);
        }
        self.bytes += core.depot.magazine(loaded).len() * class.size;
        pop(Some(loaded))
    }

    /// Keeps a block of `class` that held `size` bytes; `false` where the depot cannot take it.
    #[must_use]
    #[inline]
    pub(crate) fn give(&mut self, core: &Core, class: Class, size: usize, held: Held) -> bool {
        self.follow(core);
        let stored = if core.keeps(class) {
            if self.bytes + class.size > core.config.thread_cache {
                self.flush(core);
            }
            self.give_kept(core, class, held.block)
        } else {
            core.give_large(class, self.place, held)
        };
        self.note(core, Event::Free, class, size);
        self.age(core, class);
        stored
    }

    #[inline]
    fn give_kept(&mut self, core: &Core, class: Class, block: RawBlock) -> bool {
        let pair = &mut self.pairs[class.index];
        let push = |magazine: Option<u32>| {
            magazine.is_some_and(|index| core.depot.magazine(index).push(class, block))
        };
        let mut stored = push(pair.current);
        if !stored {
            std::mem::swap(&mut pair.current, &mut pair.other);
            stored = push(pair.current);
        }
        if !stored {
            // Both are full or missing: exchange one.
            let Some(empty) = core.depot.take_empty() else {
                return false;
            };
            if let Some(full) = pair.current.replace(empty) {
                self.bytes -= core.depot.magazine(full).len() * class.size;
                core.depot.give(class, full);
            }
            stored = push(Some(empty));
        }
        self.bytes += class.size;
        stored
    }

    /// Gives all magazines to the depot.
    pub(crate) fn flush(&mut self, core: &Core) {
        for (index, pair) in self.pairs.iter_mut().enumerate() {
            for magazine in [pair.current.take(), pair.other.take()]
                .into_iter()
                .flatten()
            {
                core.depot.give(Class::at(index), magazine);
            }
        }
        self.bytes = 0;
    }

    /// Flushes where the bell rang since the last call: another thread wants memory, or an epoch
    /// began, in which what is in use comes back at once and the rest lies in the depot and ages.
    fn follow(&mut self, core: &Core) {
        let bell = core.bell();
        if bell != self.bell {
            self.bell = bell;
            self.flush(core);
        }
    }

    /// Looks at the clock now and then.
    fn age(&mut self, core: &Core, class: Class) {
        self.patience -= 1 + (class.size >> 20) as isize;
        if self.patience <= 0 {
            self.patience = PATIENCE;
            self.tend(core);
        }
    }

    #[cold]
    fn tend(&mut self, core: &Core) {
        if core.depot.clock().advance() {
            core.ring();
            self.follow(core);
            core.trim_old();
        }
        if core.is_above_high() {
            self.flush(core);
            core.trim_to(core.config.trim_low, 0);
        }
    }
}
