//! How long a thread is ready to wait, and what it does before and after it sleeps.

use std::time::{Duration, Instant};

/// How long a thread is ready to wait: asked each time before it sleeps.
///
/// ```
/// use std::time::Duration;
/// use ferromix_engine::{Engine, WaitError, WaitPolicy};
///
/// /// Sleeps three times at most.
/// struct Thrice(u32);
///
/// impl WaitPolicy for Thrice {
///     fn before_sleep(&mut self) -> Option<Duration> {
///         self.0 = self.0.checked_sub(1)?;
///         Some(Duration::from_millis(1))
///     }
/// }
///
/// let engine = Engine::builder().workers(1).build();
/// engine.wait_for_all_with(&mut Thrice(3))?;
/// # Ok::<(), WaitError>(())
/// ```
pub trait WaitPolicy {
    /// Called once, before the first sleep: something of use that the thread may do until `ended`, or
    /// for a short while.
    fn meanwhile(&mut self, _ended: &dyn Fn() -> bool) {}

    /// For how long at most to sleep now; `None` gives the wait up. The thread may wake up earlier
    /// and ask again.
    fn before_sleep(&mut self) -> Option<Duration>;

    /// Called after each sleep, before the thread touches anything of the engine's.
    fn after_sleep(&mut self) {}
}

/// Waits until a point in time.
pub(crate) struct Until(Instant);

impl Until {
    /// From now on; a time beyond all clocks is a long sleep at a time.
    pub(crate) fn after(timeout: Duration) -> Self {
        const LONG: Duration = Duration::from_secs(1 << 32);
        Self(Instant::now() + timeout.min(LONG))
    }
}

impl WaitPolicy for Until {
    fn before_sleep(&mut self) -> Option<Duration> {
        let left = self.0.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }
}

/// Waits without end.
pub(crate) struct Endless;

impl WaitPolicy for Endless {
    fn before_sleep(&mut self) -> Option<Duration> {
        Some(Duration::MAX)
    }
}
