#![doc = include_str!("../README.md")]
// Operators are tested from outside, in tests/: builds for unit tests and models leave them out, since
// they are most of what there is to compile.
#![cfg_attr(any(test, loom), allow(dead_code, unused_imports, unused_macros))]

mod affine;
mod api;
mod blocks;
mod boxes;
mod convolve;
mod copy;
mod draws;
mod elementwise;
mod fold;
mod iter;
mod levels;
mod linalg;
mod loops;
mod math;
#[cfg(not(any(test, loom)))]
mod ops;
pub mod par;
mod simd;
mod softmax;
mod sparse;
#[cfg(not(any(test, loom)))]
mod table;
mod update;

pub use api::random;
pub use api::{
    Attrs, Call, Desc, Kept, Kernel, Prepare, Req, Row, SMALL_WORK, Scalar, Value, View,
};
pub use convolve::blocked::channel_block;
pub use copy::copy;
#[cfg(not(any(test, loom)))]
pub use table::{find, names, rows};
