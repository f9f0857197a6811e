//! Products of tensors, and linear algebra.

pub(crate) mod dot;
pub(crate) mod interleaved;
pub(crate) mod linalg_factors;
pub(crate) mod linalg_products;
pub(crate) mod linalg_triangles;
pub(crate) mod spectral;
