//! What the threads of an engine share, and what each has for itself.

pub(crate) mod bulk_builder;
pub(crate) mod core;
pub(crate) mod frame;
pub(crate) mod limiter;
pub(crate) mod record;
pub(crate) mod rest;
pub(crate) mod thread;
