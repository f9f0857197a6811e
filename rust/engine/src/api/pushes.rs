//! Variables and operations: what users of an engine make and push.

use std::ptr;

use crate::api::engine::Engine;
use crate::functions::context::{OnComplete, RunContext};
use crate::functions::task::Task;
use crate::operation::op::{OpKind, OpPtr};
use crate::operation::var_slots::Killed;
use crate::state::bulk_builder::BulkBuilder;
use crate::state::limiter::Bytes;
use crate::types::device::Device;
use crate::types::failure::{OpError, PushError};
use crate::types::spec::{FnProperty, Name, OpSpec};
use crate::types::var::Var;
use crate::waiters::waiter::Waiter;

impl Engine {
    // ---- variables -----------------------------------------------------------------------------

    /// A new variable, of version 0.
    ///
    /// ```
    /// use ferromix_engine::Engine;
    /// let engine = Engine::builder().build();
    /// let (a, b) = (engine.new_variable(), engine.new_variable());
    /// assert_ne!(a, b);
    /// assert_eq!(engine.version(a)?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new_variable(&self) -> Var {
        self.core().vars.create()
    }

    /// Deletes a variable. The handle is stale when this returns; `f` runs, once, after the last
    /// operation that uses the variable (even if that failed), on whichever thread finds out,
    /// possibly inside this call. A panic of `f` is a failure that `wait_for_all` returns.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().workers(2).build();
    /// let (a, log) = (engine.new_variable(), Arc::new(Mutex::new(Vec::new())));
    /// let (used, freed) = (log.clone(), log.clone());
    /// engine.push_sync(&OpSpec::new("use").reads(&[a]), move |_| {
    ///     used.lock().unwrap().push("used");
    ///     Ok(())
    /// })?;
    /// engine.delete_variable(a, move || freed.lock().unwrap().push("freed"))?;
    /// assert!(engine.version(a).is_err(), "the handle is stale at once");
    /// engine.wait_for_all()?;
    /// assert_eq!(*log.lock().unwrap(), ["used", "freed"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`PushError::StaleVariable`], [`PushError::Forked`]; `f` is dropped uncalled then.
    pub fn delete_variable(
        &self,
        var: Var,
        f: impl FnOnce() + Send + 'static,
    ) -> Result<(), PushError> {
        self.delete_variable_on(var, Device::CPU, |_| f())
    }

    /// The same, for a variable of some device: on a GPU's compute lane if it is one, as freeing
    /// what lies there may need the thread or the [stream](RunContext::stream) of that GPU.
    ///
    /// ```
    /// use ferromix_engine::{Device, Engine};
    /// let engine = Engine::builder().build();
    /// let a = engine.new_variable();
    /// engine.delete_variable_on(a, Device::gpu(1), |context| {
    ///     assert_eq!(context.device(), Device::gpu(1));
    /// })?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`delete_variable`](Engine::delete_variable).
    pub fn delete_variable_on(
        &self,
        var: Var,
        device: Device,
        f: impl FnOnce(&RunContext) + Send + 'static,
    ) -> Result<(), PushError> {
        let core = self.core();
        if core.is_inherited() {
            return Err(PushError::Forked);
        }
        let killed = core.vars.kill(var);
        // There is a slot, since the handle was live.
        let (false, Some(slot)) = (killed == Killed::Before, core.vars.slot(var.index)) else {
            return Err(PushError::StaleVariable(var));
        };
        let name = const { Name::new("delete variable") };
        let spec = OpSpec::new(name).property(FnProperty::DeleteVar).on(device);
        let op = core.new_op(OpKind::Delete, &spec, 1, ptr::null());
        let run = move |context: &RunContext| {
            f(context);
            Ok(())
        };
        // SAFETY: not shared yet.
        unsafe { op.with_task(|task| task.store_sync(run)) };
        // SAFETY: the one access, of an operation that is not shared yet.
        unsafe { op.init_access(0, slot, var.generation, true) };
        let op = match killed {
            // SAFETY: by `killed`; once.
            Killed::Held => match unsafe { slot.park(op) } {
                Some(op) => op,
                None => return Ok(()),
            },
            _ => op,
        };
        let begin = core.tracer.begin();
        core.submit(op);
        if let Some(begin) = begin {
            core.trace_push(op, spec.name, spec.tag, begin);
        }
        Ok(())
    }

    /// Number of finished operations that mutated the variable, failed and skipped ones included.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// let a = engine.new_variable();
    /// for _ in 0..5 {
    ///     engine.push_sync(&OpSpec::new("write").writes(&[a]), |_| Ok(()))?;
    /// }
    /// engine.wait_for_var(a)?;
    /// assert_eq!(engine.version(a)?, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`PushError::StaleVariable`].
    pub fn version(&self, var: Var) -> Result<u64, PushError> {
        self.core().push_collected();
        self.core()
            .vars
            .version(var)
            .ok_or(PushError::StaleVariable(var))
    }

    // ---- operations ----------------------------------------------------------------------------

    /// Pushes an operation; `finish` sets what is not in the specification.
    #[inline(always)]
    pub(crate) fn push_op(
        &self,
        kind: OpKind,
        spec: &OpSpec<'_>,
        finish: impl FnOnce(OpPtr),
    ) -> Result<(), PushError> {
        let core = self.core();
        // The naive engine waits for its operation, unless an operation is pushing.
        let waits = core.naive && core.may_wait_here().is_ok();
        self.push_and_wait(kind, spec, waits, finish)
    }

    #[inline(always)]
    fn push_and_wait(
        &self,
        kind: OpKind,
        spec: &OpSpec<'_>,
        waits: bool,
        finish: impl FnOnce(OpPtr),
    ) -> Result<(), PushError> {
        let core = self.core();
        core.push_collected();
        let waiter = waits.then(Waiter::new);
        let op = self.prepare(kind, spec, waiter.as_ref())?;
        finish(op);
        // From the moment on at which the block is the operation's; see `trace.rs`.
        let begin = core.tracer.begin();
        core.submit(op);
        if let Some(begin) = begin {
            core.trace_push(op, spec.name, spec.tag, begin);
        }
        if let Some(waiter) = &waiter {
            core.block_on(waiter);
            return Ok(());
        }
        core.pace();
        if core.limiter.holds_back() {
            core.hold_back(None);
        }
        Ok(())
    }

    /// Pushes an operation whose function `store` puts in its place.
    #[inline(always)]
    fn push_task(
        &self,
        kind: OpKind,
        spec: &OpSpec<'_>,
        store: impl FnOnce(&mut Task),
    ) -> Result<(), PushError> {
        // SAFETY: not shared yet.
        self.push_op(kind, spec, |op| unsafe { op.with_task(store) })
    }

    /// Pushes an asynchronous operation that ends when its pusher says so: nobody waits for it here.
    /// The caller gets a count of it.
    pub(crate) fn push_turn<F>(&self, spec: &OpSpec<'_>, f: F) -> Result<OpPtr, PushError>
    where
        F: FnOnce(&RunContext, OnComplete) + Send + 'static,
    {
        let mut turn = None;
        self.push_and_wait(OpKind::Async, spec, false, |op| {
            op.retain();
            turn = Some(op);
            // SAFETY: not shared yet.
            unsafe { op.with_task(|task| task.store_async(f)) }
        })?;
        turn.ok_or(PushError::ShutDown)
    }

    /// An operation with its accesses, and without a function.
    fn prepare(
        &self,
        kind: OpKind,
        spec: &OpSpec<'_>,
        waiter: Option<&Waiter>,
    ) -> Result<OpPtr, PushError> {
        let core = self.core();
        core.check_open()?;
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
    /// [`max_in_flight`](crate::Builder::max_in_flight)); with the naive engine, when the operation
    /// is finished. An error or a panic of the function is a failure: see
    /// [`wait_for_var`](Engine::wait_for_var).
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().workers(2).build();
    /// let (a, text) = (engine.new_variable(), Arc::new(Mutex::new(String::new())));
    /// for word in ["in ", "this ", "order"] {
    ///     let text = text.clone();
    ///     engine.push_sync(&OpSpec::new("append").writes(&[a]), move |_| {
    ///         text.lock().unwrap().push_str(word);
    ///         Ok(())
    ///     })?;
    /// }
    /// engine.wait_for_var(a)?;
    /// assert_eq!(*text.lock().unwrap(), "in this order");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`PushError::StaleVariable`] if a variable has been deleted, [`PushError::ShutDown`]. The
    /// function is dropped uncalled then. (If another thread deletes a variable during the push,
    /// the push may return `Ok` and the operation then fails with that error, without running.)
    pub fn push_sync<F>(&self, spec: &OpSpec<'_>, f: F) -> Result<(), PushError>
    where
        F: FnOnce(&RunContext) -> Result<(), OpError> + Send + 'static,
    {
        if let Some(builder) = self.core().bulk_builder() {
            return self.push_into(builder, spec, f);
        }
        self.push_alone(spec, f)
    }

    /// Pushes a synchronous operation by itself.
    #[inline(always)]
    fn push_alone<F>(&self, spec: &OpSpec<'_>, f: F) -> Result<(), PushError>
    where
        F: FnOnce(&RunContext) -> Result<(), OpError> + Send + 'static,
    {
        if spec.bytes == 0 {
            return self.push_task(OpKind::Sync, spec, |task| task.store_sync(f));
        }
        let bytes = Bytes::new(self.core(), spec.bytes);
        self.push_task(OpKind::Sync, spec, |task| {
            task.store_sync(move |context| {
                let _bytes = bytes;
                f(context)
            });
        })
    }

    /// Adds a synchronous operation to this thread's bulk, or pushes it by itself.
    #[inline(never)]
    fn push_into<F>(&self, builder: &BulkBuilder, spec: &OpSpec<'_>, f: F) -> Result<(), PushError>
    where
        F: FnOnce(&RunContext) -> Result<(), OpError> + Send + 'static,
    {
        let mut f = Some(f);
        let store = |task: &mut Task| {
            if let Some(f) = f.take() {
                task.store_sync(f);
            }
        };
        match self.core().collect(builder, spec, store) {
            Some(collected) => collected,
            None => f.map_or(Ok(()), |f| self.push_alone(spec, f)),
        }
    }

    /// Pushes an operation that is finished when its [`OnComplete`] is called.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().workers(1).build();
    /// let a = engine.new_variable();
    /// engine.push_async(&OpSpec::new("elsewhere").writes(&[a]), |_, done| {
    ///     std::thread::spawn(move || done.complete(Ok(())));
    /// })?;
    /// engine.wait_for_var(a)?;
    /// assert_eq!(engine.version(a)?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`push_sync`](Engine::push_sync).
    pub fn push_async<F>(&self, spec: &OpSpec<'_>, f: F) -> Result<(), PushError>
    where
        F: FnOnce(&RunContext, OnComplete) + Send + 'static,
    {
        if spec.bytes == 0 {
            return self.push_task(OpKind::Async, spec, |task| task.store_async(f));
        }
        let bytes = Bytes::new(self.core(), spec.bytes);
        self.push_task(OpKind::Async, spec, |task| {
            task.store_async(move |context, finish| f(context, finish.with_bytes(bytes)));
        })
    }
}
