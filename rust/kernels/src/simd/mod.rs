//! Vector instructions, numbers of every type, and loops over them in registers.

pub(crate) mod body;
pub(crate) mod number;
pub(crate) mod vector;
