//! Forks: of busy engines, inside of operations, and misused.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

#[path = "../common/bombs.rs"]
mod bombs;
#[path = "../common/busy.rs"]
mod busy;
#[path = "../common/forks.rs"]
mod forks;
#[path = "../common/watchdog.rs"]
mod watchdog;

#[cfg(all(unix, not(any(loom, shuttle))))]
mod deaf;
#[cfg(all(unix, not(any(loom, shuttle))))]
mod inside;
mod join;
#[cfg(all(unix, not(any(loom, shuttle))))]
mod misuse;
#[cfg(all(unix, not(any(loom, shuttle))))]
mod new_engines;
#[cfg(all(unix, not(any(loom, shuttle))))]
mod others;
#[cfg(all(unix, not(any(loom, shuttle))))]
mod rest;
#[cfg(all(unix, not(any(loom, shuttle))))]
mod survive;
