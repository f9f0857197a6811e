//! The public face of the pool.

use crate::backend::Backend;
use crate::books::Stats;
use crate::class::Class;
use crate::config::Config;
use crate::core::Core;
use crate::handle::Handle;
use ferromix_base::{Context, Result};
use std::sync::Arc;

/// A pool of blocks of one context. Clones share it; the last one hands every kept block back to
/// the backend. All methods may be called from any thread.
///
/// Taking and giving warm blocks takes no lock and allocates nothing; the exchange between threads
/// is lock-free. A thread's first call, [`stats`](Pool::stats) and a thread's end take a mutex.
#[derive(Clone)]
pub struct Pool {
    core: Arc<Core>,
}

impl Pool {
    /// A pool over `backend`, whose memory is that of `context`.
    pub fn new(context: Context, backend: impl Backend + 'static, config: Config) -> Pool {
        Pool {
            core: Arc::new(Core::new(context, Box::new(backend), config)),
        }
    }

    /// Where the pool's blocks live.
    pub fn context(&self) -> Context {
        self.core.context
    }

    /// A block of at least `size` bytes, aligned to 64 bytes (from 1 MiB on to 4096), contents
    /// arbitrary. Size 0 gives a handle without a block.
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Memory`] where the limit or the backend forbids it even after
    /// everything kept was released; the message says what was asked for, in use, cached and the
    /// limit.
    pub fn alloc(&self, size: usize) -> Result<Handle> {
        let (context, pool) = (self.core.context, self.core.id);
        if size == 0 {
            return Ok(Handle::empty(context, pool));
        }
        let class = self.core.class_of(size);
        let class = class.ok_or_else(|| self.core.too_large(size))?;
        let held = match self.core.take(class, size) {
            Some(held) => held,
            None => self.core.take_fresh(class, size)?,
        };
        Ok(Handle {
            held,
            size,
            context,
            pool,
        })
    }

    /// Takes a block back, for reuse. A handle of another pool is not taken: its block is lost,
    /// which [`Stats::misdirected`] counts.
    pub fn free(&self, handle: Handle) {
        let Some(class) = self.class_of(&handle) else {
            return;
        };
        if self.core.config.pooled {
            self.core.give(class, handle.size, handle.held);
        } else {
            self.core.discard(class, handle.size, handle.held);
        }
    }

    /// Takes a block back and hands it to the backend at once. Otherwise like [`free`](Pool::free).
    pub fn direct_free(&self, handle: Handle) {
        if let Some(class) = self.class_of(&handle) {
            self.core.discard(class, handle.size, handle.held);
        }
    }

    /// The bucket of a handle's block; `None` where no block of this pool stands behind it.
    fn class_of(&self, handle: &Handle) -> Option<Class> {
        if handle.pool != self.core.id {
            self.core.books.note_misdirected();
            return None;
        }
        self.core.class_of(handle.size).filter(|_| handle.size > 0)
    }

    /// Hands the kept blocks back to the backend. Those that another thread keeps for itself move
    /// to the shared lists at that thread's next call or its end, and go at the next trim.
    pub fn release_all(&self) {
        self.core.gather();
        self.core.trim_to(0, 0);
    }

    /// Hands kept blocks back, those unused longest first, until at most `keep` bytes are kept for
    /// reuse or only what other threads keep for themselves is left.
    pub fn trim_to(&self, keep: usize) {
        self.core.gather();
        self.core.trim_to(keep, 0);
    }

    /// What the pool holds and how it served.
    pub fn stats(&self) -> Stats {
        self.core.books.stats()
    }

    /// Changes the limit on bytes in use and cached together. Below what is held it takes back
    /// nothing in use, but refuses more.
    pub fn set_limit(&self, limit: Option<usize>) {
        self.core.books.set_limit(limit);
    }
}

#[cfg(all(test, not(loom)))]
impl Pool {
    /// What is behind, for the tests of the parts.
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Pool");
        debug
            .field("context", &self.core.context)
            .field("stats", &self.stats());
        debug.finish_non_exhaustive()
    }
}
