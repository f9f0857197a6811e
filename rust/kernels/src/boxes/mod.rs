//! Boxes in images: their geometry, and which of many stay where they overlap.

pub(crate) mod geometry;
pub(crate) mod nms;

use crate::api::Desc;
use ferromix_base::{DType, Error, Result};

/// Requires single precision.
///
/// # Errors
/// Another element type.
pub(crate) fn single(operator: &str, descs: &[Desc]) -> Result<()> {
    match descs.iter().find(|d| d.dtype != DType::F32) {
        None => Ok(()),
        Some(odd) => Err(Error::dtype(format!(
            "{operator}: all arguments are float32, got {}",
            odd.dtype
        ))),
    }
}
