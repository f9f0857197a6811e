//! Random numbers.

pub(crate) mod sample;
