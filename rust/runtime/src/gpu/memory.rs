//! Device memory, and memory of the host that devices reach, as sources of pools' blocks.

use super::device::Device;
use crate::Runtime;
use ferromix_base::{Error, Result};
use ferromix_storage::{Backend, PinnedIfAllowed, RawBlock};
use std::ptr::NonNull;
use std::sync::{Arc, Weak};

/// Blocks of a device.
pub(crate) struct DeviceMemory(pub(crate) Arc<Device>);

/// What the driver aligns every block to.
const ALIGNED: usize = 256;

// SAFETY: the driver gives memory that overlaps no other until it is freed; the address is aligned here.
// Nobody on the host touches it.
unsafe impl Backend for DeviceMemory {
    fn alloc(&self, size: usize, align: usize) -> Result<RawBlock> {
        let port = self.0.port();
        port.enter()?;
        let aligned = |address: u64| (address as usize).is_multiple_of(align);
        let mut raw = port.alloc(size)?;
        if !aligned(raw) {
            port.free(raw)?;
            raw = port.alloc(size + align.saturating_sub(ALIGNED))?;
        }
        let address = (raw as usize).next_multiple_of(align);
        let ptr = NonNull::new(std::ptr::with_exposed_provenance_mut(address));
        let ptr = ptr.ok_or_else(|| Error::internal("the driver gave a block at address 0"))?;
        self.0.note_block(address, raw);
        Ok(RawBlock {
            ptr,
            shared_id: None,
        })
    }

    fn granule(&self) -> usize {
        512
    }

    unsafe fn free(&self, block: RawBlock, _size: usize) {
        let address = block.ptr.as_ptr().expose_provenance();
        let raw = self.0.forget_block(address).unwrap_or(address as u64);
        // What was enqueued may use it still. A device that is broken has lost its memory anyway.
        let port = self.0.port();
        let _ = port
            .enter()
            .and_then(|()| port.synchronize())
            .and_then(|()| port.free(raw));
    }
}

/// Page-locked memory, of which the driver knows if there is one when the block is taken.
pub(crate) struct PinnedForDevices {
    pub(crate) locked: PinnedIfAllowed,
    pub(crate) runtime: Weak<Runtime>,
}

impl PinnedForDevices {
    /// Calls `f` with an open device, if there is one.
    fn with_device(&self, f: impl FnOnce(&Device) -> Result<()>) {
        let Some(runtime) = self.runtime.upgrade() else {
            return;
        };
        if let Some(device) = runtime.existing_gpus().and_then(super::Gpus::any) {
            // Without it copies take a detour, and are right.
            let _ = device.port().enter().and_then(|()| f(device));
        }
    }
}

// SAFETY: as for `PinnedIfAllowed`, whose blocks they are.
unsafe impl Backend for PinnedForDevices {
    fn alloc(&self, size: usize, align: usize) -> Result<RawBlock> {
        let block = self.locked.alloc(size, align)?;
        self.with_device(|device| device.port().register(block.ptr.as_ptr(), size));
        Ok(block)
    }

    fn granule(&self) -> usize {
        self.locked.granule()
    }

    unsafe fn free(&self, block: RawBlock, size: usize) {
        // A block from before there was a driver is refused there.
        self.with_device(|device| device.port().unregister(block.ptr.as_ptr()));
        // SAFETY: passed on as it came.
        unsafe { self.locked.free(block, size) };
    }
}
