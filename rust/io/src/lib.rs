//! File formats: readers that trust no byte of a file, writers that never leave half of one.
//!
//! A reader's error names the file, the offset, what was expected there and what was found. A
//! count or shape is believed only as far as the file has bytes for it, so a damaged or hostile
//! file costs neither a panic nor memory beyond a small multiple of its own size.

mod atomic_write;
mod cursor;
mod idx;
mod params;
mod params_write;

pub use atomic_write::atomic_write;
pub use idx::{IdxArray, read_idx, write_idx};
pub use params::{Params, Tensor, read_params, read_params_bytes};
pub use params_write::{Entry, params_bytes, write_params};
