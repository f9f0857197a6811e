//! The block of one pushed operation: header, function in place, accesses behind it.
//!
//! A block is shared by counting: one count for each access (dropped when the access retires), one
//! for the log (dropped by the registrar when it moves on), one for the execution. Whoever drops
//! the last count gives the block back to its pool.

use std::mem::{align_of, size_of};
use std::ptr::{self, NonNull};

use crate::access::{Access, AccessPtr};
use crate::epoch::Epoch;
use crate::failure::FailureCell;
use crate::lane::Lane;
use crate::pool::{self, Block};
use crate::spec::{Device, Name};
use crate::sync::{AcqRel, Acquire, Arc, AtomicPtr, AtomicU32, Relaxed, UnsafeCell};
use crate::task::Task;
use crate::var::VarSlot;
use crate::wait::Waiter;

/// What an operation is to the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Finished when its function returns.
    Sync,
    /// Finished when its `OnComplete` is called.
    Async,
    /// The end of its one variable.
    Delete,
    /// A thread waits to read its one variable.
    Wait,
    /// A thread waits for all earlier operations; ends the epoch.
    Fence,
}

impl Kind {
    /// Whether the operation runs at once on the thread that finds it ready.
    pub(crate) const fn runs_inline(self) -> bool {
        matches!(self, Kind::Delete | Kind::Wait | Kind::Fence)
    }

    /// Whether users pushed it (and `wait_for_all` waits for it).
    pub(crate) const fn counts(self) -> bool {
        !matches!(self, Kind::Wait | Kind::Fence)
    }
}

/// What the registrar fills in, before the operation can become ready.
pub(crate) struct Placed {
    /// Place in the log.
    pub(crate) seq: u64,
    /// Where its completion is counted.
    pub(crate) epoch: *const Epoch,
    /// Set if the operation must not run: a variable was deleted in front of it.
    pub(crate) refused: Option<Arc<FailureCell>>,
}

/// The header of a block.
#[repr(C, align(64))]
pub(crate) struct Op {
    block: Block,
    /// The next entry of the log, null, or the baton.
    pub(crate) log_next: AtomicPtr<Op>,
    /// Accesses that may not start yet, plus one until the registrar is through.
    pending: AtomicU32,
    refs: AtomicU32,
    /// Link of whichever queue holds the operation while it is ready.
    pub(crate) queue_next: AtomicPtr<Op>,
    accesses: u32,
    pub(crate) priority: i32,
    pub(crate) kind: Kind,
    pub(crate) device: Device,
    pub(crate) name: Name,
    pub(crate) tag: u64,
    pub(crate) lane: *const Lane,
    /// Who is woken when the operation is complete, or null. Lives on that thread's stack.
    pub(crate) waiter: *const Waiter,
    placed: UnsafeCell<Placed>,
    task: UnsafeCell<Task>,
}

/// What a new operation consists of, besides its accesses.
pub(crate) struct Fields {
    pub(crate) kind: Kind,
    pub(crate) name: Name,
    pub(crate) tag: u64,
    pub(crate) device: Device,
    pub(crate) priority: i32,
    pub(crate) lane: *const Lane,
    pub(crate) waiter: *const Waiter,
    pub(crate) task: Task,
}

/// A counted pointer to an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OpPtr(NonNull<Op>);

// SAFETY: the protocol decides which thread may touch which field; the task is `Send`, and so are
// failures. Waiters and lanes are shared by reference and `Sync`.
unsafe impl Send for OpPtr {}

const ACCESSES_AT: usize = size_of::<Op>();
const _: () = assert!(ACCESSES_AT.is_multiple_of(align_of::<Access>()));

/// Bytes of a block for so many accesses.
pub(crate) const fn block_bytes(accesses: usize) -> usize {
    ACCESSES_AT + accesses * size_of::<Access>()
}

/// Alignment of every block.
pub(crate) const BLOCK_ALIGN: usize = align_of::<Op>();

impl OpPtr {
    /// Takes a block for `accesses` accesses and fills in its header. The accesses must then be
    /// set by [`OpPtr::init_access`], each once, before the operation is shared.
    pub(crate) fn new(accesses: usize, fields: Fields) -> Self {
        let (place, block) = pool::take(accesses);
        let op = Op {
            block,
            log_next: AtomicPtr::new(ptr::null_mut()),
            pending: AtomicU32::new(accesses as u32 + 1),
            refs: AtomicU32::new(accesses as u32 + 2),
            queue_next: AtomicPtr::new(ptr::null_mut()),
            accesses: accesses as u32,
            priority: fields.priority,
            kind: fields.kind,
            device: fields.device,
            name: fields.name,
            tag: fields.tag,
            lane: fields.lane,
            waiter: fields.waiter,
            placed: UnsafeCell::new(Placed {
                seq: 0,
                epoch: ptr::null(),
                refused: None,
            }),
            task: UnsafeCell::new(fields.task),
        };
        // SAFETY: the pool gave us the memory, large and aligned enough.
        unsafe { place.as_ptr().write(op) };
        Self(place)
    }

    /// An entry that is registered and executed already, for the head of a new log.
    pub(crate) fn new_log_head(fields: Fields) -> Self {
        let op = Self::new(0, fields);
        op.header().refs.store(1, Relaxed);
        op
    }

    /// # Safety
    /// `k` is below the number of accesses and was not set before; the operation is not shared yet.
    pub(crate) unsafe fn init_access(
        self,
        k: usize,
        slot: *const VarSlot,
        generation: u32,
        writes: bool,
    ) {
        // SAFETY: in bounds by the contract, and unshared.
        unsafe { AccessPtr::init(self.access_place(k), self, slot, generation, writes) }
    }

    fn access_place(self, k: usize) -> *mut Access {
        debug_assert!(k < self.len());
        // SAFETY: the block reaches beyond the header by its number of accesses.
        unsafe {
            self.0
                .as_ptr()
                .cast::<u8>()
                .add(ACCESSES_AT)
                .cast::<Access>()
                .add(k)
        }
    }

    /// The header's fields that never change or are atomic.
    #[inline(always)]
    pub(crate) fn header(&self) -> &Op {
        // SAFETY: counted pointer; fields that change otherwise are cells.
        unsafe { self.0.as_ref() }
    }

    pub(crate) fn as_ptr(self) -> *mut Op {
        self.0.as_ptr()
    }

    /// # Safety
    /// `raw` came from [`OpPtr::as_ptr`] and the block is still counted.
    pub(crate) unsafe fn from_raw(raw: *mut Op) -> Option<Self> {
        NonNull::new(raw).map(Self)
    }

    /// Number of accesses.
    #[inline]
    pub(crate) fn len(self) -> usize {
        self.header().accesses as usize
    }

    /// One access.
    #[inline]
    pub(crate) fn access(self, k: usize) -> AccessPtr {
        // SAFETY: set before the operation was shared.
        unsafe { AccessPtr::from_raw(NonNull::new_unchecked(self.access_place(k))) }
    }

    /// All accesses.
    pub(crate) fn accesses(self) -> impl Iterator<Item = AccessPtr> {
        (0..self.len()).map(move |k| self.access(k))
    }

    /// Place in the log.
    ///
    /// # Safety
    /// The operation has become ready, or the caller is the registrar.
    pub(crate) unsafe fn seq(&self) -> u64 {
        // SAFETY: written by the registrar before it released the operation.
        self.header().placed.with(|placed| unsafe { (*placed).seq })
    }

    /// Where the completion is counted.
    ///
    /// # Safety
    /// The operation has become ready.
    pub(crate) unsafe fn epoch(&self) -> *const Epoch {
        // SAFETY: as for `seq`.
        self.header()
            .placed
            .with(|placed| unsafe { (*placed).epoch })
    }

    /// Why the registrar refused the operation, if it did.
    ///
    /// # Safety
    /// The caller executes the operation.
    pub(crate) unsafe fn refused(&self) -> Option<Arc<FailureCell>> {
        // SAFETY: as for `seq`.
        self.header()
            .placed
            .with(|placed| unsafe { (*placed).refused.clone() })
    }

    /// Fills in the registrar's part.
    ///
    /// # Safety
    /// The caller is the registrar and the operation has not been released yet.
    pub(crate) unsafe fn place(&self, f: impl FnOnce(&mut Placed)) {
        // SAFETY: nobody else looks before the release of the operation.
        self.header()
            .placed
            .with_mut(|placed| f(unsafe { &mut *placed }));
    }

    /// The function.
    ///
    /// # Safety
    /// The caller executes the operation, and does not nest calls.
    pub(crate) unsafe fn with_task<R>(&self, f: impl FnOnce(&mut Task) -> R) -> R {
        // SAFETY: by the contract the only user.
        self.header().task.with_mut(|task| f(unsafe { &mut *task }))
    }

    /// Drops `count` pending counts; true if the operation is ready now.
    #[must_use]
    #[inline]
    pub(crate) fn satisfy(&self, count: u32) -> bool {
        // Release: what this access acquired; Acquire: what all the others did, for the last.
        let old = self.header().pending.fetch_sub(count, AcqRel);
        debug_assert!(
            old >= count,
            "an operation got more starts than it has accesses"
        );
        old == count
    }

    /// Adds a count of the block to one that the caller has.
    pub(crate) fn retain(&self) {
        // Relaxed: as for any reference count, the caller's own count keeps the block alive.
        self.header().refs.fetch_add(1, Relaxed);
    }

    /// Drops `count` counts of the block.
    #[inline]
    pub(crate) fn release(self, count: u32) {
        // Release: our last touches; Acquire: everybody's, for the last, who reuses the memory.
        let old = self.header().refs.fetch_sub(count, AcqRel);
        debug_assert!(old >= count, "an operation was released too often");
        if old == count {
            let block = self.header().block;
            // SAFETY: the last count is gone, so nobody else touches header or accesses.
            unsafe {
                if cfg!(loom) {
                    for k in 0..self.len() {
                        ptr::drop_in_place(self.access_place(k));
                    }
                }
                ptr::drop_in_place(self.0.as_ptr());
                pool::give(self.0, block);
            }
        }
    }

    /// Whether the block is held by the caller's count alone.
    pub(crate) fn is_last(&self) -> bool {
        // Acquire: pairs with the releases above.
        self.header().refs.load(Acquire) == 1
    }
}

/// A first-in-first-out list through `queue_next`; the owner has the operations to itself.
pub(crate) struct OpList {
    head: *mut Op,
    tail: *mut Op,
}

impl OpList {
    pub(crate) const fn new() -> Self {
        Self {
            head: ptr::null_mut(),
            tail: ptr::null_mut(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.head.is_null()
    }

    pub(crate) fn push(&mut self, op: OpPtr) {
        op.header().queue_next.store(ptr::null_mut(), Relaxed);
        // SAFETY: the tail, if any, is an operation of this list, still to be executed.
        match unsafe { OpPtr::from_raw(self.tail) } {
            None => self.head = op.as_ptr(),
            Some(tail) => tail.header().queue_next.store(op.as_ptr(), Relaxed),
        }
        self.tail = op.as_ptr();
    }

    pub(crate) fn pop(&mut self) -> Option<OpPtr> {
        // SAFETY: as in `push`.
        let op = unsafe { OpPtr::from_raw(self.head) }?;
        self.head = op.header().queue_next.load(Relaxed);
        if self.head.is_null() {
            self.tail = ptr::null_mut();
        }
        Some(op)
    }
}
