//! What a step of a plan keeps from run to run: what its kernel makes of inputs that seldom change, such
//! as the weights of a convolution in the order in which it reads them.

use crate::{Array, Chunk, Prepared, Runtime};
use ferromix_base::{Context, Result};
use ferromix_kernels::{Kept, View};
use smallvec::SmallVec;
use std::sync::{Mutex, PoisonError};

/// Memory for what is kept, and what it was made of.
pub(crate) struct Keep {
    kept: Kept,
    /// The memory of the inputs.
    chunks: SmallVec<[Chunk; 3]>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    memory: Option<Chunk>,
    /// The versions of the inputs of which it was made; none before.
    made_of: SmallVec<[u64; 3]>,
}

impl Keep {
    /// For a step whose kernel has something to keep; `stays(i)` says whether nothing but operations of the
    /// engine, none of which are steps of the same plan, writes input `i`.
    pub(crate) fn new<A: AsRef<Array>>(
        prepared: &Prepared,
        inputs: &[A],
        stays: impl Fn(usize) -> bool,
    ) -> Option<Self> {
        let kept = prepared.kept()?;
        let fits = |&i: &usize| stays(i) && inputs[i].as_ref().is_contiguous();
        if !kept.inputs.iter().all(fits) {
            return None;
        }
        let chunk = |&i: &usize| inputs[i].as_ref().chunk().clone();
        Some(Keep {
            chunks: kept.inputs.iter().map(chunk).collect(),
            kept,
            state: Mutex::default(),
        })
    }

    /// Bytes of memory that are in use for it.
    pub(crate) fn bytes(&self) -> usize {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.memory.as_ref().map_or(0, Chunk::size)
    }

    /// Has `run` use what is kept, made anew by `make` where the inputs were written since; nothing where
    /// others may write them without the engine knowing. The caller has the variables for reading.
    ///
    /// # Errors
    /// What `make` and `run` fail with.
    pub(crate) fn with(
        &self,
        runtime: &Runtime,
        views: &[View],
        make: impl FnOnce(&[View], &mut [u8]) -> Result<()>,
        run: impl FnOnce(Option<&[u8]>) -> Result<()>,
    ) -> Result<()> {
        if self.chunks.iter().any(Chunk::is_exposed) {
            return run(None);
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let version = |chunk: &Chunk| runtime.engine().version(chunk.var()).ok();
        let Some(now) = self
            .chunks
            .iter()
            .map(version)
            .collect::<Option<SmallVec<_>>>()
        else {
            return run(None);
        };
        let chunk = match &state.memory {
            Some(chunk) => chunk.clone(),
            None => Chunk::on(self.chunks[0].runtime(), Context::cpu(), self.kept.bytes),
        };
        // Without memory for it, what is to be kept is made in scratch memory, as elsewhere.
        let Ok(address) = chunk.address() else {
            return run(None);
        };
        if state.made_of != now {
            state.made_of.clear();
            // SAFETY: memory of that size, which is used under the lock alone.
            let memory = unsafe { std::slice::from_raw_parts_mut(address, self.kept.bytes) };
            make(views, memory)?;
            state.made_of = now;
            state.memory = Some(chunk);
        }
        // SAFETY: as above.
        run(Some(unsafe {
            std::slice::from_raw_parts(address, self.kept.bytes)
        }))
    }
}
