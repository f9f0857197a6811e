//! Recording what runs when, and writing it down.

pub(crate) mod buffer;
pub(crate) mod chrome;
pub(crate) mod event;
pub(crate) mod recorder;

pub use chrome::{Summary, Trace};
