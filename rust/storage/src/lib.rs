#![doc = include_str!("../README.md")]

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
