//! Operators that move, repeat and make elements.

pub(crate) mod diag;
pub(crate) mod init;
pub(crate) mod join;
pub(crate) mod order;
pub(crate) mod pad;
pub(crate) mod repeat;
pub(crate) mod shape;
pub(crate) mod slice;
pub(crate) mod slice_assign;
