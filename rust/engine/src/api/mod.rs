//! What users call.

pub(crate) mod builder;
pub(crate) mod bulk;
pub(crate) mod data;
pub(crate) mod engine;
pub(crate) mod exit;
pub(crate) mod fork;
pub(crate) mod operator;
pub(crate) mod owned_var;
pub(crate) mod prepared;
pub(crate) mod pushes;
pub(crate) mod scope;
pub(crate) mod shutdown;
pub(crate) mod tracing;
pub(crate) mod waits;

pub use builder::Builder;
pub use bulk::Bulk;
pub use data::{Data, ReadGuard, WriteGuard};
pub use engine::{Counters, Engine};
pub use operator::Operator;
pub use owned_var::OwnedVar;
pub use scope::Scope;
