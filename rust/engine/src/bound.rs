//! The bound on operations in flight: a pusher that runs ahead waits, so that memory stays bounded
//! and what is in flight stays in the processor's caches.

use std::time::Duration;

use crossbeam_utils::CachePadded;

use crate::core::Core;
use crate::lane::Lane;
use crate::launch::Launch;
use crate::program::Plan;
use crate::ready::Agenda;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Instant, Relaxed, SMALL, sleep, yield_now};
use crate::thread;
use crate::wait::Patience;

/// How often the registrar looks, in operations. A power of two.
const EVERY: u64 = if SMALL { 4 } else { 64 };
/// How long a pusher waits without seeing an operation finish, while no worker runs anything. What
/// is in flight may wait for the pusher itself, so it goes on then.
const PATIENCE: Duration = Duration::from_millis(10);
/// The same while a worker runs something, which most probably ends by itself.
const PATIENCE_WITH_WORK: Duration = Duration::from_secs(1);
/// A pusher that waited in vain is not asked to wait again for so many operations; twice as many
/// each further time.
const FREE: u64 = EVERY;
/// Operations that a pusher runs before it looks again whether it may go on.
const HELP: u32 = 32;
/// How long a pusher yields before it sleeps, since a nap takes longer than the launch of a small
/// program. A time, as turns take long on a busy machine, and nobody is asked for patience meanwhile.
const YIELDING: Duration = Duration::from_micros(500);
/// Launches of one program that overlap.
const SETS: usize = 2;
const NAP: Duration = Duration::from_micros(50);

/// See [`Builder::max_in_flight`](crate::Builder::max_in_flight).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) most: u64,
    pub(crate) most_bytes: u64,
    /// Pushers over the bound wait. If not, they are expected to ask.
    pub(crate) wait: bool,
    /// Pushers over the bound run ready operations instead of only waiting.
    pub(crate) help: bool,
}

pub(crate) struct Bound {
    limit: Limit,
    over: AtomicBool,
    over_bytes: AtomicBool,
    /// Waits in vain since the last that was not.
    vain: AtomicU32,
    /// Number of operations registered below which nobody is asked to wait.
    free_until: AtomicU64,
    /// Pushes of bytes that are let through over the bound.
    free_pushes: AtomicU64,
    /// Of operations in flight that said how many.
    bytes: CachePadded<AtomicU64>,
}

impl Bound {
    pub(crate) fn new(limit: Limit) -> Self {
        Self {
            limit,
            over: AtomicBool::new(false),
            over_bytes: AtomicBool::new(false),
            vain: AtomicU32::new(0),
            free_until: AtomicU64::new(0),
            free_pushes: AtomicU64::new(0),
            bytes: CachePadded::new(AtomicU64::new(0)),
        }
    }

    /// Registrar: at operation `seq`, notes whether there are too many; `in_flight` counts.
    #[inline]
    pub(crate) fn check(&self, seq: u64, registered: u64, in_flight: impl FnOnce() -> u64) {
        if seq % EVERY == 0 && self.limit.most < u64::MAX {
            // Relaxed, here and below: hints.
            let over = registered >= self.free_until.load(Relaxed) && in_flight() > self.limit.most;
            self.over.store(over, Relaxed);
        }
    }

    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Relaxed) || self.over_bytes.load(Relaxed)
    }

    /// Whether a pusher should wait by itself.
    #[inline]
    pub(crate) fn holds_back(&self) -> bool {
        self.is_over() && self.limit.wait
    }

    /// Adds the bytes of an operation that is pushed.
    pub(crate) fn add_bytes(&self, bytes: u64) {
        let before = self.bytes.fetch_add(bytes, Relaxed);
        // An operation that is too large by itself is let through when nothing else is there.
        if before == 0 || before.saturating_add(bytes) <= self.limit.most_bytes {
            return;
        }
        match self.free_pushes.load(Relaxed).checked_sub(1) {
            Some(left) => self.free_pushes.store(left, Relaxed),
            None => self.over_bytes.store(true, Relaxed),
        }
    }

    fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Whether a quarter of both bounds is free.
    fn is_low(&self, in_flight: u64) -> bool {
        let low = |most: u64| most - most / 4;
        in_flight <= low(self.limit.most) && self.bytes() <= low(self.limit.most_bytes)
    }

    /// A wait has ended: nobody waits again before the registrar, or a push of bytes, says so.
    fn reset(&self, in_vain: bool, registered: u64) {
        self.over.store(false, Relaxed);
        self.over_bytes.store(false, Relaxed);
        if !in_vain {
            self.vain.store(0, Relaxed);
            self.free_until.store(0, Relaxed);
            self.free_pushes.store(0, Relaxed);
            return;
        }
        let times = self.vain.load(Relaxed).min(32);
        self.vain.store(times + 1, Relaxed);
        let free = FREE << times;
        self.free_pushes.store(free, Relaxed);
        self.free_until
            .store(registered.saturating_add(free), Relaxed);
    }
}

/// The bytes of an operation in flight, until it is dropped.
pub(crate) struct Bytes {
    bound: *const Bound,
    bytes: u64,
}

// SAFETY: the bound is `Sync`; see `new`.
unsafe impl Send for Bytes {}

impl Bytes {
    /// For an operation of `core`, which outlives all its operations.
    pub(crate) fn new(core: &Core, bytes: u64) -> Self {
        core.bound.add_bytes(bytes);
        Self {
            bound: &raw const core.bound,
            bytes,
        }
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        // SAFETY: see `new`. Relaxed: a hint.
        unsafe { (*self.bound).bytes.fetch_sub(self.bytes, Relaxed) };
    }
}

/// How a wait for room ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Well,
    /// Nothing finished for too long.
    InVain,
    /// The caller's patience ended.
    GivenUp,
}

impl Core {
    /// After a push, if there are too many operations in flight: waits until a quarter of the
    /// bound is free, or nothing has finished for a while; false if the caller's patience ended
    /// first. An operation that pushes never waits,
    /// nor does a worker, nor anybody while the engine is stopped.
    #[cold]
    pub(crate) fn hold_back(&self, patience: Option<&mut dyn Patience>) -> bool {
        if !self.may_block_here() || self.lanes.cpu().is_stopped() {
            return true;
        }
        let ended = self.wait_patiently(|in_flight| self.bound.is_low(in_flight), patience);
        let registered = self.epochs.counts().0;
        self.bound.reset(ended == Ended::InVain, registered);
        ended != Ended::GivenUp
    }

    /// Whether a worker of any lane runs something. Approximate.
    fn is_busy(&self) -> bool {
        self.lanes.iter().any(Lane::is_busy)
    }

    /// Waits until `enough`, which is given the number of operations in flight, or until nothing
    /// has finished for a while.
    fn wait_patiently(
        &self,
        mut enough: impl FnMut(u64) -> bool,
        mut patience: Option<&mut dyn Patience>,
    ) -> Ended {
        let mut last_completed = 0;
        let mut progress = Instant::now();
        loop {
            let (pushed, completed) = self.epochs.counts();
            if enough(pushed - completed) {
                return Ended::Well;
            }
            if completed != last_completed {
                (last_completed, progress) = (completed, Instant::now());
            }
            let idle = progress.elapsed();
            if idle > PATIENCE && (!self.is_busy() || idle > PATIENCE_WITH_WORK) {
                return Ended::InVain;
            }
            self.assist();
            if self.bound.limit.help && (0..HELP).take_while(|_| self.help()).count() > 0 {
                continue;
            }
            if idle < YIELDING {
                yield_now();
                continue;
            }
            let nap = match &mut patience {
                None => NAP,
                Some(patience) => match patience.before_sleep() {
                    Some(time) => time.min(NAP),
                    None => return Ended::GivenUp,
                },
            };
            sleep(nap);
            if let Some(patience) = &mut patience {
                patience.after_sleep();
            }
        }
    }

    /// Counters for a launch of a program. There are two sets per program; more if the caller is
    /// not one that may wait, or waits in vain.
    pub(crate) fn counters(&self, plan: &Plan) -> Box<Launch> {
        let mut found = plan.counters(SETS);
        if found.is_none() && self.may_block_here() && !self.lanes.cpu().is_stopped() {
            let look = |_| {
                found = plan.counters(SETS);
                found.is_some()
            };
            // In vain or not, the launch goes on.
            let _ = self.wait_patiently(look, None);
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
