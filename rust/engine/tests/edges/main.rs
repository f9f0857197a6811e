//! What lies off the main road: one module for each kind of fault that was found there.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

#[path = "../common/bombs.rs"]
mod bombs;
#[path = "../common/engines.rs"]
mod engines;
#[path = "../common/watchdog.rs"]
mod watchdog;

mod completion;
mod depth;
mod drops;
mod drops_values;
mod ends;
mod lanes;
mod limit;
mod priority;
mod several_engines;
mod shared;
mod stop;
mod threads;
mod trace;
mod wait_policy;
mod waits_inside;
