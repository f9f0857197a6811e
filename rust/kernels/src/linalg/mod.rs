//! Products of matrices, and what factors them.

#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(crate) mod amx;
pub(crate) mod batch;
pub(crate) mod cholesky;
pub(crate) mod eigen;
pub(crate) mod ends;
pub(crate) mod gemm;
pub(crate) mod halves;
pub(crate) mod lanes;
pub(crate) mod lu;
#[cfg(target_arch = "x86_64")]
mod masks;
pub(crate) mod packed;
pub(crate) mod pairs;
pub(crate) mod panels;
pub(crate) mod plain;
pub(crate) mod reflect;
pub(crate) mod results;
pub(crate) mod rows_dot;
pub(crate) mod tile;
pub(crate) mod triangle;
