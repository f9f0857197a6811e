//! Failures as users see them: errors of operations, of pushes and of waits.

use std::error::Error;
use std::fmt;

use crate::base::sync::Arc;
use crate::types::spec::Name;
use crate::types::var::Var;

/// What an operation's function may fail with.
///
/// ```
/// use ferromix_engine::OpError;
/// let from_text: OpError = "out of paper".into();
/// let from_error: OpError = std::io::Error::other("out of ink").into();
/// assert_eq!(format!("{from_text}, {from_error}"), "out of paper, out of ink");
/// ```
pub type OpError = Box<dyn Error + Send + Sync>;

/// An operation that failed, as a wait returns it. The original error object is the
/// [`source`](Error::source), recoverable by `downcast_ref`.
///
/// ```
/// use ferromix_engine::{Engine, OpSpec, WaitError};
/// let engine = Engine::builder().build();
/// let a = engine.new_variable();
/// let writes = [a];
/// let spec = OpSpec::new("parse").writes(&writes).tag(3);
/// engine.push_sync(&spec, |_| Ok("twelve".parse::<u32>().map(drop)?))?;
/// let Err(WaitError::Failed(failure)) = engine.wait_for_var(a) else {
///     return Err("it should have failed".into());
/// };
/// assert_eq!((failure.name.as_str(), failure.tag), ("parse", 3));
/// assert!(engine.wait_for_var(a).is_ok(), "a failure is returned once");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Failure {
    /// The operation that failed first (not one that was skipped because of it).
    pub name: Name,
    /// The tag it was pushed with.
    pub tag: u64,
    error: Arc<dyn Error + Send + Sync>,
}

impl Failure {
    pub(crate) fn new(name: Name, tag: u64, error: OpError) -> Self {
        Self {
            name,
            tag,
            error: Arc::from(error),
        }
    }

    /// The original error, shared.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec, WaitError};
    /// let engine = Engine::builder().build();
    /// let a = engine.new_variable();
    /// let writes = [a];
    /// let spec = OpSpec::new("parse").writes(&writes).tag(3);
    /// engine.push_sync(&spec, |_| Ok("twelve".parse::<u32>().map(drop)?))?;
    /// let Err(WaitError::Failed(failure)) = engine.wait_for_var(a) else {
    ///     return Err("it should have failed".into());
    /// };
    /// assert!(failure.error().is::<std::num::ParseIntError>());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn error(&self) -> &Arc<dyn Error + Send + Sync> {
        &self.error
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {} failed", self.name)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("name", &self.name)
            .field("tag", &self.tag)
            .field("error", &self.error)
            .finish()
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.error)
    }
}

/// The error of an asynchronous operation whose [`OnComplete`](crate::OnComplete) was dropped
/// without being called.
///
/// ```
/// use ferromix_engine::{Engine, NeverCompleted, OpSpec, WaitError};
/// let engine = Engine::builder().build();
/// engine.push_async(&OpSpec::new("forgets"), |_, done| drop(done))?;
/// let Err(WaitError::Failed(failure)) = engine.wait_for_all() else {
///     return Err("it should have failed".into());
/// };
/// assert!(failure.error().is::<NeverCompleted>());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeverCompleted;

impl fmt::Display for NeverCompleted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("its OnComplete was dropped without being called; call complete() exactly once")
    }
}

impl Error for NeverCompleted {}

/// Why a push was refused. Nothing was queued.
///
/// ```
/// use ferromix_engine::{Engine, OpSpec, PushError};
/// let engine = Engine::builder().build();
/// let a = engine.new_variable();
/// engine.delete_variable(a, || ())?;
/// let refused = engine.push_sync(&OpSpec::new("late").reads(&[a]), |_| Ok(()));
/// assert_eq!(refused, Err(PushError::StaleVariable(a)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PushError {
    /// The variable was deleted, or never belonged to this engine.
    StaleVariable(Var),
    /// [`Engine::notify_shutdown`](crate::Engine::notify_shutdown) was called.
    ShutDown,
    /// This process is the child of a fork, and the engine the parent's.
    Forked,
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PushError::StaleVariable(var) => write!(
                f,
                "{var} has been deleted, or belongs to another engine; \
                 keep it alive until everything that uses it has been pushed"
            ),
            PushError::ShutDown => f.write_str("the engine is shutting down and takes no work"),
            PushError::Forked => f.write_str(FORKED),
        }
    }
}

impl Error for PushError {}

impl PushError {
    /// Of a push that was part of a wait.
    pub(crate) fn into_wait_error(self) -> WaitError {
        match self {
            PushError::StaleVariable(var) => WaitError::StaleVariable(var),
            PushError::ShutDown => WaitError::ShutDown,
            PushError::Forked => WaitError::Forked,
        }
    }
}

/// Why a wait did not end well.
///
/// ```
/// use ferromix_engine::{Engine, OpSpec, WaitError};
/// let engine = Engine::builder().build();
/// let inner = engine.clone();
/// engine.push_sync(&OpSpec::new("waits for itself"), move |_| {
///     assert!(matches!(inner.wait_for_all(), Err(WaitError::InsideOperation)));
///     Ok(())
/// })?;
/// engine.wait_for_all()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum WaitError {
    /// An operation that the waiter depends on failed. Each failure is returned once.
    Failed(Failure),
    /// The variable was deleted, or never belonged to this engine.
    StaleVariable(Var),
    /// An operation waited for a variable that it mutates itself, or that depends on it, which could
    /// never end.
    SelfDependency(Var),
    /// `wait_for_all` or `stop` was called by an operation, which could never end.
    InsideOperation,
    /// So many operations of one lane are waiting inside their functions that the limit on
    /// replacement threads is reached; waiting too could leave nobody to run anything.
    TooManyBlocked,
    /// The time was up, or a [`WaitPolicy`](crate::WaitPolicy) gave up. What was waited for goes on; a
    /// failure that this wait would have returned is left for the next one.
    GivenUp,
    /// This process is the child of a fork, and the engine the parent's.
    Forked,
    /// There is another handle of a [`Data`](crate::Data), or another reference to its value.
    InUse(Var),
    /// The engine takes no work.
    ShutDown,
    /// This thread has brought the engine to rest, for a fork.
    AtRest,
}

const FORKED: &str = "this process was forked from one whose engine was not at rest; make the engine \
     with survives_forks(), call prepare_fork() before the fork, or make a new one in the child";

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitError::Failed(failure) => failure.fmt(f),
            WaitError::StaleVariable(var) => PushError::StaleVariable(*var).fmt(f),
            WaitError::SelfDependency(var) => write!(
                f,
                "an operation waited for {var}, which it mutates itself, or which depends on what it \
                 mutates; this would never end"
            ),
            WaitError::InsideOperation => f.write_str(
                "an operation waited for all operations, itself among them; \
                 wait for single variables instead",
            ),
            WaitError::TooManyBlocked => f.write_str(
                "too many operations are waiting inside their functions; \
                 make them depend on the variables instead of waiting",
            ),
            WaitError::GivenUp => f.write_str(
                "the wait was given up before its end; what it waited for goes on, \
                 and can be waited for again",
            ),
            WaitError::Forked => f.write_str(FORKED),
            WaitError::InUse(var) => write!(
                f,
                "the data of {var} has another handle, or is in use; drop that first"
            ),
            WaitError::ShutDown => PushError::ShutDown.fmt(f),
            WaitError::AtRest => f.write_str(
                "this thread has brought the engine to rest; call resume_in_parent() or \
                 resume_in_child() first",
            ),
        }
    }
}

impl Error for WaitError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            WaitError::Failed(failure) => failure.source(),
            _ => None,
        }
    }
}
