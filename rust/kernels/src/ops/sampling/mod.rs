//! Feature maps read between their pixels.

// `to_data` is the gradient to the data, not a conversion.
#![allow(clippy::wrong_self_convention)]

pub(crate) mod deformable;
pub(crate) mod deformable_regions;
pub(crate) mod regions;
pub(crate) mod rotated_regions;
pub(crate) mod warps;
