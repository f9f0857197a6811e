//! Data with its variable: guards, ends, and random programs.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

#[path = "../common/bombs.rs"]
mod bombs;
#[path = "../common/engines.rs"]
mod engines;
#[path = "../common/watchdog.rs"]
mod watchdog;

mod ends;
mod guards;
mod random;
