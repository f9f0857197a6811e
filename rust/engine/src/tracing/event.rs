//! What a trace is made of.

use std::time::Instant;

use crate::scheduling::lane::LaneKey;
use crate::types::spec::Name;

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// An operation was pushed, or a program launched; on the pushing thread.
    Push,
    /// The function of a synchronous operation ran.
    Run,
    /// The function of an asynchronous operation is about to run. A point in time.
    Begin,
    /// It ran.
    Start,
    /// An asynchronous operation was completed.
    Complete,
    /// The function of a deletion ran.
    Delete,
    /// A step of a program ran.
    Step,
    /// An operation was skipped for a failure.
    Skip,
    /// A thread waited.
    Wait,
    /// Whatever the user says, of this category.
    Span(Name),
    /// A point in time, of this category.
    Mark(Name),
    /// A value, as bits of a `f64`, of this category.
    Count(Name, u64),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) what: What,
    pub(crate) name: Name,
    /// The queue it came from.
    pub(crate) lane: Option<LaneKey>,
    /// Address of the operation, or 0.
    pub(crate) op: usize,
    /// Which asynchronous step of it, or `NO_STEP`.
    pub(crate) step: u32,
    pub(crate) tag: u64,
    pub(crate) begin: Instant,
    pub(crate) end: Instant,
}
