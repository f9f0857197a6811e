//! Functions that users compiled, by address.

pub(crate) mod address;
