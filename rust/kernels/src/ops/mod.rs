//! The operators. A family is a file with its rows; families do not use each other, and what two of them
//! share is in a folder below this one.

pub(crate) mod detection;
pub(crate) mod elementwise;
pub(crate) mod foreign;
pub(crate) mod image;
pub(crate) mod indexing;
pub(crate) mod linalg;
pub(crate) mod nn;
pub(crate) mod optimizer;
pub(crate) mod quantization;
pub(crate) mod random;
pub(crate) mod reduce;
pub(crate) mod sampling;
pub(crate) mod shape;
pub(crate) mod sparse;
