//! The block of one pushed operation: header, function in place, accesses behind it.
//!
//! A block is shared by counting: one count for each access (dropped when the access retires), one
//! for the execution, and one for the log if the operation has no access (dropped by the registrar
//! when it moves on). Whoever drops the last count gives the block back to its pool.
//!
//! An operation in a bulk has a block without accesses and is never in the log: the bulk's block
//! stands there for it.

mod extra;
mod registered;

use std::mem::{MaybeUninit, align_of, size_of};
use std::ptr::{self, NonNull};

use crate::base::sync::{AcqRel, Acquire, Arc, AtomicPtr, AtomicU32, MODEL, Relaxed, UnsafeCell};
use crate::failures::ledger::FailureCell;
use crate::operation::access::{Access, AccessPtr};
use crate::operation::block_pool::{self, Block};
use crate::operation::name_cell::NameCell;
use crate::operation::task_space::TaskSpace;
use crate::operation::var_slots::VarSlot;
use crate::types::device::Device;
use crate::types::spec::Name;
use crate::waiters::epoch::Epoch;
use crate::waiters::waiter::Waiter;

use extra::Extra;
pub(crate) use extra::Uses;

/// What an operation is to the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OpKind {
    /// Finished when its function returns.
    Sync,
    /// Finished when its `OnComplete` is called.
    Async,
    /// The end of its one variable.
    Delete,
    /// The launch of a program.
    Program,
    /// Several synchronous operations, run one after another.
    Bulk,
    /// A thread waits to read its one variable.
    Wait,
    /// A thread waits for all earlier operations; ends the epoch.
    Fence,
    /// A thread takes the baton, and the log ends here.
    Close,
}

impl OpKind {
    /// Whether a user's function runs.
    pub(crate) const fn is_users(self) -> bool {
        !matches!(self, OpKind::Wait | OpKind::Fence | OpKind::Close)
    }

    /// Whether users pushed it (and `wait_for_all` waits for it).
    pub(crate) const fn counts(self) -> bool {
        self.is_users()
    }
}

/// Of an operation that is no program's launch.
pub(crate) const NO_STEP: u32 = u32::MAX;

/// The header of a block. In order of use: of an operation whose function is small and which
/// succeeds, the pusher and the worker touch the first two cache lines and those of the accesses.
#[repr(C, align(64))]
pub(crate) struct Op {
    /// The next entry of the log, null, or the baton.
    pub(crate) log_next: AtomicPtr<Op>,
    /// Accesses that may not start yet, or of which the registrar has not reported.
    pending: AtomicU32,
    refs: AtomicU32,
    block: Block,
    /// See `Lane::of`. Null if it runs inline. (The types of lanes and launches build on operations,
    /// which therefore only carry their addresses.)
    pub(crate) lane: *const (),
    /// Where the completion is counted. Set by the registrar.
    epoch: UnsafeCell<*const Epoch>,
    pub(crate) tag: u64,
    accesses: u32,
    pub(crate) priority: i32,
    pub(crate) device: Device,
    pub(crate) kind: OpKind,
    /// Some of `WAITS`, `REFUSED`, `IN_LOG`. The registrar adds the latter two.
    marks: UnsafeCell<u8>,
    /// How many threads the function may use; 0: no limit.
    pub(crate) threads: u16,

    name: NameCell,
    /// Place in the log. Set by the registrar.
    seq: UnsafeCell<u64>,
    /// Link of whichever list holds the operation while it is ready.
    pub(crate) queue_next: AtomicPtr<Op>,
    task: UnsafeCell<TaskSpace>,

    extra: Extra,
    /// Why the operation must not run: a variable was deleted in front of it.
    refusal: UnsafeCell<MaybeUninit<Arc<FailureCell>>>,
}

/// There is a `waiter`.
const WAITS: u8 = 1;
/// There is a `refusal`.
const REFUSED: u8 = 2;
/// The log has a count.
const IN_LOG: u8 = 4;

impl Op {
    /// # Safety
    /// The caller executes the operation, or is the registrar.
    unsafe fn has(&self, mark: u8) -> bool {
        // SAFETY: written by the registrar alone, before it releases the operation.
        self.marks.with(|marks| unsafe { *marks } & mark != 0)
    }

    /// # Safety
    /// The caller is the registrar and the operation has not been released yet.
    unsafe fn add_mark(&self, mark: u8) {
        // SAFETY: nobody else looks before the release of the operation.
        self.marks.with_mut(|marks| unsafe { *marks |= mark });
    }

    /// Where its name lies.
    pub(crate) const fn name_cell(&self) -> &NameCell {
        &self.name
    }
}

impl Drop for Op {
    fn drop(&mut self) {
        // SAFETY: exclusive; the mark says that there is one.
        unsafe {
            if self.has(REFUSED) {
                self.refusal.with_mut(|cell| (*cell).assume_init_drop());
            }
        }
    }
}

/// What a new operation consists of, besides its function and its accesses.
pub(crate) struct Fields {
    pub(crate) kind: OpKind,
    pub(crate) name: Name,
    pub(crate) tag: u64,
    pub(crate) device: Device,
    pub(crate) priority: i32,
    pub(crate) threads: u16,
    pub(crate) lane: *const (),
    pub(crate) waiter: *const Waiter,
}

/// A counted pointer to an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OpPtr(NonNull<Op>);

// SAFETY: the protocol decides which thread may touch which field; the task is `Send`, and so are
// failures. Waiters and lanes are shared by reference and `Sync`.
unsafe impl Send for OpPtr {}

const ACCESSES_AT: usize = size_of::<Op>();
// Three cache lines; see `Op`.
const _: () = assert!(MODEL || cfg!(not(target_pointer_width = "64")) || ACCESSES_AT == 192);
const _: () = assert!(ACCESSES_AT % align_of::<Access>() == 0);

/// Bytes of a block for so many accesses.
pub(crate) const fn block_bytes(accesses: usize) -> usize {
    ACCESSES_AT + accesses * size_of::<Access>()
}

/// Alignment of every block.
pub(crate) const BLOCK_ALIGN: usize = align_of::<Op>();

impl OpPtr {
    /// Takes a block for `accesses` accesses and fills in its header. The accesses must then be
    /// set by [`OpPtr::init_access`], each once, before the operation is shared; there is no
    /// function until [`OpPtr::with_task`] stores one.
    #[inline]
    pub(crate) fn new(accesses: usize, fields: &Fields) -> Self {
        let (place, block) = block_pool::take(accesses);
        let op = place.as_ptr();
        // Field by field: what is written as a whole is built elsewhere and copied.
        macro_rules! set {
            ($($field:ident: $value:expr,)*) => {
                // SAFETY: the pool gave us the memory, large and aligned enough.
                unsafe { $((&raw mut (*op).$field).write($value);)* }
            };
        }
        set! {
            log_next: AtomicPtr::new(ptr::null_mut()),
            pending: AtomicU32::new(accesses as u32),
            refs: AtomicU32::new(accesses as u32 + 1),
            block: block,
            lane: fields.lane,
            epoch: UnsafeCell::new(ptr::null()),
            tag: fields.tag,
            accesses: accesses as u32,
            priority: fields.priority,
            device: fields.device,
            kind: fields.kind,
            marks: UnsafeCell::new(if fields.waiter.is_null() { 0 } else { WAITS }),
            threads: fields.threads,
            seq: UnsafeCell::new(0),
            queue_next: AtomicPtr::new(ptr::null_mut()),
            task: UnsafeCell::new(TaskSpace::empty()),
        }
        // SAFETY: as above.
        unsafe { NameCell::set(&raw mut (*op).name, fields.name) };
        // The last line is left alone if it can be.
        if !fields.waiter.is_null() {
            // SAFETY: as above.
            unsafe { (&raw mut (*op).extra.logged.waiter).write(fields.waiter) };
        }
        if MODEL {
            set! { refusal: UnsafeCell::new(MaybeUninit::uninit()), }
        }
        Self(place)
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

    /// Its name.
    #[inline]
    pub(crate) fn name(self) -> Name {
        // SAFETY: counted pointer.
        unsafe { self.header().name.get() }
    }

    /// Whether its block is one that is kept for good.
    #[inline]
    pub(crate) fn is_pooled(self) -> bool {
        self.header().block.is_pooled()
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

    /// The number of one of its accesses.
    pub(crate) fn index_of(self, access: AccessPtr) -> u32 {
        let offset = access.address() - self.0.as_ptr() as usize - ACCESSES_AT;
        (offset / size_of::<Access>()) as u32
    }

    /// All accesses.
    pub(crate) fn accesses(self) -> impl Iterator<Item = AccessPtr> {
        (0..self.len()).map(move |k| self.access(k))
    }

    /// Gives up an operation of which `accesses` were set and which was never shared.
    pub(crate) fn discard(self, accesses: usize) {
        let block = self.header().block;
        // SAFETY: nobody else knows the operation.
        unsafe { self.destroy(accesses, block) }
    }

    /// # Safety
    /// The caller is the last to know the operation; its first `accesses` were set.
    unsafe fn destroy(self, accesses: usize, block: Block) {
        let len = self.len();
        // SAFETY: by the contract.
        unsafe {
            if MODEL {
                for k in 0..accesses {
                    ptr::drop_in_place(self.access_place(k));
                }
            }
            ptr::drop_in_place(self.0.as_ptr());
            block_pool::give(self.0, block, len);
        }
    }

    /// The place of the function; see `OpPtr::with_task`.
    #[inline(always)]
    pub(crate) fn space(&self) -> &UnsafeCell<TaskSpace> {
        &self.header().task
    }

    /// Drops `count` pending counts; true if the operation is ready now.
    #[must_use]
    #[inline]
    pub(crate) fn satisfy(&self, count: u32) -> bool {
        let pending = &self.header().pending;
        // Acquire: as below. The caller's counts are all that is left: nobody else will touch it.
        if pending.load(Acquire) == count {
            return true;
        }
        // Release: what this access acquired; Acquire: what all the others did, for the last.
        let old = pending.fetch_sub(count, AcqRel);
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
        let refs = &self.header().refs;
        // Acquire: as below. Nobody else has a count, so nobody can drop or add one.
        let last = refs.load(Acquire) == count || {
            // Release: our last touches; Acquire: everybody's, for the last, who reuses the memory.
            let old = refs.fetch_sub(count, AcqRel);
            debug_assert!(old >= count, "an operation was released too often");
            old == count
        };
        if last {
            let block = self.header().block;
            // SAFETY: the last count is gone, so nobody else touches header or accesses.
            unsafe { self.destroy(self.len(), block) }
        }
    }

    /// Brings the operation's memory closer, if the address is one. May be called with any.
    #[inline(always)]
    pub(crate) fn prefetch(address: *const Op) {
        #[cfg(target_arch = "x86_64")]
        if !address.is_null() {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            for line in [0, 64, ACCESSES_AT] {
                // SAFETY: a prefetch has no effect but on caches, whatever the address.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast::<i8>().wrapping_add(line)) };
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = address;
    }
}
