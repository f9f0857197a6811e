//! The engine at rest for a fork, and the child of a fork that was not.

use std::any::Any;

use crate::base::process;
use crate::base::sync::{Arc, AtomicPtr, Relaxed};
use crate::operation::op::OpPtr;
use crate::state::core::Core;
use crate::state::thread;

/// What the thread that is about to fork holds.
pub(crate) struct Rest {
    /// Dropped before `core`, in which they are.
    pub(crate) locks: Vec<Box<dyn Any>>,
    /// The last handle may go meanwhile.
    pub(crate) core: Option<Arc<Core>>,
    pub(crate) log: OpPtr,
    /// The engine was stopped before, and whether by this thread: in the child nobody else could
    /// start it.
    pub(crate) stopped: bool,
    pub(crate) own_stop: bool,
}

/// A thread's claim to an engine that is at rest, or null.
pub(crate) type RestPtr = AtomicPtr<Rest>;

impl Core {
    /// Whether this process is the child of a fork for which the engine was not at rest.
    #[inline(always)]
    pub(crate) fn is_inherited(&self) -> bool {
        // Relaxed: as for `process::number`.
        self.process.load(Relaxed) != process::number()
    }

    /// What the calling thread holds, if it has brought the engine to rest.
    pub(crate) fn own_rest(&self) -> Option<*mut Rest> {
        // Relaxed, here and below: of a thread's own making, if it is what is asked for.
        let raw = self.rest.load(Relaxed);
        let own = !raw.is_null() && self.rest_owner.load(Relaxed) == thread::address();
        own.then_some(raw)
    }
}
