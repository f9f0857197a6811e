//! Devices by kind and number, and as text.

use std::fmt;
use std::str::FromStr;

/// Where an operation runs. The engine uses it only to choose a lane of worker threads.
///
/// The numbers are MXNet's: kind 2 is a GPU, and each GPU id has lanes of its own; every other kind
/// (1 = CPU, 3 = pinned, 5 = shared memory) runs on the CPU lanes.
///
/// ```
/// use ferromix_engine::Device;
/// assert_eq!(Device::default(), Device::CPU);
/// assert!(Device::gpu(1).is_gpu() && !Device::new(3, 0).is_gpu());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Device {
    /// MXNet's device type number.
    pub kind: u8,
    /// Which device of that kind.
    pub id: u16,
}

impl Device {
    /// The host processor.
    pub const CPU: Device = Device { kind: 1, id: 0 };

    /// The device of this kind, by MXNet's number, and id.
    ///
    /// ```
    /// use ferromix_engine::Device;
    /// assert_eq!(Device::new(2, 1), Device::gpu(1));
    /// ```
    pub const fn new(kind: u8, id: u16) -> Self {
        Self { kind, id }
    }

    /// The GPU with this number.
    ///
    /// ```
    /// use ferromix_engine::Device;
    /// assert_eq!((Device::gpu(1).kind, Device::gpu(1).id), (2, 1));
    /// ```
    pub const fn gpu(id: u16) -> Self {
        Self { kind: 2, id }
    }

    /// Whether operations for this device go to that device's own lanes.
    ///
    /// ```
    /// use ferromix_engine::Device;
    /// assert!(Device::gpu(0).is_gpu() && !Device::CPU.is_gpu());
    /// ```
    pub const fn is_gpu(self) -> bool {
        self.kind == 2
    }
}

impl Default for Device {
    fn default() -> Self {
        Self::CPU
    }
}

/// The kinds that have names, with MXNet's numbers.
const KINDS: [(u8, &str); 4] = [(1, "cpu"), (2, "gpu"), (3, "cpu_pinned"), (5, "cpu_shared")];

/// As MXNet writes it. A kind without a name shows its number.
///
/// ```
/// use ferromix_engine::Device;
/// assert_eq!(Device::gpu(1).to_string(), "gpu(1)");
/// assert_eq!(Device::new(9, 0).to_string(), "kind9(0)");
/// ```
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match KINDS.iter().find(|(kind, _)| *kind == self.kind) {
            Some((_, name)) => write!(f, "{name}({})", self.id),
            None => write!(f, "kind{}({})", self.kind, self.id),
        }
    }
}

/// A text that names no device.
///
/// ```
/// use ferromix_engine::{Device, ParseDeviceError};
/// let error: ParseDeviceError = "tpu(0)".parse::<Device>().unwrap_err();
/// assert!(error.to_string().contains("'tpu(0)'"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseDeviceError(String);

impl fmt::Display for ParseDeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "'{}' names no device; write cpu, gpu, cpu_pinned or cpu_shared, with a number from 0 to \
             65535 in brackets if it is not 0",
            self.0
        )
    }
}

impl std::error::Error for ParseDeviceError {}

/// What [`Display`](fmt::Display) writes; the number may be missing.
///
/// ```
/// use ferromix_engine::Device;
/// assert_eq!("cpu".parse(), Ok(Device::CPU));
/// assert_eq!("gpu(3)".parse(), Ok(Device::gpu(3)));
/// assert!("gpu(-1)".parse::<Device>().is_err());
/// ```
impl FromStr for Device {
    type Err = ParseDeviceError;

    fn from_str(text: &str) -> Result<Self, ParseDeviceError> {
        parse(text.trim()).ok_or_else(|| ParseDeviceError(text.chars().take(80).collect()))
    }
}

fn parse(text: &str) -> Option<Device> {
    let (name, id) = match text.split_once('(') {
        Some((name, rest)) => (name.trim_end(), number(rest.strip_suffix(')')?.trim())?),
        None => (text, 0),
    };
    let named = KINDS.iter().find(|(_, known)| *known == name);
    let kind = match named {
        Some((kind, _)) => *kind,
        None => number(name.strip_prefix("kind")?)?,
    };
    Some(Device { kind, id })
}

/// Digits alone: `parse` takes a sign, too.
fn number<T: FromStr>(text: &str) -> Option<T> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}
