//! A dependency engine: runs functions in parallel, in the order that the variables they read and
//! write allow. See [`Engine`]; the protocol and its proof are in the crate's README.
//!
//! The engine knows variables, operations and queues; it knows nothing of tensors, and of devices
//! only that each has its own worker threads.

mod access;
mod bound;
mod builder;
mod config;
mod context;
mod core;
mod engine;
mod epoch;
mod execute;
mod failure;
mod lane;
mod launch;
mod log;
#[cfg(all(test, loom))]
mod loom_tests;
mod op;
mod operator;
mod park;
mod pool;
mod program;
mod queue;
mod ready;
mod register;
mod ring;
mod spec;
mod stack;
mod sync;
mod task;
mod thread;
mod var;
mod wait;
mod waiting;
mod worker;

pub use builder::{Builder, Kind};
pub use context::{OnComplete, RunContext};
pub use engine::{Counters, Engine};
pub use failure::{Failure, NeverCompleted, OpError, PanicError, PushError, WaitError};
pub use operator::Operator;
pub use program::{Program, ProgramBuilder};
pub use spec::{Device, FnProperty, Name, OpSpec};
pub use var::Var;
