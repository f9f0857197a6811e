//! Models of parts and of the whole engine.

#[cfg(loom)]
pub(crate) mod loom;
#[cfg(loom)]
pub(crate) mod loom_edges;
#[cfg(shuttle)]
pub(crate) mod shuttle;
