//! A piece of memory with the engine variable that orders its users.

use crate::foreign::Foreign;
use crate::gpu::{Device, Uses};
use crate::memory::Memory;
use crate::{Runtime, held};
use ferromix_base::{Context, DeviceType, Result};
use ferromix_engine::Var;
use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Memory, taken at first use, and its engine variable. Clones share both; the last one gives
/// the memory back once every operation pushed on it is done.
#[derive(Clone)]
pub struct Chunk(Arc<Inner>);

struct Inner {
    runtime: Arc<Runtime>,
    var: Var,
    size: usize,
    context: Context,
    memory: OnceLock<Memory>,
    /// Writes that were announced.
    writes: AtomicU64,
    exposed: AtomicBool,
    attached: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl Chunk {
    /// A chunk of `size` bytes of ordinary memory, not taken yet.
    pub fn new(runtime: &Arc<Runtime>, size: usize) -> Self {
        Chunk::on(runtime, Context::cpu(), size)
    }

    /// A chunk of `size` bytes in the memory of `context`, not taken yet.
    pub fn on(runtime: &Arc<Runtime>, context: Context, size: usize) -> Self {
        Chunk::make(runtime, context, size, OnceLock::new())
    }

    /// A chunk of memory that another process shares with this one.
    #[cfg(target_os = "linux")]
    pub fn received(runtime: &Arc<Runtime>, block: ferromix_storage::SharedBlock) -> Self {
        let context = Context {
            device_type: DeviceType::CpuShared,
            device_id: 0,
        };
        let size = block.size();
        Chunk::make(runtime, context, size, Memory::received(block).into())
    }

    /// A chunk of memory that somebody else owns.
    pub(crate) fn foreign(
        runtime: &Arc<Runtime>,
        context: Context,
        size: usize,
        memory: Foreign,
    ) -> Self {
        let memory = Memory::Foreign(Box::new(memory));
        Chunk::make(runtime, context, size, memory.into())
    }

    fn make(
        runtime: &Arc<Runtime>,
        context: Context,
        size: usize,
        memory: OnceLock<Memory>,
    ) -> Self {
        Chunk(Arc::new(Inner {
            runtime: runtime.clone(),
            var: runtime.engine().new_variable(),
            size,
            context,
            memory,
            writes: AtomicU64::new(0),
            exposed: AtomicBool::new(false),
            attached: OnceLock::new(),
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

    /// Where the memory is.
    pub fn context(&self) -> Context {
        self.0.context
    }

    /// The runtime that the chunk belongs to.
    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.0.runtime
    }

    /// Whether memory was taken, so that operations may be using it.
    pub fn is_allocated(&self) -> bool {
        self.0.memory.get().is_some()
    }

    /// Whether nothing may write to the memory, as its owner says.
    #[inline]
    pub fn is_read_only(&self) -> bool {
        matches!(self.0.memory.get(), Some(Memory::Foreign(memory)) if memory.read_only)
    }

    /// A number that is the same for chunks that share memory, and unique while one lives.
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// Announces that a write is about to be pushed, for those who rely on the values. A user's
    /// function that [holds](held) the memory writes on behalf of its operation, whose write was
    /// announced when that was pushed.
    pub fn note_write(&self) {
        if held::inside() && held::may_write(&self.0.runtime, self.0.var) {
            return;
        }
        // Relaxed: a count only. Whoever compares two readings orders its own pushes between them.
        self.0.writes.fetch_add(1, Ordering::Relaxed);
    }

    /// Tells that somebody outside got the address, and may write to the memory at any time.
    pub fn expose(&self) {
        // Relaxed: pushes that come afterwards carry it to the threads that run them.
        self.0.exposed.store(true, Ordering::Relaxed);
    }

    /// Whether the engine need not know of all writes: somebody outside may write to the memory.
    pub fn is_exposed(&self) -> bool {
        let shared = self.0.context.device_type == DeviceType::CpuShared;
        let foreign = matches!(self.0.memory.get(), Some(Memory::Foreign(_)));
        // Relaxed: see `expose`.
        shared || foreign || self.0.exposed.load(Ordering::Relaxed)
    }

    /// How many writes were announced so far, whether or not they are done.
    pub fn writes(&self) -> u64 {
        self.0.writes.load(Ordering::Relaxed)
    }

    /// Attaches something that lives as long as the memory. False if there is something already.
    pub fn attach(&self, thing: Box<dyn Any + Send + Sync>) -> bool {
        self.0.attached.set(thing).is_ok()
    }

    /// What was attached.
    pub fn attached(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.0.attached.get().map(AsRef::as_ref)
    }

    /// The address, taking memory first where there is none.
    ///
    /// # Errors
    /// Memory that cannot be had.
    pub fn address(&self) -> Result<*mut u8> {
        self.memory().map(Memory::as_ptr)
    }

    /// The GPU that the memory is on.
    pub(crate) fn device(&self) -> Result<&Arc<Device>> {
        self.0.runtime.gpus()?.device(self.0.context.device_id)
    }

    /// Who uses the memory on a GPU, taking it first where there is none; for memory of the host nobody.
    pub(crate) fn uses(&self) -> Result<Option<Arc<Uses>>> {
        if self.0.context.is_host() {
            return Ok(None);
        }
        Ok(self.memory()?.uses().cloned())
    }

    /// A descriptor by which another process can map the memory, which must be shared memory. It
    /// stays open as long as the chunk lives, and so does the memory while a duplicate is open.
    ///
    /// # Errors
    /// Memory of another kind, or that cannot be had; too many open files.
    #[cfg(target_os = "linux")]
    pub fn share(&self) -> Result<std::os::fd::RawFd> {
        self.memory()?.share()
    }

    fn memory(&self) -> Result<&Memory> {
        if let Some(memory) = self.0.memory.get() {
            return Ok(memory);
        }
        let pool = self.0.runtime.pool_of(self.0.context)?;
        let device = match self.0.context.is_host() {
            true => None,
            false => Some(self.device()?),
        };
        let memory = Memory::take(pool, self.0.size, device.map(|device| &**device))?;
        if let Err(second) = self.0.memory.set(memory) {
            second.give_back(&self.0.runtime);
        }
        // The cell is full now, by this thread or by another.
        Ok(self.0.memory.wait())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let memory = self.memory.take();
        let runtime = self.runtime.clone();
        let free = move || {
            if let Some(memory) = memory {
                memory.give_back(&runtime);
            }
        };
        // The only error is a variable deleted before, and this is the only place that deletes it.
        let _ = self.runtime.engine().delete_variable(self.var, free);
    }
}
