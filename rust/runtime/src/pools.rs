//! The pools of host memory: ordinary, page-locked, shared between processes. The latter two are
//! made when somebody asks for them.

use crate::{Runtime, relief};
use ferromix_base::{Context, DeviceType, Error, Result};
use ferromix_storage::{Backend, Config, PinnedIfAllowed, Pool};
use std::sync::{OnceLock, Weak};

/// The pools of a runtime.
pub(crate) struct Pools {
    host: Pool,
    pinned: OnceLock<Result<Pool>>,
    shared: OnceLock<Result<Pool>>,
    locking: PinnedIfAllowed,
    runtime: Weak<Runtime>,
}

impl Pools {
    pub(crate) fn new(host: Pool, runtime: Weak<Runtime>) -> Self {
        relieve(&host, DeviceType::Cpu, &runtime);
        Pools {
            host,
            pinned: OnceLock::new(),
            shared: OnceLock::new(),
            locking: PinnedIfAllowed::default(),
            runtime,
        }
    }

    pub(crate) fn host(&self) -> &Pool {
        &self.host
    }

    /// The pool for the memory of a device.
    pub(crate) fn of(&self, device: DeviceType) -> Result<&Pool> {
        let made = match device {
            DeviceType::Cpu => return Ok(&self.host),
            DeviceType::CpuPinned => self
                .pinned
                .get_or_init(|| self.make(device, self.locking.clone())),
            DeviceType::CpuShared => self.shared.get_or_init(|| self.make_shared()),
            DeviceType::Gpu => {
                return Err(Error::value(
                    "this build has no memory on gpu; use cpu, cpu_pinned or cpu_shared",
                ));
            }
        };
        made.as_ref().map_err(Error::clone)
    }

    /// That pool, if there is one yet.
    pub(crate) fn existing(&self, device: DeviceType) -> Option<&Pool> {
        match device {
            DeviceType::Cpu => Some(&self.host),
            DeviceType::CpuPinned => self.pinned.get()?.as_ref().ok(),
            DeviceType::CpuShared => self.shared.get()?.as_ref().ok(),
            DeviceType::Gpu => None,
        }
    }

    /// Why some page-locked memory is not locked, if so.
    pub(crate) fn unlocked(&self) -> Option<&Error> {
        self.locking.refusal()
    }

    fn make(&self, device: DeviceType, backend: impl Backend + 'static) -> Result<Pool> {
        let context = Context {
            device_type: device,
            device_id: 0,
        };
        let pool = Pool::new(context, backend, Config::from_env(context)?);
        relieve(&pool, device, &self.runtime);
        Ok(pool)
    }

    #[cfg(target_os = "linux")]
    fn make_shared(&self) -> Result<Pool> {
        self.make(DeviceType::CpuShared, ferromix_storage::SharedBackend)
    }

    #[cfg(not(target_os = "linux"))]
    fn make_shared(&self) -> Result<Pool> {
        Err(Error::value("memory of cpu_shared needs Linux; use cpu"))
    }
}

/// Has a pool that is exhausted wait for arrays that are about to be freed.
fn relieve(pool: &Pool, device: DeviceType, runtime: &Weak<Runtime>) {
    let runtime = runtime.clone();
    pool.on_exhaustion(move || {
        let Some(runtime) = runtime.upgrade() else {
            return false;
        };
        let pool = runtime.pools().existing(device);
        pool.is_some_and(|pool| relief::wait(&runtime, pool))
    });
}
