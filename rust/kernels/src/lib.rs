//! CPU kernels of Ferromix: pure functions over strided views. They allocate no outputs, know no
//! engine and no Python, and give the same bits whatever the number of threads.
//!
//! A kernel is found by the name of its operator ([`find`]), prepared once for attributes, shapes
//! and element types, and then run any number of times.

mod arg;
mod attrs;
mod axes;
mod binary;
mod body;
mod check;
mod convert;
mod copy;
mod elemwise;
mod fill;
mod fold;
mod init;
mod kernel;
mod loops;
mod number;
mod optimizer;
pub mod par;
pub mod random;
mod reduce;
mod sample;
mod scalar;
mod shape;
mod twice;
mod update;
mod view;
mod walk;

pub use attrs::{Attrs, Value};
pub use copy::copy;
pub use kernel::{Call, Desc, Kernel, Prepare, Req, Row, find, names};
pub use view::View;
