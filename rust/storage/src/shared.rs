//! Memory that other processes can map: the way in which workers hand over batches without a copy.
//!
//! A block is an anonymous file of its own (`memfd_create`), so there is no name in `/dev/shm` or
//! anywhere else to clean up: the kernel frees the memory with the last descriptor and the last
//! mapping, however their processes end. Another process reaches the file through
//! `/proc/<pid>/fd/<fd>` of its owner; the id of a block holds the two numbers and a third one, also
//! in the file's name, by which an id whose owner has gone is told from one that is reused.
//!
//! Who maps a block holds a shared `flock` on the file, which the kernel drops when that process
//! ends. The owner hands a kept block out again only if it can lock the file for itself; otherwise
//! it lets go of it, and the others keep the contents. A descriptor from [`Handle::share`](crate::Handle::share) carries
//! such a lock with it, so a block on its way to another process is in use already.
//!
//! A fork gives the child every block in use, without a lock. So a block that was in use during a
//! fork is never handed out again, by neither of the two.

use crate::backend::{Backend, RawBlock, map};
use crate::config::total_memory;
use crate::pinned::unmap;
use ferromix_base::{Error, Result};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::SystemTime;

/// Bits of an id for the descriptor and the number; the rest, 22, hold any pid of Linux.
const FD_BITS: u32 = 20;
const NUMBER_BITS: u32 = 22;

/// What an id says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) pid: u32,
    pub(crate) fd: RawFd,
    pub(crate) number: u64,
}

impl Place {
    pub(crate) fn id(self) -> Option<NonZeroU64> {
        let fd = u64::try_from(self.fd)
            .ok()
            .filter(|fd| fd >> FD_BITS == 0)?;
        NonZeroU64::new(
            u64::from(self.pid) << (FD_BITS + NUMBER_BITS) | fd << NUMBER_BITS | self.number,
        )
    }

    pub(crate) fn of(id: NonZeroU64) -> Place {
        let id = id.get();
        Place {
            pid: (id >> (FD_BITS + NUMBER_BITS)) as u32,
            fd: ((id >> NUMBER_BITS) & ((1 << FD_BITS) - 1)) as RawFd,
            number: id & ((1 << NUMBER_BITS) - 1),
        }
    }

    pub(crate) fn name(self) -> String {
        format!("ferromix-{}", self.number)
    }

    pub(crate) fn path(self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", self.pid, self.fd))
    }
}

/// A number for a file: distinct within the process, and likely not the same in the next one.
fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let start = clock.map_or(1, |now| u64::from(now.subsec_nanos()) | 1);
    // Relaxed: only makes numbers distinct; the first caller chooses where they begin.
    let _ = NEXT.compare_exchange(0, start, Ordering::Relaxed, Ordering::Relaxed);
    NEXT.fetch_add(1, Ordering::Relaxed) & ((1 << NUMBER_BITS) - 1)
}

/// How often this process was forked. Relaxed, here and below: a fork that matters to a block
/// comes after it was made, on a thread that has it, or that whoever forks has brought to rest.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// For each descriptor that stands for a block, the number of forks before it was handed out, or
/// `KEPT`. Most of it is never touched and takes no memory.
static HANDED_OUT: [AtomicU32; 1 << FD_BITS] = [const { AtomicU32::new(0) }; 1 << FD_BITS];

/// Nobody has the block.
const KEPT: u32 = u32::MAX;

fn note_handed_out(fd: RawFd) {
    HANDED_OUT[fd as usize].store(FORKS.load(Ordering::Relaxed), Ordering::Relaxed);
}

extern "C" fn about_to_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

fn count_forks() {
    static ONCE: Once = Once::new();
    // SAFETY: the handler lives as long as the process and only changes an atomic.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(Some(about_to_fork), None, None);
    });
}

/// Memory that other processes can map by its [`shared_id`](crate::Handle::shared_id), with
/// [`SharedBlock::open`](crate::SharedBlock::open), as long as its handle lives, or by a descriptor from [`Handle::share`](crate::Handle::share),
/// for good. Blocks are whole pages, and each takes a file descriptor. A child made by `fork` shares
/// the blocks in use, which stay its own whatever becomes of the parent's handles, and takes none of
/// the kept ones.
///
/// ```
/// use ferromix_base::{Context, DeviceType};
/// use ferromix_storage::{Config, Pool, SharedBackend, SharedBlock};
///
/// let context = Context { device_type: DeviceType::CpuShared, device_id: 0 };
/// let pool = Pool::new(context, SharedBackend, Config::default());
/// let block = pool.alloc(4096)?;
/// unsafe { block.as_ptr().write(42) };
/// let id = block.shared_id().expect("shared memory has one");
///
/// let view = SharedBlock::open(id)?; // in this process or in another
/// assert_eq!(unsafe { view.as_ptr().read() }, 42);
/// drop(view);
/// pool.free(block);
/// # Ok::<(), ferromix_base::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SharedBackend;

// SAFETY: a mapping of a new file is fresh memory of this size, aligned to pages, until `free`.
unsafe impl Backend for SharedBackend {
    fn alloc(&self, size: usize, _align: usize) -> Result<RawBlock> {
        // The system would promise any size here and fail when it is used.
        if total_memory().is_some_and(|total| size > total) {
            return Err(Error::memory(format!(
                "{size} bytes are more than there are"
            )));
        }
        count_forks();
        let number = next_number();
        let failed = |reason: io::Error| {
            let advice = match reason.raw_os_error() {
                Some(libc::EMFILE) => {
                    "; each block takes a file descriptor: raise RLIMIT_NOFILE with 'ulimit -n'"
                }
                _ => "",
            };
            Error::memory(format!(
                "no shared memory of {size} bytes: {reason}{advice}"
            ))
        };
        let place = |fd| Place {
            pid: std::process::id(),
            fd,
            number,
        };
        let file = create(&place(0).name(), size).map_err(failed)?;
        let shared_id = place(file.as_raw_fd()).id();
        let shared_id =
            shared_id.ok_or_else(|| failed(io::Error::from_raw_os_error(libc::EMFILE)))?;
        let ptr = map(size, file.as_raw_fd()).ok_or_else(|| failed(io::Error::last_os_error()))?;
        // From here on the id stands for the descriptor; `free` closes it.
        let fd = file.into_raw_fd();
        note_handed_out(fd);
        Ok(RawBlock {
            ptr,
            shared_id: Some(shared_id),
        })
    }

    fn granule(&self) -> usize {
        4096
    }

    fn is_keepable(&self, block: RawBlock) -> bool {
        let Some(place) = block.shared_id.map(Place::of).filter(|&p| is_ours(p)) else {
            return false;
        };
        let handed_out = &HANDED_OUT[place.fd as usize];
        // After a fork a relative has it too.
        let alone = handed_out.load(Ordering::Relaxed) == FORKS.load(Ordering::Relaxed);
        if alone {
            handed_out.store(KEPT, Ordering::Relaxed);
        }
        alone
    }

    fn is_reusable(&self, block: RawBlock) -> bool {
        // A child made by fork has its parent's blocks, which the parent will hand out itself.
        let ours = block.shared_id.map(Place::of).filter(|&p| is_ours(p));
        let free = ours.filter(|place| is_unlocked(place.fd));
        if let Some(place) = free {
            note_handed_out(place.fd);
        }
        free.is_some()
    }

    unsafe fn free(&self, block: RawBlock, size: usize) {
        unmap(block.ptr, size);
        if let Some(id) = block.shared_id {
            // SAFETY: `alloc` left this descriptor open for this block alone.
            drop(unsafe { OwnedFd::from_raw_fd(Place::of(id).fd) });
        }
    }
}

/// An anonymous file of `size` bytes, for good.
fn create(name: &str, size: usize) -> io::Result<File> {
    let name = CString::new(name)?;
    let length = libc::off_t::try_from(size).map_err(io::Error::other)?;
    // SAFETY: the name is a string that ends in zero; the call makes a new descriptor.
    let fd =
        unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    let file = unsafe { File::from_raw_fd(fd) };
    // A file cut short would kill whoever maps it, so its size is sealed.
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: plain calls on an open descriptor.
    let failed = unsafe {
        libc::ftruncate(fd, length) != 0 || libc::fcntl(fd, libc::F_ADD_SEALS, seals) != 0
    };
    if failed {
        return Err(io::Error::last_os_error());
    }
    Ok(file)
}

/// Whether this process made the block.
fn is_ours(place: Place) -> bool {
    place.pid == std::process::id()
}

/// Whether no other process holds its shared lock on the file.
fn is_unlocked(fd: RawFd) -> bool {
    // SAFETY: plain calls on a descriptor that is open while its block lives.
    unsafe {
        libc::flock(fd, libc::LOCK_EX | libc::LOCK_NB) == 0 && libc::flock(fd, libc::LOCK_UN) == 0
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used, reason = "a failure here is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_where_the_block_is() {
        for place in [
            Place {
                pid: 1,
                fd: 0,
                number: 0,
            },
            Place {
                pid: (1 << 22) - 1,
                fd: (1 << 20) - 1,
                number: (1 << 22) - 1,
            },
            Place {
                pid: 4242,
                fd: 17,
                number: 99,
            },
        ] {
            assert_eq!(Place::of(place.id().unwrap()), place);
        }
        assert_eq!(
            Place {
                pid: 1,
                fd: 1 << 20,
                number: 0
            }
            .id(),
            None
        );
    }
}
