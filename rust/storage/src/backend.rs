//! Where the memory of a pool comes from. The pool asks for a block of a bucket and keeps it; a
//! backend only maps and unmaps, so pinned, shared and device memory fit the same trait.

use ferromix_base::{Error, Result};
use std::num::NonZeroU64;
use std::ptr::NonNull;

/// A block as a backend gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawBlock {
    /// Its first byte, in the address space of the device.
    pub ptr: NonNull<u8>,
    /// The name under which other processes find it, for shared memory.
    pub shared_id: Option<NonZeroU64>,
}

/// A source of memory. Its functions must not call the pool that it serves.
///
/// ```
/// use ferromix_base::{Context, Result};
/// use ferromix_storage::{Backend, Config, HostBackend, Pool, RawBlock};
///
/// /// Says what it does.
/// struct Talkative;
///
/// // SAFETY: the blocks are those of `HostBackend`.
/// unsafe impl Backend for Talkative {
///     fn alloc(&self, size: usize, align: usize) -> Result<RawBlock> {
///         println!("{size} bytes from the system");
///         HostBackend.alloc(size, align)
///     }
///
///     unsafe fn free(&self, block: RawBlock, size: usize) {
///         println!("{size} bytes to the system");
///         // SAFETY: passed on as it came.
///         unsafe { HostBackend.free(block, size) }
///     }
/// }
///
/// let pool = Pool::new(Context::cpu(), Talkative, Config::default());
/// pool.free(pool.alloc(100)?); // 128 bytes from the system
/// pool.free(pool.alloc(100)?); // from the pool
/// # Ok::<(), ferromix_base::Error>(())
/// ```
///
/// # Safety
/// A block that [`alloc`](Backend::alloc) returns has the asked size and alignment, overlaps no
/// other live block, and stays valid until it is passed to [`free`](Backend::free).
pub unsafe trait Backend: Send + Sync {
    /// Maps `size` bytes, aligned to `align` (a power of two of at least 64); `size` is never 0.
    /// The contents are arbitrary.
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Memory`] where there is no memory to be had; the pool then trims
    /// its caches and tries once more.
    fn alloc(&self, size: usize, align: usize) -> Result<RawBlock>;

    /// The smallest block worth having, in bytes: smaller requests are rounded up to it. A source
    /// that gives whole pages says so here, and the pool's accounts stay true.
    fn granule(&self) -> usize {
        64
    }

    /// Whether a freed block is worth keeping. Asked only for blocks with a
    /// [`shared_id`](RawBlock::shared_id); the others are.
    fn is_keepable(&self, block: RawBlock) -> bool {
        let _ = block;
        true
    }

    /// Whether a kept block may be handed out again. Asked only for blocks with a
    /// [`shared_id`](RawBlock::shared_id): another process may still look at one, which then goes
    /// to [`free`](Backend::free) instead.
    fn is_reusable(&self, block: RawBlock) -> bool {
        let _ = block;
        true
    }

    /// Unmaps a block.
    ///
    /// # Safety
    /// `block` came from `alloc` of this backend with this `size`, and nobody uses it any more.
    unsafe fn free(&self, block: RawBlock, size: usize);
}

/// Ordinary memory of the process: `posix_memalign` below 1 MiB; above, mappings of their own,
/// which go back to the system when freed and may be backed by huge pages.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostBackend;

/// From this size on blocks are mappings of their own.
const MAPPED: usize = 1 << 20;

// SAFETY: both system calls give fresh memory of the size and alignment (the page size, at least
// 4096, for mappings) until `free`.
unsafe impl Backend for HostBackend {
    fn alloc(&self, size: usize, align: usize) -> Result<RawBlock> {
        let ptr = if size >= MAPPED {
            map(size, -1)
        } else {
            aligned(size, align)
        };
        match ptr {
            Some(ptr) => Ok(RawBlock {
                ptr,
                shared_id: None,
            }),
            None => Err(Error::memory(format!("the system refused {size} bytes"))),
        }
    }

    unsafe fn free(&self, block: RawBlock, size: usize) {
        let ptr = block.ptr.as_ptr().cast();
        if size >= MAPPED {
            // SAFETY: the caller passes a block of `alloc` with its size, so this is one mapping.
            unsafe { libc::munmap(ptr, size) };
        } else {
            // SAFETY: blocks below `MAPPED` came from `posix_memalign`.
            unsafe { libc::free(ptr) };
        }
    }
}

fn aligned(size: usize, align: usize) -> Option<NonNull<u8>> {
    let mut ptr = std::ptr::null_mut();
    // SAFETY: `ptr` is a valid place for the result; the pool passes a power of two of at least 64.
    let failed = unsafe { libc::posix_memalign(&mut ptr, align, size) };
    if failed == 0 {
        NonNull::new(ptr.cast())
    } else {
        None
    }
}

/// A mapping of `size` bytes: of the file `fd`, shared with all who map it, or of fresh private
/// memory if `fd` is -1.
pub(crate) fn map(size: usize, fd: libc::c_int) -> Option<NonNull<u8>> {
    let flags = if fd == -1 {
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS
    } else {
        libc::MAP_SHARED
    };
    // SAFETY: a mapping at an address of the system's choice touches nothing that is there.
    let ptr = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            flags,
            fd,
            0,
        )
    };
    if ptr == libc::MAP_FAILED {
        return None;
    }
    // Where no huge page fits inside, one may lie across: the system joins mappings side by side.
    #[cfg(target_os = "linux")]
    // SAFETY: advice on the mapping just made; a refusal changes nothing.
    unsafe {
        libc::madvise(ptr, size, libc::MADV_HUGEPAGE);
    }
    NonNull::new(ptr.cast())
}
