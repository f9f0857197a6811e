//! The public handle.

use crate::api::builder::Builder;
use crate::base::sync::plain::AtomicPtr;
use crate::base::sync::{AcqRel, Acquire, Arc, MODEL, Relaxed};
use crate::lifecycle::shutdown::Handle;
use crate::state::core::Core;
use crate::state::thread;
use crate::types::environment;
use crate::types::failure::WaitError;
use crate::types::options::Options;
use crate::types::wait_policy::WaitPolicy;

/// A dependency engine: runs functions in parallel, in the order that the variables they read and
/// write allow.
///
/// The one rule: *two operations, one of which mutates a variable that the other uses, run in push
/// order; everything else may run at once.* Pushing is safe from any number of threads; each push
/// is atomic over all its variables, and a push that returned before another began precedes it.
///
/// A handle is cheap to clone. Dropping the last one finishes what was pushed and ends the threads.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use std::sync::Arc;
/// use ferromix_engine::{Engine, OpSpec};
///
/// let engine = Engine::builder().workers(2).build();
/// let sum = engine.new_variable();
/// let cell = Arc::new(AtomicU32::new(1));
/// for _ in 0..10 {
///     let cell = cell.clone();
///     engine.push_sync(&OpSpec::new("double").writes(&[sum]), move |_| {
///         cell.store(cell.load(Ordering::Relaxed) * 2, Ordering::Relaxed);
///         Ok(())
///     })?;
/// }
/// engine.wait_for_var(sum)?;
/// assert_eq!(cell.load(Ordering::Relaxed), 1024);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Engine {
    handle: Arc<Handle>,
}

/// How much work an engine has seen. Approximate while operations are being pushed or run.
///
/// ```
/// use ferromix_engine::{Engine, OpSpec};
/// let engine = Engine::builder().build();
/// engine.push_sync(&OpSpec::new("one"), |_| Ok(()))?;
/// engine.wait_for_all()?;
/// let counters = engine.counters();
/// assert_eq!((counters.pushed, counters.completed, counters.in_flight), (1, 1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Counters {
    /// Operations pushed (waits do not count).
    pub pushed: u64,
    /// Operations finished, skipped ones included.
    pub completed: u64,
    /// The difference.
    pub in_flight: u64,
}

impl Engine {
    /// Starts configuring an engine.
    ///
    /// ```
    /// use ferromix_engine::Engine;
    /// let engine = Engine::builder().workers(3).max_in_flight(512).build();
    /// assert_eq!(engine.num_workers(), 3);
    /// ```
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// The engine that the process shares. Never dropped.
    ///
    /// Configured from the environment at the first call. `FERROMIX_ENGINE_TYPE`, else
    /// `MXNET_ENGINE_TYPE`: `NaiveEngine`, `ThreadedEngine` or `ThreadedEnginePerDevice` (the two
    /// are one here, and what anything else falls back to). Threads per lane:
    /// `FERROMIX_CPU_WORKER_NTHREADS`, else `MXNET_CPU_WORKER_NTHREADS` (default: the cores
    /// available to the process, by affinity and cgroup quota), and likewise
    /// `CPU_PRIORITY_NTHREADS` (4), `GPU_WORKER_NTHREADS` (2), `GPU_COPY_NTHREADS` (1); a value
    /// that is not a number from 1 to 4096 counts as unset.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let a = Engine::global().new_variable();
    /// Engine::global().push_sync(&OpSpec::new("write").writes(&[a]), |_| Ok(()))?;
    /// Engine::global().wait_for_var(a)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn global() -> &'static Engine {
        // A pointer, as a child of a fork might inherit a lock while another thread makes the engine.
        static GLOBAL: AtomicPtr<Engine> = AtomicPtr::new(std::ptr::null_mut());
        // Acquire: its contents.
        let mut engine = GLOBAL.load(Acquire);
        if engine.is_null() {
            engine = Box::into_raw(Box::new(Builder::from_env().build()));
            // Release: its contents. Acquire: as above.
            let first = GLOBAL.compare_exchange(std::ptr::null_mut(), engine, AcqRel, Acquire);
            if let Err(theirs) = first {
                // SAFETY: from the box above, and not shared.
                drop(unsafe { Box::from_raw(engine) });
                engine = theirs;
            }
        }
        // SAFETY: an engine, which is never freed.
        unsafe { &*engine }
    }

    pub(crate) fn from_options(options: Options) -> Self {
        // One shard for threads of others, and one for each worker that is likely to be busy.
        let shards = if MODEL {
            2
        } else {
            1 + environment::cores().max(options.sizes.cpu).min(64)
        };
        let survives = options.fork_limit.is_some();
        let core = Core::new(options, shards);
        #[cfg(all(unix, not(any(loom, shuttle))))]
        if survives {
            crate::lifecycle::fork_hooks::enlist(&core);
        }
        let _ = survives;
        Self {
            handle: Arc::new(Handle { core }),
        }
    }

    pub(crate) fn core(&self) -> &Core {
        &self.handle.core
    }

    /// Finishes everything pushed so far and ends the worker threads. Operations pushed from then
    /// on are kept until [`start`](Engine::start); waiting for them before would not end.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// let a = engine.new_variable();
    /// engine.push_sync(&OpSpec::new("before").writes(&[a]), |_| Ok(()))?;
    /// engine.stop()?;
    /// assert_eq!(engine.version(a)?, 1);
    /// engine.push_sync(&OpSpec::new("later").writes(&[a]), |_| Ok(()))?; // is kept
    /// engine.start();
    /// engine.wait_for_var(a)?;
    /// assert_eq!(engine.version(a)?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`WaitError::InsideOperation`], [`WaitError::Forked`].
    pub fn stop(&self) -> Result<(), WaitError> {
        self.core().finish_all(None)?;
        // Relaxed: a thread looks for its own number.
        self.core().stopped_by.store(thread::address(), Relaxed);
        self.core().lanes.stop(None);
        Ok(())
    }

    /// [`stop`](Engine::stop) as long as `policy` says; where it gives up, the engine goes on.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ferromix_engine::{Engine, OpSpec, WaitPolicy};
    ///
    /// /// Gives up at once.
    /// struct Impatient;
    /// impl WaitPolicy for Impatient {
    ///     fn before_sleep(&mut self) -> Option<Duration> {
    ///         None
    ///     }
    /// }
    ///
    /// let engine = Engine::builder().build();
    /// let (go, gate) = std::sync::mpsc::channel();
    /// engine.push_sync(&OpSpec::new("slow"), move |_| Ok(gate.recv()?))?;
    /// assert!(engine.stop_with(&mut Impatient).is_err());
    /// go.send(())?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`stop`](Engine::stop), and [`WaitError::GivenUp`].
    pub fn stop_with(&self, policy: &mut dyn WaitPolicy) -> Result<(), WaitError> {
        self.core().finish_all(Some(&mut *policy))?;
        // Relaxed, as in `stop`.
        self.core().stopped_by.store(thread::address(), Relaxed);
        if self.core().lanes.stop(Some(policy)) {
            return Ok(());
        }
        self.start();
        Err(WaitError::GivenUp)
    }

    /// Undoes [`stop`](Engine::stop). Does nothing to an engine that is running.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// let a = engine.new_variable();
    /// engine.push_sync(&OpSpec::new("before").writes(&[a]), |_| Ok(()))?;
    /// engine.stop()?;
    /// assert_eq!(engine.version(a)?, 1);
    /// engine.push_sync(&OpSpec::new("later").writes(&[a]), |_| Ok(()))?; // is kept
    /// engine.start();
    /// engine.wait_for_var(a)?;
    /// assert_eq!(engine.version(a)?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start(&self) {
        if !self.core().is_inherited() && self.core().own_rest().is_none() {
            self.core().lanes.start(self.core());
        }
    }

    /// Threads of the ordinary CPU lane; 0 for the naive engine.
    ///
    /// ```
    /// use ferromix_engine::Engine;
    /// assert_eq!(Engine::builder().workers(2).build().num_workers(), 2);
    /// ```
    pub fn num_workers(&self) -> usize {
        if self.core().naive {
            0
        } else {
            self.core().lanes.cpu().size()
        }
    }

    /// How many threads an operation may use that does not say so itself by
    /// [`OpSpec::threads`](crate::OpSpec::threads); 0 for as many as it likes, as at first. MXNet's
    /// `num_omp_threads_per_worker`.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// engine.set_num_threads_per_worker(2);
    /// assert_eq!(engine.num_threads_per_worker(), 2);
    /// engine.push_sync(&OpSpec::new("ask"), |context| {
    ///     assert_eq!(context.threads().map(|threads| threads.get()), Some(2));
    ///     Ok(())
    /// })?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn num_threads_per_worker(&self) -> u16 {
        // Relaxed, here and below: a number alone.
        self.core().threads_per_worker.load(Relaxed) as u16
    }

    /// Sets [`num_threads_per_worker`](Engine::num_threads_per_worker), for what runs from now on.
    pub fn set_num_threads_per_worker(&self, threads: u16) {
        self.core()
            .threads_per_worker
            .store(threads.into(), Relaxed);
    }

    /// How much was pushed and finished so far.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// engine.push_sync(&OpSpec::new("one"), |_| Ok(()))?;
    /// engine.wait_for_all()?;
    /// assert_eq!(engine.counters().in_flight, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn counters(&self) -> Counters {
        self.core().push_collected();
        let (pushed, completed) = self.core().counts();
        Counters {
            pushed,
            completed,
            in_flight: pushed - completed,
        }
    }

    /// Whether nothing runs, is ready, or is being registered, but for so many asynchronous operations
    /// that were begun and not completed. If these all wait for something that was pushed, and that
    /// stays so, they wait in vain. Approximate while anything is pushed or completed.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// let (send, receive) = std::sync::mpsc::channel();
    /// engine.push_async(&OpSpec::new("begun"), move |_, done| {
    ///     let _ = send.send(done);
    /// })?;
    /// let done = receive.recv()?;
    /// assert!(!engine.is_idle_but_for(0));
    /// done.complete(Ok(()));
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_idle_but_for(&self, begun: usize) -> bool {
        let core = self.core();
        core.promises.count() == begun && core.log.is_idle() && !core.is_active()
    }
}

impl Clone for Engine {
    fn clone(&self) -> Self {
        Self {
            handle: self.handle.clone(),
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // A bulk that was forgotten has a handle for good: the thread's own is the last it sees.
        self.core().push_collected();
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("naive", &self.core().naive)
            .field("workers", &self.num_workers())
            .finish_non_exhaustive()
    }
}
