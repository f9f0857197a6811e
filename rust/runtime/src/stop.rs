//! The engine stopped and started by its users. While it is stopped pushes are refused, so that nobody
//! waits for what nobody runs.

use crate::waits::Gated;
use crate::{Runtime, held};
use ferromix_base::Error;
use ferromix_engine::{WaitError, WaitPolicy};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

const RUNNING: u8 = 0;
const CHANGING: u8 = 1;
const STOPPED: u8 = 2;

/// How often a thread looks whether another one has finished to stop or start the engine.
const NAP: Duration = Duration::from_millis(1);

/// What the engine does, for those who push. An atomic rather than a lock, as a fork may find it in any
/// state.
#[derive(Debug)]
pub(crate) struct Switch(AtomicU8);

impl Switch {
    pub(crate) const fn new() -> Self {
        Switch(AtomicU8::new(RUNNING))
    }

    /// Whether pushes are taken from outside of operations.
    fn is_open(&self) -> bool {
        // Relaxed: pushers are ordered by what they push; who stops the engine looks for latecomers.
        self.0.load(Ordering::Relaxed) == RUNNING
    }

    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Acquire) == STOPPED
    }

    /// Takes the switch from `from`, for a change; false where it is at `to` already.
    fn take(&self, from: u8, to: u8, policy: &mut dyn WaitPolicy) -> Result<bool, WaitError> {
        loop {
            // AcqRel: what the thread that changed it last did comes before.
            match self
                .0
                .compare_exchange(from, CHANGING, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return Ok(true),
                Err(found) if found == to => return Ok(false),
                Err(_) => {
                    let time = policy.before_sleep().ok_or(WaitError::GivenUp)?;
                    std::thread::sleep(time.min(NAP));
                    policy.after_sleep();
                }
            }
        }
    }

    fn set(&self, state: u8) {
        // Release: pairs with the loads above.
        self.0.store(state, Ordering::Release);
    }
}

impl Runtime {
    /// Finishes what was pushed and ends the engine's threads; until [`start`](Runtime::start) pushes
    /// are refused, but for those of operations that are finished meanwhile. Failures stay where they
    /// are. Where `policy` gives up, nothing has changed.
    ///
    /// # Errors
    /// [`WaitError::InsideOperation`], [`WaitError::Forked`], [`WaitError::GivenUp`].
    pub fn stop(&self, policy: &mut dyn WaitPolicy) -> Result<(), WaitError> {
        if held::inside() {
            return Err(WaitError::InsideOperation);
        }
        if !self.switch().take(RUNNING, STOPPED, policy)? {
            return Ok(());
        }
        let stopped = self.finish(policy);
        self.switch()
            .set(if stopped.is_ok() { STOPPED } else { RUNNING });
        stopped
    }

    /// Ends the threads at a moment when nothing is in flight.
    fn finish(&self, policy: &mut dyn WaitPolicy) -> Result<(), WaitError> {
        loop {
            self.engine().stop_with(&mut Gated::new(policy))?;
            if self.engine().counters().in_flight == 0 {
                return Ok(());
            }
            // Of a thread that had begun to push before.
            self.engine().start();
        }
    }

    /// Undoes [`stop`](Runtime::stop). Does nothing to an engine that is running.
    ///
    /// # Errors
    /// [`WaitError::GivenUp`], where another thread is about to stop it, and `policy` gives up.
    pub fn start(&self, policy: &mut dyn WaitPolicy) -> Result<(), WaitError> {
        if self.switch().take(STOPPED, RUNNING, policy)? {
            self.engine().start();
            self.switch().set(RUNNING);
        }
        Ok(())
    }

    /// Whether the user has stopped the engine.
    pub fn is_stopped(&self) -> bool {
        self.switch().is_stopped()
    }

    /// For the child of a fork: nobody is left to finish a change that was under way.
    pub(crate) fn settle_switch(&self) {
        if !self.switch().is_stopped() {
            self.switch().set(RUNNING);
        }
    }

    /// Whether operations can be pushed.
    ///
    /// # Errors
    /// In the child of a fork for which the engine was not at rest, and while it is stopped.
    pub fn check_pushable(&self) -> ferromix_base::Result<()> {
        self.check_usable()?;
        if self.switch().is_open() || held::inside() {
            return Ok(());
        }
        Err(Error::misuse(
            "the engine is stopped and takes no operations; call mx.engine.start() first",
        ))
    }
}
