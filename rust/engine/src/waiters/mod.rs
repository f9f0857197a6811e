//! Threads that wait, and what they wait for.

pub(crate) mod epoch;
pub(crate) mod latch;
pub(crate) mod waiter;
