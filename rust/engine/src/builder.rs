//! How an engine is configured.

use crate::bound::Limit;
use crate::config;
use crate::engine::Engine;
use crate::lane::Sizes;

/// Which engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kind {
    /// Operations run on worker threads, in parallel as far as their variables allow.
    #[default]
    Threaded,
    /// Operations run on the pushing thread, and a push returns when its operation is finished.
    Naive,
}

/// The default of [`Builder::max_in_flight`]: as many as fit into a core's own caches.
const MAX_IN_FLIGHT: u64 = 2048;

/// Configures an [`Engine`]; made by [`Engine::builder`].
///
/// ```
/// use ferromix_engine::{Engine, Kind};
/// let engine = Engine::builder().kind(Kind::Threaded).workers(3).build();
/// assert_eq!(engine.num_workers(), 3);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    kind: Kind,
    sizes: Sizes,
    limit: Limit,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            kind: Kind::Threaded,
            sizes: Sizes {
                cpu: config::cores(),
                cpu_priority: 4,
                gpu: 2,
                gpu_copy: 1,
            },
            limit: Limit {
                most: if cfg!(loom) { u64::MAX } else { MAX_IN_FLIGHT },
                help: false,
            },
        }
    }

    /// The configuration that the environment asks for. Pushes are not bounded: whoever pushes to
    /// the shared engine may hold a lock that operations take, such as an interpreter's.
    pub(crate) fn from_env() -> Self {
        let mut builder = Self::new().kind(config::kind()).max_in_flight(usize::MAX);
        let sizes = &mut builder.sizes;
        let fields = [
            (&mut sizes.cpu, "CPU_WORKER_NTHREADS"),
            (&mut sizes.cpu_priority, "CPU_PRIORITY_NTHREADS"),
            (&mut sizes.gpu, "GPU_WORKER_NTHREADS"),
            (&mut sizes.gpu_copy, "GPU_COPY_NTHREADS"),
        ];
        for (field, name) in fields {
            let names = [format!("FERROMIX_{name}"), format!("MXNET_{name}")];
            if let Some(count) = config::threads([&names[0], &names[1]]) {
                *field = count;
            }
        }
        builder
    }

    /// Threaded (the default) or naive.
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// Threads of the ordinary CPU lane; at least one. Default: the cores available.
    pub fn workers(mut self, count: usize) -> Self {
        self.sizes.cpu = count.clamp(1, 4096);
        self
    }

    /// Threads of the CPU lane for [`CpuPrioritized`](crate::FnProperty::CpuPrioritized) work; at
    /// least one. Default: 4.
    pub fn priority_workers(mut self, count: usize) -> Self {
        self.sizes.cpu_priority = count.clamp(1, 4096);
        self
    }

    /// Threads of each GPU's compute and priority lanes; at least one. Default: 2.
    pub fn gpu_workers(mut self, count: usize) -> Self {
        self.sizes.gpu = count.clamp(1, 4096);
        self
    }

    /// Threads of each GPU's two copy lanes; at least one. Default: 1, which keeps copies in exact
    /// order of priority and push.
    pub fn gpu_copy_workers(mut self, count: usize) -> Self {
        self.sizes.gpu_copy = count.clamp(1, 4096);
        self
    }

    /// Operations that may be pushed and not finished, roughly (it is looked at every 64 pushes).
    /// Default: 2048, and none for [`Engine::global`](crate::Engine::global); `usize::MAX` is no
    /// bound.
    ///
    /// A push over the bound still goes through; it returns when a quarter of the bound is free,
    /// or when nothing has finished for 10 ms, since what is in flight may wait for something that
    /// the pusher does later: so this never deadlocks. An operation that pushes never waits.
    pub fn max_in_flight(mut self, count: usize) -> Self {
        self.limit.most = if count == usize::MAX {
            u64::MAX
        } else {
            count.max(1) as u64
        };
        self
    }

    /// Whether a push over the bound runs ready operations of the CPU lane on its own thread
    /// meanwhile. Default: it only waits. Do not push with a lock held then that an operation takes.
    pub fn pushers_help(mut self, help: bool) -> Self {
        self.limit.help = help;
        self
    }

    /// Makes the engine. Threads start when there is work for them.
    pub fn build(self) -> Engine {
        Engine::from_parts(self.kind, self.sizes, self.limit)
    }
}
