//! Ready operations of one lane, in one of two orders.
//!
//! *Fair*: by sign of the priority; among those of priority zero first in, first out, roughly.
//! *Exact*: the highest priority first, and first pushed first among equals; a lock-free inbox in
//! front of a heap that the lane's few workers share.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crossbeam_utils::CachePadded;

use crate::base::stack::TakeAllStack;
use crate::base::sync::{AcqRel, Acquire, AtomicUsize, Mutex, MutexGuard, Relaxed, Release, lock};
use crate::operation::op::{Op, OpPtr};
use crate::scheduling::ring::{MOST, Ring};

pub(crate) enum Queue {
    Fair(Box<Fair>),
    Exact(Exact),
}

/// Three queues by sign of the priority. The middle one is in parts: what the registrar found
/// ready, what workers made ready (a ring each, from which others take), and what other threads
/// did. Nothing allocates, once the rings have grown to what is ever ready at once.
pub(crate) struct Fair {
    high: Exact,
    /// What `high` holds, or is about to.
    urgent: CachePadded<AtomicUsize>,
    low: Exact,
    /// The holder of the baton adds.
    registered: Ring,
    /// Anybody adds.
    inbox: TakeAllStack<Op>,
    /// The worker of that index adds.
    rings: Box<[Ring]>,
    /// Rings from here on have never been used.
    used: AtomicUsize,
}

pub(crate) struct Exact {
    inbox: TakeAllStack<Op>,
    heap: Mutex<BinaryHeap<Ranked>>,
    /// What the heap holds; `MOVING` while the inbox is being emptied into it.
    len: AtomicUsize,
}

const MOVING: usize = usize::MAX;

/// An operation by priority, then by age.
struct Ranked {
    rank: (i32, Reverse<u64>),
    op: OpPtr,
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}
impl Eq for Ranked {}
impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank.cmp(&other.rank)
    }
}

impl Fair {
    /// For workers of indices below `most`.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            high: Exact::new(),
            urgent: CachePadded::new(AtomicUsize::new(0)),
            low: Exact::new(),
            registered: Ring::new(),
            inbox: TakeAllStack::new(),
            rings: (0..most).map(|_| Ring::new()).collect(),
            used: AtomicUsize::new(0),
        }
    }

    fn push(&self, op: OpPtr) {
        match op.header().priority {
            0 => push_inbox(&self.inbox, op),
            1.. => {
                // Release: what made it ready; pairs with `has_urgent`.
                self.urgent.fetch_add(1, Release);
                self.high.push(op);
            }
            _ => self.low.push(op),
        }
    }

    /// # Safety
    /// The caller is worker `index`.
    unsafe fn pop(&self, index: usize) -> Option<(OpPtr, bool)> {
        if let Some(op) = self.pop_urgent() {
            return Some((op, false));
        }
        let own = &self.rings[index];
        if let Some(op) = own.take(0, |_| ()) {
            return Some((op, false));
        }
        // SAFETY: by the contract the one producer of that ring.
        let mut keep = |op| unsafe { own.push(op) };
        let found = self
            .registered
            .take(MOST, &mut keep)
            .or_else(|| self.take_inbox(&mut keep))
            .or_else(|| self.steal(index, &mut keep));
        match found {
            Some(op) => Some((op, !own.is_empty())),
            None => self.low.pop().map(|op| (op, false)),
        }
    }

    fn pop_urgent(&self) -> Option<OpPtr> {
        let op = self.high.pop()?;
        // Relaxed: a count alone.
        self.urgent.fetch_sub(1, Relaxed);
        Some(op)
    }

    fn pop_foreign(&self) -> Option<OpPtr> {
        self.pop_urgent()
            .or_else(|| self.registered.take(0, |_| ()))
            .or_else(|| self.take_inbox(|op| push_inbox(&self.inbox, op)))
            .or_else(|| {
                let rings = &self.rings[..self.used.load(Acquire)];
                rings.iter().find_map(|ring| ring.take(0, |_| ()))
            })
            .or_else(|| self.low.pop())
    }

    /// The whole inbox: the oldest is returned, the others go to `rest`, oldest first.
    fn take_inbox(&self, mut rest: impl FnMut(OpPtr)) -> Option<OpPtr> {
        let mut newest = self.inbox.take();
        let mut chain = std::ptr::null_mut();
        // SAFETY: what lies in the inbox is a ready operation, counted for its execution.
        while let Some(op) = unsafe { OpPtr::from_raw(newest) } {
            newest = op.header().queue_next.load(Relaxed);
            op.header().queue_next.store(chain, Relaxed);
            chain = op.as_ptr();
        }
        // SAFETY: as above; reversed.
        let first = unsafe { OpPtr::from_raw(chain) }?;
        let mut next = first.header().queue_next.load(Relaxed);
        // SAFETY: as above. The link is read before the operation is given to others.
        while let Some(op) = unsafe { OpPtr::from_raw(next) } {
            next = op.header().queue_next.load(Relaxed);
            rest(op);
        }
        Some(first)
    }

    fn steal(&self, index: usize, mut rest: impl FnMut(OpPtr)) -> Option<OpPtr> {
        let count = self.used.load(Acquire);
        (0..count)
            .map(|k| (index + 1 + k) % count)
            .filter(|&k| k != index)
            .find_map(|k| self.rings[k].take(MOST, &mut rest))
    }

    fn has_work(&self) -> bool {
        !(self.registered.is_empty() && self.inbox.is_empty())
            || self.high.has_work()
            || self.low.has_work()
            || self.rings[..self.used.load(Acquire)]
                .iter()
                .any(|ring| !ring.is_empty())
    }
}

fn push_inbox(inbox: &TakeAllStack<Op>, op: OpPtr) {
    inbox.push(op.as_ptr(), |next| {
        op.header().queue_next.store(next, Relaxed)
    });
}

impl Exact {
    pub(crate) fn new() -> Self {
        Self {
            inbox: TakeAllStack::new(),
            heap: Mutex::new(BinaryHeap::new()),
            len: AtomicUsize::new(0),
        }
    }

    fn push(&self, op: OpPtr) {
        push_inbox(&self.inbox, op);
    }

    fn collect(&self, heap: &mut BinaryHeap<Ranked>) {
        if self.inbox.is_empty() {
            return;
        }
        // Before the inbox is emptied: see `has_work`.
        self.len.store(MOVING, Relaxed);
        let mut next = self.inbox.take();
        // SAFETY: what lies in the inbox is a ready operation, counted for its execution.
        while let Some(op) = unsafe { OpPtr::from_raw(next) } {
            next = op.header().queue_next.load(Relaxed);
            // SAFETY: ready.
            let seq = unsafe { op.seq() };
            heap.push(Ranked {
                rank: (op.header().priority, Reverse(seq)),
                op,
            });
        }
    }

    fn pop(&self) -> Option<OpPtr> {
        if !self.has_work() {
            return None;
        }
        let mut heap = lock(&self.heap);
        self.collect(&mut heap);
        let found = heap.pop();
        self.len.store(heap.len(), Relaxed);
        found.map(|ranked| ranked.op)
    }

    /// Takes an operation of which `wanted` says so, whatever its rank. Nobody else can take those
    /// that it is asked about meanwhile.
    fn take_wanted(&self, wanted: impl Fn(OpPtr) -> bool) -> Option<OpPtr> {
        if !self.has_work() {
            return None;
        }
        let mut heap = lock(&self.heap);
        self.collect(&mut heap);
        let found = heap.iter().map(|ranked| ranked.op).find(|op| wanted(*op));
        if let Some(found) = found {
            heap.retain(|ranked| ranked.op != found);
        }
        self.len.store(heap.len(), Relaxed);
        found
    }

    /// Whether there may be an operation. Who finds the inbox emptied by another worker (an
    /// acquire of its swap) also finds `MOVING`, or what that worker has left.
    fn has_work(&self) -> bool {
        !self.inbox.is_empty() || self.len.load(Relaxed) > 0
    }
}

impl Queue {
    /// A queue in fair order for workers of indices below `most`.
    pub(crate) fn fair(most: usize) -> Self {
        Queue::Fair(Box::new(Fair::new(most)))
    }

    /// A queue in exact order.
    pub(crate) fn exact() -> Self {
        Queue::Exact(Exact::new())
    }

    /// Keeps others from the queue's locks until what is returned is dropped.
    pub(crate) fn hold(&self) -> Vec<MutexGuard<'_, impl Sized>> {
        match self {
            Queue::Fair(fair) => vec![lock(&fair.high.heap), lock(&fair.low.heap)],
            Queue::Exact(exact) => vec![lock(&exact.heap)],
        }
    }

    /// Adds a ready operation.
    pub(crate) fn push(&self, op: OpPtr) {
        match self {
            Queue::Fair(fair) => fair.push(op),
            Queue::Exact(exact) => exact.push(op),
        }
    }

    /// Adds a ready operation.
    ///
    /// # Safety
    /// The caller holds the baton.
    pub(crate) unsafe fn push_registered(&self, op: OpPtr) {
        match self {
            // SAFETY: under the baton there is one producer, and the baton carries what it did.
            Queue::Fair(fair) if op.header().priority == 0 => unsafe { fair.registered.push(op) },
            _ => self.push(op),
        }
    }

    /// Adds a ready operation to the worker's own part; false if it must go the common way.
    ///
    /// # Safety
    /// The caller is worker `index`.
    pub(crate) unsafe fn push_own(&self, index: usize, op: OpPtr) -> bool {
        match self {
            Queue::Fair(fair) if op.header().priority == 0 => {
                // SAFETY: by the contract.
                unsafe { fair.rings[index].push(op) };
                true
            }
            _ => false,
        }
    }

    /// The next operation, and whether the call made others visible that somebody else could run.
    ///
    /// # Safety
    /// The caller is worker `index`.
    pub(crate) unsafe fn pop(&self, index: usize) -> Option<(OpPtr, bool)> {
        match self {
            // SAFETY: by the contract.
            Queue::Fair(fair) => unsafe { fair.pop(index) },
            Queue::Exact(exact) => exact.pop().map(|op| (op, false)),
        }
    }

    /// Takes an operation of which `wanted` says so, of those that are kept by rank: all, or those of
    /// a priority that is not zero.
    pub(crate) fn take_ranked(&self, wanted: impl Fn(OpPtr) -> bool) -> Option<OpPtr> {
        let fair = match self {
            Queue::Fair(fair) => fair,
            Queue::Exact(exact) => return exact.take_wanted(wanted),
        };
        if let Some(op) = fair.high.take_wanted(&wanted) {
            // Relaxed: a count alone.
            fair.urgent.fetch_sub(1, Relaxed);
            return Some(op);
        }
        fair.low.take_wanted(wanted)
    }

    /// An operation for a thread that is none of the lane's workers.
    pub(crate) fn pop_foreign(&self) -> Option<OpPtr> {
        match self {
            Queue::Fair(fair) => fair.pop_foreign(),
            Queue::Exact(exact) => exact.pop(),
        }
    }

    /// An address that is probably that of the operation that worker `index` runs next.
    pub(crate) fn peek(&self, index: usize) -> *const Op {
        match self {
            Queue::Fair(fair) => fair.rings[index].peek(),
            Queue::Exact(_) => std::ptr::null(),
        }
    }

    /// Whether the order is exact.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self, Queue::Exact(_))
    }

    /// Whether there are operations of positive priority, of which a worker looks after each
    /// operation. (Where the order is exact, it looks anyway.)
    #[inline]
    pub(crate) fn has_urgent(&self) -> bool {
        match self {
            // Acquire: pairs with `push`.
            Queue::Fair(fair) => fair.urgent.load(Acquire) > 0,
            Queue::Exact(_) => false,
        }
    }

    /// Whether there is an operation to run. Exact once work has stopped arriving.
    pub(crate) fn has_work(&self) -> bool {
        match self {
            Queue::Fair(fair) => fair.has_work(),
            Queue::Exact(exact) => exact.has_work(),
        }
    }

    /// Worker `index` begins to work here. (Indices are given out one holder at a time, under the
    /// lane's lock, so the ring's producers follow one another.)
    pub(crate) fn adopt(&self, index: usize) {
        if let Queue::Fair(fair) = self {
            // AcqRel: nothing travels with it but the number itself; the ring synchronises.
            fair.used.fetch_max(index + 1, AcqRel);
        }
    }
}
