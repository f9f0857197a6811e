//! Blocks of shared memory on their way between processes: by descriptor or by id.

use crate::Handle;
use crate::backend::map;
use crate::pinned::unmap;
use crate::shared::Place;
use ferromix_base::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::ptr::NonNull;

/// Opens a file once more, by the descriptor `fd`, and locks that opening: it is in use as long as
/// the new descriptor, or a duplicate of it in any process, is open.
fn open_locked(fd: RawFd) -> io::Result<File> {
    let path = format!("/proc/self/fd/{fd}");
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true);
    let file = options.custom_flags(libc::O_CLOEXEC).open(path)?;
    lock(&file)?;
    Ok(file)
}

fn lock(file: &File) -> io::Result<()> {
    // SAFETY: a plain call on an open descriptor; it waits at most for `is_unlocked`.
    match unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_SH) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Handle {
    /// A descriptor of the block, for shared memory, to be passed to another process by any means
    /// (a socket, `spawn`, `fork`), which maps it with [`SharedBlock::from_fd`]. As long as it or a
    /// duplicate is open, the block is not handed out again, though its handle may be freed.
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Value`] for memory of another kind,
    /// [`ferromix_base::ErrorKind::Io`] where the system opens no further file.
    pub fn share(&self) -> Result<OwnedFd> {
        let id = self.shared_id().ok_or_else(|| {
            Error::value(format!(
                "memory of {} cannot be shared between processes; use cpu_shared",
                self.context()
            ))
        })?;
        share(Place::of(id).fd)
    }
}

fn share(fd: RawFd) -> Result<OwnedFd> {
    let file = open_locked(fd);
    let file = file.map_err(|e| Error::io(format!("shared memory cannot be opened: {e}")))?;
    Ok(file.into())
}

/// A block of another process, or of this one, mapped here. Its contents stay until it is dropped,
/// whatever becomes of its owner; there is nothing to clean up after either.
///
/// The bytes are shared: processes that write and read at the same time race, as threads do.
#[derive(Debug)]
pub struct SharedBlock {
    ptr: NonNull<u8>,
    size: usize,
    id: NonZeroU64,
    /// Holds the lock that says the block is in use.
    file: File,
}

// SAFETY: the block is an address and a size; it gives no access to the bytes by itself.
unsafe impl Send for SharedBlock {}
// SAFETY: as above; no method changes it.
unsafe impl Sync for SharedBlock {}

impl SharedBlock {
    /// Maps the block that `id` names. Its owner must hold the handle at least until this returns,
    /// and run under the same user, in the same pid namespace.
    ///
    /// ```
    /// # use ferromix_base::{Context, DeviceType};
    /// # use ferromix_storage::{Config, Pool, SharedBackend, SharedBlock};
    /// # let context = Context { device_type: DeviceType::CpuShared, device_id: 0 };
    /// let pool = Pool::new(context, SharedBackend, Config::default());
    /// let block = pool.alloc(5000)?;
    /// let view = SharedBlock::open(block.shared_id().expect("shared memory has one"))?;
    /// assert_eq!(view.size(), block.capacity());
    /// # pool.free(block);
    /// # Ok::<(), ferromix_base::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Io`] where the block is gone, or its owner may not be looked
    /// into.
    pub fn open(id: NonZeroU64) -> Result<SharedBlock> {
        let place = Place::of(id);
        let failed = |reason: &dyn std::fmt::Display| {
            Error::io(format!(
                "shared memory {id} cannot be opened: {reason}. It lives as long as its handle, in \
                 process {}, which must run under the same user and in the same container",
                place.pid
            ))
        };
        // The name first: opening something else might wait for ever.
        let path = place.path();
        let link = std::fs::read_link(&path).map_err(|reason| failed(&reason))?;
        let expected = format!("/memfd:{} (deleted)", place.name());
        if link.to_string_lossy() != expected {
            return Err(failed(&"it is gone"));
        }
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK;
        let open = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(flags)
            .open(&path);
        let file = open.map_err(|reason| failed(&reason))?;
        lock(&file).map_err(|reason| failed(&reason))?;
        let own = name_of(&file).map_err(|reason| failed(&reason))?;
        if own != expected {
            return Err(failed(&"it is gone"));
        }
        SharedBlock::map(file, id).map_err(|reason| failed(&reason))
    }

    /// Maps the block of a descriptor from [`share`](SharedBlock::share) or [`Handle::share`].
    ///
    /// ```
    /// # use ferromix_base::{Context, DeviceType};
    /// # use ferromix_storage::{Config, Pool, SharedBackend, SharedBlock};
    /// # let context = Context { device_type: DeviceType::CpuShared, device_id: 0 };
    /// let pool = Pool::new(context, SharedBackend, Config::default());
    /// let block = pool.alloc(4096)?;
    /// unsafe { block.as_ptr().write(7) };
    /// let descriptor = block.share()?;
    /// pool.free(block); // the descriptor keeps the contents
    ///
    /// let view = SharedBlock::from_fd(descriptor)?;
    /// assert_eq!(unsafe { view.as_ptr().read() }, 7);
    /// # Ok::<(), ferromix_base::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Io`] for a descriptor of anything else, or where the system does
    /// not map it.
    pub fn from_fd(descriptor: OwnedFd) -> Result<SharedBlock> {
        let failed = |reason: &dyn std::fmt::Display| {
            Error::io(format!("the descriptor cannot be mapped: {reason}"))
        };
        let file = File::from(descriptor);
        let name = name_of(&file).map_err(|reason| failed(&reason))?;
        let number = name.strip_prefix("/memfd:ferromix-");
        let number = number.and_then(|rest| rest.strip_suffix(" (deleted)")?.parse().ok());
        let number = number.ok_or_else(|| failed(&format!("{name} is no shared memory")))?;
        let (pid, fd) = (std::process::id(), file.as_raw_fd());
        let id = Place { pid, fd, number }.id();
        let id = id.ok_or_else(|| failed(&"its number is too high"))?;
        lock(&file).map_err(|reason| failed(&reason))?;
        SharedBlock::map(file, id).map_err(|reason| failed(&reason))
    }

    fn map(file: File, id: NonZeroU64) -> io::Result<SharedBlock> {
        let size = file.metadata()?.len() as usize;
        let ptr = map(size, file.as_raw_fd()).ok_or_else(io::Error::last_os_error)?;
        Ok(SharedBlock {
            ptr,
            size,
            id,
            file,
        })
    }

    /// A descriptor of the block, as from [`Handle::share`].
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Io`] where the system opens no further file.
    pub fn share(&self) -> Result<OwnedFd> {
        share(self.file.as_raw_fd())
    }

    /// The first byte, aligned to pages.
    pub fn as_ptr(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }

    /// Bytes, whole pages: at least those that the owner asked for.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The name of the block.
    pub fn shared_id(&self) -> NonZeroU64 {
        self.id
    }
}

/// What the system calls an open file.
fn name_of(file: &File) -> io::Result<String> {
    let link = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    Ok(link.to_string_lossy().into_owned())
}

impl Drop for SharedBlock {
    fn drop(&mut self) {
        unmap(self.ptr, self.size);
    }
}
