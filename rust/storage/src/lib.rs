//! A memory pool for tensors: blocks are handed back to the pool rather than to the system, so a
//! training loop that has warmed up neither faults pages in nor calls the system's allocator.
//!
//! A size is rounded up to a bucket (powers of two up to 4 KiB, then eight per power of two: at
//! most 12.5 % more than asked). A freed block goes to the calling thread's cache, a pair of
//! *magazines* of 16 blocks per bucket; whole magazines move between threads through one lock-free
//! stack per bucket. The scheme is that of Bonwick and Adams, *Magazines and Vmem* (USENIX 2001).
//! Blocks above 512 KiB wait in slots instead, one for each thread, where all can find them.
//!
//! | file | holds |
//! |---|---|
//! | `class` | the buckets |
//! | `backend`, `pinned`, `shared` | where memory comes from |
//! | `stack` | the lock-free stack and the argument for it |
//! | `depot` | magazines, and one stack of them per bucket |
//! | `slots` | where large blocks wait |
//! | `cache` | what a thread keeps for itself |
//! | `clock`, `trim` | the age of kept blocks, and giving them back |
//! | `books` | statistics and the limit |
//! | `core`, `pool` | the pool itself and its public face |
//!
//! ```
//! use ferromix_base::Context;
//! use ferromix_storage::{Config, HostBackend, Pool};
//!
//! let pool = Pool::new(Context::cpu(), HostBackend, Config::default());
//! let block = pool.alloc(1000)?;
//! assert_eq!(block.as_ptr() as usize % 64, 0);
//! pool.free(block);
//! let again = pool.alloc(900)?; // the same bucket: the block comes back
//! assert_eq!((pool.stats().hits, pool.stats().misses), (1, 1));
//! pool.free(again);
//! # Ok::<(), ferromix_base::Error>(())
//! ```

mod backend;
mod books;
mod cache;
mod class;
mod clock;
mod config;
mod core;
mod depot;
mod handle;
mod pinned;
mod pool;
#[cfg(target_os = "linux")]
mod shared;
mod slots;
mod stack;
mod trim;

pub use backend::{Backend, HostBackend, RawBlock};
pub use books::Stats;
pub use class::{MAX_BLOCK, bucket_size};
pub use config::{Config, parse_size};
pub use handle::Handle;
pub use pinned::PinnedBackend;
pub use pool::Pool;
#[cfg(target_os = "linux")]
pub use shared::{SharedBackend, SharedBlock};
