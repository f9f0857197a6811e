//! The public handle.

use std::ptr;
use std::sync::OnceLock;

use crate::bound::Limit;
use crate::builder::{Builder, Kind as EngineKind};
use crate::config;
use crate::context::{OnComplete, RunContext};
use crate::core::Core;
use crate::failure::{OpError, PushError, WaitError};
use crate::lane::Sizes;
use crate::op::{Kind, OpPtr};
use crate::operator::{Function, Operator};
use crate::program::Program;
use crate::spec::{Device, FnProperty, OpSpec};
use crate::sync::{Arc, Release};
use crate::task::Task;
use crate::thread;
use crate::var::Var;
use crate::wait::Waiter;

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
#[derive(Clone)]
pub struct Engine {
    handle: Arc<Handle>,
}

/// The last one of these to go drains the engine.
struct Handle {
    core: Arc<Core>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        let core = self.core.clone();
        if core.may_block_here() {
            core.shut_down();
        } else {
            // The last handle went with an operation's function: that operation must end first.
            std::thread::spawn(move || core.shut_down());
        }
    }
}

/// How much work an engine has seen. Approximate while operations are being pushed or run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
    pub fn global() -> &'static Engine {
        static GLOBAL: OnceLock<Engine> = OnceLock::new();
        GLOBAL.get_or_init(|| Builder::from_env().build())
    }

    pub(crate) fn from_parts(kind: EngineKind, sizes: Sizes, limit: Limit) -> Self {
        let naive = kind == EngineKind::Naive;
        // One shard for threads of others, and one for each worker that is likely to be busy.
        let shards = if cfg!(loom) {
            2
        } else {
            1 + config::cores().max(sizes.cpu).min(64)
        };
        Self {
            handle: Arc::new(Handle {
                core: Core::new(naive, sizes, limit, shards),
            }),
        }
    }

    fn core(&self) -> &Core {
        &self.handle.core
    }

    // ---- variables -----------------------------------------------------------------------------

    /// A new variable, of version 0.
    pub fn new_variable(&self) -> Var {
        self.core().vars.create()
    }

    /// Deletes a variable. The handle is stale when this returns; `f` runs, once, after the last
    /// operation that uses the variable (even if that failed), on whichever thread finds out,
    /// possibly inside this call. A panic of `f` is a failure that `wait_for_all` returns.
    ///
    /// # Errors
    /// [`PushError::StaleVariable`]; `f` is dropped uncalled then.
    pub fn delete_variable(
        &self,
        var: Var,
        f: impl FnOnce() + Send + 'static,
    ) -> Result<(), PushError> {
        if !self.core().vars.kill(var) {
            return Err(PushError::StaleVariable(var));
        }
        let spec = OpSpec::new("delete variable").property(FnProperty::DeleteVar);
        let op = self.core().new_op(Kind::Delete, &spec, 1, ptr::null());
        let run = move |_: &RunContext| {
            f();
            Ok(())
        };
        // SAFETY: not shared yet.
        unsafe { op.with_task(|task| task.store_sync(run)) };
        // The slot exists, since the handle was live.
        if let Some(slot) = self.core().vars.slot(var.index) {
            // SAFETY: the one access, of an operation that is not shared yet.
            unsafe { op.init_access(0, slot, var.generation, true) };
        }
        self.core().submit(op);
        Ok(())
    }

    /// Number of finished operations that mutated the variable, failed and skipped ones included.
    ///
    /// # Errors
    /// [`PushError::StaleVariable`].
    pub fn version(&self, var: Var) -> Result<u64, PushError> {
        self.core()
            .vars
            .version(var)
            .ok_or(PushError::StaleVariable(var))
    }

    // ---- operations ----------------------------------------------------------------------------

    /// Pushes an operation; `finish` sets what is not in the specification.
    #[inline(always)]
    fn push_op(
        &self,
        kind: Kind,
        spec: &OpSpec<'_>,
        finish: impl FnOnce(OpPtr),
    ) -> Result<(), PushError> {
        let core = self.core();
        // The naive engine waits for its operation, unless an operation is pushing.
        let waits = core.naive && thread::running_ops(core).next().is_none();
        let waiter = waits.then(Waiter::new);
        let op = self.prepare(kind, spec, waiter.as_ref())?;
        finish(op);
        core.submit(op);
        if let Some(waiter) = &waiter {
            core.block_on(waiter);
        } else if core.bound.is_over() {
            core.hold_back();
        }
        Ok(())
    }

    /// Pushes an operation whose function `store` puts in its place.
    #[inline(always)]
    fn push_task(
        &self,
        kind: Kind,
        spec: &OpSpec<'_>,
        store: impl FnOnce(&mut Task),
    ) -> Result<(), PushError> {
        // SAFETY: not shared yet.
        self.push_op(kind, spec, |op| unsafe { op.with_task(store) })
    }

    /// An operation with its accesses, and without a function.
    fn prepare(
        &self,
        kind: Kind,
        spec: &OpSpec<'_>,
        waiter: Option<&Waiter>,
    ) -> Result<OpPtr, PushError> {
        let core = self.core();
        if core.is_shutting_down() {
            return Err(PushError::ShutDown);
        }
        let count = spec.mutate_vars.len() + spec.const_vars.len();
        let waiter = waiter.map_or(ptr::null(), ptr::from_ref);
        let op = core.new_op(kind, spec, count, waiter);
        let mut set = 0;
        // Mutations first: of an access listed twice, the registrar keeps the first.
        for (vars, writes) in [(spec.mutate_vars, true), (spec.const_vars, false)] {
            for &var in vars {
                let Some(slot) = core.vars.live(var) else {
                    op.discard(set);
                    return Err(PushError::StaleVariable(var));
                };
                // SAFETY: each access once, of an operation that is not shared yet.
                unsafe { op.init_access(set, slot, var.generation, writes) };
                set += 1;
            }
        }
        Ok(op)
    }

    /// Pushes an operation that is finished when its function returns.
    ///
    /// Returns at once, unless too many operations are in flight (see
    /// [`Builder::max_in_flight`]); with the naive engine, when the operation is finished. An error or a panic
    /// of the function is a failure: see [`wait_for_var`](Engine::wait_for_var).
    ///
    /// # Errors
    /// [`PushError::StaleVariable`] if a variable has been deleted, [`PushError::ShutDown`]. The
    /// function is dropped uncalled then. (If another thread deletes a variable during the push,
    /// the push may return `Ok` and the operation then fails with that error, without running.)
    pub fn push_sync<F>(&self, spec: &OpSpec<'_>, f: F) -> Result<(), PushError>
    where
        F: FnOnce(&RunContext) -> Result<(), OpError> + Send + 'static,
    {
        self.push_task(Kind::Sync, spec, |task| task.store_sync(f))
    }

    /// Pushes an operation that is finished when its [`OnComplete`] is called.
    ///
    /// # Errors
    /// As for [`push_sync`](Engine::push_sync).
    pub fn push_async<F>(&self, spec: &OpSpec<'_>, f: F) -> Result<(), PushError>
    where
        F: FnOnce(&RunContext, OnComplete) + Send + 'static,
    {
        self.push_task(Kind::Async, spec, |task| task.store_async(f))
    }

    /// Prepares an operation to be pushed many times. Device and priority are given per push.
    pub fn new_operator<F>(&self, spec: &OpSpec<'_>, f: F) -> Operator
    where
        F: Fn(&RunContext) -> Result<(), OpError> + Send + Sync + 'static,
    {
        Operator::new(spec, Function::Sync(Box::new(f)))
    }

    /// Prepares an asynchronous operation to be pushed many times.
    pub fn new_async_operator<F>(&self, spec: &OpSpec<'_>, f: F) -> Operator
    where
        F: Fn(&RunContext, OnComplete) + Send + Sync + 'static,
    {
        Operator::new(spec, Function::Async(Box::new(f)))
    }

    /// Pushes a prepared operation.
    ///
    /// # Errors
    /// As for [`push_sync`](Engine::push_sync).
    pub fn push(
        &self,
        operator: &Operator,
        device: Device,
        priority: i32,
    ) -> Result<(), PushError> {
        let spec = operator.spec().on(device).priority(priority);
        let inner = operator.inner.clone();
        match operator.inner.function {
            Function::Sync(_) => self.push_sync(&spec, move |context| match &inner.function {
                Function::Sync(f) => f(context),
                Function::Async(_) => Ok(()),
            }),
            Function::Async(_) => self.push_async(&spec, move |context, finish| {
                if let Function::Async(f) = &inner.function {
                    f(context, finish);
                }
            }),
        }
    }

    /// Gives up a prepared operation. What was pushed of it still runs; its function is dropped
    /// after the last of that. Takes no access to the variables.
    pub fn delete_operator(&self, operator: Operator) {
        drop(operator);
    }

    /// Runs a program once more: all its operations, at one place in the order of pushes.
    ///
    /// Failures are those of operations pushed one by one: an operation that fails, or is skipped,
    /// leaves the failure on what it mutates; those of the same launch that use that are skipped,
    /// and so are later ones. For [`wait_for_all`](Engine::wait_for_all) and [`Counters`] a launch
    /// is one operation.
    ///
    /// Two launches of one program may be in flight; a third waits for one of them to end, or for
    /// 10 ms in which nothing finishes (an operation that launches never waits). An operation of a
    /// program must not wait for a variable that the program uses.
    ///
    /// # Errors
    /// As for [`push_sync`](Engine::push_sync).
    pub fn launch(&self, program: &Program) -> Result<(), PushError> {
        if program.is_empty() {
            return Ok(());
        }
        let (core, plan) = (self.core(), &program.plan);
        self.push_op(Kind::Program, &plan.spec(), |op| {
            let launch = core.counters(plan).begin(plan);
            // SAFETY: not shared yet.
            unsafe { op.set_launch(launch) };
        })
    }

    // ---- waiting -------------------------------------------------------------------------------

    /// Waits until everything that was pushed before and mutates the variable has finished.
    ///
    /// Failures. An operation that fails leaves its failure on all variables that it mutates. An
    /// operation that uses a variable with a failure, to read or to mutate it, is skipped, and
    /// leaves the same failure on what it mutates. A wait on any of these variables returns the
    /// failure, once: one wait gets it, no later one does. Operations pushed before that wait are
    /// still skipped, those pushed after it run; for them the variables are free of it. (What the
    /// variables stand for is then as the failed operation left it.)
    ///
    /// May be called inside an operation, for a variable that the operation does not mutate and
    /// that nothing between depends on it; a replacement thread works in its place meanwhile.
    ///
    /// # Errors
    /// [`WaitError::Failed`], [`WaitError::StaleVariable`], [`WaitError::SelfDependency`],
    /// [`WaitError::TooManyBlocked`].
    pub fn wait_for_var(&self, var: Var) -> Result<(), WaitError> {
        self.core().wait_for_var(var)
    }

    /// Waits until the variable may be read; the same as [`wait_for_var`](Engine::wait_for_var).
    ///
    /// # Errors
    /// As for [`wait_for_var`](Engine::wait_for_var).
    pub fn wait_to_read(&self, var: Var) -> Result<(), WaitError> {
        self.wait_for_var(var)
    }

    /// Waits until every operation that was pushed before has finished.
    ///
    /// Returns the first failure, in push order, that no wait has returned yet; the others of
    /// these operations are forgotten, and all variables are free of them.
    ///
    /// # Errors
    /// [`WaitError::Failed`], [`WaitError::InsideOperation`].
    pub fn wait_for_all(&self) -> Result<(), WaitError> {
        let seq = self.core().finish_all()?;
        match self.core().failures.surface_all(seq) {
            Some(failure) => Err(WaitError::Failed(failure)),
            None => Ok(()),
        }
    }

    // ---- life cycle ----------------------------------------------------------------------------

    /// Finishes everything pushed so far and ends the worker threads. Operations pushed from then
    /// on are kept until [`start`](Engine::start); waiting for them before would not end.
    ///
    /// # Errors
    /// [`WaitError::InsideOperation`].
    pub fn stop(&self) -> Result<(), WaitError> {
        self.core().finish_all()?;
        self.core().lanes.stop();
        Ok(())
    }

    /// Undoes [`stop`](Engine::stop). Does nothing to an engine that is running.
    pub fn start(&self) {
        self.core().lanes.start(self.core());
    }

    /// Tells the engine that the process is about to end: further pushes are refused with
    /// [`PushError::ShutDown`]. What was pushed before still runs, and deletions are still taken.
    pub fn notify_shutdown(&self) {
        // Release: pairs with `is_shutting_down`.
        self.core().shutting_down.store(true, Release);
    }

    /// Threads of the ordinary CPU lane; 0 for the naive engine.
    pub fn num_workers(&self) -> usize {
        if self.core().naive {
            0
        } else {
            self.core().lanes.cpu().size()
        }
    }

    /// How much was pushed and finished so far.
    pub fn counters(&self) -> Counters {
        let (pushed, completed) = self.core().epochs.counts();
        Counters {
            pushed,
            completed,
            in_flight: pushed - completed,
        }
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("naive", &self.core().naive)
            .field("counters", &self.counters())
            .finish_non_exhaustive()
    }
}
