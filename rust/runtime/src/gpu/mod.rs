//! Operators on GPUs. The engine orders operations, and starts each one where its inputs have been
//! *enqueued*; streams run them later, in an order that events keep. See docs/design/gpu.md.

mod blas;
mod collective;
mod copy;
mod cudnn;
mod cudnn_plan;
mod device;
mod driver;
mod graph;
mod launch;
mod memory;
mod port;
mod recipe;
mod refusals;
mod stream;
mod there;
mod uses;
mod walk;

use blas::Blas;
pub use blas::Product;
use collective::Collectives;
pub use collective::{Collective, among_devices};
pub(crate) use copy::{Place, read, run as run_copy};
use cudnn::Convolutions;
pub use cudnn::{Convolution, ConvolutionPlan};
pub use cudnn_plan::{Problem, Way};
pub(crate) use device::Device;
pub use device::{DeviceFailure, Origin, Properties};
pub(crate) use graph::{Segment, are_wanted as graphs_are_wanted};
pub(crate) use launch::elsewhere;
pub(crate) use memory::{DeviceMemory, PinnedForDevices};
pub use recipe::{Arg, Launch, Recipe, Step};
pub use refusals::Sentence;
pub(crate) use there::There;
pub(crate) use uses::Uses;

use crate::Array;
use driver::Driver;
use ferromix_base::{DType, Error, Result};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use stream::Mark;
use uses::{Ticket, Tickets};

/// A kernel of the driver's.
pub type Function = usize;

/// The GPUs of the process.
pub struct Gpus {
    driver: Arc<Driver>,
    /// Streams of each device that compute.
    compute: usize,
    devices: Vec<OnceLock<Result<Arc<Device>>>>,
    blas: OnceLock<Arc<Blas>>,
    collectives: OnceLock<Arc<Collectives>>,
    convolutions: OnceLock<Arc<Convolutions>>,
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
            blas: OnceLock::new(),
            collectives: OnceLock::new(),
            convolutions: OnceLock::new(),
        })
    }

    /// Loads the library of matrix products, unless there is one.
    ///
    /// # Errors
    /// A library that cannot be loaded, or has other functions.
    pub fn install_blas(&self, path: &Path, tf32: bool) -> Result<()> {
        if self.blas.get().is_none() {
            // Of two threads that load it at once, either will do.
            let _ = self.blas.set(Arc::new(Blas::load(path, tf32)?));
        }
        Ok(())
    }

    pub(crate) fn blas(&self) -> Option<Arc<Blas>> {
        self.blas.get().cloned()
    }

    /// Loads the library of sums among devices, unless there is one.
    ///
    /// # Errors
    /// A library that cannot be loaded, or has other functions.
    pub fn install_collectives(&self, path: &Path) -> Result<()> {
        if self.collectives.get().is_none() {
            // Of two threads that load it at once, either will do.
            let _ = self.collectives.set(Arc::new(Collectives::load(path)?));
        }
        Ok(())
    }

    pub(crate) fn collectives(&self) -> Option<Arc<Collectives>> {
        self.collectives.get().cloned()
    }

    /// Loads the library of convolutions, unless there is one; whether it may round float32 to tf32, and use
    /// Winograd's way.
    ///
    /// # Errors
    /// A library that cannot be loaded, or has other functions.
    pub fn install_convolutions(&self, path: &Path, may: (bool, bool)) -> Result<()> {
        if self.convolutions.get().is_none() {
            // Of two threads that load it at once, either will do.
            let _ = self
                .convolutions
                .set(Arc::new(Convolutions::load(path, may)?));
        }
        Ok(())
    }

    /// How that library does what is asked for on a device, with so many bytes of temporary memory at most;
    /// `None` where it does not.
    ///
    /// # Errors
    /// A device that there is not; no library, or one that does not start.
    pub fn plan_convolution(
        &self,
        id: u16,
        problem: Problem,
        room: usize,
    ) -> Result<Option<ConvolutionPlan>> {
        let library = self.convolutions.get();
        let library = library.ok_or_else(|| Error::internal("no library of convolutions"))?;
        ConvolutionPlan::new(library, self.device(id)?.port(), problem, room)
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

    /// A device that is open.
    pub(crate) fn any(&self) -> Option<&Device> {
        let mut opened = self.devices.iter().filter_map(OnceLock::get);
        opened
            .find_map(|device| device.as_ref().ok())
            .map(|device| &**device)
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
    pub(crate) fn mark_after(&self, ticket: Ticket) -> Result<Option<Mark>> {
        self.device((ticket.stream >> 16) as u16)?
            .mark_after(ticket)
    }

    /// Notes that a piece of work of any device is done.
    pub(crate) fn note_done(&self, ticket: Ticket) {
        if let Ok(device) = self.device((ticket.stream >> 16) as u16) {
            device.note_done(ticket);
        }
    }

    /// Waits for everything that was enqueued.
    ///
    /// # Errors
    /// What went wrong on a device.
    pub(crate) fn wait_all(&self) -> std::result::Result<(), DeviceFailure> {
        for device in &self.devices {
            if let Some(Ok(device)) = device.get() {
                device.wait_all(self)?;
            }
        }
        Ok(())
    }

    /// Waits for the last write to a block, and for the reads since.
    pub(crate) fn wait_for_all_of(&self, uses: &Uses) -> std::result::Result<(), DeviceFailure> {
        let mut wanted = Tickets::new();
        uses.collect(true, &mut wanted);
        wanted.iter().try_for_each(|&ticket| self.wait(ticket))
    }

    /// Has a stream of somebody else's wait for everybody who uses the memory of an array; without one,
    /// gives a stream of our own that does.
    ///
    /// # Errors
    /// An array on the host; memory that cannot be had; what the driver refuses.
    pub fn lend(&self, array: &Array, stream: Option<usize>) -> Result<usize> {
        let device = array.chunk().device()?;
        let uses = array.chunk().uses()?.unwrap_or_default();
        let Some(stream) = stream else {
            return device.settle(self, &uses);
        };
        let mut wanted = Tickets::new();
        uses.collect(true, &mut wanted);
        device.port().enter()?;
        for &ticket in &wanted {
            if let Some(mark) = self.mark_after(ticket)? {
                let raw = std::ptr::with_exposed_provenance_mut(stream);
                device.port().wait_on(raw, mark.event)?;
            }
        }
        Ok(stream)
    }

    /// The stream of ours that memory of others arrives on: they make it wait for them.
    ///
    /// # Errors
    /// A device that there is not.
    pub fn arrivals(&self, id: u16) -> Result<usize> {
        Ok(self.device(id)?.arrivals())
    }

    /// The number of the device of an address, after a wait for a stream of somebody else's.
    ///
    /// # Errors
    /// An address on no device; what went wrong there.
    pub fn device_of(&self, address: usize, stream: Option<usize>) -> Result<u16> {
        if let Some(device) = self.any() {
            device.port().enter()?;
        }
        let number = self.driver.device_of(address as u64, stream)?;
        u16::try_from(number).map_err(|_| Error::device(format!("a GPU of number {number}")))
    }

    /// Notes that memory arrived there: users wait for what that stream waits for now.
    ///
    /// # Errors
    /// A device that there is not.
    pub fn note_arrival(&self, array: &Array) -> Result<()> {
        let uses = array.chunk().uses()?.unwrap_or_default();
        array.chunk().device()?.note_arrival(&uses);
        Ok(())
    }

    fn wait(&self, ticket: Ticket) -> std::result::Result<(), DeviceFailure> {
        match self.device((ticket.stream >> 16) as u16) {
            Ok(device) => device.wait(self, ticket),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for the last write to a block on a device, for somebody who wants values.
    pub(crate) fn wait_for(
        &self,
        device: &Device,
        uses: &Uses,
    ) -> std::result::Result<(), DeviceFailure> {
        uses.last_write()
            .map_or(Ok(()), |ticket| self.wait(ticket))?;
        device.refused()
    }
}
