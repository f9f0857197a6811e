//! Waits that keep no fork away while they sleep: a fork in the middle of a wait's own steps would
//! leave them half done in the child.

use crate::Runtime;
use crate::fork::{self, Inside};
use ferromix_engine::{Patience, Var, WaitError};
use ferromix_kernels::par;
use std::time::Duration;

/// Patience without end.
#[derive(Debug, Default)]
pub struct Forever;

impl Patience for Forever {
    fn before_sleep(&mut self) -> Option<Duration> {
        Some(Duration::MAX)
    }
}

/// Leaves the gate for the time of each sleep.
struct Gated<'a> {
    inside: Option<Inside>,
    patience: &'a mut dyn Patience,
}

impl<'a> Gated<'a> {
    fn new(patience: &'a mut dyn Patience) -> Self {
        Gated {
            inside: Some(fork::enter()),
            patience,
        }
    }
}

impl Patience for Gated<'_> {
    fn meanwhile(&mut self, ended: &dyn Fn() -> bool) {
        // Who waits for a kernel that runs on several threads may as well be one of them: it runs
        // already, on a processor of its own, where a thread that is woken may get the owner's.
        self.inside = None;
        par::assist(ended);
        self.inside = Some(fork::enter());
        self.patience.meanwhile(ended);
    }

    fn before_sleep(&mut self) -> Option<Duration> {
        // First: what is asked may itself wait for a thread that is about to fork.
        self.inside = None;
        let time = self.patience.before_sleep();
        if time.is_none() {
            self.inside = Some(fork::enter());
        }
        time
    }

    fn after_sleep(&mut self) {
        self.inside = Some(fork::enter());
        self.patience.after_sleep();
    }
}

impl Runtime {
    /// [`Engine::wait_for_var_with`](ferromix_engine::Engine::wait_for_var_with), for a thread that
    /// nothing else keeps from a fork.
    ///
    /// # Errors
    /// As there.
    pub fn wait_for_var(&self, var: Var, patience: &mut dyn Patience) -> Result<(), WaitError> {
        self.engine()
            .wait_for_var_with(var, &mut Gated::new(patience))
    }

    /// [`Engine::wait_below_bound`](ferromix_engine::Engine::wait_below_bound), likewise.
    ///
    /// # Errors
    /// As there.
    pub fn wait_below_bound(&self, patience: &mut dyn Patience) -> Result<(), WaitError> {
        self.engine().wait_below_bound(&mut Gated::new(patience))
    }

    /// [`Engine::wait_for_all_with`](ferromix_engine::Engine::wait_for_all_with), likewise.
    ///
    /// # Errors
    /// As there.
    pub fn wait_for_all(&self, patience: &mut dyn Patience) -> Result<(), WaitError> {
        self.engine().wait_for_all_with(&mut Gated::new(patience))
    }
}
