//! Forks, and the end of an engine.

pub(crate) mod fork;
#[cfg(all(unix, not(any(loom, shuttle))))]
pub(crate) mod fork_hooks;
pub(crate) mod shutdown;
