//! Operators on numbers of eight bits that stand for real ones, and those that make them.

pub(crate) mod calibrate;
pub(crate) mod quantize;
pub(crate) mod quantized;
