//! Page-locked memory: always resident, so that a device can copy from it without a detour and a
//! latency-critical thread never waits for a page.

use crate::backend::{Backend, RawBlock, map};
use ferromix_base::{Error, Result};
use std::io;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

/// Memory that stays resident: each block is a mapping of its own, locked by `mlock`. Blocks are
/// whole pages. A child made by `fork` has the contents, but not the lock.
///
/// ```
/// use ferromix_base::{Context, DeviceType};
/// use ferromix_storage::{Config, PinnedBackend, Pool};
///
/// let context = Context { device_type: DeviceType::CpuPinned, device_id: 0 };
/// let pool = Pool::new(context, PinnedBackend, Config::default());
/// match pool.alloc(100) {
///     Ok(block) => {
///         assert_eq!(pool.stats().in_use, 4096);
///         pool.free(block);
///     }
///     Err(refused) => assert!(refused.to_string().contains("RLIMIT_MEMLOCK")),
/// }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct PinnedBackend;

/// A page on every machine that Ferromix supports; larger ones only lock more.
const PAGE: usize = 4096;

// SAFETY: a mapping is fresh memory of at least this size, aligned to pages, until `free`.
unsafe impl Backend for PinnedBackend {
    fn alloc(&self, size: usize, _align: usize) -> Result<RawBlock> {
        let refused = || Error::memory(format!("the system refused {size} bytes"));
        let ptr = map(size, -1).ok_or_else(refused)?;
        // SAFETY: exactly the mapping just made.
        if unsafe { libc::mlock(ptr.as_ptr().cast(), size) } != 0 {
            let error = not_locked(size, &io::Error::last_os_error());
            unmap(ptr, size);
            return Err(error);
        }
        Ok(RawBlock {
            ptr,
            shared_id: None,
        })
    }

    fn granule(&self) -> usize {
        PAGE
    }

    unsafe fn free(&self, block: RawBlock, size: usize) {
        // The lock goes with the mapping.
        unmap(block.ptr, size);
    }
}

/// Memory that stays resident where the system allows it, and ordinary memory beyond: for callers
/// to whom locked memory is a matter of speed only. A refusal is final for its block.
///
/// ```
/// use ferromix_base::{Context, DeviceType};
/// use ferromix_storage::{Config, PinnedIfAllowed, Pool};
///
/// let context = Context { device_type: DeviceType::CpuPinned, device_id: 0 };
/// let backend = PinnedIfAllowed::default();
/// let pool = Pool::new(context, backend.clone(), Config::default());
/// let block = pool.alloc(100)?;
/// if let Some(refusal) = backend.refusal() {
///     assert!(refusal.to_string().contains("RLIMIT_MEMLOCK"));
/// }
/// pool.free(block);
/// # Ok::<(), ferromix_base::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PinnedIfAllowed(Arc<OnceLock<Error>>);

impl PinnedIfAllowed {
    /// Why the first block that is ordinary memory is not locked; `None` as long as all are.
    pub fn refusal(&self) -> Option<&Error> {
        self.0.get()
    }
}

// SAFETY: as for `PinnedBackend`.
unsafe impl Backend for PinnedIfAllowed {
    fn alloc(&self, size: usize, align: usize) -> Result<RawBlock> {
        let locked = PinnedBackend.alloc(size, align);
        let Err(refusal) = locked else {
            return locked;
        };
        let ptr = map(size, -1).ok_or_else(|| refusal.clone())?;
        // Only the first counts.
        let _ = self.0.set(refusal);
        Ok(RawBlock {
            ptr,
            shared_id: None,
        })
    }

    fn granule(&self) -> usize {
        PAGE
    }

    unsafe fn free(&self, block: RawBlock, size: usize) {
        unmap(block.ptr, size);
    }
}

/// Unmaps a mapping of `size` bytes that nobody uses any more.
pub(crate) fn unmap(ptr: NonNull<u8>, size: usize) {
    // SAFETY: both backends pass mappings of their own, whole, once, as the trait demands of
    // whoever calls `free`.
    unsafe { libc::munmap(ptr.as_ptr().cast(), size) };
}

fn not_locked(size: usize, reason: &io::Error) -> Error {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: fills the struct it is given.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) } == 0;
    let limit = match limit.rlim_cur {
        _ if !known => "an unknown number of".to_owned(),
        libc::RLIM_INFINITY => "any number of".to_owned(),
        bytes => bytes.to_string(),
    };
    Error::memory(format!(
        "the system refused to lock {size} bytes in memory ({reason}): this process may lock \
         {limit} bytes (RLIMIT_MEMLOCK); raise that with 'ulimit -l' or the LimitMEMLOCK of its \
         service, grant CAP_IPC_LOCK, or use ordinary memory, cpu()"
    ))
}
