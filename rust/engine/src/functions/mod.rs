//! The functions of operations: what they are given, how they are stored, how programs order them.

pub(crate) mod compiled_program;
pub(crate) mod context;
pub(crate) mod declared;
pub(crate) mod function;
pub(crate) mod launch;
pub(crate) mod launch_cache;
pub(crate) mod step_order;
pub(crate) mod task;

pub use context::{OnComplete, RunContext};
