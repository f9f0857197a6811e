//! CPU kernels of Ferromix: pure functions over strided views. They allocate no outputs, know no
//! engine and no Python, and give the same bits whatever the number of threads.
//!
//! A kernel is found by the name of its operator ([`find`]), prepared once for attributes, shapes
//! and element types, and then run any number of times.

mod activation;
mod adaptive;
mod add_n;
mod amp;
mod arg;
mod attrs;
mod axes;
mod batch_norm;
mod binary;
mod blockwise;
mod body;
mod check;
mod convert;
mod convolution;
mod copy;
mod diag;
mod dot;
mod dropout;
mod elemwise;
mod fill;
mod fold;
mod fully_connected;
mod gemm;
mod init;
mod join;
mod kernel;
mod l2_normalization;
mod lamb;
mod loops;
mod loss;
mod math;
mod memory;
mod moments;
mod multi_sgd;
mod number;
mod optimizer;
mod order;
mod pad;
pub mod par;
mod place;
mod pooling;
mod prepared;
pub mod random;
mod raw;
mod reader;
mod real;
mod reduce;
mod repeat;
mod rows_dot;
mod sample;
mod scalar;
mod select;
mod shape;
mod slice;
mod softmax;
mod softmax_output;
mod strips;
mod sums;
mod tensors;
mod tile;
mod transpose;
mod twice;
mod update;
mod vector;
mod view;
mod walk;

pub use attrs::{Attrs, Value};
pub use copy::copy;
pub use kernel::{Call, Desc, Kernel, Prepare, Req, Row, SMALL_WORK, find, names};
pub use view::View;
