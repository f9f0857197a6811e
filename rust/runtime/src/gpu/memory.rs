//! Device memory as the source of a pool's blocks.

use super::device::Device;
use ferromix_base::{Error, Result};
use ferromix_storage::{Backend, RawBlock};
use std::ptr::NonNull;
use std::sync::Arc;

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
