//! The structures of DLPack 1.0, and those from before it had versions.

use ferromix_base::{DType, Error, Result};
use std::ffi::{CStr, c_void};

/// The version that is written; readers take what has the same major number.
pub(crate) const VERSION: Version = Version { major: 1, minor: 0 };
/// Nothing may write to the memory.
pub(crate) const READ_ONLY: u64 = 1;
/// The memory is nobody else's.
pub(crate) const IS_COPIED: u64 = 2;
/// Ordinary memory, and memory that a GPU can reach too.
pub(crate) const CPU: i32 = 1;
pub(crate) const CUDA_HOST: i32 = 3;
/// Memory of a GPU of NVIDIA's.
pub(crate) const CUDA: i32 = 2;

/// Names of capsules, before and after somebody has taken what is in them.
pub(crate) const NAME: &CStr = c"dltensor";
pub(crate) const USED: &CStr = c"used_dltensor";
pub(crate) const VERSIONED_NAME: &CStr = c"dltensor_versioned";
pub(crate) const VERSIONED_USED: &CStr = c"used_dltensor_versioned";

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Version {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Device {
    pub(crate) kind: i32,
    pub(crate) id: i32,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Element {
    pub(crate) code: u8,
    pub(crate) bits: u8,
    pub(crate) lanes: u16,
}

#[repr(C)]
pub(crate) struct Tensor {
    pub(crate) data: *mut c_void,
    pub(crate) device: Device,
    pub(crate) ndim: i32,
    pub(crate) element: Element,
    pub(crate) shape: *mut i64,
    pub(crate) strides: *mut i64,
    pub(crate) byte_offset: u64,
}

/// A tensor with what ends it, without a version.
#[repr(C)]
pub(crate) struct Managed {
    pub(crate) tensor: Tensor,
    pub(crate) context: *mut c_void,
    pub(crate) deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// The same from version 1.0 on.
#[repr(C)]
pub(crate) struct Versioned {
    pub(crate) version: Version,
    pub(crate) context: *mut c_void,
    pub(crate) deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    pub(crate) flags: u64,
    pub(crate) tensor: Tensor,
}

impl Element {
    pub(crate) fn of(dtype: DType) -> Self {
        let code = match dtype {
            DType::I8 | DType::I32 | DType::I64 => 0,
            DType::U8 => 1,
            DType::F32 | DType::F64 | DType::F16 => 2,
            DType::BF16 => 4,
            DType::Bool => 6,
        };
        Element {
            code,
            bits: 8 * dtype.size() as u8,
            lanes: 1,
        }
    }

    pub(crate) fn dtype(self) -> Result<DType> {
        let Element { code, bits, lanes } = self;
        // What MXNet calls bool: an unsigned number of one bit, in a byte.
        let known = match (code, bits) {
            (1, 1) => Element::of(DType::Bool),
            _ => self,
        };
        let known = Element { lanes, ..known };
        let mut all = DType::ALL.into_iter();
        all.find(|&dtype| Element::of(dtype) == known).ok_or_else(|| {
            let kinds = [
                "int", "uint", "float", "handle", "bfloat", "complex", "bool",
            ];
            let kind = kinds.get(code as usize).unwrap_or(&"type");
            Error::dtype(format!(
                "DLPack: Ferromix has no element type for {kind}{bits} (code {code}, lanes {lanes})"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn element_types_go_both_ways() {
        for dtype in DType::ALL {
            let element = Element::of(dtype);
            assert_eq!(element.dtype().unwrap(), dtype);
            assert_eq!(usize::from(element.bits), 8 * dtype.size());
        }
    }

    #[test]
    fn structures_are_laid_out_as_in_c() {
        assert_eq!(size_of::<Tensor>(), 48);
        assert_eq!(size_of::<Managed>(), 64);
        assert_eq!(size_of::<Versioned>(), 80);
        assert_eq!(std::mem::offset_of!(Versioned, tensor), 32);
        assert_eq!(std::mem::offset_of!(Tensor, byte_offset), 40);
    }
}
