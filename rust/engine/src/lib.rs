#![doc = include_str!("../README.md")]

mod api;
mod base;
mod execution;
mod failures;
mod functions;
mod lifecycle;
mod operation;
mod programs;
mod scheduling;
mod state;
#[cfg(test)]
mod tests;
mod tracing;
mod types;
mod waiters;
mod waiting;

pub use api::{
    Builder, Bulk, Counters, Data, Engine, Operator, OwnedVar, ReadGuard, Scope, WriteGuard,
};
pub use base::{PanicError, Read, Write};
pub use functions::{OnComplete, RunContext};
pub use programs::{LocalVar, Program, ProgramBuilder};
pub use tracing::{Summary, Trace};
pub use types::{
    AccessError, Device, Failure, FnProperty, Kind, LaunchArgs, Name, NeverCompleted, OpError,
    OpSpec, OpSpecBuf, ParseDeviceError, PushError, RebindError, ShutdownError, Var, WaitError,
    WaitPolicy,
};

/// How the engine works inside.
#[doc = include_str!("../PROTOCOL.md")]
pub mod protocol {}
