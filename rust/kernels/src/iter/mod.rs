//! Walks over strided memory, and how elements are read, converted and streamed on the way.

pub(crate) mod convert;
pub(crate) mod memory;
pub(crate) mod reader;
pub(crate) mod walk;
