//! Threads of users wait: for operations, for room, for their bulk.

pub(crate) mod back_pressure;
pub(crate) mod blocking;
pub(crate) mod collect;
pub(crate) mod help;
pub(crate) mod wait;
pub(crate) mod watchful;
