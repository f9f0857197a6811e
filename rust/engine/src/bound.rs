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
use crate::thread::{self, here};
use crate::wait::Patience;

/// How often the registrar looks, in operations. A power of two.
const EVERY: u64 = if SMALL { 4 } else { 64 };
/// How long nothing runs and nothing is ready before pushers go on: what is in flight waits for one
/// of them then.
const PATIENCE: Duration = Duration::from_millis(10);
/// How long nothing finishes, though something runs, before it is taken for something that waits
/// for a pusher without having said so.
const PATIENCE_WITH_WORK: Duration = Duration::from_secs(30);
/// Operations that pushers who waited in vain are let through, all together; twice as many each
/// further time.
const FREE: u64 = EVERY;
/// Pushes of a thread after which it looks whether those before are registered.
const PACE: u32 = 32;
/// How long it waits for that at most.
const PACE_MOST: Duration = Duration::from_millis(20);
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
    /// Stalls since the last wait that ended well.
    vain: AtomicU32,
    /// Stalls ever: a stall counts once, for all pushers that wait during it.
    stalls: AtomicU64,
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
            stalls: AtomicU64::new(0),
            free_until: AtomicU64::new(0),
            free_pushes: AtomicU64::new(0),
            bytes: CachePadded::new(AtomicU64::new(0)),
        }
    }

    /// Registrar: at the operation of that number, notes whether there are too many; `in_flight` counts.
    #[inline]
    pub(crate) fn check(&self, registered: u64, in_flight: impl FnOnce() -> u64) {
        if registered % EVERY == 0 && self.limit.most < u64::MAX {
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

    /// Whether pushers see to it that they are registered: the registrar, who notes what is over the
    /// bound, may be kept from its processor.
    #[inline]
    pub(crate) fn paces(&self) -> bool {
        self.limit.wait && self.limit.most < u64::MAX
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

    /// A wait has ended well: nobody waits again before the registrar, or a push of bytes, says so.
    fn open(&self) {
        self.over.store(false, Relaxed);
        self.over_bytes.store(false, Relaxed);
        self.vain.store(0, Relaxed);
        self.free_until.store(0, Relaxed);
        self.free_pushes.store(0, Relaxed);
    }

    /// Nothing goes on since the stall of that number ended: lets some pushes through, for the first
    /// of all pushers that find it out.
    fn end_stall(&self, stall: u64, double: bool, registered: u64) {
        if self
            .stalls
            .compare_exchange(stall, stall + 1, Relaxed, Relaxed)
            .is_err()
        {
            return;
        }
        let times = self.vain.load(Relaxed).min(32);
        let free = if double { FREE << times } else { FREE };
        self.vain.store(times + u32::from(double), Relaxed);
        self.free_pushes.store(free, Relaxed);
        self.free_until
            .store(registered.saturating_add(free), Relaxed);
        self.over.store(false, Relaxed);
        self.over_bytes.store(false, Relaxed);
    }

    /// In the child of a fork: nothing is in flight, and nobody waits.
    pub(crate) fn begin_anew(&self) {
        self.open();
        self.bytes.store(0, Relaxed);
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
    /// Nothing goes on: see [`Stall`].
    InVain,
    /// The caller's patience ended.
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
            number: core.bound.stalls.load(Relaxed),
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
        } else if self.finished.elapsed() > PATIENCE {
            // Not earlier: looking at the queues slows the workers down.
            if core.is_active() {
                self.quiet = None;
            } else if self.quiet.is_none() {
                self.quiet = Some(Instant::now());
            }
        }
        core.bound.stalls.load(Relaxed) != self.number
            || self.nothing_runs()
            || self.finished.elapsed() > PATIENCE_WITH_WORK
    }

    fn nothing_runs(&self) -> bool {
        self.quiet
            .as_ref()
            .is_some_and(|since| since.elapsed() > PATIENCE)
    }

    fn end(&self, core: &Core) {
        let registered = core.epochs.counts().0;
        core.bound
            .end_stall(self.number, self.nothing_runs(), registered);
    }
}

impl Core {
    /// After a push, if there are too many operations in flight: waits until a quarter of the bound
    /// is free, or nothing goes on any more; false if the caller's patience ended first. An operation
    /// that pushes never waits, nor does a worker, nor anybody once the engine has stopped. (While it
    /// is about to stop pushers wait: its workers still run what others wait for inside operations,
    /// and would never come to the end of that.)
    #[cold]
    pub(crate) fn hold_back(&self, patience: Option<&mut dyn Patience>) -> bool {
        let waits = self.may_block_here() && self.own_rest().is_none();
        if !waits || self.is_inherited() {
            return true;
        }
        let mut stall = Stall::new(self);
        let is_room = |in_flight| self.bound.is_low(in_flight) || self.lanes.are_at_rest();
        let ended = self.wait_patiently(is_room, &mut stall, patience);
        match ended {
            Ended::Well => self.bound.open(),
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
        if pushes % PACE == 0 && self.bound.paces() {
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
    fn is_active(&self) -> bool {
        let active = |lane: &Lane| lane.is_busy() || lane.queue.has_work();
        self.lanes.iter().any(active)
    }

    /// Waits until `enough`, which is given the number of operations in flight, or until nothing goes
    /// on any more.
    fn wait_patiently(
        &self,
        mut enough: impl FnMut(u64) -> bool,
        stall: &mut Stall,
        mut patience: Option<&mut dyn Patience>,
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
            let helps = self.bound.limit.help && !self.lanes.is_stopped();
            if helps && (0..HELP).take_while(|_| self.help()).count() > 0 {
                continue;
            }
            if stall.finished.elapsed() < YIELDING {
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
        if found.is_none() && self.may_block_here() {
            let look = |_| {
                found = plan.counters(SETS);
                found.is_some() || self.lanes.are_at_rest()
            };
            // In vain or not, the launch goes on.
            let _ = self.wait_patiently(look, &mut Stall::new(self), None);
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
        self.settle(&mut agenda);
        true
    }
}
