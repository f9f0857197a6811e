//! CPU kernels of Ferromix: pure functions over strided views. They allocate no outputs, know no
//! engine and no Python, and give the same bits whatever the number of threads.
//!
//! A kernel is found by the name of its operator ([`find`]), prepared once for attributes, shapes
//! and element types, and then run any number of times.

mod attrs;
mod kernel;
pub mod par;
pub mod random;
mod view;

pub use attrs::{Attrs, Value};
pub use kernel::{Call, Desc, Kernel, Prepare, Req, Row, find, names};
pub use view::View;
