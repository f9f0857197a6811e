//! Programs: built, and launched.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

#[cfg(not(shuttle))]
mod building;
mod launches;
