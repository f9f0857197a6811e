//! Temporary space for one run of a kernel. Each thread has a block for it, which grows to what its
//! runs need and stays, so that a warm run asks the pool for nothing.
//!
//! A cache that the whole runtime can reach holds the blocks: when memory runs out, or is trimmed,
//! those not in use go back to the pool.

use crate::{Runtime, relief};
use ferromix_base::{DType, Result, Shape, contiguous_strides};
use ferromix_kernels::View;
use ferromix_storage::{Handle, Pool};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};

const ALIGN: usize = 64;
/// Places in the cache. Threads beyond that many share, and may find their place empty.
const PLACES: usize = 64;

thread_local! {
    static PLACE: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // Relaxed: only spreads the threads.
        NEXT.fetch_add(1, Ordering::Relaxed) % PLACES
    };
}

/// A place, on cache lines of its own. The lock is only ever tried on the way of an operation.
#[derive(Default)]
#[repr(align(128))]
struct Place(Mutex<Option<Handle>>);

impl Place {
    /// Exchanges the block; gives `with` back where another thread is at it.
    fn swap(&self, with: Option<Handle>) -> Option<Handle> {
        match self.0.try_lock() {
            Ok(mut block) => std::mem::replace(&mut *block, with),
            Err(TryLockError::Poisoned(poisoned)) => {
                std::mem::replace(&mut *poisoned.into_inner(), with)
            }
            Err(TryLockError::WouldBlock) => with,
        }
    }
}

/// The blocks of all threads that are not in use.
#[derive(Default)]
pub(crate) struct WorkspaceCache {
    places: Vec<Place>,
}

impl WorkspaceCache {
    pub(crate) fn new() -> Self {
        let places = (0..PLACES).map(|_| Place::default()).collect();
        WorkspaceCache { places }
    }

    fn own(&self) -> Option<&Place> {
        self.places.get(PLACE.with(|place| *place))
    }

    /// The bytes that were asked for, and the bytes of the blocks, that lie here.
    pub(crate) fn bytes(&self) -> (usize, usize) {
        self.places.iter().fold((0, 0), |(asked, bytes), place| {
            let block = place.0.lock().unwrap_or_else(PoisonError::into_inner);
            let sizes = block.as_ref().map(|b| (b.size(), b.capacity()));
            let (size, capacity) = sizes.unwrap_or_default();
            (asked + size, bytes + capacity)
        })
    }

    /// Gives all blocks back to the pool that they came from; whether there were any.
    pub(crate) fn clear(&self, pool: &Pool) -> bool {
        let blocks = self.places.iter().filter_map(|place| place.swap(None));
        blocks.map(|block| pool.free(block)).count() > 0
    }
}

/// A block that is cut into aligned pieces and put back when it is dropped.
pub(crate) struct Scratch<'a> {
    runtime: &'a Runtime,
    handle: Option<Handle>,
    used: usize,
    size: usize,
}

/// Bytes that a piece of `size` bytes takes in a scratch block.
pub(crate) fn padded(size: usize) -> usize {
    size.next_multiple_of(ALIGN)
}

impl<'a> Scratch<'a> {
    /// A block of at least `size` bytes, the sum of what its pieces take.
    pub(crate) fn new(runtime: &'a Runtime, size: usize) -> Result<Self> {
        let handle = if size == 0 {
            None
        } else {
            Some(block(runtime, size)?)
        };
        Ok(Scratch {
            runtime,
            handle,
            used: 0,
            size,
        })
    }

    fn cut(&mut self, bytes: usize) -> *mut u8 {
        let start = self.used;
        self.used += padded(bytes);
        assert!(self.used <= self.size, "scratch memory overrun");
        self.handle
            .as_ref()
            .map_or(std::ptr::null_mut(), |h| h.as_ptr().wrapping_add(start))
    }

    /// The next piece as a contiguous view.
    pub(crate) fn view(&mut self, dtype: DType, shape: &Shape) -> View {
        let bytes = shape.iter().product::<usize>() * dtype.size();
        let (ptr, strides) = (self.cut(bytes), contiguous_strides(shape));
        // SAFETY: the piece is `bytes` long, aligned, nobody else's, and lives as long as self,
        // which outlives the run that the view is made for.
        unsafe { View::from_raw(ptr, dtype, shape.clone(), strides) }
    }

    /// The next piece as bytes.
    pub(crate) fn bytes(&mut self, size: usize) -> &'a mut [u8] {
        if size == 0 {
            return &mut [];
        }
        let ptr = self.cut(size);
        // SAFETY: the piece is `size` bytes long and nobody else's; the run that uses it ends
        // before self is dropped (`Binding::run` keeps both in one frame). Any byte is a valid u8.
        unsafe { std::slice::from_raw_parts_mut(ptr, size) }
    }
}

/// The thread's block, if it is large enough, or a new one in its stead.
fn block(runtime: &Runtime, size: usize) -> Result<Handle> {
    let cached = runtime
        .workspaces()
        .own()
        .and_then(|place| place.swap(None));
    match cached {
        Some(block) if block.capacity() >= size => return Ok(block),
        Some(small) => runtime.pool().free(small),
        None => {}
    }
    relief::in_kernel(|| runtime.pool().alloc(size))
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else {
            return;
        };
        let left = match self.runtime.workspaces().own() {
            Some(place) => place.swap(Some(handle)),
            None => Some(handle),
        };
        if let Some(handle) = left {
            self.runtime.pool().free(handle);
        }
    }
}
