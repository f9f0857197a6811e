//! Operators that choose elements by indices, and that sort.

pub(crate) mod gather;
pub(crate) mod index_copy;
pub(crate) mod one_hot;
pub(crate) mod ordering;
pub(crate) mod pick;
pub(crate) mod ravel;
pub(crate) mod sequence;
pub(crate) mod sketch;
pub(crate) mod take;
