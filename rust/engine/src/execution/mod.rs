//! Operations are registered, become ready, run and complete.

pub(crate) mod completion;
pub(crate) mod execute;
pub(crate) mod ready_batch;
pub(crate) mod register;
pub(crate) mod run_bulk;
pub(crate) mod steps;
pub(crate) mod take_part;
pub(crate) mod worker;
pub(crate) mod workers;
