#![doc = include_str!("../README.md")]

mod access;
mod bound;
mod builder;
mod bulk;
mod chrome;
mod config;
mod context;
mod core;
mod engine;
mod epoch;
mod execute;
mod failure;
mod filling;
mod items;
mod lane;
mod lanes;
mod launch;
mod launch_args;
mod ledger;
mod log;
#[cfg(all(test, loom))]
mod loom_tests;
mod op;
mod op_list;
mod operator;
mod order;
mod park;
mod pool;
mod prepared;
mod program;
mod program_builder;
mod pushes;
#[cfg(shuttle)]
mod quarantine;
mod queue;
mod ready;
mod register;
mod ring;
#[cfg(all(test, shuttle))]
mod shuttle_tests;
mod spec;
mod stack;
mod steps;
mod sync;
mod task;
mod thread;
mod trace;
mod tracing;
mod var;
mod wait;
mod waiting;
mod waits;
mod worker;

pub use builder::{Builder, Kind};
pub use bulk::Bulk;
pub use chrome::{Summary, Trace};
pub use context::{OnComplete, RunContext};
pub use engine::{Counters, Engine};
pub use failure::{Failure, NeverCompleted, OpError, PanicError, PushError, WaitError};
pub use launch_args::{LaunchArgs, RebindError};
pub use operator::Operator;
pub use program::Program;
pub use program_builder::ProgramBuilder;
pub use spec::{Device, FnProperty, Name, OpSpec};
pub use var::Var;
pub use wait::Patience;
