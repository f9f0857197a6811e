//! What a launch of a program may be given, and what may be wrong with it.

use std::any::Any;
use std::fmt;

use crate::base::sync::Arc;
use crate::types::var::Var;

/// Why [`Program::rebind`](crate::Program::rebind) was refused.
///
/// ```
/// use ferromix_engine::{Engine, OpSpec, Program, RebindError};
/// let engine = Engine::builder().build();
/// let (a, b) = (engine.new_variable(), engine.new_variable());
/// let program = Program::builder("on a").op(&OpSpec::new("x").writes(&[a]), |_| Ok(())).build();
/// assert_eq!(program.rebind(&[(b, a)]).err(), Some(RebindError::NotUsed(b)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RebindError {
    /// The program does not use the variable that was to be replaced.
    NotUsed(Var),
    /// The new variable would stand for two of the program.
    Twice(Var),
}

impl fmt::Display for RebindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RebindError::NotUsed(var) => write!(
                f,
                "the program does not use {var}; replace one of its variables"
            ),
            RebindError::Twice(var) => write!(
                f,
                "{var} would stand for two variables of the program; build one for that case"
            ),
        }
    }
}

impl std::error::Error for RebindError {}

/// What one launch is given, besides its program; for
/// [`Engine::launch_with`](crate::Engine::launch_with).
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use std::sync::Arc;
/// use ferromix_engine::{Engine, LaunchArgs, OpSpec, Program};
///
/// let engine = Engine::builder().workers(2).build();
/// let (sum, cell) = (engine.new_variable(), Arc::new(AtomicU64::new(0)));
/// let out = cell.clone();
/// let program = Program::builder("add what the launch says")
///     .op(&OpSpec::new("add").writes(&[sum]), move |context| {
///         out.fetch_add(*context.argument::<u64>().unwrap_or(&0), Relaxed);
///         Ok(())
///     })
///     .build();
/// for number in [30_u64, 12] {
///     engine.launch_with(&program, LaunchArgs::new().argument(Arc::new(number)))?;
/// }
/// engine.wait_for_var(sum)?;
/// assert_eq!(cell.load(Relaxed), 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LaunchArgs {
    pub(crate) tag: Option<u64>,
    pub(crate) threads: u16,
    pub(crate) argument: Option<Arc<dyn Any + Send + Sync>>,
}

impl LaunchArgs {
    /// Nothing.
    ///
    /// ```
    /// use ferromix_engine::{Engine, LaunchArgs, OpSpec, Program};
    /// let engine = Engine::builder().build();
    /// let program = Program::builder("plain").op(&OpSpec::new("x"), |_| Ok(())).build();
    /// engine.launch_with(&program, LaunchArgs::new())?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// The tag of all operations of the launch, instead of their own.
    ///
    /// ```
    /// use ferromix_engine::{Engine, LaunchArgs, OpSpec, Program};
    /// let engine = Engine::builder().build();
    /// let program = Program::builder("tagged")
    ///     .op(&OpSpec::new("x").tag(1), |context| {
    ///         assert_eq!(context.tag(), 2);
    ///         Ok(())
    ///     })
    ///     .build();
    /// engine.launch_with(&program, LaunchArgs::new().tag(2))?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tag(mut self, tag: u64) -> Self {
        self.tag = Some(tag);
        self
    }

    /// How many threads each operation of the launch may use, if it does not say less itself; see
    /// [`OpSpec::threads`](crate::OpSpec::threads).
    ///
    /// ```
    /// use ferromix_engine::{Engine, LaunchArgs, OpSpec, Program};
    /// let engine = Engine::builder().build();
    /// let program = Program::builder("narrow")
    ///     .op(&OpSpec::new("x"), |context| {
    ///         assert_eq!(context.threads().map(|threads| threads.get()), Some(2));
    ///         Ok(())
    ///     })
    ///     .build();
    /// engine.launch_with(&program, LaunchArgs::new().threads(2))?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn threads(mut self, most: u16) -> Self {
        self.threads = most;
        self
    }

    /// What the operations get by [`RunContext::argument`](crate::RunContext::argument).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ferromix_engine::{Engine, LaunchArgs, OpSpec, Program};
    /// let engine = Engine::builder().build();
    /// let program = Program::builder("given")
    ///     .op(&OpSpec::new("x"), |context| {
    ///         assert_eq!(context.argument(), Some(&vec![1, 2]));
    ///         Ok(())
    ///     })
    ///     .build();
    /// engine.launch_with(&program, LaunchArgs::new().argument(Arc::new(vec![1, 2])))?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn argument(mut self, argument: Arc<dyn Any + Send + Sync>) -> Self {
        self.argument = Some(argument);
        self
    }
}
