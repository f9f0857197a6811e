//! What a chunk holds: a block of a pool, shared memory that came from another process, or memory
//! that somebody else in this process owns.

use crate::Runtime;
use crate::foreign::Foreign;
use crate::gpu::{Device, Uses};
use ferromix_base::Result;
use ferromix_storage::{Handle, Pool};
use std::sync::Arc;

/// Memory in use. Small, as it travels within the operation that deletes it.
pub(crate) enum Memory {
    /// A block of a pool.
    Own(Handle),
    /// Memory that other processes have, or may have.
    #[cfg(target_os = "linux")]
    Shared(Box<shared::Shared>),
    /// Memory of another owner.
    Foreign(Box<Foreign>),
    /// A block on a GPU, and who uses it there.
    Device(Box<(Handle, Arc<Uses>)>),
}

// With a pointer beside it, what an operation keeps without a box.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Option<Memory>>() <= 56);

impl Memory {
    /// A block of `pool`.
    pub(crate) fn take(pool: &Pool, size: usize, device: Option<&Device>) -> Result<Self> {
        let handle = pool.alloc(size)?;
        if let Some(device) = device {
            let uses = device.uses_of(handle.as_ptr().addr());
            return Ok(Memory::Device(Box::new((handle, uses))));
        }
        #[cfg(target_os = "linux")]
        if handle.shared_id().is_some() {
            return Ok(Memory::Shared(Box::new(shared::Shared::own(handle))));
        }
        Ok(Memory::Own(handle))
    }

    #[inline]
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        match self {
            Memory::Own(handle) => handle.as_ptr(),
            #[cfg(target_os = "linux")]
            Memory::Shared(shared) => shared.as_ptr(),
            Memory::Foreign(foreign) => foreign.address,
            Memory::Device(block) => block.0.as_ptr(),
        }
    }

    /// Who uses it on a GPU.
    pub(crate) fn uses(&self) -> Option<&Arc<Uses>> {
        match self {
            Memory::Device(block) => Some(&block.1),
            Memory::Foreign(foreign) => Some(&foreign.uses),
            _ => None,
        }
    }

    /// Gives the memory back, after its last user.
    pub(crate) fn give_back(self, runtime: &Runtime) {
        let handle = match self {
            Memory::Own(handle) => Some(handle),
            #[cfg(target_os = "linux")]
            Memory::Shared(shared) => shared.end(), // closes the descriptor
            Memory::Foreign(foreign) => {
                // What was enqueued must be over before the owner is told. On a device that is broken
                // it is.
                if let Some(gpus) = runtime.existing_gpus() {
                    let _ = gpus.wait_for_all_of(&foreign.uses);
                }
                None
            }
            // Its next user waits on the device for what was enqueued.
            Memory::Device(block) => Some(block.0),
        };
        let Some(handle) = handle else { return };
        if let Some(pool) = runtime.pools().existing(handle.context()) {
            pool.free(handle);
        }
    }
}

#[cfg(target_os = "linux")]
pub(crate) mod shared {
    //! Memory that processes share.

    use super::Memory;
    use ferromix_base::{Error, Result};
    use ferromix_storage::{Handle, SharedBlock};
    use std::os::fd::{AsRawFd, OwnedFd, RawFd};
    use std::sync::OnceLock;

    enum Block {
        Own(Handle),
        Received(SharedBlock),
    }

    /// A block, and the descriptor that other processes map it by, once somebody asked. That counts
    /// as a user of the memory, so it is closed before the block goes back to its pool.
    pub(crate) struct Shared {
        block: Block,
        descriptor: OnceLock<OwnedFd>,
    }

    impl Shared {
        pub(crate) fn own(handle: Handle) -> Self {
            Shared::of(Block::Own(handle))
        }

        fn of(block: Block) -> Self {
            Shared {
                block,
                descriptor: OnceLock::new(),
            }
        }

        pub(crate) fn as_ptr(&self) -> *mut u8 {
            match &self.block {
                Block::Own(handle) => handle.as_ptr(),
                Block::Received(block) => block.as_ptr(),
            }
        }

        fn descriptor(&self) -> Result<RawFd> {
            if let Some(descriptor) = self.descriptor.get() {
                return Ok(descriptor.as_raw_fd());
            }
            let made = match &self.block {
                Block::Own(handle) => handle.share(),
                Block::Received(block) => block.share(),
            }?;
            Ok(self.descriptor.get_or_init(|| made).as_raw_fd())
        }

        /// Closes everything; what is left for a pool.
        pub(crate) fn end(self) -> Option<Handle> {
            match self.block {
                Block::Own(handle) => Some(handle),
                Block::Received(_) => None,
            }
        }
    }

    impl Memory {
        /// What another process sent.
        pub(crate) fn received(block: SharedBlock) -> Self {
            Memory::Shared(Box::new(Shared::of(Block::Received(block))))
        }

        /// A descriptor that lives as long as the memory.
        pub(crate) fn share(&self) -> Result<RawFd> {
            match self {
                Memory::Shared(shared) => shared.descriptor(),
                Memory::Own(handle) => Err(unshared(&handle.context().to_string())),
                Memory::Foreign(_) => Err(unshared("another owner")),
                Memory::Device(block) => Err(unshared(&block.0.context().to_string())),
            }
        }
    }

    fn unshared(owner: &str) -> Error {
        Error::value(format!(
            "memory of {owner} cannot be shared between processes: copy the array to cpu_shared"
        ))
    }
}
