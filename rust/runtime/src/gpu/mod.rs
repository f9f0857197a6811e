//! Operators on GPUs. The engine orders operations, and starts each one where its inputs have been
//! *enqueued*; streams run them later, in an order that events keep. See docs/design/gpu.md.

mod copy;
mod device;
mod driver;
mod launch;
mod memory;
mod recipe;
mod uses;
mod walk;

pub(crate) use copy::{Place, read, run as run_copy};
pub(crate) use device::Device;
pub use device::{DeviceFailure, Origin, Properties};
pub(crate) use launch::{Operands, detour, elsewhere, run};
pub(crate) use memory::DeviceMemory;
pub use recipe::{Arg, Launch, Recipe};
pub(crate) use uses::Uses;

use driver::{Driver, Object};
use ferromix_base::{DType, Error, Result};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use uses::Ticket;

/// A kernel of the driver's.
pub type Function = usize;

/// The GPUs of the process.
pub struct Gpus {
    driver: Arc<Driver>,
    /// Streams of each device that compute.
    compute: usize,
    devices: Vec<OnceLock<Result<Arc<Device>>>>,
}

impl Gpus {
    /// The devices of the driver library at `path`, each with so many streams that compute.
    ///
    /// # Errors
    /// A library that cannot be loaded, or is no driver, or does not start.
    pub(crate) fn load(path: &Path, compute: usize) -> Result<Self> {
        let driver = Arc::new(Driver::load(path)?);
        let devices = (0..driver.devices()).map(|_| OnceLock::new()).collect();
        Ok(Gpus {
            driver,
            compute,
            devices,
        })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.devices.len()
    }

    /// A device, opened at first use.
    pub(crate) fn device(&self, id: u16) -> Result<&Arc<Device>> {
        let Some(place) = self.devices.get(usize::from(id)) else {
            return Err(Error::device(match self.count() {
                0 => format!("there is no gpu({id}): the driver finds no GPU"),
                1 => format!("there is no gpu({id}): the only GPU is gpu(0)"),
                n => format!("there is no gpu({id}): there are gpu(0) to gpu({})", n - 1),
            }));
        };
        let opened =
            place.get_or_init(|| Device::open(&self.driver, id, self.compute).map(Arc::new));
        opened.as_ref().map_err(Error::clone)
    }

    /// What a device is.
    ///
    /// # Errors
    /// A device that there is not, or that does not answer.
    pub fn properties(&self, id: u16) -> Result<Properties> {
        let device = self.device(id)?;
        device.port().enter()?;
        device.properties()
    }

    /// Bytes of a device's memory that are free, and all.
    ///
    /// # Errors
    /// As for [`properties`](Gpus::properties).
    pub fn memory_info(&self, id: u16) -> Result<(usize, usize)> {
        let port = self.device(id)?.port();
        port.enter()?;
        port.memory_info()
    }

    /// Sets the kernels that copy, by the types of source and target, which a device needs before arrays
    /// are made there. The first call counts.
    ///
    /// # Errors
    /// As for [`properties`](Gpus::properties).
    pub fn set_copies(&self, id: u16, copies: &[(DType, DType, Function)]) -> Result<()> {
        self.device(id)?.set_copies(copies);
        Ok(())
    }

    /// Whether a device has been opened and has its kernels.
    pub fn is_ready(&self, id: u16) -> bool {
        let opened = self.devices.get(usize::from(id)).and_then(OnceLock::get);
        matches!(opened, Some(Ok(device)) if device.has_copies())
    }

    /// An event after a piece of work of any device; `None` where it is done.
    pub(crate) fn event_after(&self, ticket: Ticket) -> Result<Option<(Object, u64)>> {
        self.device((ticket.stream >> 16) as u16)?
            .event_after(ticket)
    }

    /// Waits for everything that was enqueued.
    ///
    /// # Errors
    /// What went wrong on a device.
    pub(crate) fn wait_all(&self) -> std::result::Result<(), DeviceFailure> {
        for device in &self.devices {
            if let Some(Ok(device)) = device.get() {
                device.wait_all()?;
            }
        }
        Ok(())
    }

    /// Waits for the last write to a block.
    pub(crate) fn wait_for(&self, uses: &Uses) -> std::result::Result<(), DeviceFailure> {
        let Some(ticket) = uses.last_write() else {
            return Ok(());
        };
        match self.device((ticket.stream >> 16) as u16) {
            Ok(device) => device.wait(ticket),
            Err(error) => Err(DeviceFailure {
                error,
                origin: None,
            }),
        }
    }
}
