//! What knows nothing of engines: atomics and threads, lists, cells, the border to users' code.

pub(crate) mod borrow_cell;
pub(crate) mod engine_number;
pub(crate) mod grow_only;
pub(crate) mod names;
#[cfg(all(unix, not(any(loom, shuttle))))]
pub(crate) mod native;
pub(crate) mod process;
pub(crate) mod stack;
pub(crate) mod sync;
pub(crate) mod unwind;

pub use borrow_cell::{Read, Write};
pub use unwind::PanicError;
