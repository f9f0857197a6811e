//! The loop of a worker thread: look for work, run it, sleep when there is none.

use std::cell::Cell;
use std::time::Duration;

use crate::base::process;
use crate::base::sync::{Arc, Instant, SMALL, yield_now};
use crate::execution::ready_batch::ReadyBatch;
use crate::operation::block_pool;
use crate::operation::op::OpPtr;
use crate::scheduling::lane::{Lane, LanePtr};
use crate::state::core::Core;
use crate::state::thread;

/// How long a worker looks for work before it parks.
const SPIN: Duration = Duration::from_micros(1);
/// Pauses between seeing the first operation and taking it. A worker that is faster than a pusher
/// would else take operations one by one, and each would cost the pusher some cache misses. (How
/// long that is depends on the processor: 1.5 microseconds on an AMD EPYC.)
const GATHER: u32 = 64;
/// Turns that it leaves to other threads before it parks: where there are more threads than cores,
/// the pusher can go on, and need not wake the worker for each operation.
const YIELDS: u32 = 2;
/// How long one worker of a device looks on before it parks. Its operations are launches, shorter than it
/// takes to wake a thread, which would fall on the pusher.
const LOOK_ON: Duration = Duration::from_micros(if SMALL { 0 } else { 50 });
/// Successors in a row that a worker runs at once before it looks at the queue again.
const STREAK: u32 = if SMALL { 2 } else { 64 };

/// A worker's private things.
pub(crate) struct Worker<'a> {
    pub(crate) lane: &'a Lane,
    pub(crate) index: usize,
    /// The next operation, made ready by the one before.
    slot: Cell<Option<OpPtr>>,
    streak: Cell<u32>,
    /// How often the lane had been stopped when the worker began.
    hired: u32,
}

impl Worker<'_> {
    /// Takes a ready operation of this lane to run next. Only while completing an operation: what
    /// lies here is run as soon as the completion is through.
    #[must_use]
    pub(crate) fn keep(&self, op: OpPtr) -> bool {
        if self.slot.get().is_some()
            || op.header().priority < 0
            || self.streak.get() >= STREAK
            || self.lane.queue.is_exact()
        {
            return false;
        }
        self.slot.set(Some(op));
        true
    }

    /// Puts a ready operation where this worker and its neighbours find it.
    #[must_use]
    pub(crate) fn share(&self, op: OpPtr) -> bool {
        // SAFETY: this is that worker.
        unsafe { self.lane.queue.push_own(self.index, op) }
    }

    fn next(&self, core: &Core) -> Option<OpPtr> {
        if let Some(op) = self.slot.take() {
            if !self.lane.queue.has_urgent() || op.header().priority > 0 {
                self.streak.set(self.streak.get() + 1);
                return Some(op);
            }
            // Something has become ready that comes first.
            if !self.share(op) {
                self.lane.queue.push(op);
            }
            self.lane.wake(core);
        }
        self.streak.set(0);
        // SAFETY: this is that worker.
        let (op, others) = unsafe { self.lane.queue.pop(self.index) }?;
        OpPtr::prefetch(self.lane.queue.peek(self.index));
        if others {
            self.lane.wake(core);
        }
        Some(op)
    }

    /// Whether the worker is to end: its lane was stopped after it had begun, and nobody waits inside
    /// an operation for what it could run.
    fn is_dismissed(&self, core: &Core) -> bool {
        self.lane.stops() != self.hired
            && (!self.lane.is_stopped() || !core.lanes.is_anyone_blocked())
    }

    /// Whether there is a reason not to sleep.
    fn has_work(&self, core: &Core) -> bool {
        self.lane.queue.has_work() || core.log.has_handed() || self.is_dismissed(core)
    }

    /// Searches for about a microsecond, lets others run, on a device for longer, then sleeps. Returns
    /// searching again.
    fn rest(&self, core: &Core) {
        let begin = Instant::now();
        while begin.elapsed() < SPIN {
            for _ in 0..8 {
                std::hint::spin_loop();
            }
            if self.has_work(core) {
                return (0..GATHER).for_each(|_| std::hint::spin_loop());
            }
        }
        let alone = self.lane.key.launches() && self.lane.idle.searching() == 1;
        let mut turns = 0;
        while turns < YIELDS || alone && begin.elapsed() < LOOK_ON {
            yield_now();
            if self.has_work(core) {
                return;
            }
            turns += 1;
        }
        block_pool::flush();
        let is_over = || self.is_dismissed(core);
        self.lane
            .idle
            .rest(self.index, is_over, || self.has_work(core));
    }

    fn run_one(&self, core: &Core, op: OpPtr) {
        let mut batch = ReadyBatch::of_worker(self);
        core.execute(op, &mut batch);
        let successor = batch.has_inline().then(|| self.slot.take());
        if let Some(op) = successor.flatten() {
            // What runs inline may be a user's function, and that may wait or take long.
            batch.leave_worker();
            core.dispatch(op, &mut batch);
        }
        core.settle(&mut batch);
    }

    fn end_search(&self, core: &Core) {
        if self.lane.idle.stop_search(|| self.has_work(core)) {
            self.lane.wake(core);
        }
    }

    /// Works until the lane is stopped, or until the lane has too many threads. True if the
    /// worker still has to sign off.
    fn work(&self, core: &Core) -> bool {
        let mut searching = true;
        let process = process::number();
        loop {
            if self.slot.get().is_none() && self.is_dismissed(core) || process::number() != process
            {
                break;
            }
            core.assist();
            if let Some(op) = self.next(core) {
                if std::mem::take(&mut searching) {
                    self.end_search(core);
                }
                self.run_one(core, op);
                continue;
            }
            if !std::mem::replace(&mut searching, true) {
                self.lane.idle.start_search();
            }
            if self.lane.retire_surplus(self.index) {
                self.end_search(core);
                return false;
            }
            self.rest(core);
        }
        if searching {
            let _ = self.lane.idle.stop_search(|| false);
        }
        true
    }
}

/// The life of a worker thread. It is counted as started and as searching.
pub(crate) fn run(core: &Arc<Core>, lane: LanePtr, index: usize, hired: u32) {
    // SAFETY: the core, which we hold, owns the lane.
    let lane = unsafe { lane.get() };
    lane.queue.adopt(index);
    let worker = Worker {
        lane,
        index,
        slot: Cell::new(None),
        streak: Cell::new(0),
        hired,
    };
    thread::enter_worker(core, lane, index);
    let dismissed = worker.work(core);
    thread::leave_worker();
    if core.is_inherited() {
        return; // In the child of a fork inside an operation: this thread, and with it the process, ends.
    }
    if dismissed {
        lane.sign_off(index);
        if lane.queue.has_work() {
            // If the lane was started meanwhile, for somebody who is still there.
            lane.wake(core);
        }
    }
    block_pool::flush();
}
