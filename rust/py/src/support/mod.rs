//! What all bindings share: values and errors between Python and the core, waits, the user's lines.

pub(crate) mod convert;
pub(crate) mod device;
pub(crate) mod errors;
pub(crate) mod hash;
pub(crate) mod memory;
pub(crate) mod site;
pub(crate) mod wait;
