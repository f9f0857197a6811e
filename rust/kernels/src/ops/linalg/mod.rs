//! Products of tensors.

pub(crate) mod dot;
pub(crate) mod interleaved;
