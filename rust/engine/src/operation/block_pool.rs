//! Memory of operation blocks: taken from and given back to lists, so that a warm engine does not
//! allocate.
//!
//! Each thread adopts a *home*, which owns the blocks that were carved for it. A thread takes
//! blocks from its home's local list without any atomic operation. Another thread that frees a
//! block collects up to 32 for one home and returns them by one exchange on the home's remote list,
//! which the owner takes over as a whole when its local list is empty (push by exchange, take by
//! swap: no ABA). Homes outlive threads: a new thread adopts one that was abandoned. Blocks are
//! kept for the life of the process; their number is the highest number in flight ever, plus what
//! the batches hold.

#[cfg(not(shuttle))]
use std::alloc::dealloc as release_heap;
use std::alloc::{Layout, alloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::{self, NonNull};

use crate::base::stack::TakeAllStack;
use crate::base::sync::{Acquire, Relaxed, Release, plain};
use crate::operation::op::{BLOCK_ALIGN, Op, block_bytes};
#[cfg(shuttle)]
use crate::operation::quarantine::bury as release_heap;

/// Accesses that fit into a block of each class; more are allocated one by one.
const CLASSES: [usize; 6] = [2, 4, 8, 16, 32, 64];
/// Blocks of each class carved from one allocation.
const CARVE: [usize; CLASSES.len()] = [64, 64, 64, 64, 16, 16];
/// Blocks of another home that a thread collects before returning them.
const BATCH: u32 = 32;

/// Where a block came from: a home, or (`None`) the heap.
#[derive(Clone, Copy)]
pub(crate) struct Block(Option<&'static Home>);

impl Block {
    pub(crate) fn is_pooled(self) -> bool {
        self.0.is_some()
    }
}

#[inline]
fn class_of(accesses: usize) -> Option<usize> {
    CLASSES.iter().position(|&most| accesses <= most)
}

/// A block while nobody uses it.
struct Free {
    next: *mut Free,
    class: u8,
    home: &'static Home,
}

pub(crate) struct Home {
    /// Blocks returned by other threads, per class.
    remote: [crossbeam_utils::CachePadded<TakeAllStack<Free>>; CLASSES.len()],
    /// Blocks at hand, per class. Only the adopter looks here.
    local: [Cell<*mut Free>; CLASSES.len()],
    /// The next one that nobody has. Its finder's.
    next: Cell<*const Home>,
}

// SAFETY: the cells are touched by the adopting thread alone; adoption passes through exchanges.
unsafe impl Sync for Home {}

fn layout(accesses: usize, blocks: usize) -> Layout {
    let bytes = block_bytes(accesses).next_multiple_of(BLOCK_ALIGN) * blocks;
    match Layout::from_size_align(bytes, BLOCK_ALIGN) {
        Ok(layout) => layout,
        Err(_) => handle_alloc_error(Layout::new::<Op>()),
    }
}

fn allocate(accesses: usize, blocks: usize) -> NonNull<u8> {
    let layout = layout(accesses, blocks);
    // SAFETY: the layout is not empty: it holds a header.
    match NonNull::new(unsafe { alloc(layout) }) {
        Some(memory) => memory,
        None => handle_alloc_error(layout),
    }
}

fn take_heap(accesses: usize) -> (NonNull<Op>, Block) {
    #[cfg(shuttle)]
    crate::operation::quarantine::count();
    (allocate(accesses, 1).cast(), Block(None))
}

impl Home {
    fn new() -> Self {
        Self {
            remote: std::array::from_fn(|_| crossbeam_utils::CachePadded::new(TakeAllStack::new())),
            local: std::array::from_fn(|_| Cell::new(ptr::null_mut())),
            next: Cell::new(ptr::null()),
        }
    }

    fn take(&'static self, class: usize) -> NonNull<Op> {
        let mut free = self.local[class].get();
        if free.is_null() {
            free = self.remote[class].take();
        }
        if free.is_null() {
            free = self.carve(class);
        }
        // SAFETY: lists hold free blocks only, and non-null; this one is ours now.
        unsafe {
            self.local[class].set((*free).next);
            NonNull::new_unchecked(free).cast()
        }
    }

    /// Cuts new memory into blocks and links them up.
    fn carve(&'static self, class: usize) -> *mut Free {
        let memory = allocate(CLASSES[class], CARVE[class]).as_ptr();
        let step = block_bytes(CLASSES[class]).next_multiple_of(BLOCK_ALIGN);
        let mut next = ptr::null_mut();
        for k in (0..CARVE[class]).rev() {
            // SAFETY: block k lies within the allocation.
            unsafe {
                let free = memory.add(k * step).cast::<Free>();
                free.write(Free {
                    next,
                    class: class as u8,
                    home: self,
                });
                next = free;
            }
        }
        next
    }
}

/// Blocks of one foreign home and class on their way back.
#[derive(Clone, Copy)]
struct Parcel {
    first: *mut Free,
    last: *mut Free,
    len: u32,
}

const NO_PARCEL: Parcel = Parcel {
    first: ptr::null_mut(),
    last: ptr::null_mut(),
    len: 0,
};

impl Parcel {
    /// # Safety
    /// The caller owns the blocks of the parcel.
    unsafe fn send(self) {
        if self.len == 0 {
            return;
        }
        // SAFETY: the parcel's blocks are free and linked from first to last.
        unsafe {
            let (home, class) = ((*self.first).home, (*self.first).class);
            home.remote[usize::from(class)].push(self.first, |next| (*self.last).next = next)
        }
    }
}

/// A thread's hold on its home.
struct Tenant {
    home: Cell<Option<&'static Home>>,
    parcel: Cell<Parcel>,
}

/// Homes that nobody has. A list that is taken as a whole, not a lock: a fork might find that taken.
static ABANDONED: plain::AtomicPtr<Home> = plain::AtomicPtr::new(ptr::null_mut());

/// Puts homes, linked from `first` to `last`, where other threads find them.
fn abandon(first: &'static Home, last: &'static Home) {
    let mut top = ABANDONED.load(Relaxed);
    loop {
        last.next.set(top);
        let first = ptr::from_ref(first).cast_mut();
        // Release: what the homes hold; pairs with `adopt`.
        match ABANDONED.compare_exchange_weak(top, first, Release, Relaxed) {
            Ok(_) => return,
            Err(now) => top = now,
        }
    }
}

/// A home that nobody has; the others that were found with it go back.
fn adopt() -> Option<&'static Home> {
    // Acquire: pairs with `abandon`.
    let first = ABANDONED.swap(ptr::null_mut(), Acquire);
    // SAFETY: homes are there for good; these are the finder's.
    let next = |home: *const Home| unsafe { home.as_ref() };
    let home = next(first)?;
    if let Some(second) = next(home.next.get()) {
        let mut last = second;
        while let Some(further) = next(last.next.get()) {
            last = further;
        }
        abandon(second, last);
    }
    Some(home)
}

impl Tenant {
    fn home(&self) -> &'static Home {
        if let Some(home) = self.home.get() {
            return home;
        }
        let home = adopt().unwrap_or_else(|| Box::leak(Box::new(Home::new())));
        self.home.set(Some(home));
        home
    }

    /// # Safety
    /// The caller owns the block.
    unsafe fn give(&self, free: *mut Free) {
        // SAFETY: a free block that we own.
        let (home, class) = unsafe { ((*free).home, usize::from((*free).class)) };
        if self.home.get().is_some_and(|mine| ptr::eq(mine, home)) {
            // SAFETY: as above.
            unsafe { (*free).next = home.local[class].get() };
            home.local[class].set(free);
            return;
        }
        let parcel = self.parcel.get();
        // SAFETY: the parcel's blocks are free and ours.
        let fits = parcel.len > 0
            && parcel.len < BATCH
            && unsafe {
                ptr::eq((*parcel.first).home, home) && usize::from((*parcel.first).class) == class
            };
        if fits {
            // SAFETY: as above.
            unsafe { (*free).next = parcel.first };
            self.parcel.set(Parcel {
                first: free,
                len: parcel.len + 1,
                ..parcel
            });
        } else {
            // SAFETY: as above; then the parcel is forgotten.
            unsafe { parcel.send() };
            self.parcel.set(Parcel {
                first: free,
                last: free,
                len: 1,
            });
        }
    }

    fn flush(&self) {
        // SAFETY: replaced by an empty one at once, so its blocks are sent once.
        unsafe { self.parcel.replace(NO_PARCEL).send() };
    }
}

impl Drop for Tenant {
    fn drop(&mut self) {
        self.flush();
        if let Some(home) = self.home.get() {
            abandon(home, home);
        }
    }
}

thread_local! {
    static TENANT: Tenant =
        const { Tenant { home: Cell::new(None), parcel: Cell::new(NO_PARCEL) } };
}

/// Under loom, whose threads share one thread's locals: blocks that are used again in an order that
/// is the same in each run of a model, as the allocator's is not. Who gets a block sees what was
/// done by those who gave blocks back.
#[cfg(loom)]
mod freed {
    use super::*;
    use crate::base::sync::AtomicU32;

    struct Freed {
        list: std::sync::Mutex<Vec<(usize, usize)>>,
        given: AtomicU32,
    }

    loom::lazy_static! {
        static ref FREED: Freed = Freed { list: Default::default(), given: AtomicU32::new(0) };
    }

    impl Drop for Freed {
        fn drop(&mut self) {
            for (place, accesses) in list(self).drain(..) {
                // SAFETY: came from `take_heap` with so many accesses.
                unsafe { release_heap(place as *mut u8, layout(accesses, 1)) }
            }
        }
    }

    fn list(freed: &Freed) -> std::sync::MutexGuard<'_, Vec<(usize, usize)>> {
        freed
            .list
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(super) fn take(accesses: usize) -> (NonNull<Op>, Block) {
        let freed: &Freed = &FREED;
        let found = {
            let mut list = list(freed);
            let place = list.iter().rposition(|(_, fits)| *fits == accesses);
            place.map(|place| list.remove(place))
        };
        match found.and_then(|(place, _)| NonNull::new(place as *mut Op)) {
            Some(place) => {
                // Acquire: pairs with `give`.
                freed.given.fetch_add(0, Acquire);
                (place, Block(None))
            }
            None => take_heap(accesses),
        }
    }

    pub(super) fn give(place: NonNull<Op>, accesses: usize) {
        let freed: &Freed = &FREED;
        // Release: pairs with `take`.
        freed.given.fetch_add(1, Release);
        list(freed).push((place.as_ptr() as usize, accesses));
    }
}

/// Memory for an operation with so many accesses, uninitialised.
#[inline]
pub(crate) fn take(accesses: usize) -> (NonNull<Op>, Block) {
    #[cfg(loom)]
    if true {
        return freed::take(accesses);
    }
    if cfg!(shuttle) {
        return take_heap(accesses); // Counted there, and buried when given back.
    }
    let Some(class) = class_of(accesses) else {
        return take_heap(accesses);
    };
    let pooled = TENANT.try_with(|tenant| {
        let home = tenant.home();
        (home.take(class), Block(Some(home)))
    });
    // No thread-locals: the thread is ending, and another thread-local's destructor pushed.
    pooled.unwrap_or_else(|_| take_heap(accesses))
}

/// Gives a block's memory back.
///
/// # Safety
/// The memory and `block` came from [`take`] for so many accesses, its contents are dropped, and
/// the caller is the only one who knows it.
#[inline]
pub(crate) unsafe fn give(place: NonNull<Op>, block: Block, accesses: usize) {
    #[cfg(loom)]
    if true {
        return freed::give(place, accesses);
    }
    match (block.0, class_of(accesses)) {
        (Some(home), Some(class)) => {
            let free = place.as_ptr().cast::<Free>();
            // SAFETY: ours, and large enough for the free header.
            unsafe {
                free.write(Free {
                    next: ptr::null_mut(),
                    class: class as u8,
                    home,
                })
            };
            // SAFETY: ours, and free.
            let given = TENANT.try_with(|tenant| unsafe { tenant.give(free) });
            if given.is_err() {
                // SAFETY: as above.
                unsafe {
                    Parcel {
                        first: free,
                        last: free,
                        len: 1,
                    }
                    .send()
                };
            }
        }
        // SAFETY: allocated in `take_heap` with this layout.
        _ => unsafe { release_heap(place.as_ptr().cast(), layout(accesses, 1)) },
    }
}

/// Sends collected blocks home. Called when a thread is about to sleep.
pub(crate) fn flush() {
    // An error means that the thread is ending and has flushed already.
    let _ = TENANT.try_with(Tenant::flush);
}
