//! The pool behind its public face: the paths between caches, depot and backend.

use crate::backend::{Backend, RawBlock};
use crate::books::{Books, Event};
use crate::cache;
use crate::class::Class;
use crate::config::Config;
use crate::depot::Depot;
use ferromix_base::{Context, Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What all users of a pool share.
pub(crate) struct Core {
    pub(crate) id: u64,
    pub(crate) context: Context,
    pub(crate) config: Config,
    pub(crate) depot: Depot,
    pub(crate) books: Books,
    backend: Box<dyn Backend>,
    trims: AtomicU64,
}

impl Core {
    pub(crate) fn new(context: Context, backend: Box<dyn Backend>, config: Config) -> Core {
        static IDS: AtomicU64 = AtomicU64::new(0);
        Core {
            // Relaxed: only makes ids distinct.
            id: IDS.fetch_add(1, Ordering::Relaxed),
            context,
            depot: Depot::new(),
            books: Books::new(config.limit),
            config,
            backend,
            trims: AtomicU64::new(0),
        }
    }

    /// Whether threads keep blocks of `class` for themselves.
    pub(crate) fn keeps(&self, class: Class) -> bool {
        class.size <= self.config.thread_cache / 8
    }

    /// How often the pool was trimmed.
    pub(crate) fn trims(&self) -> u64 {
        // Relaxed: a hint; a thread that sees it late flushes late.
        self.trims.load(Ordering::Relaxed)
    }

    /// A kept block, from this thread's cache or the depot.
    pub(crate) fn take(self: &Arc<Self>, class: Class, size: usize) -> Option<RawBlock> {
        cache::with(self, |cache| cache.take(self, class, size)).unwrap_or_else(|| {
            let block = self.depot.take_block(class)?;
            self.books.note_late(Event::Hit, class, size);
            Some(block)
        })
    }

    /// A fresh block from the backend; on exhaustion trims everything and tries once more.
    #[cold]
    pub(crate) fn take_fresh(self: &Arc<Self>, class: Class, size: usize) -> Result<RawBlock> {
        let block = match self.map(class) {
            Ok(block) => block,
            Err(_) => {
                self.trim();
                self.map(class)
                    .map_err(|reason| self.exhausted(size, class, &reason))?
            }
        };
        self.note(Event::Miss, class, size);
        Ok(block)
    }

    fn map(&self, class: Class) -> Result<RawBlock> {
        if !self.books.reserve(class.size) {
            return Err(Error::memory("the limit of the pool is reached"));
        }
        let mapped = self.backend.alloc(class.size, class.align());
        if mapped.is_err() {
            self.books.unreserve(class.size);
        }
        mapped
    }

    fn exhausted(&self, size: usize, class: Class, reason: &Error) -> Error {
        let stats = self.books.stats();
        let limit = stats
            .limit
            .map_or("none".to_owned(), |limit| format!("{limit} bytes"));
        Error::memory(format!(
            "cannot allocate {size} bytes (a block of {}) on {}: {reason}; in use {} bytes, cached \
             {} bytes, limit {limit}. Free arrays, use smaller batches, or raise the limit",
            class.size, self.context, stats.in_use, stats.cached,
        ))
    }

    /// The error for a size beyond any bucket.
    pub(crate) fn too_large(&self, size: usize) -> Error {
        Error::memory(format!(
            "cannot allocate {size} bytes on {}: more than the largest block, {} bytes",
            self.context,
            crate::MAX_BLOCK
        ))
    }

    /// Takes a block back for reuse.
    pub(crate) fn give(self: &Arc<Self>, class: Class, size: usize, block: RawBlock) {
        let given = cache::with(self, |cache| cache.give(self, class, size, block));
        let stored = given.unwrap_or_else(|| {
            self.books.note_late(Event::Free, class, size);
            self.depot.give_block(class, block)
        });
        if !stored {
            self.unmap(class, block);
        }
    }

    /// Hands a block that was in use back to the backend.
    pub(crate) fn discard(self: &Arc<Self>, class: Class, size: usize, block: RawBlock) {
        self.note(Event::Free, class, size);
        self.unmap(class, block);
    }

    fn note(self: &Arc<Self>, event: Event, class: Class, size: usize) {
        cache::with(self, |cache| cache.note(self, event, class, size))
            .unwrap_or_else(|| self.books.note_late(event, class, size));
    }

    fn unmap(&self, class: Class, block: RawBlock) {
        // SAFETY: the block came from `map` for this class and has left caches and handles.
        unsafe { self.backend.free(block, class.size) };
        self.books.unreserve(class.size);
    }

    /// Hands all kept blocks back to the backend: those of this thread and of the depot now, those
    /// of another thread's cache to the depot at its next call.
    pub(crate) fn trim(self: &Arc<Self>) {
        // Relaxed: see `trims`.
        self.trims.fetch_add(1, Ordering::Relaxed);
        cache::with(self, |cache| cache.flush(self));
        for class in Class::all() {
            while let Some(index) = self.depot.take_loaded(class) {
                while let Some(block) = self.depot.magazine(index).pop() {
                    self.unmap(class, block);
                }
                self.depot.give(class, index);
            }
        }
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
