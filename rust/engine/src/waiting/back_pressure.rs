//! A pusher that runs ahead waits, so that memory stays limited and what is in flight stays in the
//! processor's caches. It goes on when nothing else does, since something may be waiting for it.

use std::time::Duration;

use crate::base::sync::{Instant, Relaxed, sleep, yield_now};
use crate::execution::ready_batch::ReadyBatch;
use crate::functions::compiled_program::CompiledProgram;
use crate::functions::launch::Launch;
use crate::scheduling::lane::Lane;
use crate::state::core::Core;
use crate::state::thread::{self, here};
use crate::types::wait_policy::WaitPolicy;

/// How long nothing runs and nothing is ready before pushers go on: what is in flight waits for one
/// of them then.
const QUIET_LIMIT: Duration = Duration::from_millis(10);

/// How long nothing finishes, though something runs, before it is taken for something that waits
/// for a pusher without having said so.
const BUSY_LIMIT: Duration = Duration::from_secs(30);

/// Pushes of a thread after which it looks whether those before are registered.
const PACE: u32 = 32;

/// How long it waits for that at most.
const PACE_MOST: Duration = Duration::from_millis(20);

/// Operations that a pusher runs before it looks again whether it may go on.
const HELP: u32 = 32;

/// How long a pusher yields before it sleeps, since a nap takes longer than the launch of a small
/// program. A time, as turns take long on a busy machine, and no policy is asked meanwhile.
const YIELDING: Duration = Duration::from_micros(500);

/// Launches of one program that overlap.
const SETS: usize = 2;

const NAP: Duration = Duration::from_micros(50);

/// How a wait for room ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Well,
    /// Nothing goes on: see [`Stall`].
    InVain,
    /// The caller's policy gave it up.
    GivenUp,
}

/// What a pusher that waits has seen of what goes on.
struct Stall {
    /// Its number, when the pusher began to wait.
    number: u64,
    completed: u64,
    /// When something was last seen to have finished.
    finished: Instant,
    /// Since when nothing has been seen to run, or to be ready.
    quiet: Option<Instant>,
}

impl Stall {
    fn new(core: &Core) -> Self {
        Self {
            number: core.limiter.stalls.load(Relaxed),
            completed: 0,
            finished: Instant::now(),
            quiet: None,
        }
    }

    /// Whether nothing goes on without the pushers, or one of them has found that out.
    fn is_over(&mut self, core: &Core, completed: u64) -> bool {
        if completed != self.completed {
            self.completed = completed;
            self.finished = Instant::now();
            self.quiet = None;
        } else if self.finished.elapsed() > QUIET_LIMIT {
            // Not earlier: looking at the queues slows the workers down.
            if core.is_active() {
                self.quiet = None;
            } else if self.quiet.is_none() {
                self.quiet = Some(Instant::now());
            }
        }
        core.limiter.stalls.load(Relaxed) != self.number
            || self.nothing_runs()
            || self.finished.elapsed() > BUSY_LIMIT
    }

    fn nothing_runs(&self) -> bool {
        self.quiet
            .as_ref()
            .is_some_and(|since| since.elapsed() > QUIET_LIMIT)
    }

    fn end(&self, core: &Core) {
        let registered = core.epochs.counts().0;
        core.limiter
            .end_stall(self.number, self.nothing_runs(), registered);
    }
}

impl Core {
    /// After a push, if there are too many operations in flight: waits until a quarter of the limit
    /// is free, or nothing goes on any more; false if the caller's policy gave it up. An operation
    /// that pushes never waits, nor does a worker, nor anybody once the engine has stopped. (While it
    /// is about to stop pushers wait: its workers still run what others wait for inside operations,
    /// and would never come to the end of that.)
    #[cold]
    pub(crate) fn hold_back(&self, policy: Option<&mut dyn WaitPolicy>) -> bool {
        let waits = self.may_block_here() && self.own_rest().is_none();
        if !waits || self.is_inherited() {
            return true;
        }
        let mut stall = Stall::new(self);
        let is_room = |in_flight| self.limiter.is_low(in_flight) || self.lanes.are_at_rest();
        let ended = self.wait_for_room(is_room, &mut stall, policy);
        match ended {
            Ended::Well => self.limiter.open(),
            Ended::InVain => stall.end(self),
            Ended::GivenUp => return false,
        }
        true
    }

    /// After a push, now and then: sees to it that what this thread has pushed is registered.
    #[inline]
    pub(crate) fn pace(&self) {
        let pushes = here(|here| {
            let pushes = here.pushes.get().wrapping_add(1);
            here.pushes.set(pushes);
            pushes
        });
        if pushes % PACE == 0 && self.limiter.paces() {
            self.keep_pace();
        }
    }

    #[cold]
    fn keep_pace(&self) {
        let (core, seen) = here(|here| here.registered.get());
        if std::ptr::eq(core, self) && self.may_block_here() && self.own_rest().is_none() {
            let begin = Instant::now();
            let behind =
                || self.epochs.registered() < seen + u64::from(PACE) && !self.log.is_idle();
            while behind() && begin.elapsed() < PACE_MOST {
                self.assist();
                yield_now();
            }
        }
        here(|here| here.registered.set((self, self.epochs.registered())));
    }

    /// Whether a worker of any lane runs something, or will. Approximate.
    pub(crate) fn is_active(&self) -> bool {
        let active = |lane: &Lane| lane.is_busy() || lane.queue.has_work();
        self.lanes.iter().any(active)
    }

    /// Waits until `enough`, which is given the number of operations in flight, or until nothing goes
    /// on any more.
    fn wait_for_room(
        &self,
        mut enough: impl FnMut(u64) -> bool,
        stall: &mut Stall,
        mut policy: Option<&mut dyn WaitPolicy>,
    ) -> Ended {
        loop {
            let (pushed, completed) = self.epochs.counts();
            if enough(pushed - completed) {
                return Ended::Well;
            }
            if stall.is_over(self, completed) {
                return Ended::InVain;
            }
            self.assist();
            let helps = self.limiter.limit.help && !self.lanes.is_stopped();
            if helps && (0..HELP).take_while(|_| self.help()).count() > 0 {
                continue;
            }
            if stall.finished.elapsed() < YIELDING {
                yield_now();
                continue;
            }
            let nap = match &mut policy {
                None => NAP,
                Some(policy) => match policy.before_sleep() {
                    Some(time) => time.min(NAP),
                    None => return Ended::GivenUp,
                },
            };
            sleep(nap);
            if let Some(policy) = &mut policy {
                policy.after_sleep();
            }
        }
    }

    /// Counters for a launch of a program. There are two sets per program; more if the caller is
    /// not one that may wait, or waits in vain.
    pub(crate) fn counters(&self, plan: &CompiledProgram) -> Box<Launch> {
        let mut found = plan.counters(SETS);
        if found.is_none() && self.may_block_here() {
            let look = |_| {
                found = plan.counters(SETS);
                found.is_some() || self.lanes.are_at_rest()
            };
            // In vain or not, the launch goes on.
            let _ = self.wait_for_room(look, &mut Stall::new(self), None);
        }
        found
            .or_else(|| plan.counters(usize::MAX))
            .unwrap_or_else(|| Box::new(Launch::new(plan)))
    }

    /// Runs a ready operation of the CPU lane on this thread, if there is one.
    fn help(&self) -> bool {
        debug_assert!(thread::running_ops(self).next().is_none());
        let Some(op) = self.lanes.cpu().queue.pop_foreign() else {
            return false;
        };
        let mut batch = ReadyBatch::new();
        self.execute(op, &mut batch);
        self.settle(&mut batch);
        true
    }
}
