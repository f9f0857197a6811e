//! What the families of sparse arrays, and of steps of optimizers on them, are made of. The parts of a
//! `csr` array are the stored values, their columns and where rows begin; those of a `row_sparse` one
//! the stored rows, their numbers and how many there are. Values, columns and rows may have room to
//! spare; nothing about the parts is taken on trust.

pub(crate) mod pattern;
pub(crate) mod product;
pub(crate) mod rows;
pub(crate) mod transposed;
pub(crate) mod used;
