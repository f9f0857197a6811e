//! A function that is called again and again.

use crate::functions::context::{OnComplete, RunContext};
use crate::types::failure::OpError;

type SyncFn = dyn Fn(&RunContext) -> Result<(), OpError> + Send + Sync;

type AsyncFn = dyn Fn(&RunContext, OnComplete) + Send + Sync;

/// A function that is called again and again.
pub(crate) enum Function {
    Sync(Box<SyncFn>),
    Async(Box<AsyncFn>),
}
