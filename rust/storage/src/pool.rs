//! The public face of the pool.

use crate::backend::Backend;
use crate::books::{Holding, Stats};
use crate::cache;
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
///
/// ```
/// # use ferromix_base::Context;
/// # use ferromix_storage::{Config, HostBackend, Pool};
/// let pool = Pool::new(Context::cpu(), HostBackend, Config::default());
/// let clone = pool.clone();
/// let block = std::thread::spawn(move || clone.alloc(1 << 20)).join().unwrap()?;
/// pool.free(block); // any thread may
/// assert_eq!(pool.stats().cached, 1 << 20);
/// # Ok::<(), ferromix_base::Error>(())
/// ```
#[derive(Clone)]
pub struct Pool {
    core: Arc<Core>,
}

impl Pool {
    /// A pool over `backend`, whose memory is that of `context`. Takes no memory yet.
    ///
    /// ```
    /// # use ferromix_base::Context;
    /// # use ferromix_storage::{Config, HostBackend, Pool};
    /// let config = Config::from_env(Context::cpu())?;
    /// let pool = Pool::new(Context::cpu(), HostBackend, config);
    /// assert_eq!(pool.context(), Context::cpu());
    /// # Ok::<(), ferromix_base::Error>(())
    /// ```
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
    /// ```
    /// # use ferromix_base::Context;
    /// # use ferromix_storage::{Config, HostBackend, Pool};
    /// # let pool = Pool::new(Context::cpu(), HostBackend, Config::default());
    /// let block = pool.alloc(10 << 20)?;
    /// unsafe { block.as_ptr().write_bytes(0, block.size()) };
    /// pool.free(block);
    /// # Ok::<(), ferromix_base::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Memory`] where the limit or the backend forbids it even after
    /// everything kept was released; the message says what was asked for, in use, cached and the
    /// limit.
    #[inline]
    pub fn alloc(&self, size: usize) -> Result<Handle> {
        match self.alloc_warm(size) {
            Some(handle) => Ok(handle),
            None => self.alloc_otherwise(size),
        }
    }

    /// A block that this thread's cache holds.
    #[inline]
    fn alloc_warm(&self, size: usize) -> Option<Handle> {
        let core = &self.core;
        let class = core.class_of(size).filter(|_| size > 0)?;
        let held = cache::recent(core)?.take_warm(core, class, size)?;
        Some(core.handle(held, class, size))
    }

    #[inline(never)]
    fn alloc_otherwise(&self, size: usize) -> Result<Handle> {
        let core = &self.core;
        if size == 0 {
            return Ok(Handle::empty(core.context, core.id));
        }
        let Some(class) = core.class_of(size) else {
            return Err(core.too_large(size));
        };
        let held = match core.take(class, size) {
            Some(held) => held,
            None => core.take_fresh(class, size)?,
        };
        Ok(core.handle(held, class, size))
    }

    /// Takes a block back, for reuse. A handle of another pool is not taken: its block is lost,
    /// which [`Stats::misdirected`] counts.
    ///
    /// ```
    /// # use ferromix_base::Context;
    /// # use ferromix_storage::{Config, HostBackend, Pool};
    /// # let pool = Pool::new(Context::cpu(), HostBackend, Config::default());
    /// let block = pool.alloc(100)?;
    /// let address = block.as_ptr();
    /// pool.free(block);
    /// assert_eq!(pool.alloc(128)?.as_ptr(), address, "the same bucket");
    /// # Ok::<(), ferromix_base::Error>(())
    /// ```
    #[inline]
    pub fn free(&self, handle: Handle) {
        let (core, class) = (&self.core, Class::at(handle.class.into()));
        let warm = handle.pool == core.id
            && handle.size > 0
            && core.config.pooled
            && cache::recent(core)
                .is_some_and(|cache| cache.give_warm(core, class, handle.size, handle.held));
        if !warm {
            self.free_otherwise(handle);
        }
    }

    #[inline(never)]
    fn free_otherwise(&self, handle: Handle) {
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
    ///
    /// ```
    /// # use ferromix_base::Context;
    /// # use ferromix_storage::{Config, HostBackend, Pool};
    /// # let pool = Pool::new(Context::cpu(), HostBackend, Config::default());
    /// pool.direct_free(pool.alloc(100)?);
    /// assert_eq!(pool.stats().cached, 0);
    /// # Ok::<(), ferromix_base::Error>(())
    /// ```
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
        (handle.size > 0).then(|| Class::at(handle.class.into()))
    }

    /// Hands the kept blocks back to the backend. Those that another thread keeps for itself move
    /// to the shared lists at that thread's next call or its end, and go at the next trim.
    ///
    /// ```
    /// # use ferromix_base::Context;
    /// # use ferromix_storage::{Config, HostBackend, Pool};
    /// # let pool = Pool::new(Context::cpu(), HostBackend, Config::default());
    /// pool.free(pool.alloc(100)?);
    /// pool.release_all();
    /// assert_eq!(pool.stats().released, 1);
    /// # Ok::<(), ferromix_base::Error>(())
    /// ```
    pub fn release_all(&self) {
        self.core.gather();
        self.core.trim_to(0, 0);
    }

    /// Hands kept blocks back, those unused longest first, until at most `keep` bytes are kept for
    /// reuse or only what other threads keep for themselves is left.
    ///
    /// ```
    /// # use ferromix_base::Context;
    /// # use ferromix_storage::{Config, HostBackend, Pool};
    /// # let pool = Pool::new(Context::cpu(), HostBackend, Config::default());
    /// let blocks = [pool.alloc(1 << 20)?, pool.alloc(2 << 20)?];
    /// blocks.into_iter().for_each(|block| pool.free(block));
    /// pool.trim_to(2 << 20);
    /// assert!(pool.stats().cached <= 2 << 20);
    /// # Ok::<(), ferromix_base::Error>(())
    /// ```
    pub fn trim_to(&self, keep: usize) {
        self.core.gather();
        self.core.trim_to(keep, 0);
    }

    /// What the pool holds and how it served.
    ///
    /// ```
    /// # use ferromix_base::Context;
    /// # use ferromix_storage::{Config, HostBackend, Pool};
    /// # let pool = Pool::new(Context::cpu(), HostBackend, Config::default());
    /// let block = pool.alloc(100)?;
    /// let stats = pool.stats();
    /// assert_eq!((stats.in_use, stats.waste, stats.misses), (128, 28, 1));
    /// # pool.free(block);
    /// # Ok::<(), ferromix_base::Error>(())
    /// ```
    pub fn stats(&self) -> Stats {
        self.core.books.stats()
    }

    /// The blocks that the pool has from its backend, in use or kept, by size, smallest first.
    ///
    /// ```
    /// # use ferromix_base::Context;
    /// # use ferromix_storage::{Config, Holding, HostBackend, Pool};
    /// let pool = Pool::new(Context::cpu(), HostBackend, Config::default());
    /// let blocks = [pool.alloc(100)?, pool.alloc(120)?];
    /// assert_eq!(pool.holdings(), [Holding { size: 128, blocks: 2 }]);
    /// # blocks.into_iter().for_each(|block| pool.free(block));
    /// # Ok::<(), ferromix_base::Error>(())
    /// ```
    pub fn holdings(&self) -> Vec<Holding> {
        self.core.books.holdings()
    }

    /// Sets what a request does when it cannot be served and everything unused was given back, but
    /// memory in use may be about to be freed: `wait` waits for some of it and says `true` to have
    /// the request tried again, `false` if there is nothing to wait for. It is called on the
    /// thread of the request, again and again, and must not ask this pool for memory. The first
    /// call of this function counts; a `wait` that holds the pool itself would keep it alive.
    ///
    /// ```
    /// # use ferromix_base::Context;
    /// # use ferromix_storage::{Config, Handle, HostBackend, Pool};
    /// # use std::sync::Mutex;
    /// static PENDING: Mutex<Vec<(Pool, Handle)>> = Mutex::new(Vec::new());
    ///
    /// let config = Config { limit: Some(4096), ..Config::default() };
    /// let pool = Pool::new(Context::cpu(), HostBackend, config);
    /// pool.on_exhaustion(|| {
    ///     let next = PENDING.lock().unwrap().pop();
    ///     next.map(|(pool, block)| pool.free(block)).is_some()
    /// });
    /// PENDING.lock().unwrap().push((pool.clone(), pool.alloc(4096)?));
    /// let block = pool.alloc(4096)?; // would be over the limit, had the other not come back
    /// assert!(pool.alloc(4096).is_err(), "nothing to wait for");
    /// # pool.free(block);
    /// # Ok::<(), ferromix_base::Error>(())
    /// ```
    pub fn on_exhaustion(&self, wait: impl Fn() -> bool + Send + Sync + 'static) {
        // Only the first counts, so that reading it takes no lock.
        let _ = self.core.relief.set(Box::new(wait));
    }

    /// Changes the limit on bytes in use and cached together. Below what is held it takes back
    /// nothing in use, but refuses more.
    ///
    /// ```
    /// # use ferromix_base::Context;
    /// # use ferromix_storage::{Config, HostBackend, Pool};
    /// # let pool = Pool::new(Context::cpu(), HostBackend, Config::default());
    /// pool.set_limit(Some(1 << 20));
    /// assert!(pool.alloc(2 << 20).is_err());
    /// pool.set_limit(None);
    /// # let block = pool.alloc(2 << 20)?;
    /// # pool.free(block);
    /// # Ok::<(), ferromix_base::Error>(())
    /// ```
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
