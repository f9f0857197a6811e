//! Element types, with the codes that MXNet's files use for them.

use crate::{Error, Result};
use half::{bf16, f16};

/// The type of a tensor's elements. The discriminant is the code in MXNet's `.params` files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DType {
    /// 32-bit IEEE float.
    F32 = 0,
    /// 64-bit IEEE float.
    F64 = 1,
    /// 16-bit IEEE float.
    F16 = 2,
    /// Unsigned byte.
    U8 = 3,
    /// 32-bit signed integer.
    I32 = 4,
    /// Signed byte.
    I8 = 5,
    /// 64-bit signed integer.
    I64 = 6,
    /// One byte, 0 or 1.
    Bool = 7,
    /// Brain float: the upper half of an `f32`.
    BF16 = 12,
}

impl DType {
    /// Every element type, in the order of the codes.
    pub const ALL: [DType; 9] = [
        DType::F32,
        DType::F64,
        DType::F16,
        DType::U8,
        DType::I32,
        DType::I8,
        DType::I64,
        DType::Bool,
        DType::BF16,
    ];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            DType::U8 | DType::I8 | DType::Bool => 1,
            DType::F16 | DType::BF16 => 2,
            DType::F32 | DType::I32 => 4,
            DType::F64 | DType::I64 => 8,
        }
    }

    /// NumPy's name of the type.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "float32",
            DType::F64 => "float64",
            DType::F16 => "float16",
            DType::U8 => "uint8",
            DType::I32 => "int32",
            DType::I8 => "int8",
            DType::I64 => "int64",
            DType::Bool => "bool",
            DType::BF16 => "bfloat16",
        }
    }

    /// The code in MXNet's files.
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// Whether the type is one of the floats.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F64 | DType::F16 | DType::BF16)
    }

    /// The type of a code in MXNet's files.
    ///
    /// # Errors
    /// A type error that lists the known codes.
    pub fn from_code(code: i32) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|d| d.code() == code)
            .ok_or_else(|| {
                Error::dtype(format!(
                    "unknown dtype code {code}; known: {}",
                    Self::listing()
                ))
            })
    }

    /// The type of a NumPy name.
    ///
    /// # Errors
    /// A type error that lists the known names.
    pub fn from_name(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|d| d.name() == name)
            .ok_or_else(|| {
                Error::dtype(format!(
                    "unknown dtype '{name}'; known: {}",
                    Self::listing()
                ))
            })
    }

    fn listing() -> String {
        let rows: Vec<String> = Self::ALL
            .iter()
            .map(|d| format!("{} ({})", d.name(), d.code()))
            .collect();
        rows.join(", ")
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A Rust type that is the element type of tensors. All are plain data of the size of their
/// [`DType`]; `bool` memory holds 0 or 1 only.
pub trait Element: Copy + Send + Sync + PartialEq + std::fmt::Debug + 'static {
    /// The element type that names `Self`.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($t:ty => $d:ident),*) => { $(impl Element for $t { const DTYPE: DType = DType::$d; })* };
}
elements!(f32 => F32, f64 => F64, f16 => F16, u8 => U8, i32 => I32, i8 => I8, i64 => I64,
          bool => Bool, bf16 => BF16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_round_trip() {
        for d in DType::ALL {
            assert_eq!(DType::from_code(d.code()).unwrap(), d);
            assert_eq!(DType::from_name(d.name()).unwrap(), d);
        }
        let e = DType::from_code(99).unwrap_err().to_string();
        assert!(e.contains("99") && e.contains("float32 (0)"), "{e}");
    }
}
