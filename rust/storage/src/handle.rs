//! What the pool hands out.

use crate::backend::RawBlock;
use crate::class::Class;
use crate::core::Held;
use ferromix_base::Context;
use std::num::NonZeroU64;
use std::ptr::NonNull;

/// A block of a pool. Whoever holds it owns its bytes, whose contents are arbitrary at first.
///
/// A handle is given back by [`Pool::free`](crate::Pool::free); one that is merely dropped leaks
/// its block, which the pool's statistics then count as in use.
#[derive(Debug)]
#[must_use = "a handle that is dropped leaks its block: give it back with Pool::free"]
pub struct Handle {
    pub(crate) held: Held,
    /// The number of its bucket.
    pub(crate) class: u16,
    pub(crate) size: usize,
    pub(crate) context: Context,
    pub(crate) pool: u64,
}

// SAFETY: the handle is an address and sizes; it gives no access to the bytes by itself.
unsafe impl Send for Handle {}
// SAFETY: as above; no method changes it.
unsafe impl Sync for Handle {}

impl Handle {
    /// The first byte: aligned to 64 bytes, from 1 MiB on to 4096. Not null even for size 0, where
    /// nothing may be read or written.
    pub fn as_ptr(&self) -> *mut u8 {
        self.held.block.ptr.as_ptr()
    }

    /// Bytes asked for.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Bytes of the block: the bucket of [`size`](Handle::size), all of which may be used.
    ///
    /// ```
    /// # use ferromix_base::Context;
    /// # use ferromix_storage::{Config, HostBackend, Pool};
    /// let pool = Pool::new(Context::cpu(), HostBackend, Config::default());
    /// let block = pool.alloc(5000)?;
    /// assert_eq!((block.size(), block.capacity()), (5000, 5120));
    /// pool.free(block);
    /// # Ok::<(), ferromix_base::Error>(())
    /// ```
    pub fn capacity(&self) -> usize {
        if self.size == 0 {
            return 0;
        }
        Class::at(self.class.into()).size
    }

    /// Where the block lives.
    pub fn context(&self) -> Context {
        self.context
    }

    /// The name under which other processes find the block, for shared memory.
    pub fn shared_id(&self) -> Option<NonZeroU64> {
        self.held.block.shared_id
    }

    /// The handle of zero bytes: aligned like any other, but no block stands behind it.
    pub(crate) fn empty(context: Context, pool: u64) -> Handle {
        let ptr = NonNull::<Line>::dangling().cast();
        Handle {
            held: Held::small(RawBlock {
                ptr,
                shared_id: None,
            }),
            class: 0,
            size: 0,
            context,
            pool,
        }
    }
}

/// Carries the alignment of an empty handle's address.
#[repr(align(4096))]
struct Line;
