//! A wait inside the function of an asynchronous operation now and then looks whether it is behind that
//! very operation.

use std::time::Duration;

use crate::operation::op::OpPtr;
use crate::state::core::Core;
use crate::state::thread;
use crate::types::failure::WaitError;
use crate::types::var::Var;
use crate::types::wait_policy::WaitPolicy;
use crate::waiting::help::waits_for_itself;

/// The time before the first look, and the longest between two: what a wait is behind was pushed before
/// it, but may not be registered yet, nor known where the search is too long.
const FIRST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(500);

/// The user's policy, and the looks.
pub(crate) struct Watchful<'a> {
    core: &'a Core,
    /// The wait, of which the caller has a count.
    wait: OpPtr,
    policy: &'a mut dyn WaitPolicy,
    /// When to look; none outside of such functions.
    pause: Option<Duration>,
    asleep: Duration,
    in_vain: bool,
}

impl<'a> Watchful<'a> {
    pub(crate) fn new(core: &'a Core, wait: OpPtr, policy: &'a mut dyn WaitPolicy) -> Self {
        let inside = thread::begun_ops(core).next().is_some();
        Self {
            core,
            wait,
            policy,
            pause: inside.then_some(FIRST),
            asleep: Duration::ZERO,
            in_vain: false,
        }
    }

    /// Why the wait was given up.
    pub(crate) fn why_not(&self, var: Var) -> WaitError {
        if self.in_vain {
            WaitError::SelfDependency(var)
        } else {
            WaitError::GivenUp
        }
    }
}

impl WaitPolicy for Watchful<'_> {
    fn meanwhile(&mut self, ended: &dyn Fn() -> bool) {
        self.policy.meanwhile(ended);
    }

    fn before_sleep(&mut self) -> Option<Duration> {
        let Some(pause) = self.pause else {
            return self.policy.before_sleep();
        };
        if self.asleep >= pause {
            self.pause = Some((pause * 2).min(LONGEST));
            self.asleep = Duration::ZERO;
            self.in_vain = waits_for_itself(self.core, self.wait);
            if self.in_vain {
                return None;
            }
        }
        let time = self.policy.before_sleep()?.min(pause);
        self.asleep += time;
        Some(time)
    }

    fn after_sleep(&mut self) {
        self.policy.after_sleep();
    }
}
