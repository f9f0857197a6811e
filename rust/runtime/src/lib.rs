#![doc = include_str!("../README.md")]

mod array;
mod binding;
mod chunk;
mod copy;
mod foreign;
mod fork;
mod global;
pub mod gpu;
pub mod held;
pub mod loader;
mod memory;
mod place;
pub mod places;
mod plan;
mod pools;
mod prepared;
mod random;
mod relief;
mod scratch;
mod stall;
mod stop;
mod waits;

pub use array::{Array, byte_count};
pub use binding::Binding;
pub use chunk::Chunk;
pub use copy::{
    ReadError, copy, is_quiet, read_if_quiet, read_into, read_into_with, wait_to_read,
    wait_to_read_with, write_from, zeros,
};
pub use foreign::ForeignDesc;
pub use global::{Detach, Runtime, thread_budget};
pub use place::place_of;
pub use plan::{About, AsyncStep, Plan, Private, Step};
pub use prepared::{Prepared, check};
pub use random::{Draws, RandomState};
pub use stall::{AllWait, IN_VAIN, StallDetector, StallPolicy, count_waits_by, is_in_vain};
pub use waits::Forever;
