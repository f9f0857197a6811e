//! Sparse arrays, whose parts are dense arrays: of `csr` the values, their columns and where rows begin;
//! of `row_sparse` the stored rows, their numbers and how many there are. Parts may have room to spare.

pub(crate) mod csr;
pub(crate) mod graphs;
pub(crate) mod row_sparse;
