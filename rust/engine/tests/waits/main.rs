//! Waits: for variables and for all, with and without a time limit.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

#[path = "../common/engines.rs"]
mod engines;

mod ordinary;
mod timed;
