//! What kernels and those who run them agree on: the contract, attributes, views, random numbers; and the
//! checks that preparing a kernel needs. It knows no operator.

pub(crate) mod attrs;
pub(crate) mod axes;
pub(crate) mod check;
pub(crate) mod kernel;
pub(crate) mod prepared;
pub mod random;
pub(crate) mod view;

pub use attrs::{Attrs, Scalar, Value};
pub use kernel::{Call, Desc, Kept, Kernel, Prepare, Req, Row, SMALL_WORK};
pub use view::View;
