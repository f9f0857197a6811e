//! Waits inside functions of operations that can never end: for what depends on the function itself, or
//! on another one that waits for this one.
//!
//! The engine finds the former ([`OnComplete::during`](ferromix_engine::OnComplete::during)), but for
//! launches of programs, and not the latter. But where every
//! function that runs is in a wait, and nothing else runs or is ready, nothing will ever happen: what is
//! pushed from now on comes after what is waited for. If that is so at each of many looks, during
//! which nothing finishes, the wait gives up.

use crate::held;
use ferromix_engine::{Engine, Var, WaitError, WaitPolicy};
use std::sync::OnceLock;
use std::time::Duration;

/// How often somebody looks, and how many looks in a row must see nothing go on. Looks and not a time,
/// as a process may be stopped for any time, in the middle of something.
pub(crate) const LOOK: Duration = Duration::from_millis(25);
const LOOKS: u32 = 40;

/// How many functions wait for the engine; `None` if others run, or are about to.
pub type AllWait = fn() -> Option<usize>;

static ALL_WAIT: OnceLock<AllWait> = OnceLock::new();

/// Says who knows the functions that run. Without, no wait is ever given up.
pub fn count_waits_by(all_wait: AllWait) {
    // Set once for a process; the first one stays.
    let _ = ALL_WAIT.set(all_wait);
}

/// What the error of such a wait says.
pub const IN_VAIN: &str = "the function of an operation waited for something that depends on the \
    operation itself, or on another one that waits for it; this would never end: push what is to \
    happen afterwards instead of waiting for it, or wait for it elsewhere";

/// What a wait inside a function has seen of what goes on.
#[derive(Debug, Default)]
pub struct StallDetector {
    looks: u32,
    completed: u64,
}

impl StallDetector {
    /// One further look; whether the wait is in vain.
    pub fn is_stalled(&mut self, engine: &Engine) -> bool {
        let completed = engine.counters().completed;
        let waiting = ALL_WAIT.get().and_then(|all_wait| all_wait());
        let quiet =
            waiting.is_some_and(|waiting| engine.is_idle_but_for(waiting)) && !held::anyone_works();
        if quiet && completed == self.completed {
            self.looks += 1;
        } else {
            (self.looks, self.completed) = (0, completed);
        }
        self.looks > LOOKS
    }
}

/// Waits without end, but inside a function not in vain.
#[derive(Debug)]
pub struct StallPolicy<'a> {
    engine: &'a Engine,
    detector: StallDetector,
}

impl<'a> StallPolicy<'a> {
    /// A wait for something of this engine's.
    pub fn new(engine: &'a Engine) -> Self {
        StallPolicy {
            engine,
            detector: StallDetector::default(),
        }
    }
}

impl WaitPolicy for StallPolicy<'_> {
    fn before_sleep(&mut self) -> Option<Duration> {
        if !held::inside() {
            return Some(Duration::MAX);
        }
        (!self.detector.is_stalled(self.engine)).then_some(LOOK)
    }
}

/// Waits a little.
struct Glance(Duration);

impl WaitPolicy for Glance {
    fn before_sleep(&mut self) -> Option<Duration> {
        let time = std::mem::take(&mut self.0);
        (!time.is_zero()).then_some(time)
    }
}

/// Whether the function that this thread runs is in front of the last write of a variable. Where that is
/// over meanwhile, with a failure, the failure.
pub(crate) fn is_behind_itself(engine: &Engine, var: Var) -> Result<bool, WaitError> {
    match engine.wait_for_var_with(var, &mut Glance(LOOK)) {
        Err(WaitError::SelfDependency(_)) => Ok(true),
        Err(failed @ WaitError::Failed(_)) => Err(failed),
        _ => Ok(false),
    }
}

/// Whether a wait ended because it was in vain.
pub fn is_in_vain(error: &WaitError) -> bool {
    matches!(error, WaitError::GivenUp | WaitError::SelfDependency(_))
}
