//! Queues of ready operations, and the threads that sleep on them.

pub(crate) mod current_op;
pub(crate) mod lane;
pub(crate) mod lanes;
pub(crate) mod park;
pub(crate) mod ready_queue;
pub(crate) mod ring;
