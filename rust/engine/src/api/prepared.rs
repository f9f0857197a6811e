//! Operators and programs: what users prepare once and push again and again.

use crate::api::engine::Engine;
use crate::api::operator::Operator;
use crate::functions::context::{OnComplete, RunContext};
use crate::functions::function::Function;
use crate::operation::op::OpKind;
use crate::programs::program::Program;
use crate::types::device::Device;
use crate::types::failure::{OpError, PushError};
use crate::types::launch_args::LaunchArgs;
use crate::types::spec::OpSpec;

impl Engine {
    /// Prepares an operation to be pushed many times. Device and priority are given per push.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// use std::sync::Arc;
    /// use ferromix_engine::{Device, Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// let (a, count) = (engine.new_variable(), Arc::new(AtomicU32::new(0)));
    /// let counter = count.clone();
    /// let count_up = engine.new_operator(&OpSpec::new("count").writes(&[a]), move |_| {
    ///     counter.fetch_add(1, Relaxed);
    ///     Ok(())
    /// });
    /// for _ in 0..3 {
    ///     engine.push(&count_up, Device::CPU, 0)?;
    /// }
    /// engine.wait_for_var(a)?;
    /// assert_eq!(count.load(Relaxed), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new_operator<F>(&self, spec: &OpSpec<'_>, f: F) -> Operator
    where
        F: Fn(&RunContext) -> Result<(), OpError> + Send + Sync + 'static,
    {
        Operator::new(spec, Function::Sync(Box::new(f)))
    }

    /// Prepares an asynchronous operation to be pushed many times.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// use std::sync::Arc;
    /// use ferromix_engine::{Device, Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// let (a, count) = (engine.new_variable(), Arc::new(AtomicU32::new(0)));
    /// let counter = count.clone();
    /// let count_up = engine.new_async_operator(&OpSpec::new("count").writes(&[a]), move |_, done| {
    ///     counter.fetch_add(1, Relaxed);
    ///     done.complete(Ok(()));
    /// });
    /// engine.push(&count_up, Device::CPU, 0)?;
    /// engine.wait_for_var(a)?;
    /// assert_eq!(count.load(Relaxed), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new_async_operator<F>(&self, spec: &OpSpec<'_>, f: F) -> Operator
    where
        F: Fn(&RunContext, OnComplete) + Send + Sync + 'static,
    {
        Operator::new(spec, Function::Async(Box::new(f)))
    }

    /// Pushes a prepared operation.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// use std::sync::Arc;
    /// use ferromix_engine::{Device, Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// let (a, count) = (engine.new_variable(), Arc::new(AtomicU32::new(0)));
    /// let counter = count.clone();
    /// let count_up = engine.new_operator(&OpSpec::new("count").writes(&[a]), move |_| {
    ///     counter.fetch_add(1, Relaxed);
    ///     Ok(())
    /// });
    /// for _ in 0..3 {
    ///     engine.push(&count_up, Device::CPU, 0)?;
    /// }
    /// engine.wait_for_var(a)?;
    /// assert_eq!(engine.version(a)?, 3);
    /// # let _ = count;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// use std::sync::Arc;
    /// use ferromix_engine::{Device, Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// let (a, count) = (engine.new_variable(), Arc::new(AtomicU32::new(0)));
    /// let counter = count.clone();
    /// let count_up = engine.new_operator(&OpSpec::new("count").writes(&[a]), move |_| {
    ///     counter.fetch_add(1, Relaxed);
    ///     Ok(())
    /// });
    /// for _ in 0..3 {
    ///     engine.push(&count_up, Device::CPU, 0)?;
    /// }
    /// engine.delete_operator(count_up);
    /// engine.wait_for_var(a)?;
    /// assert_eq!(count.load(Relaxed), 3, "what was pushed still ran");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_operator(&self, operator: Operator) {
        drop(operator);
    }

    /// Runs a program once more: all its operations, at one place in the order of pushes.
    ///
    /// Failures are those of operations pushed one by one: an operation that fails, or is skipped,
    /// leaves the failure on what it mutates; those of the same launch that use that are skipped,
    /// and so are later ones. For [`wait_for_all`](Engine::wait_for_all) and
    /// [`Counters`](crate::Counters) a launch is one operation.
    ///
    /// Two launches of one program may be in flight; a third waits for one of them to end, or for
    /// 10 ms in which nothing finishes (an operation that launches never waits). An operation of a
    /// program must not wait for a variable that the program uses.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec, Program};
    /// let engine = Engine::builder().workers(2).build();
    /// let (a, b) = (engine.new_variable(), engine.new_variable());
    /// let program = Program::builder("both")
    ///     .op(&OpSpec::new("a").writes(&[a]), |_| Ok(()))
    ///     .op(&OpSpec::new("b").reads(&[a]).writes(&[b]), |_| Ok(()))
    ///     .build();
    /// for _ in 0..10 {
    ///     engine.launch(&program)?;
    /// }
    /// engine.wait_for_all()?;
    /// assert_eq!((engine.version(a)?, engine.version(b)?), (10, 10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`push_sync`](Engine::push_sync).
    pub fn launch(&self, program: &Program) -> Result<(), PushError> {
        self.launch_with(program, LaunchArgs::new())
    }

    /// Runs a program once more, like [`launch`](Engine::launch), with something of this launch's
    /// own.
    ///
    /// ```
    /// use ferromix_engine::{Engine, LaunchArgs, OpSpec, Program};
    /// let engine = Engine::builder().build();
    /// let program = Program::builder("one")
    ///     .op(&OpSpec::new("fails"), |context| Err(format!("in launch {}", context.tag()).into()))
    ///     .build();
    /// engine.launch_with(&program, LaunchArgs::new().tag(8))?;
    /// let failure = engine.wait_for_all().unwrap_err();
    /// assert_eq!(std::error::Error::source(&failure).unwrap().to_string(), "in launch 8");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`push_sync`](Engine::push_sync).
    pub fn launch_with(&self, program: &Program, args: LaunchArgs) -> Result<(), PushError> {
        if program.is_empty() {
            return Ok(());
        }
        let (core, plan) = (self.core(), &program.plan);
        let spec = program.spec().threads(args.threads);
        self.push_op(OpKind::Program, &spec, |op| {
            let launch = core.counters(plan).begin(plan, args);
            // SAFETY: not shared yet.
            unsafe { op.set_launch(launch.cast()) };
        })
    }
}
