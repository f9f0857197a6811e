//! Kernels that work on contiguous blocks in scratch memory, with a task for each range.

pub(crate) mod aligned;
pub(crate) mod along_axis;
pub(crate) mod bilinear;
pub(crate) mod blockwise;
pub(crate) mod coin;
pub(crate) mod indices;
pub(crate) mod planes;
pub(crate) mod radix;
pub(crate) mod raw;
pub(crate) mod regions;
pub(crate) mod rows;
pub(crate) mod staged;
pub(crate) mod sums;
pub(crate) mod widened;
