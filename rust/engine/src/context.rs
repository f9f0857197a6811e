//! What the function of an operation is given: where it runs, and how it says that it is done.

use crate::core::Core;
use crate::failure::{NeverCompleted, OpError};
use crate::op::OpPtr;
use crate::spec::Device;
use crate::sync::Arc;
use crate::thread;

/// Where and how an operation runs.
#[derive(Debug)]
pub struct RunContext {
    device: Device,
    priority: i32,
    tag: u64,
}

impl RunContext {
    pub(crate) fn new(device: Device, priority: i32, tag: u64) -> Self {
        Self {
            device,
            priority,
            tag,
        }
    }

    /// The device that the operation was pushed for.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The priority that the operation was pushed with.
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// The tag that the operation was pushed with.
    pub fn tag(&self) -> u64 {
        self.tag
    }
}

/// The promise of an asynchronous operation: call [`complete`](OnComplete::complete), from any
/// thread, when its effects are there. Until then everything that depends on it waits.
///
/// Dropping it uncalled completes the operation with the error [`NeverCompleted`]; with the panic,
/// if a panic of the operation's own function drops it. (A panic of the function after the
/// `OnComplete` went elsewhere does not change the operation's outcome; `wait_for_all` returns it.)
#[must_use = "the operation is not finished until this is completed"]
pub struct OnComplete {
    core: Arc<Core>,
    op: Option<OpPtr>,
}

impl OnComplete {
    pub(crate) fn new(core: Arc<Core>, op: OpPtr) -> Self {
        Self { core, op: Some(op) }
    }

    /// Finishes the operation, well or with an error that goes where a synchronous operation's
    /// would. What becomes ready by this and runs inline (the functions of deletions; with the
    /// naive engine, everything) runs on this thread before the call returns.
    pub fn complete(mut self, result: Result<(), OpError>) {
        if let Some(op) = self.op.take() {
            self.core.complete_async(op, result);
        }
    }
}

impl Drop for OnComplete {
    fn drop(&mut self) {
        if let Some(op) = self.op.take()
            && !thread::defer_to_panic(op)
        {
            self.core.complete_async(op, Err(Box::new(NeverCompleted)));
        }
    }
}

impl std::fmt::Debug for OnComplete {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnComplete").finish_non_exhaustive()
    }
}
