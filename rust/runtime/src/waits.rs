//! Waits that keep no fork away while they sleep: a fork in the middle of a wait's own steps would
//! leave them half done in the child.

use crate::Runtime;
use crate::fork::{self, Inside};
use crate::gpu::{DeviceFailure, Gpus};
use ferromix_engine::{Engine, Var, WaitError, WaitPolicy};
use ferromix_kernels::par;
use std::time::{Duration, Instant};

/// Waits without end.
#[derive(Debug, Default)]
pub struct Forever;

impl WaitPolicy for Forever {
    fn before_sleep(&mut self) -> Option<Duration> {
        Some(Duration::MAX)
    }
}

/// How often somebody looks whether anything finishes.
const LOOK: Duration = Duration::from_millis(10);

/// Waits as long as something finishes now and then.
pub(crate) struct WhileSomethingFinishes<'a> {
    engine: &'a Engine,
    limit: Duration,
    completed: u64,
    since: Instant,
}

impl<'a> WhileSomethingFinishes<'a> {
    /// Gives up when nothing has finished for `limit`.
    pub(crate) fn new(engine: &'a Engine, limit: Duration) -> Self {
        WhileSomethingFinishes {
            engine,
            limit,
            completed: 0,
            since: Instant::now(),
        }
    }
}

impl WaitPolicy for WhileSomethingFinishes<'_> {
    fn before_sleep(&mut self) -> Option<Duration> {
        let completed = self.engine.counters().completed;
        if completed != self.completed {
            (self.completed, self.since) = (completed, Instant::now());
        }
        (self.since.elapsed() < self.limit).then_some(LOOK.min(self.limit))
    }
}

/// Leaves the gate for the time of each sleep.
pub(crate) struct Gated<'a> {
    inside: Option<Inside>,
    policy: &'a mut dyn WaitPolicy,
}

impl<'a> Gated<'a> {
    pub(crate) fn new(policy: &'a mut dyn WaitPolicy) -> Self {
        Gated {
            inside: Some(fork::enter()),
            policy,
        }
    }
}

impl WaitPolicy for Gated<'_> {
    fn meanwhile(&mut self, ended: &dyn Fn() -> bool) {
        // Who waits for a kernel that runs on several threads may as well be one of them: it runs
        // already, on a processor of its own, where a thread that is woken may get the owner's.
        self.inside = None;
        par::assist(ended);
        self.inside = Some(fork::enter());
        self.policy.meanwhile(ended);
    }

    fn before_sleep(&mut self) -> Option<Duration> {
        // First: what is asked may itself wait for a thread that is about to fork.
        self.inside = None;
        let time = self.policy.before_sleep();
        if time.is_none() {
            self.inside = Some(fork::enter());
        }
        time
    }

    fn after_sleep(&mut self) {
        self.inside = Some(fork::enter());
        self.policy.after_sleep();
    }
}

impl Runtime {
    /// [`Engine::wait_for_var_with`](ferromix_engine::Engine::wait_for_var_with), for a thread that
    /// nothing else keeps from a fork.
    ///
    /// # Errors
    /// As there.
    pub fn wait_for_var(&self, var: Var, policy: &mut dyn WaitPolicy) -> Result<(), WaitError> {
        self.engine()
            .wait_for_var_with(var, &mut Gated::new(policy))
    }

    /// [`Engine::wait_to_write_with`](ferromix_engine::Engine::wait_to_write_with), likewise.
    ///
    /// # Errors
    /// As there.
    pub fn wait_to_write(&self, var: Var, policy: &mut dyn WaitPolicy) -> Result<(), WaitError> {
        self.engine()
            .wait_to_write_with(var, &mut Gated::new(policy))
    }

    /// [`Engine::wait_below_limit`](ferromix_engine::Engine::wait_below_limit), likewise.
    ///
    /// # Errors
    /// As there.
    pub fn wait_below_limit(&self, policy: &mut dyn WaitPolicy) -> Result<(), WaitError> {
        self.engine().wait_below_limit(&mut Gated::new(policy))
    }

    /// Waits for what was enqueued on the GPUs by now.
    ///
    /// # Errors
    /// What went wrong there.
    pub fn wait_for_gpus(&self) -> Result<(), DeviceFailure> {
        self.existing_gpus().map_or(Ok(()), Gpus::wait_all)
    }

    /// [`Engine::wait_for_all_with`](ferromix_engine::Engine::wait_for_all_with), likewise.
    ///
    /// # Errors
    /// As there.
    pub fn wait_for_all(&self, policy: &mut dyn WaitPolicy) -> Result<(), WaitError> {
        self.engine().wait_for_all_with(&mut Gated::new(policy))
    }
}
