//! Failures: how an operation's error is kept, inherited by its dependants and surfaced once.

use std::any::Any;
use std::error::Error;
use std::fmt;

use crate::spec::Name;
use crate::sync::{Acquire, Arc, AtomicU64, AtomicUsize, Mutex, Relaxed, lock};
use crate::var::Var;

/// What an operation's function may fail with.
pub type OpError = Box<dyn Error + Send + Sync>;

/// An operation that failed, as a wait returns it. The original error object is the
/// [`source`](Error::source), recoverable by `downcast_ref`.
#[derive(Clone)]
pub struct Failure {
    /// The operation that failed first (not one that was skipped because of it).
    pub name: Name,
    /// The tag it was pushed with.
    pub tag: u64,
    error: Arc<dyn Error + Send + Sync>,
}

impl Failure {
    /// The original error, shared.
    pub fn error(&self) -> &Arc<dyn Error + Send + Sync> {
        &self.error
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {} failed: {}", self.name, self.error)
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

/// The error of an operation whose function panicked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PanicError {
    message: String,
}

impl PanicError {
    pub(crate) fn from_payload(payload: &(dyn Any + Send)) -> Self {
        let text = payload
            .downcast_ref::<&'static str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned());
        Self {
            message: text.unwrap_or_else(|| "(no message)".to_owned()),
        }
    }

    /// What was passed to `panic!`.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for PanicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "panicked: {}", self.message)
    }
}

impl Error for PanicError {}

/// The error of an asynchronous operation whose [`OnComplete`](crate::OnComplete) was dropped
/// without being called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeverCompleted;

impl fmt::Display for NeverCompleted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("its OnComplete was dropped without being called; call complete() exactly once")
    }
}

impl Error for NeverCompleted {}

/// Why a push was refused. Nothing was queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PushError {
    /// The variable was deleted, or never belonged to this engine.
    StaleVariable(Var),
    /// [`Engine::notify_shutdown`](crate::Engine::notify_shutdown) was called.
    ShutDown,
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
        }
    }
}

impl Error for PushError {}

/// Why a wait did not end well.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum WaitError {
    /// An operation that the waiter depends on failed. Each failure is returned once.
    Failed(Failure),
    /// The variable was deleted, or never belonged to this engine.
    StaleVariable(Var),
    /// An operation waited for a variable that it mutates itself, which could never end.
    SelfDependency(Var),
    /// `wait_for_all` or `stop` was called by an operation, which could never end.
    InsideOperation,
    /// So many operations of one lane are waiting inside their functions that the bound on
    /// replacement threads is reached; waiting too could leave nobody to run anything.
    TooManyBlocked,
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitError::Failed(failure) => failure.fmt(f),
            WaitError::StaleVariable(var) => PushError::StaleVariable(*var).fmt(f),
            WaitError::SelfDependency(var) => write!(
                f,
                "an operation waited for {var}, which it mutates itself; this would never end"
            ),
            WaitError::InsideOperation => f.write_str(
                "an operation waited for all operations, itself among them; \
                 wait for single variables instead",
            ),
            WaitError::TooManyBlocked => f.write_str(
                "too many operations are waiting inside their functions; \
                 make them depend on the variables instead of waiting",
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

/// `surfaced_at` of a failure that no wait has returned yet.
const UNSEEN: u64 = u64::MAX;

/// A failure as variables hold it. It counts for operations in front of the wait that surfaced it.
pub(crate) struct FailureCell {
    pub(crate) failure: Failure,
    /// Place in the log of the operation that failed.
    pub(crate) origin: u64,
    /// Place in the log of the wait that surfaced it.
    surfaced_at: AtomicU64,
    alive: Arc<AtomicUsize>,
}

impl FailureCell {
    /// Whether an operation at place `seq` of the log must be skipped for it.
    pub(crate) fn binds(&self, seq: u64) -> bool {
        // Acquire: pairs with `surface`; nothing else travels with it, but a reader that skips the
        // check because of it must also see what the surfacing thread saw.
        seq < self.surfaced_at.load(Acquire)
    }

    /// Claims the right to report this failure, for a wait at place `seq`; true for one caller.
    pub(crate) fn surface(&self, seq: u64) -> bool {
        use crate::sync::AcqRel;
        // AcqRel on success: pairs with `binds`; Relaxed on failure: the caller only gives up.
        self.surfaced_at
            .compare_exchange(UNSEEN, seq, AcqRel, Relaxed)
            .is_ok()
    }
}

impl Drop for FailureCell {
    fn drop(&mut self) {
        // Relaxed: the count is a hint that is exact for whoever holds a cell; see `any_alive`.
        self.alive.fetch_sub(1, Relaxed);
    }
}

/// The failures of one engine.
pub(crate) struct Failures {
    alive: Arc<AtomicUsize>,
    /// Failures in the order of recording that `wait_for_all` may still have to report. Locked only
    /// when an operation fails and by `wait_for_all`.
    unseen: Mutex<Vec<Arc<FailureCell>>>,
}

impl Failures {
    pub(crate) fn new() -> Self {
        Self {
            alive: Arc::new(AtomicUsize::new(0)),
            unseen: Mutex::new(Vec::new()),
        }
    }

    /// Whether any variable may hold a failure.
    ///
    /// Relaxed is enough: an operation that depends on a failed one acquired tokens that were
    /// released after the count went up, and the count stays up while a variable holds the cell.
    pub(crate) fn any_alive(&self) -> bool {
        self.alive.load(Relaxed) != 0
    }

    /// Records that the operation at place `origin` failed.
    pub(crate) fn record(
        &self,
        name: Name,
        tag: u64,
        origin: u64,
        error: OpError,
    ) -> Arc<FailureCell> {
        self.alive.fetch_add(1, Relaxed);
        let cell = Arc::new(FailureCell {
            failure: Failure {
                name,
                tag,
                error: Arc::from(error),
            },
            origin,
            surfaced_at: AtomicU64::new(UNSEEN),
            alive: self.alive.clone(),
        });
        let mut unseen = lock(&self.unseen);
        // A failure that a wait has reported is of no interest here; dropping such cells as new
        // ones come keeps the list as short as the failures that nobody has asked for.
        unseen.retain(|cell| cell.binds(UNSEEN - 1));
        unseen.push(cell.clone());
        cell
    }

    /// Surfaces all failures of operations before place `seq`; returns the first in push order.
    pub(crate) fn surface_all(&self, seq: u64) -> Option<Failure> {
        let mut due = Vec::new();
        lock(&self.unseen).retain(|cell| {
            let later = cell.origin > seq;
            if !later {
                due.push(cell.clone());
            }
            later
        });
        due.sort_by_key(|cell| cell.origin);
        let mut first = None;
        for cell in due {
            if cell.surface(seq) && first.is_none() {
                first = Some(cell.failure.clone());
            }
        }
        first
    }
}
