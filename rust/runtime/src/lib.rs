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
mod memory;
mod plan;
mod pools;
mod prepared;
mod random;
mod relief;
mod scratch;
mod waits;

pub use array::Array;
pub use bound::Bound;
pub use chunk::Chunk;
pub use copy::{
    ReadError, copy, is_quiet, read_if_quiet, read_into, read_into_with, wait_to_read,
    wait_to_read_with, write_from,
};
pub use global::{Detach, Runtime, thread_budget};
pub use plan::{Plan, Private};
pub use prepared::Prepared;
pub use random::RandomState;
pub use waits::Forever;
