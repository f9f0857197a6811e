//! A piece of memory with the engine variable that orders its users.

use crate::Runtime;
use ferromix_base::Result;
use ferromix_engine::Var;
use ferromix_storage::Handle;
use std::sync::{Arc, OnceLock};

/// Pool memory, taken at first use, and its engine variable. Clones share both; the last one gives
/// the memory back once every operation pushed on it is done.
#[derive(Clone)]
pub struct Chunk(Arc<Inner>);

struct Inner {
    runtime: Arc<Runtime>,
    var: Var,
    size: usize,
    memory: OnceLock<Handle>,
}

impl Chunk {
    /// A chunk of `size` bytes without memory yet.
    pub fn new(runtime: &Arc<Runtime>, size: usize) -> Self {
        let var = runtime.engine().new_variable();
        Chunk(Arc::new(Inner {
            runtime: runtime.clone(),
            var,
            size,
            memory: OnceLock::new(),
        }))
    }

    /// The engine variable.
    pub fn var(&self) -> Var {
        self.0.var
    }

    /// Bytes.
    pub fn size(&self) -> usize {
        self.0.size
    }

    /// The runtime that the chunk belongs to.
    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.0.runtime
    }

    /// Whether memory was taken, so that operations may be using it.
    pub fn is_allocated(&self) -> bool {
        self.0.memory.get().is_some()
    }

    /// A number that is the same for chunks that share memory, and unique while one lives.
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// The address, taking memory first where there is none.
    ///
    /// # Errors
    /// Memory that cannot be had.
    pub fn address(&self) -> Result<*mut u8> {
        if let Some(handle) = self.0.memory.get() {
            return Ok(handle.as_ptr());
        }
        let handle = self.0.runtime.pool().alloc(self.0.size)?;
        if let Err(second) = self.0.memory.set(handle) {
            self.0.runtime.pool().free(second);
        }
        // The cell is full now, by this thread or by another.
        Ok(self
            .0
            .memory
            .get()
            .map_or(std::ptr::null_mut(), Handle::as_ptr))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let handle = self.memory.take();
        let runtime = self.runtime.clone();
        let free = move || {
            if let Some(handle) = handle {
                runtime.pool().free(handle);
            }
        };
        // The only error is a variable deleted before, and this is the only place that deletes it.
        let _ = self.runtime.engine().delete_variable(self.var, free);
    }
}
