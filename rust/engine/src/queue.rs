//! Ready operations of one lane, in one of two orders.
//!
//! *Fair*: three shared queues (positive, zero, negative priority) and a stealable queue per
//! worker; first in, first out, roughly. *Exact*: the highest priority first, and first pushed
//! first among equals; a lock-free inbox in front of a heap that the lane's few workers share.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crossbeam_deque::{Injector, Steal, Stealer, Worker as Deque};

use crate::op::{Op, OpPtr};
use crate::stack::TakeAllStack;
use crate::sync::{Mutex, Relaxed, lock};

/// A worker's own queue, in fair lanes.
pub(crate) type Local = Option<Deque<OpPtr>>;

pub(crate) enum Queue {
    Fair(Box<Fair>),
    Exact(Exact),
}

pub(crate) struct Fair {
    high: Injector<OpPtr>,
    normal: Injector<OpPtr>,
    low: Injector<OpPtr>,
    stealers: Box<[Stealer<OpPtr>]>,
    /// The other ends, while no thread has them.
    deques: Box<[Mutex<Local>]>,
}

pub(crate) struct Exact {
    inbox: TakeAllStack<Op>,
    heap: Mutex<BinaryHeap<Ranked>>,
}

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

/// Tries again while another thread is in the way.
fn insist<T>(mut attempt: impl FnMut() -> Steal<T>) -> Option<T> {
    loop {
        match attempt() {
            Steal::Success(value) => return Some(value),
            Steal::Empty => return None,
            Steal::Retry => std::hint::spin_loop(),
        }
    }
}

impl Fair {
    pub(crate) fn new(workers: usize) -> Self {
        let deques: Vec<Deque<OpPtr>> = (0..workers).map(|_| Deque::new_fifo()).collect();
        Self {
            high: Injector::new(),
            normal: Injector::new(),
            low: Injector::new(),
            stealers: deques.iter().map(Deque::stealer).collect(),
            deques: deques
                .into_iter()
                .map(|deque| Mutex::new(Some(deque)))
                .collect(),
        }
    }

    fn push(&self, op: OpPtr) {
        match op.header().priority {
            0 => self.normal.push(op),
            1.. => self.high.push(op),
            _ => self.low.push(op),
        }
    }

    /// The next operation for the worker, and whether others may have become stealable.
    fn pop(&self, index: usize, local: &Local) -> Option<(OpPtr, bool)> {
        if !self.high.is_empty()
            && let Some(op) = insist(|| self.high.steal())
        {
            return Some((op, false));
        }
        let Some(deque) = local else {
            return self.steal_any(index).map(|op| (op, false));
        };
        if let Some(op) = deque.pop() {
            return Some((op, false));
        }
        if let Some(op) = insist(|| self.normal.steal_batch_and_pop(deque)) {
            return Some((op, !deque.is_empty()));
        }
        self.steal_any(index).map(|op| (op, false))
    }

    /// Without a queue of one's own: from the shared ones, then from the other workers.
    fn steal_any(&self, index: usize) -> Option<OpPtr> {
        let count = self.stealers.len();
        insist(|| self.normal.steal())
            .or_else(|| {
                (0..count)
                    .map(|k| (index + 1 + k) % count)
                    .find_map(|k| insist(|| self.stealers[k].steal()))
            })
            .or_else(|| insist(|| self.low.steal()))
    }

    fn has_work(&self) -> bool {
        !(self.normal.is_empty() && self.high.is_empty() && self.low.is_empty())
            || self.stealers.iter().any(|stealer| !stealer.is_empty())
    }
}

impl Exact {
    pub(crate) fn new() -> Self {
        Self {
            inbox: TakeAllStack::new(),
            heap: Mutex::new(BinaryHeap::new()),
        }
    }

    fn push(&self, op: OpPtr) {
        self.inbox.push(op.as_ptr(), |next| {
            op.header().queue_next.store(next, Relaxed)
        });
    }

    fn collect(&self, heap: &mut BinaryHeap<Ranked>) {
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

    fn pop(&self) -> Option<(OpPtr, bool)> {
        let mut heap = lock(&self.heap);
        self.collect(&mut heap);
        heap.pop().map(|ranked| (ranked.op, false))
    }

    fn has_work(&self) -> bool {
        // The lock, not just the inbox: another worker may be moving operations into the heap.
        let heap = lock(&self.heap);
        !heap.is_empty() || !self.inbox.is_empty()
    }
}

impl Queue {
    /// Adds a ready operation.
    pub(crate) fn push(&self, op: OpPtr) {
        match self {
            Queue::Fair(fair) => fair.push(op),
            Queue::Exact(exact) => exact.push(op),
        }
    }

    /// The next operation, and whether the call made others visible that somebody else could run.
    pub(crate) fn pop(&self, index: usize, local: &Local) -> Option<(OpPtr, bool)> {
        match self {
            Queue::Fair(fair) => fair.pop(index, local),
            Queue::Exact(exact) => exact.pop(),
        }
    }

    /// Whether there is an operation to run. Exact once work has stopped arriving.
    pub(crate) fn has_work(&self) -> bool {
        match self {
            Queue::Fair(fair) => fair.has_work(),
            Queue::Exact(exact) => exact.has_work(),
        }
    }

    /// Takes worker `index`'s own queue; replacement workers have none.
    pub(crate) fn adopt(&self, index: usize) -> Local {
        match self {
            Queue::Fair(fair) => fair.deques.get(index).and_then(|deque| lock(deque).take()),
            Queue::Exact(_) => None,
        }
    }

    /// Returns what [`Queue::adopt`] gave.
    pub(crate) fn abandon(&self, index: usize, local: Local) {
        if let (Queue::Fair(fair), Some(_)) = (self, &local)
            && let Some(place) = fair.deques.get(index)
        {
            *lock(place) = local;
        }
    }
}
