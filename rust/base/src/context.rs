//! Where memory lives and operations run.

/// The kind of a device, with MXNet's codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DeviceType {
    /// Ordinary host memory.
    Cpu = 1,
    /// A CUDA device.
    Gpu = 2,
    /// Page-locked host memory.
    CpuPinned = 3,
    /// Host memory that processes share.
    CpuShared = 5,
}

/// A device: its kind and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Context {
    /// The kind of the device.
    pub device_type: DeviceType,
    /// The number of the device among its kind.
    pub device_id: u16,
}

impl Context {
    /// The CPU.
    pub const fn cpu() -> Self {
        Context {
            device_type: DeviceType::Cpu,
            device_id: 0,
        }
    }
}

impl std::fmt::Display for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self.device_type {
            DeviceType::Cpu => "cpu",
            DeviceType::Gpu => "gpu",
            DeviceType::CpuPinned => "cpu_pinned",
            DeviceType::CpuShared => "cpu_shared",
        };
        write!(f, "{name}({})", self.device_id)
    }
}
