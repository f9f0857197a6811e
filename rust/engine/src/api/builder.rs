//! How users configure an engine.

use std::time::Duration;

use crate::api::engine::Engine;
use crate::base::sync::{Arc, MODEL};
use crate::types::device::Device;
use crate::types::environment;
use crate::types::options::{Kind, Limit, Options, Sizes};
use crate::types::spec::FnProperty;

/// The default of [`Builder::max_in_flight`]: as many as fit into a core's own caches.
const MAX_IN_FLIGHT: u64 = 2048;

/// The default of [`Builder::drop_limit`].
const DROP_LIMIT: Duration = Duration::from_secs(60);

/// The limit on bytes of [`Engine::global`](crate::Engine::global).
const MAX_BYTES: u64 = 1 << 30;

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
    options: Options,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            options: Options {
                kind: Kind::Threaded,
                sizes: Sizes {
                    cpu: environment::cores(),
                    cpu_priority: 4,
                    gpu: 2,
                    gpu_copy: 1,
                },
                limit: Limit {
                    most: if MODEL { u64::MAX } else { MAX_IN_FLIGHT },
                    most_bytes: u64::MAX,
                    wait: true,
                    help: false,
                },
                streams: None,
                fork_limit: None,
                drop_limit: DROP_LIMIT,
            },
        }
    }

    /// The configuration that the environment asks for. Pushes do not wait at the limit: whoever
    /// pushes to the shared engine may hold a lock that operations take, such as an interpreter's.
    pub(crate) fn from_env() -> Self {
        let (most, bytes) = environment::limits();
        let mut builder = Self::new()
            .kind(environment::kind())
            .max_in_flight(most.unwrap_or(MAX_IN_FLIGHT as usize))
            .max_bytes_in_flight(bytes.unwrap_or(MAX_BYTES))
            .pushers_wait(false);
        let sizes = &mut builder.options.sizes;
        let fields = [
            (&mut sizes.cpu, "CPU_WORKER_NTHREADS"),
            (&mut sizes.cpu_priority, "CPU_PRIORITY_NTHREADS"),
            (&mut sizes.gpu, "GPU_WORKER_NTHREADS"),
            (&mut sizes.gpu_copy, "GPU_COPY_NTHREADS"),
        ];
        for (field, name) in fields {
            let names = [format!("FERROMIX_{name}"), format!("MXNET_{name}")];
            if let Some(count) = environment::threads([&names[0], &names[1]]) {
                *field = count;
            }
        }
        builder
    }

    /// Threaded (the default) or naive.
    ///
    /// ```
    /// use ferromix_engine::{Engine, Kind};
    /// let engine = Engine::builder().kind(Kind::Naive).build();
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn kind(mut self, kind: Kind) -> Self {
        self.options.kind = kind;
        self
    }

    /// Threads of the ordinary CPU lane; at least one. Default: the cores available.
    ///
    /// ```
    /// use ferromix_engine::Engine;
    /// assert_eq!(Engine::builder().workers(0).build().num_workers(), 1);
    /// ```
    pub fn workers(mut self, count: usize) -> Self {
        self.options.sizes.cpu = count.clamp(1, 4096);
        self
    }

    /// Threads of the CPU lane for [`CpuPrioritized`](crate::FnProperty::CpuPrioritized) work; at
    /// least one. Default: 4.
    ///
    /// ```
    /// use ferromix_engine::{Engine, FnProperty, OpSpec};
    /// let engine = Engine::builder().priority_workers(2).build();
    /// let spec = OpSpec::new("elsewhere").property(FnProperty::CpuPrioritized);
    /// engine.push_sync(&spec, |_| Ok(()))?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn priority_workers(mut self, count: usize) -> Self {
        self.options.sizes.cpu_priority = count.clamp(1, 4096);
        self
    }

    /// Threads of each GPU's compute and priority lanes; at least one. Default: 2.
    ///
    /// ```
    /// use ferromix_engine::{Device, Engine, OpSpec};
    /// let engine = Engine::builder().gpu_workers(4).build();
    /// let spec = OpSpec::new("elsewhere").on(Device::gpu(0));
    /// engine.push_sync(&spec, |_| Ok(()))?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn gpu_workers(mut self, count: usize) -> Self {
        self.options.sizes.gpu = count.clamp(1, 4096);
        self
    }

    /// Threads of each GPU's two copy lanes; at least one. Default: 1, which keeps copies in exact
    /// order of priority and push.
    ///
    /// ```
    /// use ferromix_engine::{Device, Engine, FnProperty, OpSpec};
    /// let engine = Engine::builder().gpu_copy_workers(2).build();
    /// let spec = OpSpec::new("elsewhere").on(Device::gpu(0)).property(FnProperty::CopyToGpu);
    /// engine.push_sync(&spec, |_| Ok(()))?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn gpu_copy_workers(mut self, count: usize) -> Self {
        self.options.sizes.gpu_copy = count.clamp(1, 4096);
        self
    }

    /// Operations that may be pushed and not finished, and 64 more for each thread that pushes (it is
    /// looked at every 64 pushes). Default: 2048; `usize::MAX` is no limit.
    ///
    /// A push over the limit still goes through; it returns when a quarter of the limit is free. As
    /// long as something runs or is ready, that will come. If nothing is, for 10 ms, what is in flight
    /// waits for something that a pusher does later: then the next 64 pushes are free, of all threads
    /// together, and twice as many each further time. An operation that waits for what a pusher does
    /// later should say so by [`Engine::blocking`](crate::Engine::blocking): the engine takes it for
    /// running otherwise, and lets 64 pushes through every 30 s. An operation that pushes never waits.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().workers(2).max_in_flight(256).build();
    /// for _ in 0..10_000 {
    ///     engine.push_sync(&OpSpec::new("small"), |_| Ok(()))?;
    /// }
    /// engine.wait_for_all()?;
    /// assert_eq!(engine.counters().completed, 10_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn max_in_flight(mut self, count: usize) -> Self {
        self.options.limit.most = if count == usize::MAX {
            u64::MAX
        } else {
            count.max(1) as u64
        };
        self
    }

    /// Memory that operations which were pushed and not finished may stand for, as they say by
    /// [`OpSpec::bytes`](crate::OpSpec::bytes). Default: no limit. Otherwise like
    /// [`max_in_flight`](Builder::max_in_flight); one operation that is larger is let through.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().workers(2).max_bytes_in_flight(64 << 20).build();
    /// for _ in 0..1000 {
    ///     let buffer = vec![1_u8; 1 << 20]; // 64 of them are there at a time, not 1000
    ///     let spec = OpSpec::new("sum").bytes(buffer.len() as u64);
    ///     engine.push_sync(&spec, move |_| {
    ///         assert_eq!(buffer.iter().map(|&b| u64::from(b)).sum::<u64>(), 1 << 20);
    ///         Ok(())
    ///     })?;
    /// }
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn max_bytes_in_flight(mut self, bytes: u64) -> Self {
        self.options.limit.most_bytes = bytes.max(1);
        self
    }

    /// Whether a push over a limit waits. Default: yes; not for
    /// [`Engine::global`](crate::Engine::global), whose pushers may hold a lock that operations
    /// take: they ask [`Engine::is_over_limit`](crate::Engine::is_over_limit), and wait by
    /// [`Engine::wait_below_limit`](crate::Engine::wait_below_limit) with the lock released.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ferromix_engine::{Engine, OpSpec, WaitPolicy};
    ///
    /// /// For as long as it takes.
    /// struct Calm;
    /// impl WaitPolicy for Calm {
    ///     fn before_sleep(&mut self) -> Option<Duration> {
    ///         Some(Duration::MAX)
    ///     }
    /// }
    ///
    /// let engine = Engine::builder().max_in_flight(64).pushers_wait(false).build();
    /// for _ in 0..1000 {
    ///     engine.push_sync(&OpSpec::new("small"), |_| Ok(()))?;
    ///     if engine.is_over_limit() {
    ///         engine.wait_below_limit(&mut Calm)?; // here a lock would be released
    ///     }
    /// }
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pushers_wait(mut self, wait: bool) -> Self {
        self.options.limit.wait = wait;
        self
    }

    /// Whether a push over the limit runs ready operations of the CPU lane on its own thread
    /// meanwhile. Default: it only waits. Do not push with a lock held then that an operation takes.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().workers(1).max_in_flight(64).pushers_help(true).build();
    /// for _ in 0..1000 {
    ///     engine.push_sync(&OpSpec::new("small"), |_| Ok(()))?; // some run here
    /// }
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pushers_help(mut self, help: bool) -> Self {
        self.options.limit.help = help;
        self
    }

    /// Gives each worker thread a stream, which the operations that it runs find in
    /// [`RunContext::stream`](crate::RunContext::stream): a number that means nothing to the engine,
    /// such as the address of a GPU's stream. Called by each worker when it begins, with a device and
    /// a kind of work that its lane serves, and its number there.
    ///
    /// ```
    /// use ferromix_engine::{Device, Engine, OpSpec};
    /// let engine = Engine::builder()
    ///     .streams(|device, _, worker| 100 * u64::from(device.id) + worker as u64)
    ///     .gpu_workers(1)
    ///     .build();
    /// engine.push_sync(&OpSpec::new("kernel").on(Device::gpu(3)), |context| {
    ///     assert_eq!(context.stream(), Some(300));
    ///     Ok(())
    /// })?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn streams<F>(mut self, stream: F) -> Self
    where
        F: Fn(Device, FnProperty, usize) -> u64 + Send + Sync + 'static,
    {
        self.options.streams = Some(Arc::new(stream));
        self
    }

    /// Has each `fork` of the process bring the engine to rest before, as
    /// [`Engine::prepare_fork`](crate::Engine::prepare_fork) does, waiting so long at most, so that the
    /// engine works in parent and child. Default: no; then the child's copy refuses everything.
    ///
    /// A thread that forks must not hold a lock that operations take. Where there are no forks,
    /// nothing happens.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ferromix_engine::Engine;
    /// let engine = Engine::builder().survives_forks(Duration::from_secs(10)).build();
    /// engine.wait_for_all()?; // here, and in a child
    /// # Ok::<(), ferromix_engine::WaitError>(())
    /// ```
    pub fn survives_forks(mut self, limit: Duration) -> Self {
        self.options.fork_limit = Some(limit);
        self
    }

    /// How long dropping the last handle waits while nothing finishes. Default: a minute. Then it
    /// writes to the standard error what is unfinished, and leaves that to the threads that run it.
    /// [`Engine::shutdown`](crate::Engine::shutdown) returns it as an error instead.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().drop_limit(Duration::from_millis(50)).build();
    /// engine.push_async(&OpSpec::new("forgotten"), |_, done| std::mem::forget(done))?;
    /// drop(engine); // ends, and says that `forgotten` did not
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drop_limit(mut self, limit: Duration) -> Self {
        self.options.drop_limit = limit;
        self
    }

    /// Makes the engine. Threads start when there is work for them.
    ///
    /// ```
    /// use ferromix_engine::Engine;
    /// let engine = Engine::builder().build();
    /// assert!(engine.num_workers() >= 1);
    /// ```
    pub fn build(self) -> Engine {
        Engine::from_options(self.options)
    }
}
