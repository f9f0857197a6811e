//! What all arrays share: the engine, the memory pools, temporary space, and the random numbers.

use crate::RandomState;
use crate::gpu::Gpus;
use crate::pools::Pools;
use crate::scratch::WorkspaceCache;
use crate::stop::Switch;
use ferromix_base::{Context, Error, Result};
use ferromix_engine::Engine;
use ferromix_kernels::par;
use ferromix_storage::{Config, HostBackend, Pool, Stats};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Engine, pools, temporary space and random numbers.
pub struct Runtime {
    engine: Engine,
    pools: Pools,
    workspaces: WorkspaceCache,
    random: RandomState,
    switch: Switch,
    gpus: OnceLock<Gpus>,
}

/// Runs a function that waits, without what the calling thread keeps others from having meanwhile;
/// `false` where it was not run, as too many others wait already.
pub type Detach = fn(&mut (dyn FnMut() + Send)) -> bool;

static GLOBAL: OnceLock<Result<Arc<Runtime>>> = OnceLock::new();
static DETACH: OnceLock<Detach> = OnceLock::new();

impl Runtime {
    /// A runtime of its own, for tests and embedders; `pool` is that of ordinary memory.
    pub fn new(engine: Engine, pool: Pool) -> Arc<Self> {
        Arc::new_cyclic(|weak| Runtime {
            engine,
            pools: Pools::new(pool, weak.clone()),
            workspaces: WorkspaceCache::new(),
            random: RandomState::default(),
            switch: Switch::new(),
            gpus: OnceLock::new(),
        })
    }

    /// Sets how a thread that pushes waits for memory: an interpreter lets go of its lock. The
    /// first call counts.
    pub fn detach_by(detach: Detach) {
        // Only the first counts, so that reading it takes no lock.
        let _ = DETACH.set(detach);
    }

    /// Runs a function that waits, or takes long; `false` where it was not run, as too many others
    /// wait already.
    pub(crate) fn detached(&self, wait: &mut (dyn FnMut() + Send)) -> bool {
        match DETACH.get() {
            Some(detach) => detach(wait),
            None => {
                wait();
                true
            }
        }
    }

    /// The runtime of the process, set up from the environment at first use.
    ///
    /// # Errors
    /// Settings in the environment that make no sense; the message names the variable.
    pub fn global() -> Result<&'static Arc<Self>> {
        let made = GLOBAL.get_or_init(|| {
            par::set_threads(thread_budget()?);
            check_instructions()?;
            let cpu = Context::cpu();
            let pool = Pool::new(cpu, HostBackend, Config::from_env(cpu)?);
            Ok(Runtime::new(Engine::global().clone(), pool))
        });
        made.as_ref().map_err(Error::clone)
    }

    /// The runtime of the process, if there is one yet.
    pub fn existing() -> Option<&'static Arc<Self>> {
        GLOBAL.get()?.as_ref().ok()
    }

    /// Whether the engine runs operations on the pushing thread, so that a push waits.
    pub fn is_naive(&self) -> bool {
        self.engine.num_workers() == 0
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The pool of ordinary memory.
    pub fn pool(&self) -> &Pool {
        self.pools.host()
    }

    /// The pool for the memory of a device.
    ///
    /// # Errors
    /// A device without memory here, or settings in the environment that make no sense.
    pub fn pool_of(&self, context: Context) -> Result<&Pool> {
        self.pools.of(context)
    }

    pub(crate) fn pools(&self) -> &Pools {
        &self.pools
    }

    /// What a pool holds, and the part of it that is temporary space which no operation uses now.
    /// That part is as good as cached, and counted so.
    ///
    /// # Errors
    /// As for [`pool_of`](Runtime::pool_of).
    pub fn storage(&self, context: Context) -> Result<(Stats, usize)> {
        let mut stats = self.pool_of(context)?.stats();
        if context != Context::cpu() {
            return Ok((stats, 0));
        }
        let (asked, bytes) = self.workspaces.bytes();
        stats.in_use = stats.in_use.saturating_sub(bytes);
        stats.cached += bytes;
        stats.waste = stats.waste.saturating_sub(bytes - asked);
        Ok((stats, bytes))
    }

    /// Gives temporary space and cached memory of a device back to the system, but for `keep` bytes.
    ///
    /// # Errors
    /// As for [`pool_of`](Runtime::pool_of).
    pub fn trim(&self, context: Context, keep: usize) -> Result<()> {
        let pool = self.pool_of(context)?;
        if context == Context::cpu() {
            self.workspaces.clear(pool);
        }
        pool.trim_to(keep);
        Ok(())
    }

    /// Gives back all temporary space and cached memory of all devices.
    pub fn release_all(&self) {
        self.workspaces.clear(self.pool());
        self.pools.all().for_each(Pool::release_all);
    }

    /// Why some memory of `cpu_pinned` is not locked, if so.
    pub fn unlocked(&self) -> Option<&Error> {
        self.pools.unlocked()
    }

    /// Loads the driver of GPUs from a library; the first that loads stays.
    ///
    /// # Errors
    /// A library that is no driver, or does not start.
    pub fn install_gpus(&self, driver: &Path) -> Result<&Gpus> {
        if let Some(gpus) = self.gpus.get() {
            return Ok(gpus);
        }
        let gpus = Gpus::load(driver, stream_count()?)?;
        Ok(self.gpus.get_or_init(|| gpus))
    }

    /// The GPUs.
    ///
    /// # Errors
    /// No driver of GPUs was loaded.
    pub fn gpus(&self) -> Result<&Gpus> {
        let none = || Error::device("no driver of GPUs has been loaded");
        self.gpus.get().ok_or_else(none)
    }

    /// The GPUs, if the driver was loaded.
    pub fn existing_gpus(&self) -> Option<&Gpus> {
        self.gpus.get()
    }

    pub(crate) fn workspaces(&self) -> &WorkspaceCache {
        &self.workspaces
    }

    pub(crate) fn switch(&self) -> &Switch {
        &self.switch
    }

    /// The state of the random numbers.
    pub fn random(&self) -> &RandomState {
        &self.random
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.workspaces.clear(self.pools.host());
    }
}

/// How many streams of each GPU compute: `FERROMIX_GPU_STREAMS`, else two.
fn stream_count() -> Result<usize> {
    const NAME: &str = "FERROMIX_GPU_STREAMS";
    let Ok(text) = std::env::var(NAME) else {
        return Ok(2);
    };
    match text.trim().parse() {
        Ok(n @ 1..=64) => Ok(n),
        _ => Err(Error::value(format!(
            "{NAME} must be a number from 1 to 64, got '{text}'"
        ))),
    }
}

/// Threads that kernels may use together, at most: far more than pay, and few enough to be made.
const MOST_THREADS: usize = 1024;

/// The number of threads that kernels may use together: `FERROMIX_NUM_THREADS`, else
/// `OMP_NUM_THREADS` (as MXNet), else the cores that the process may run on.
///
/// # Errors
/// A setting that is no number from 1 to [`MOST_THREADS`].
pub fn thread_budget() -> Result<usize> {
    for name in ["FERROMIX_NUM_THREADS", "OMP_NUM_THREADS"] {
        let Ok(text) = std::env::var(name) else {
            continue;
        };
        return match text.trim().parse() {
            Ok(n) if (1..=MOST_THREADS).contains(&n) => Ok(n),
            _ => Err(Error::value(format!(
                "{name} must be a number from 1 to {MOST_THREADS}, got '{text}'"
            ))),
        };
    }
    Ok(std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

/// Kernels read which instructions they may use; here, whether that makes sense.
fn check_instructions() -> Result<()> {
    match std::env::var("FERROMIX_ISA").as_deref() {
        Ok("amx" | "avx512" | "avx2" | "base" | "") | Err(_) => Ok(()),
        Ok(other) => Err(Error::value(format!(
            "FERROMIX_ISA must be 'amx', 'avx512', 'avx2' or 'base', got '{other}'"
        ))),
    }
}
