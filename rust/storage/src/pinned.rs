//! Page-locked memory: always resident, so that a device can copy from it without a detour and a
//! latency-critical thread never waits for a page.

use crate::backend::{Backend, RawBlock, map};
use ferromix_base::{Error, Result};
use std::io;
use std::ptr::NonNull;

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
