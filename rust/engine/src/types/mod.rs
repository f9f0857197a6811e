//! What users say and are told: names, variables, descriptions, options, errors.

pub(crate) mod access_error;
pub(crate) mod device;
pub(crate) mod environment;
pub(crate) mod failure;
pub(crate) mod launch_args;
pub(crate) mod options;
pub(crate) mod shutdown_error;
pub(crate) mod spec;
pub(crate) mod spec_buf;
pub(crate) mod var;
pub(crate) mod wait_policy;

pub use access_error::AccessError;
pub use device::{Device, ParseDeviceError};
pub use failure::{Failure, NeverCompleted, OpError, PushError, WaitError};
pub use launch_args::{LaunchArgs, RebindError};
pub use options::Kind;
pub use shutdown_error::ShutdownError;
pub use spec::{FnProperty, Name, OpSpec};
pub use spec_buf::OpSpecBuf;
pub use var::Var;
pub use wait_policy::WaitPolicy;
