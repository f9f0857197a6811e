//! What an engine is configured with.

use std::time::Duration;

use crate::base::sync::Arc;
use crate::types::device::Device;
use crate::types::spec::FnProperty;

/// Which engine.
///
/// ```
/// use ferromix_engine::{Engine, Kind, OpSpec};
/// let engine = Engine::builder().kind(Kind::Naive).build();
/// let a = engine.new_variable();
/// engine.push_sync(&OpSpec::new("now").writes(&[a]), |_| Ok(()))?;
/// assert_eq!(engine.version(a)?, 1); // no wait needed
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kind {
    /// Operations run on worker threads, in parallel as far as their variables allow.
    #[default]
    Threaded,
    /// Operations run on the pushing thread, and a push returns when its operation is finished.
    Naive,
}

/// Gives each worker of a lane a stream.
type Streams = dyn Fn(Device, FnProperty, usize) -> u64 + Send + Sync;

/// What an engine is configured with.
#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) kind: Kind,
    pub(crate) sizes: Sizes,
    pub(crate) limit: Limit,
    pub(crate) streams: Option<Arc<Streams>>,
    /// How long a fork waits for the engine to come to rest, if it does.
    pub(crate) fork_limit: Option<Duration>,
    /// How long dropping the engine waits while nothing finishes.
    pub(crate) drop_limit: Duration,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("kind", &self.kind)
            .field("sizes", &self.sizes)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

/// Threads per kind of lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) cpu: usize,
    pub(crate) cpu_priority: usize,
    pub(crate) gpu: usize,
    pub(crate) gpu_copy: usize,
}

/// See [`Builder::max_in_flight`](crate::Builder::max_in_flight).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) most: u64,
    pub(crate) most_bytes: u64,
    /// Pushers over the limit wait. If not, they are expected to ask.
    pub(crate) wait: bool,
    /// Pushers over the limit run ready operations instead of only waiting.
    pub(crate) help: bool,
}
