//! A queue with one producer and any number of takers, which allocates only when it grows.
//!
//! The array queue of Chase and Lev ("Dynamic circular work-stealing deque", 2005) without the
//! owner's end: everybody takes the oldest elements, by compare-exchange on `head`. Arrays that were
//! outgrown are kept until the queue is dropped, so that a slow taker may still read one; together
//! they are smaller than the one in use.

use std::ptr;

use crossbeam_utils::CachePadded;

use crate::base::sync::{
    AcqRel, Acquire, AtomicPtr, AtomicUsize, MODEL, Relaxed, Release, UnsafeCell,
};
use crate::operation::op::{Op, OpPtr};

/// Elements that the first array holds.
const FIRST: usize = if MODEL { 2 } else { 256 };
/// Elements that one call takes at most.
pub(crate) const MOST: usize = 32;

struct Array {
    slots: Box<[AtomicPtr<Op>]>,
}

impl Array {
    fn new(len: usize) -> Self {
        Self {
            slots: (0..len).map(|_| AtomicPtr::new(ptr::null_mut())).collect(),
        }
    }

    fn slot(&self, index: usize) -> &AtomicPtr<Op> {
        &self.slots[index & (self.slots.len() - 1)]
    }
}

/// Ready operations, oldest first.
pub(crate) struct Ring {
    /// Where takers take. Only grows (and wraps).
    head: CachePadded<AtomicUsize>,
    tail: CachePadded<Tail>,
}

/// What the producer writes.
struct Tail {
    /// Where the producer adds.
    index: AtomicUsize,
    array: AtomicPtr<Array>,
    producer: UnsafeCell<Producer>,
}

/// What the producer alone looks at.
struct Producer {
    /// A place that `head` has reached.
    head: usize,
    /// All arrays, the one in use last.
    #[expect(
        clippy::vec_box,
        reason = "takers point to the arrays, so they must not move"
    )]
    arrays: Vec<Box<Array>>,
}

// SAFETY: `producer` is touched by the one producer alone; the rest is atomic.
unsafe impl Sync for Ring {}
// SAFETY: as above; what the ring holds are ready operations, which any thread may run.
unsafe impl Send for Ring {}

impl Ring {
    pub(crate) fn new() -> Self {
        Self {
            head: CachePadded::new(AtomicUsize::new(0)),
            tail: CachePadded::new(Tail {
                index: AtomicUsize::new(0),
                array: AtomicPtr::new(ptr::null_mut()),
                producer: UnsafeCell::new(Producer {
                    head: 0,
                    arrays: Vec::new(),
                }),
            }),
        }
    }

    /// Adds an operation.
    ///
    /// # Safety
    /// The caller is the one producer: what earlier producers did happened before.
    #[inline]
    pub(crate) unsafe fn push(&self, op: OpPtr) {
        // Relaxed: the producer alone writes it.
        let index = self.tail.index.load(Relaxed);
        // SAFETY: the one producer.
        let array = self
            .tail
            .producer
            .with_mut(|producer| unsafe { self.room_for(&mut *producer, index) });
        // SAFETY: arrays live as long as the ring. Relaxed: published by `index`.
        unsafe { (*array).slot(index).store(op.as_ptr(), Relaxed) };
        // Release: the slot, the array, and the operation's contents; pairs with `take`.
        self.tail.index.store(index.wrapping_add(1), Release);
    }

    /// An array whose slot for `index` is free.
    #[inline]
    fn room_for(&self, producer: &mut Producer, index: usize) -> *const Array {
        let len = producer.arrays.last().map_or(0, |array| array.slots.len());
        if index.wrapping_sub(producer.head) >= len {
            // Acquire: takers have read the slots that they took; pairs with `take`.
            producer.head = self.head.load(Acquire);
            if index.wrapping_sub(producer.head) >= len {
                self.grow(producer, index);
            }
        }
        self.tail.array.load(Relaxed)
    }

    #[cold]
    fn grow(&self, producer: &mut Producer, index: usize) {
        let old = producer.arrays.last();
        let new = Box::new(Array::new(old.map_or(FIRST, |old| old.slots.len() * 2)));
        if let Some(old) = old {
            let mut at = producer.head;
            while at != index {
                new.slot(at).store(old.slot(at).load(Relaxed), Relaxed);
                at = at.wrapping_add(1);
            }
        }
        // Release: the array's contents; pairs with `take`.
        self.tail
            .array
            .store(ptr::from_ref(&*new).cast_mut(), Release);
        producer.arrays.push(new);
    }

    /// Takes the oldest operation, and passes up to `more` further ones to `rest`, in order.
    #[inline(always)]
    pub(crate) fn take(&self, more: usize, mut rest: impl FnMut(OpPtr)) -> Option<OpPtr> {
        loop {
            // Acquire: whoever moved `head` here had seen the tail beyond it; so do we then.
            let head = self.head.load(Acquire);
            // Acquire: pairs with `push`: slots, array and operations.
            let len = self.tail.index.load(Acquire).wrapping_sub(head);
            if len == 0 || len > isize::MAX as usize {
                return None;
            }
            let array = self.tail.array.load(Acquire);
            // Half of what is there, so that several takers share.
            let count = len.div_ceil(2).min(more + 1).min(MOST);
            let mut taken = [ptr::null_mut(); MOST];
            for (k, place) in taken[..count].iter_mut().enumerate() {
                // SAFETY: something was pushed, so there is an array; it lives as long as the ring.
                *place = unsafe { (*array).slot(head.wrapping_add(k)).load(Relaxed) };
            }
            // Release: our reads of the slots come before their reuse; pairs with `room_for`. If
            // it succeeds, `head` was here all the time, and the slots were not reused.
            if self
                .head
                .compare_exchange_weak(head, head.wrapping_add(count), AcqRel, Relaxed)
                .is_err()
            {
                continue;
            }
            for raw in &taken[1..count] {
                // SAFETY: ready operations, counted for their execution; now ours.
                if let Some(op) = unsafe { OpPtr::from_raw(*raw) } {
                    rest(op);
                }
            }
            // SAFETY: as above.
            return unsafe { OpPtr::from_raw(taken[0]) };
        }
    }

    /// The operation that `take` would take now, as an address that may be stale.
    pub(crate) fn peek(&self) -> *const Op {
        let head = self.head.load(Relaxed);
        let array = self.tail.array.load(Acquire);
        if array.is_null() {
            return ptr::null();
        }
        // SAFETY: arrays live as long as the ring.
        unsafe { (*array).slot(head).load(Relaxed) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        let head = self.head.load(Acquire);
        self.tail.index.load(Acquire) == head
    }
}
