//! What a thread keeps for itself: two magazines per bucket, so that a run of up to 16 requests or
//! returns at the edge of one does not go to the depot each time. Of the large buckets it keeps
//! nothing, but has slots in the depot that nobody else uses as long as they have blocks.
//!
//! A thread's caches sit in one thread-local table, by pool, and the one used last is at hand
//! without a search. They hold their pool weakly: the last [`Pool`](crate::Pool) frees all blocks,
//! and a thread that ends gives its magazines to the depot.

use crate::backend::RawBlock;
use crate::books::{Event, Ledger};
use crate::class::{CLASSES, Class};
use crate::core::{Core, Held};
use crate::depot::Magazine;
use std::cell::{Cell, RefCell};
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::sync::{Arc, Weak};

thread_local! {
    static CACHES: RefCell<Caches> = const { RefCell::new(Caches { entries: Vec::new() }) };
    /// The cache used last. It has no destructor, so a look at it is a plain load.
    static RECENT: Cell<Recent> = const { Cell::new(Recent { id: 0, cache: ptr::null() }) };
}

/// A cache and the id of its pool; no pool has id 0.
#[derive(Clone, Copy)]
struct Recent {
    id: u64,
    cache: *const Cache,
}

struct Caches {
    entries: Vec<Entry>,
}

struct Entry {
    id: u64,
    core: Weak<Core>,
    cache: Rc<Cache>,
}

/// Calls `f` with this thread's cache for the pool. `None` while the thread's own destructors run:
/// then the caller goes past the caches.
#[inline]
pub(crate) fn with<R>(core: &Arc<Core>, f: impl FnOnce(&Cache) -> R) -> Option<R> {
    let recent = RECENT.get();
    let cache = if recent.id == core.id {
        recent.cache
    } else {
        find(core)?
    };
    // SAFETY: a cache does not move, and is freed only when its pool is gone, while this one lives, or by
    // `Caches::drop`, which clears `RECENT` before and runs none of `f`'s callers.
    Some(f(unsafe { &*cache }))
}

/// This thread's cache for the pool, if it used that one last.
#[inline]
pub(crate) fn recent(core: &Arc<Core>) -> Option<&Cache> {
    let recent = RECENT.get();
    // SAFETY: as in `with`; whoever calls has no way to end the thread's use of the cache.
    (recent.id == core.id).then(|| unsafe { &*recent.cache })
}

#[cold]
fn find(core: &Arc<Core>) -> Option<*const Cache> {
    let call = |caches: &RefCell<Caches>| Some(caches.try_borrow_mut().ok()?.of(core));
    let cache = CACHES.try_with(call).ok().flatten()?;
    RECENT.set(Recent { id: core.id, cache });
    Some(cache)
}

impl Caches {
    fn of(&mut self, core: &Arc<Core>) -> *const Cache {
        // Ids are never reused, so an entry with this id is this pool's.
        let place = match self.entries.iter().position(|entry| entry.id == core.id) {
            Some(place) => place,
            None => self.open(core),
        };
        Rc::as_ptr(&self.entries[place].cache)
    }

    fn open(&mut self, core: &Arc<Core>) -> usize {
        self.entries.retain(|entry| entry.core.strong_count() > 0);
        self.entries.push(Entry {
            id: core.id,
            core: Arc::downgrade(core),
            cache: Rc::new(Cache::new(core)),
        });
        self.entries.len() - 1
    }
}

impl Drop for Caches {
    fn drop(&mut self) {
        RECENT.set(Recent {
            id: 0,
            cache: ptr::null(),
        });
        for entry in self.entries.drain(..) {
            if let Some(core) = entry.core.upgrade() {
                entry.cache.flush(&core);
                core.books.close(&entry.cache.ledger);
            }
        }
    }
}

/// A magazine of the thread.
type Own = Option<NonNull<Magazine>>;

/// The magazines of one bucket.
#[derive(Default)]
struct Pair {
    /// The one in use.
    current: Cell<Own>,
    /// The one used before: changing between the two needs no depot.
    other: Cell<Own>,
}

impl Pair {
    fn swap(&self) {
        self.current.swap(&self.other);
    }
}

/// A magazine of the pool `core`.
#[inline]
fn magazine(core: &Core, own: Own) -> Option<&Magazine> {
    let _ = core;
    // SAFETY: a cache keeps magazines of its own pool only, and `with` hands it to nobody but users
    // of that pool, `core`, whose magazines live as long as it does.
    own.map(|own| unsafe { own.as_ref() })
}

/// One thread's cache for one pool. Only that thread comes here, but perhaps again from within a
/// call, should a backend do what it must not; hence cells, not `&mut`.
pub(crate) struct Cache {
    pairs: Box<[Pair]>,
    bytes: Cell<usize>,
    /// Its place in each row of the depot.
    place: usize,
    bell: Cell<u64>,
    /// Calls until the next look at the clock.
    countdown: Cell<isize>,
    ledger: Arc<Ledger>,
}

/// Frees between two looks at the clock; a large block counts once more for each MiB.
const CLOCK_INTERVAL: isize = 256;

impl Cache {
    fn new(core: &Core) -> Cache {
        Cache {
            pairs: (0..CLASSES).map(|_| Pair::default()).collect(),
            bytes: Cell::new(0),
            place: core.place(),
            bell: Cell::new(core.bell()),
            countdown: Cell::new(CLOCK_INTERVAL),
            ledger: core.books.open(),
        }
    }

    /// Writes an event into the accounts.
    pub(crate) fn note(&self, core: &Core, event: Event, class: Class, size: usize) {
        core.books.note(&self.ledger, event, class, size);
    }

    /// `take` where it is easiest: a block for this process alone, a small one in the magazine in
    /// use or a large one in the thread's slots. Apart from the rest, to stay in registers.
    #[inline]
    pub(crate) fn take_warm(&self, core: &Core, class: Class, size: usize) -> Option<Held> {
        if core.bell() != self.bell.get() {
            return None;
        }
        let held = if core.keeps(class) {
            let current = magazine(core, self.pairs[class.index].current.get())?;
            let block = current.pop_private()?;
            self.bytes.set(self.bytes.get() - class.size);
            Held::small(block)
        } else {
            let (index, block) = core.depot.take_own(class, self.place)?;
            Held::large(block, index)
        };
        core.books.note(&self.ledger, Event::Hit, class, size);
        Some(held)
    }

    /// `give` where it is easiest: a small block that finds room in the magazine in use, or a large
    /// one. `false`: nothing was done.
    #[must_use]
    #[inline]
    pub(crate) fn give_warm(&self, core: &Core, class: Class, size: usize, held: Held) -> bool {
        if core.bell() != self.bell.get() || held.block.shared_id.is_some() {
            return false;
        }
        if core.keeps(class) {
            let bytes = self.bytes.get() + class.size;
            let current = magazine(core, self.pairs[class.index].current.get());
            if bytes > core.config.thread_cache
                || !current.is_some_and(|magazine| magazine.push(class, held.block))
            {
                return false;
            }
            self.bytes.set(bytes);
        } else if !held.has_magazine() {
            return false;
        } else if !core.give_large(class, self.place, held) {
            core.unmap(class, held.block);
        }
        core.books.note(&self.ledger, Event::Free, class, size);
        self.age(core, class);
        true
    }

    /// A kept block of `class`, handed out for `size` bytes.
    pub(crate) fn take(&self, core: &Core, class: Class, size: usize) -> Option<Held> {
        self.follow(core);
        let held = core.first_usable(class, || {
            if core.keeps(class) {
                let block = self.take_kept(core, class)?;
                self.bytes.set(self.bytes.get() - class.size);
                Some(Held::small(block))
            } else {
                core.take_large(class, self.place)
            }
        })?;
        core.books.note(&self.ledger, Event::Hit, class, size);
        Some(held)
    }

    #[inline]
    fn take_kept(&self, core: &Core, class: Class) -> Option<RawBlock> {
        let pair = &self.pairs[class.index];
        let block = magazine(core, pair.current.get()).and_then(Magazine::pop);
        block.or_else(|| self.exchange_empty(core, class))
    }

    /// A block of `class` where the magazine in use has none.
    #[cold]
    fn exchange_empty(&self, core: &Core, class: Class) -> Option<RawBlock> {
        let pair = &self.pairs[class.index];
        pair.swap();
        if let Some(block) = magazine(core, pair.current.get()).and_then(Magazine::pop) {
            return Some(block);
        }
        // Both are empty: exchange one.
        let loaded = core.depot.magazine(core.depot.take_loaded(class)?);
        if let Some(empty) = magazine(core, pair.current.replace(Some(loaded.into()))) {
            core.depot.give(class, empty.index());
        }
        self.bytes.set(self.bytes.get() + loaded.len() * class.size);
        loaded.pop()
    }

    /// Keeps a block of `class` that held `size` bytes; `false` where the depot cannot take it.
    #[must_use]
    pub(crate) fn give(&self, core: &Core, class: Class, size: usize, held: Held) -> bool {
        self.follow(core);
        let stored = if core.keeps(class) {
            if self.bytes.get() + class.size > core.config.thread_cache {
                self.flush(core);
            }
            self.give_kept(core, class, held.block)
        } else {
            core.give_large(class, self.place, held)
        };
        core.books.note(&self.ledger, Event::Free, class, size);
        self.age(core, class);
        stored
    }

    #[inline]
    fn give_kept(&self, core: &Core, class: Class, block: RawBlock) -> bool {
        let current = magazine(core, self.pairs[class.index].current.get());
        let stored = current.is_some_and(|magazine| magazine.push(class, block))
            || self.exchange_full(core, class, block);
        if stored {
            self.bytes.set(self.bytes.get() + class.size);
        }
        stored
    }

    /// Keeps a block of `class` where the magazine in use is full or missing.
    #[cold]
    fn exchange_full(&self, core: &Core, class: Class, block: RawBlock) -> bool {
        let pair = &self.pairs[class.index];
        pair.swap();
        let current = magazine(core, pair.current.get());
        if current.is_some_and(|magazine| magazine.push(class, block)) {
            return true;
        }
        // Both are full or missing: exchange one.
        let Some(empty) = core.depot.take_empty() else {
            return false;
        };
        let empty = core.depot.magazine(empty);
        if let Some(full) = magazine(core, pair.current.replace(Some(empty.into()))) {
            self.bytes.set(self.bytes.get() - full.len() * class.size);
            core.depot.give(class, full.index());
        }
        empty.push(class, block)
    }

    /// Gives all magazines to the depot.
    #[cold]
    pub(crate) fn flush(&self, core: &Core) {
        for (index, pair) in self.pairs.iter().enumerate() {
            for own in [pair.current.take(), pair.other.take()] {
                if let Some(magazine) = magazine(core, own) {
                    core.depot.give(Class::at(index), magazine.index());
                }
            }
        }
        self.bytes.set(0);
    }

    /// Flushes where the bell rang since the last call: another thread wants memory, or an epoch
    /// began, in which what is in use comes back at once and the rest lies in the depot and ages.
    #[inline]
    fn follow(&self, core: &Core) {
        let bell = core.bell();
        if bell != self.bell.get() {
            self.bell.set(bell);
            self.flush(core);
        }
    }

    /// Looks at the clock now and then.
    #[inline]
    fn age(&self, core: &Core, class: Class) {
        let countdown = self.countdown.get() - 1 - (class.size >> 20) as isize;
        self.countdown.set(countdown);
        if countdown <= 0 {
            self.tend(core);
        }
    }

    #[cold]
    fn tend(&self, core: &Core) {
        self.countdown.set(CLOCK_INTERVAL);
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
