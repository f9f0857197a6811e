//! What all arrays share: the engine, the memory pool and the state of the random numbers.

use ferromix_base::{Context, Error, Result};
use ferromix_engine::Engine;
use ferromix_kernels::{par, random::Stream};
use ferromix_storage::{Config, HostBackend, Pool};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Engine, pool and random numbers.
pub struct Runtime {
    engine: Engine,
    pool: Pool,
    random: RandomState,
}

static GLOBAL: OnceLock<Result<Arc<Runtime>>> = OnceLock::new();

impl Runtime {
    /// A runtime of its own, for tests and embedders.
    pub fn new(engine: Engine, pool: Pool) -> Arc<Self> {
        Arc::new(Runtime {
            engine,
            pool,
            random: RandomState::default(),
        })
    }

    /// The runtime of the process, set up from the environment at first use.
    ///
    /// # Errors
    /// Settings in the environment that make no sense; the message names the variable.
    pub fn global() -> Result<&'static Arc<Self>> {
        let made = GLOBAL.get_or_init(|| {
            par::set_threads(thread_budget()?);
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

    /// The pool of host memory.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The state of the random numbers.
    pub fn random(&self) -> &RandomState {
        &self.random
    }
}

/// The number of threads that kernels may use together: `FERROMIX_NUM_THREADS`, else
/// `OMP_NUM_THREADS` (as MXNet), else the cores that the process may run on.
///
/// # Errors
/// A setting that is not a positive number.
pub fn thread_budget() -> Result<usize> {
    for name in ["FERROMIX_NUM_THREADS", "OMP_NUM_THREADS"] {
        let Ok(text) = std::env::var(name) else {
            continue;
        };
        return match text.trim().parse() {
            Ok(n) if n > 0 => Ok(n),
            _ => Err(Error::value(format!(
                "{name} must be a positive number, got '{text}'"
            ))),
        };
    }
    Ok(std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

/// Seed and position of the random numbers. Each operation that draws numbers takes the next
/// stream when it is pushed, so the numbers follow program order, not the order of execution.
#[derive(Debug, Default)]
pub struct RandomState {
    seed: AtomicU64,
    next: AtomicU64,
}

impl RandomState {
    /// Starts over from `seed`.
    pub fn reseed(&self, seed: u64) {
        // Relaxed: seeding while another thread draws has no defined order anyway, and whoever
        // needs one orders the calls by other means.
        self.seed.store(seed, Ordering::Relaxed);
        self.next.store(0, Ordering::Relaxed);
    }

    /// The numbers of the next operation.
    pub fn next(&self) -> Stream {
        // Relaxed: only the uniqueness of the number matters, which the read-modify-write gives.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        Stream {
            seed: self.seed.load(Ordering::Relaxed),
            number,
        }
    }
}
