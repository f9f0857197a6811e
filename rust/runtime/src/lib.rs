//! The glue of Ferromix: arrays over pool memory and engine variables, kernels prepared once and
//! pushed often, and plans that push a whole graph in one call.
//!
//! It knows nothing of Python and names no operator; what to run comes from the kernel table.

mod array;
mod bound;
mod chunk;
mod copy;
mod fork;
mod global;
pub mod held;
mod plan;
mod scratch;

pub use array::Array;
pub use bound::{Bound, Prepared};
pub use chunk::Chunk;
pub use copy::{ReadError, copy, read_into, wait_to_read, write_from};
pub use global::{RandomState, Runtime, thread_budget};
pub use plan::Plan;
