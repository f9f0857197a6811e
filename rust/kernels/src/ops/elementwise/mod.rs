//! Functions of each element.

pub(crate) mod add_n;
pub(crate) mod allclose;
pub(crate) mod amp;
pub(crate) mod binary;
pub(crate) mod elemwise;
pub(crate) mod math;
pub(crate) mod scalar;
pub(crate) mod select;
pub(crate) mod transformer;
