//! Where memory lives and operations run.

use crate::Error;
use std::str::FromStr;

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

impl DeviceType {
    /// All kinds.
    pub const ALL: [DeviceType; 4] = [
        DeviceType::Cpu,
        DeviceType::Gpu,
        DeviceType::CpuPinned,
        DeviceType::CpuShared,
    ];

    /// MXNet's name of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            DeviceType::Cpu => "cpu",
            DeviceType::Gpu => "gpu",
            DeviceType::CpuPinned => "cpu_pinned",
            DeviceType::CpuShared => "cpu_shared",
        }
    }
}

impl Context {
    /// The CPU.
    pub const fn cpu() -> Self {
        Context {
            device_type: DeviceType::Cpu,
            device_id: 0,
        }
    }

    /// The CUDA device of this number.
    ///
    /// ```
    /// assert_eq!(ferromix_base::Context::gpu(1).to_string(), "gpu(1)");
    /// ```
    pub const fn gpu(device_id: u16) -> Self {
        Context {
            device_type: DeviceType::Gpu,
            device_id,
        }
    }

    /// Whether the CPU reaches its memory.
    pub const fn is_host(self) -> bool {
        !matches!(self.device_type, DeviceType::Gpu)
    }

    /// Where operators on its memory run: page-locked and shared memory belong to the CPU of their
    /// number.
    pub const fn compute(self) -> Self {
        if !self.is_host() {
            return self;
        }
        Context {
            device_type: DeviceType::Cpu,
            ..self
        }
    }
}

impl std::fmt::Display for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({})", self.device_type.name(), self.device_id)
    }
}

/// What `Display` writes; the number may be missing.
///
/// ```
/// use ferromix_base::Context;
/// assert_eq!("gpu(2)".parse(), Ok(Context::gpu(2)));
/// assert_eq!("cpu".parse(), Ok(Context::cpu()));
/// ```
impl FromStr for Context {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse(text.trim()).ok_or_else(|| {
            let shown: String = text.chars().take(80).collect();
            Error::value(format!(
                "'{shown}' names no device; write cpu, gpu, cpu_pinned or cpu_shared, with a number \
                 from 0 to 65535 in brackets if it is not 0"
            ))
        })
    }
}

fn parse(text: &str) -> Option<Context> {
    let (name, number) = match text.split_once('(') {
        Some((name, rest)) => (name.trim_end(), rest.strip_suffix(')')?.trim()),
        None => (text, "0"),
    };
    // `parse` takes a sign, too.
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    Some(Context {
        device_type: DeviceType::ALL.into_iter().find(|t| t.name() == name)?,
        device_id: digits.then(|| number.parse().ok()).flatten()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_read_as_they_are_written() {
        for device_type in DeviceType::ALL {
            for device_id in [0, 1, u16::MAX] {
                let context = Context {
                    device_type,
                    device_id,
                };
                assert_eq!(context.to_string().parse(), Ok(context));
                assert_eq!(format!(" {context} ").parse(), Ok(context));
            }
            assert_eq!(device_type.name().parse::<Context>().unwrap().device_id, 0);
        }
    }

    #[test]
    fn other_texts_are_refused_by_name() {
        for text in [
            "",
            "tpu(0)",
            "gpu(",
            "gpu)",
            "gpu()",
            "gpu(-1)",
            "gpu(+1)",
            "gpu(65536)",
            "gpu(1)(1)",
            "GPU(0)",
            "cpu(1.0)",
            "(0)",
        ] {
            let error = text.parse::<Context>().unwrap_err();
            assert!(
                error
                    .message()
                    .starts_with(&format!("'{text}' names no device"))
            );
        }
    }
}
