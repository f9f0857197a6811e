//! What the families of elementwise operators share: kernels of one tensor, and arithmetic.

pub(crate) mod arithmetic;
pub(crate) mod chain;
pub(crate) mod unary;
