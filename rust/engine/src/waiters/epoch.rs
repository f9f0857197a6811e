//! Counting completions so that `wait_for_all` knows when everything pushed before it is done.
//!
//! Operations between two fences of the log form an epoch. The registrar counts the operations of
//! the open epoch; whoever completes one adds to a shard of its epoch, usually its own cache line.
//! When a fence has closed an epoch, the waiting thread marks each shard as watched and learns what
//! was counted; completions that see the mark count down what is left. Additions and the mark are
//! read-modify-writes of one word, so each completion is either counted by the watcher or sees the
//! mark: none is missed, and no fence instruction is needed.

use crossbeam_utils::CachePadded;

use crate::base::sync::{
    AcqRel, Acquire, Arc, AtomicI64, AtomicU64, AtomicUsize, Mutex, MutexGuard, Relaxed, Release,
    lock,
};
use crate::waiters::latch::Latch;

const WATCHED: u64 = 1 << 63;

/// The operations between two fences.
pub(crate) struct Epoch {
    number: u64,
    shards: Box<[CachePadded<AtomicU64>]>,
    /// Operations pushed; known once closed.
    total: AtomicU64,
    /// Completions still to come, below zero before the watcher has added them up.
    remaining: AtomicI64,
    over: Latch,
}

impl Epoch {
    fn new(number: u64, shards: usize) -> Self {
        Self {
            number,
            shards: (0..shards)
                .map(|_| CachePadded::new(AtomicU64::new(0)))
                .collect(),
            total: AtomicU64::new(0),
            remaining: AtomicI64::new(0),
            over: Latch::new(),
        }
    }

    /// Its place among the epochs.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Counts a completion. The epoch must not be touched by the caller afterwards.
    ///
    /// # Safety
    /// `epoch` is that of an operation that is complete except for this call.
    #[inline]
    pub(crate) unsafe fn finish(epoch: *const Epoch, shard: usize) {
        // SAFETY: an epoch lives until all its operations are counted; this one is not yet.
        let this = unsafe { &*epoch };
        let shard = &this.shards[shard % this.shards.len()];
        // Release: the operation's effects; pairs with `watch`. Acquire: the mark.
        if shard.fetch_add(1, AcqRel) & WATCHED != 0 {
            // Release: as above; Acquire: everybody's effects, for the last.
            if this.remaining.fetch_sub(1, AcqRel) == 1 {
                this.over.set();
            }
        }
    }

    /// Starts the countdown. Called once, after the epoch was closed.
    fn watch(&self) {
        let mut counted = 0;
        for shard in &self.shards {
            // Acquire: the effects of what was counted. Release: the mark.
            counted += shard.fetch_or(WATCHED, AcqRel);
        }
        let left = self.total.load(Relaxed) as i64 - counted as i64;
        // Exactly one addition brings the sum to zero for good: this one, or the last completion's.
        if self.remaining.fetch_add(left, AcqRel) + left == 0 {
            self.over.set();
        }
    }

    /// Completions so far.
    pub(crate) fn counted(&self) -> u64 {
        self.shards
            .iter()
            .map(|shard| shard.load(Acquire) & !WATCHED)
            .sum()
    }
}

/// All epochs that are not over.
pub(crate) struct Epochs {
    shards: usize,
    /// In order; the last is open. Locked by fences, waits for all and counters, never per push.
    list: Mutex<Live>,
    /// Closed epochs that are not known to be over.
    unsettled: AtomicUsize,
    /// Operations registered. Written by the registrar alone.
    registered: CachePadded<AtomicU64>,
}

struct Live {
    epochs: Vec<Arc<Epoch>>,
    /// Completions in epochs that are over.
    settled: u64,
    /// Registered in closed epochs.
    closed: u64,
}

impl Epochs {
    pub(crate) fn new(shards: usize) -> Self {
        let first = Arc::new(Epoch::new(0, shards));
        Self {
            shards,
            list: Mutex::new(Live {
                epochs: vec![first],
                settled: 0,
                closed: 0,
            }),
            unsettled: AtomicUsize::new(0),
            registered: CachePadded::new(AtomicU64::new(0)),
        }
    }

    /// Registrar: operations in flight, of which the open epoch has so many.
    pub(crate) fn in_flight(&self, of_open: u64) -> u64 {
        // Relaxed: a hint. The lock is not taken unless a wait for all is under way, or was given up.
        if self.unsettled.load(Relaxed) == 0 {
            return of_open;
        }
        let (pushed, completed) = self.counts();
        pushed - completed
    }

    /// Registrar: counts one more operation of the open epoch.
    pub(crate) fn count(&self) {
        // Relaxed load: the registrar alone writes. Release: for `in_flight`'s benefit.
        self.registered
            .store(self.registered.load(Relaxed) + 1, Release);
    }

    /// Operations counted so far, for the registrar.
    pub(crate) fn registered(&self) -> u64 {
        // Relaxed: the registrar alone writes.
        self.registered.load(Relaxed)
    }

    /// The open epoch. It lives until it is closed and over.
    pub(crate) fn open(&self) -> *const Epoch {
        lock(&self.list)
            .epochs
            .last()
            .map_or(std::ptr::null(), Arc::as_ptr)
    }

    /// Registrar: ends the open epoch. Returns its number and the epoch that follows.
    pub(crate) fn close(&self) -> (u64, *const Epoch) {
        let mut live = lock(&self.list);
        let registered = self.registered.load(Relaxed);
        let total = registered - live.closed;
        live.closed = registered;
        let mut number = 0;
        if let Some(open) = live.epochs.last() {
            number = open.number;
            // Relaxed: the watcher has synchronised with the registrar before it looks.
            open.total.store(total, Relaxed);
        }
        let next = Arc::new(Epoch::new(number + 1, self.shards));
        let raw = Arc::as_ptr(&next);
        live.epochs.push(next);
        self.unsettled.store(live.epochs.len() - 1, Relaxed);
        (number, raw)
    }

    /// Waits for the epoch that the caller's fence closed, and for all before it: each by `wait`,
    /// which returns false to give up. Whether that was not the case.
    pub(crate) fn wait(&self, number: u64, mut wait: impl FnMut(&Latch) -> bool) -> bool {
        let due: Vec<Arc<Epoch>> = lock(&self.list)
            .epochs
            .iter()
            .take_while(|epoch| epoch.number <= number)
            .cloned()
            .collect();
        for epoch in &due {
            if epoch.number == number {
                epoch.watch();
            }
        }
        let over = due.iter().all(|epoch| wait(&epoch.over));
        self.settle();
        over
    }

    /// Forgets the epochs that are over, also those whose waits were given up.
    fn settle(&self) {
        let mut live = lock(&self.list);
        let mut settled = 0;
        live.epochs.retain(|epoch| {
            let over = epoch.over.is_set();
            if over {
                settled += epoch.total.load(Relaxed);
            }
            !over
        });
        live.settled += settled;
        self.unsettled.store(live.epochs.len() - 1, Relaxed);
    }

    /// Whether everything registered has finished.
    pub(crate) fn is_quiet(&self) -> bool {
        let (pushed, completed) = self.counts();
        pushed == completed
    }

    /// Keeps others from the lock until what is returned is dropped.
    pub(crate) fn hold(&self) -> MutexGuard<'_, impl Sized> {
        lock(&self.list)
    }

    /// In the child of a fork, where everything is finished and nobody waits: one epoch, open.
    pub(crate) fn begin_anew(&self) -> *const Epoch {
        let mut live = lock(&self.list);
        let registered = self.registered.load(Relaxed);
        let number = live.epochs.last().map_or(0, |epoch| epoch.number + 1);
        let open = Arc::new(Epoch::new(number, self.shards));
        let raw = Arc::as_ptr(&open);
        // Not freed: what the parent's threads had of them is unknown.
        std::mem::forget(std::mem::replace(&mut live.epochs, vec![open]));
        self.unsettled.store(0, Relaxed);
        live.settled = registered;
        live.closed = registered;
        raw
    }

    /// Operations pushed and completed so far.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let live = lock(&self.list);
        let completed = live.settled + live.epochs.iter().map(|epoch| epoch.counted()).sum::<u64>();
        // Read last, so that what completed is never more than what was pushed.
        (self.registered.load(Acquire).max(completed), completed)
    }
}
