#![doc = include_str!("../README.md")]

mod access;
mod access_error;
mod bound;
mod builder;
mod bulk;
mod cell;
mod chrome;
mod config;
mod context;
mod core;
mod data;
mod declared;
mod desk;
mod engine;
mod epoch;
mod execute;
mod exit;
mod failure;
mod filling;
mod fork;
mod grow_only;
mod helping;
mod idle;
mod inherit;
mod items;
mod lane;
mod lanes;
mod launch;
mod launch_args;
mod ledger;
mod leftovers;
mod local;
mod log;
#[cfg(all(test, loom))]
mod loom_edges;
#[cfg(all(test, loom))]
mod loom_tests;
mod names;
#[cfg(all(unix, not(any(loom, shuttle))))]
mod native;
mod number;
mod op;
mod op_list;
mod operator;
mod order;
mod owned;
mod park;
mod pool;
mod prepared;
mod program;
mod program_builder;
mod promises;
mod pushes;
#[cfg(shuttle)]
mod quarantine;
mod queue;
mod ready;
mod register;
mod ring;
mod scope;
mod shutdown;
#[cfg(all(test, shuttle))]
mod shuttle_tests;
mod spec;
mod spec_buf;
mod stack;
mod steps;
#[cfg(all(unix, not(any(loom, shuttle))))]
mod survive;
mod sync;
mod task;
mod thread;
mod trace;
mod tracing;
mod unwind;
mod var;
mod wait;
mod waiting;
mod waits;
mod worker;

pub use access_error::AccessError;
pub use builder::{Builder, Kind};
pub use bulk::Bulk;
pub use cell::{Read, Write};
pub use chrome::{Summary, Trace};
pub use context::{OnComplete, RunContext};
pub use data::{Data, ReadGuard, WriteGuard};
pub use engine::{Counters, Engine};
pub use failure::{Failure, NeverCompleted, OpError, PanicError, PushError, WaitError};
pub use launch_args::{LaunchArgs, RebindError};
pub use local::LocalVar;
pub use operator::Operator;
pub use owned::OwnedVar;
pub use program::Program;
pub use program_builder::ProgramBuilder;
pub use scope::Scope;
pub use shutdown::ShutdownError;
pub use spec::{Device, FnProperty, Name, OpSpec};
pub use spec_buf::OpSpecBuf;
pub use var::Var;
pub use wait::Patience;

/// How the engine works inside.
#[doc = include_str!("../PROTOCOL.md")]
pub mod protocol {}
