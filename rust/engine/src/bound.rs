//! The bound on operations in flight: a pusher that runs ahead waits, so that memory stays bounded
//! and what is in flight stays in the processor's caches.

use std::time::{Duration, Instant};

use crate::core::Core;
use crate::launch::Launch;
use crate::program::Plan;
use crate::ready::Agenda;
use crate::sync::{AtomicBool, Relaxed};
use crate::thread;

/// How often the registrar looks, in operations. A power of two.
const EVERY: u64 = 64;
/// How long a pusher waits without seeing an operation finish. What is in flight may wait for the
/// pusher itself, so it goes on then, until the registrar looks again.
const PATIENCE: Duration = Duration::from_millis(10);
/// Turns of yielding before a pusher sleeps.
const YIELDS: u32 = 200;
/// Launches of one program that overlap.
const SETS: usize = 2;
const NAP: Duration = Duration::from_micros(50);

/// See [`Builder::max_in_flight`](crate::Builder::max_in_flight).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) most: u64,
    /// Pushers over the bound run ready operations instead of only waiting.
    pub(crate) help: bool,
}

pub(crate) struct Bound {
    limit: Limit,
    over: AtomicBool,
}

impl Bound {
    pub(crate) fn new(limit: Limit) -> Self {
        Self {
            limit,
            over: AtomicBool::new(false),
        }
    }

    /// Registrar: at operation `seq`, notes whether there are too many; `in_flight` counts.
    #[inline]
    pub(crate) fn check(&self, seq: u64, in_flight: impl FnOnce() -> u64) {
        if seq.is_multiple_of(EVERY) && self.limit.most < u64::MAX {
            // Relaxed: a hint.
            self.over.store(in_flight() > self.limit.most, Relaxed);
        }
    }

    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        // Relaxed: a hint.
        self.over.load(Relaxed)
    }
}

impl Core {
    /// After a push, if there are too many operations in flight: waits until a quarter of the
    /// bound is free, or nothing has finished for a while. An operation that pushes never waits,
    /// nor does a worker, nor anybody while the engine is stopped.
    #[cold]
    pub(crate) fn hold_back(&self) {
        if !self.may_block_here() || self.lanes.cpu().is_stopped() {
            return;
        }
        let enough = self.bound.limit.most - self.bound.limit.most / 4;
        self.wait_patiently(|in_flight| in_flight <= enough);
        // Relaxed: a hint.
        self.bound.over.store(false, Relaxed);
    }

    /// Waits until `enough`, which is given the number of operations in flight, or until nothing
    /// has finished for a while.
    fn wait_patiently(&self, mut enough: impl FnMut(u64) -> bool) {
        let (mut last_completed, mut turns) = (0, 0_u32);
        let mut progress = Instant::now();
        loop {
            let (pushed, completed) = self.epochs.counts();
            if enough(pushed - completed) {
                return;
            }
            if completed != last_completed {
                (last_completed, progress, turns) = (completed, Instant::now(), 0);
            } else if progress.elapsed() > PATIENCE {
                return;
            }
            self.assist();
            if self.bound.limit.help && self.help() {
                continue;
            }
            turns = turns.saturating_add(1);
            if turns < YIELDS {
                std::thread::yield_now();
            } else {
                std::thread::sleep(NAP);
            }
        }
    }

    /// Counters for a launch of a program. There are two sets per program; more if the caller is
    /// not one that may wait, or waits in vain.
    pub(crate) fn counters(&self, plan: &Plan) -> Box<Launch> {
        let mut found = plan.counters(SETS);
        if found.is_none() && self.may_block_here() && !self.lanes.cpu().is_stopped() {
            self.wait_patiently(|_| {
                found = plan.counters(SETS);
                found.is_some()
            });
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
        let mut agenda = Agenda::new();
        self.execute(op, &mut agenda);
        self.settle(agenda);
        true
    }
}
