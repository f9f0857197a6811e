//! Products of matrices.

pub(crate) mod gemm;
pub(crate) mod lanes;
pub(crate) mod rows_dot;
pub(crate) mod tile;
