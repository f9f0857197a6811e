//! The pools of host memory, one for each device. That of `cpu(0)` is always there, the others are
//! made when somebody asks for them.

use crate::gpu::{DeviceMemory, PinnedForDevices};
use crate::{Runtime, relief};
use ferromix_base::{Context, DeviceType, Error, Result};
use ferromix_storage::{Backend, Config, HostBackend, PinnedIfAllowed, Pool};
use std::iter::successors;
use std::sync::{OnceLock, Weak};

/// The pools of a runtime.
pub(crate) struct Pools {
    host: Pool,
    others: OnceLock<Box<Other>>,
    locking: PinnedIfAllowed,
    runtime: Weak<Runtime>,
}

/// The pool of another device than `cpu(0)`, and those that were made after it: a list that only
/// grows, so that what is found stays where it is.
struct Other {
    context: Context,
    pool: Result<Pool>,
    next: OnceLock<Box<Other>>,
}

impl Pools {
    pub(crate) fn new(host: Pool, runtime: Weak<Runtime>) -> Self {
        relieve(&host, Context::cpu(), &runtime);
        Pools {
            host,
            others: OnceLock::new(),
            locking: PinnedIfAllowed::default(),
            runtime,
        }
    }

    pub(crate) fn host(&self) -> &Pool {
        &self.host
    }

    /// The pool for the memory of a device.
    pub(crate) fn of(&self, context: Context) -> Result<&Pool> {
        if context == Context::cpu() {
            return Ok(&self.host);
        }
        let mut place = &self.others;
        loop {
            let make = || {
                Box::new(Other {
                    context,
                    pool: self.make(context),
                    next: OnceLock::new(),
                })
            };
            let other = place.get_or_init(make);
            if other.context == context {
                return other.pool.as_ref().map_err(Error::clone);
            }
            place = &other.next;
        }
    }

    /// That pool, if there is one yet.
    pub(crate) fn existing(&self, context: Context) -> Option<&Pool> {
        if context == Context::cpu() {
            return Some(&self.host);
        }
        let mut others = self.others();
        others
            .find(|other| other.context == context)?
            .pool
            .as_ref()
            .ok()
    }

    /// All pools that there are.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Pool> {
        let others = self.others().filter_map(|other| other.pool.as_ref().ok());
        std::iter::once(&self.host).chain(others)
    }

    fn others(&self) -> impl Iterator<Item = &Other> {
        let first = self.others.get().map(|other| &**other);
        successors(first, |other| other.next.get().map(|next| &**next))
    }

    /// Why some page-locked memory is not locked, if so.
    pub(crate) fn unlocked(&self) -> Option<&Error> {
        self.locking.refusal()
    }

    fn make(&self, context: Context) -> Result<Pool> {
        match context.device_type {
            DeviceType::Cpu => self.over(context, HostBackend),
            DeviceType::CpuPinned => self.over(
                context,
                PinnedForDevices {
                    locked: self.locking.clone(),
                    runtime: self.runtime.clone(),
                },
            ),
            DeviceType::CpuShared => self.make_shared(context),
            DeviceType::Gpu => {
                let runtime = self.runtime.upgrade();
                let runtime = runtime.ok_or_else(|| Error::misuse("the runtime has ended"))?;
                let device = runtime.gpus()?.device(context.device_id)?.clone();
                self.over(context, DeviceMemory(device))
            }
        }
    }

    fn over(&self, context: Context, backend: impl Backend + 'static) -> Result<Pool> {
        let pool = Pool::new(context, backend, Config::from_env(context)?);
        relieve(&pool, context, &self.runtime);
        Ok(pool)
    }

    #[cfg(target_os = "linux")]
    fn make_shared(&self, context: Context) -> Result<Pool> {
        self.over(context, ferromix_storage::SharedBackend)
    }

    #[cfg(not(target_os = "linux"))]
    fn make_shared(&self, _context: Context) -> Result<Pool> {
        Err(Error::value("memory of cpu_shared needs Linux; use cpu"))
    }
}

/// Has a pool that is exhausted wait for arrays that are about to be freed.
fn relieve(pool: &Pool, context: Context, runtime: &Weak<Runtime>) {
    let runtime = runtime.clone();
    pool.on_exhaustion(move || {
        let Some(runtime) = runtime.upgrade() else {
            return false;
        };
        let pool = runtime.pools().existing(context);
        pool.is_some_and(|pool| relief::wait(&runtime, pool))
    });
}
