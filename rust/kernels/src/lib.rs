#![doc = include_str!("../README.md")]

mod affine;
mod api;
mod blocks;
mod copy;
mod elementwise;
mod fold;
mod iter;
mod linalg;
mod loops;
mod math;
mod ops;
pub mod par;
mod simd;
mod softmax;
mod table;
mod update;

pub use api::random;
pub use api::{Attrs, Call, Desc, Kernel, Prepare, Req, Row, SMALL_WORK, Scalar, Value, View};
pub use copy::copy;
pub use table::{find, names};
