//! Feature maps read between their pixels.

pub(crate) mod deformable;
pub(crate) mod deformable_regions;
pub(crate) mod regions;
pub(crate) mod rotated_regions;
pub(crate) mod warps;
