//! Reductions, scans and statistics.

pub(crate) mod arg;
pub(crate) mod hawkes;
pub(crate) mod histogram;
pub(crate) mod l2_normalization;
pub(crate) mod lrn;
pub(crate) mod moments;
pub(crate) mod reduce;
pub(crate) mod scan;
pub(crate) mod tensors;
