//! What the function of an operation is given: where it runs, and the promise to complete it.

use std::any::Any;
use std::num::NonZero;
use std::ptr::NonNull;

use crate::base::sync::{Arc, Relaxed};
use crate::functions::declared::Declared;
use crate::functions::launch::Run;
use crate::operation::op::OpPtr;
use crate::state::core::Core;
use crate::state::limiter::Bytes;
use crate::types::device::Device;

/// Where and how an operation runs.
///
/// ```
/// use ferromix_engine::{Device, Engine, OpSpec};
/// let engine = Engine::builder().build();
/// let spec = OpSpec::new("where").on(Device::gpu(1)).priority(7).tag(42);
/// engine.push_sync(&spec, |context| {
///     assert_eq!(context.device(), Device::gpu(1));
///     assert_eq!((context.priority(), context.tag()), (7, 42));
///     Ok(())
/// })?;
/// engine.wait_for_all()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RunContext {
    core: CorePtr,
    tag: u64,
    argument: Option<Argument>,
    stream: Option<u64>,
    threads: u16,
    pub(crate) declared: Declared,
}

/// The engine's, for as long as the operation runs.
#[derive(Debug)]
struct CorePtr(*const Core);

// SAFETY: a shared reference to something `Sync`.
unsafe impl Send for CorePtr {}
// SAFETY: as above.
unsafe impl Sync for CorePtr {}

/// What a launch was given, for as long as a step of it runs.
#[derive(Clone, Copy, Debug)]
struct Argument(NonNull<dyn Any + Send + Sync>);

// SAFETY: a shared reference to something `Sync`.
unsafe impl Send for Argument {}
// SAFETY: as above.
unsafe impl Sync for Argument {}

impl RunContext {
    /// The context of an operation that is pushed by itself.
    #[inline]
    pub(crate) fn of(core: &Core, op: OpPtr) -> Self {
        let header = op.header();
        Self {
            core: CorePtr(core),
            tag: header.tag,
            argument: None,
            stream: core.own_stream(),
            threads: header.threads,
            declared: Declared::of(op),
        }
    }

    /// The context of an operation in a bulk.
    pub(crate) fn of_item(core: &Core, bulk: OpPtr, op: OpPtr) -> Self {
        Self {
            // SAFETY: the operation is in the bulk.
            declared: unsafe { Declared::of_item(bulk, op) },
            ..Self::of(core, op)
        }
    }

    /// The context of a step of a launch.
    ///
    /// # Safety
    /// The launch outlives the context.
    #[inline]
    pub(crate) unsafe fn of_step(core: &Core, run: Run<'_>, index: u32) -> Self {
        let (step, args) = (&run.plan.steps[index as usize], &run.launch.args);
        let argument = args.argument.as_deref();
        Self {
            core: CorePtr(core),
            tag: args.tag.unwrap_or(step.tag),
            argument: argument.map(|argument| Argument(NonNull::from(argument))),
            stream: core.own_stream(),
            threads: match (run.op.header().threads, step.threads) {
                (0, most) | (most, 0) => most,
                (launch, step) => launch.min(step),
            },
            declared: Declared::of_step(run, index),
        }
    }

    /// What the launch of the program was given ([`LaunchArgs::argument`](crate::LaunchArgs::argument)),
    /// if it is of this type.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ferromix_engine::{Engine, LaunchArgs, OpSpec, Program};
    /// let engine = Engine::builder().build();
    /// let program = Program::builder("asks")
    ///     .op(&OpSpec::new("ask"), |context| {
    ///         assert_eq!(context.argument::<&str>(), Some(&"this time"));
    ///         assert_eq!(context.argument::<u64>(), None);
    ///         Ok(())
    ///     })
    ///     .build();
    /// engine.launch_with(&program, LaunchArgs::new().argument(Arc::new("this time")))?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn argument<T: Any>(&self) -> Option<&T> {
        // SAFETY: by the contract of `of_step`.
        unsafe { self.argument?.0.as_ref() }.downcast_ref()
    }

    /// The stream of the worker that runs the operation, where the engine was
    /// [given streams](crate::Builder::streams).
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().streams(|_, _, worker| 7 + worker as u64).workers(1).build();
    /// engine.push_sync(&OpSpec::new("ask"), |context| {
    ///     assert_eq!(context.stream(), Some(7));
    ///     Ok(())
    /// })?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stream(&self) -> Option<u64> {
        self.stream
    }

    /// The device that the operation was pushed for.
    ///
    /// ```
    /// use ferromix_engine::{Device, Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// engine.push_sync(&OpSpec::new("ask").on(Device::gpu(2)), |context| {
    ///     assert_eq!(context.device(), Device::gpu(2));
    ///     Ok(())
    /// })?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn device(&self) -> Device {
        self.declared.op().header().device
    }

    /// The priority that the operation was pushed with.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// engine.push_sync(&OpSpec::new("ask").priority(-3), |context| {
    ///     assert_eq!(context.priority(), -3);
    ///     Ok(())
    /// })?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn priority(&self) -> i32 {
        self.declared.op().header().priority
    }

    /// The tag that the operation was pushed with.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// engine.push_sync(&OpSpec::new("ask").tag(9), |context| {
    ///     assert_eq!(context.tag(), 9);
    ///     Ok(())
    /// })?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tag(&self) -> u64 {
        self.tag
    }

    /// How many threads the function may use, the one that calls it included, if its operation said
    /// so ([`OpSpec::threads`](crate::OpSpec::threads)), or else the engine
    /// ([`set_num_threads_per_worker`](crate::Engine::set_num_threads_per_worker)). To be obeyed by whatever parallel code the
    /// function calls.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// engine.push_sync(&OpSpec::new("ask").threads(4), |context| {
    ///     assert_eq!(context.threads().map(|threads| threads.get()), Some(4));
    ///     Ok(())
    /// })?;
    /// engine.push_sync(&OpSpec::new("free"), |context| {
    ///     assert_eq!(context.threads(), None);
    ///     Ok(())
    /// })?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn threads(&self) -> Option<NonZero<u16>> {
        NonZero::new(self.threads).or_else(|| {
            // SAFETY: the operation, which runs, has it. Relaxed: a number alone.
            let most = unsafe { (*self.core.0).threads_per_worker.load(Relaxed) };
            NonZero::new(most as u16)
        })
    }
}

/// The promise of an asynchronous operation: call [`complete`](OnComplete::complete), from any
/// thread, when its effects are there. Until then everything that depends on it waits.
///
/// Dropping it uncalled completes the operation with the error [`NeverCompleted`](crate::NeverCompleted); with the panic,
/// if a panic of the operation's own function drops it. (A panic of the function after the
/// `OnComplete` went elsewhere does not change the operation's outcome; `wait_for_all` returns it.)
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
#[must_use = "the operation is not finished until this is completed"]
pub struct OnComplete {
    pub(crate) core: Arc<Core>,
    pub(crate) op: Option<OpPtr>,
    pub(crate) step: u32,
    pub(crate) bytes: Option<Bytes>,
}

impl std::fmt::Debug for OnComplete {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnComplete").finish_non_exhaustive()
    }
}
