#![doc = include_str!("../README.md")]

mod backend;
mod books;
mod cache;
mod class;
mod clock;
mod config;
mod core;
mod depot;
mod fork;
mod handle;
mod pinned;
mod pool;
#[cfg(target_os = "linux")]
mod shared;
#[cfg(target_os = "linux")]
mod shared_block;
mod slots;
mod stack;
mod trim;

pub use backend::{Backend, HostBackend, RawBlock};
pub use books::{Holding, Stats};
pub use class::{MAX_BLOCK, bucket_size};
pub use config::{Config, parse_size};
pub use handle::Handle;
pub use pinned::{PinnedBackend, PinnedIfAllowed};
pub use pool::Pool;
#[cfg(target_os = "linux")]
pub use shared::SharedBackend;
#[cfg(target_os = "linux")]
pub use shared_block::SharedBlock;
