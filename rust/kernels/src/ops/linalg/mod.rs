//! Products of tensors.

pub(crate) mod dot;
