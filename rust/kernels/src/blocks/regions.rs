//! Regions of images, as detectors list them: each begins with the number of its image.

use crate::math::real::Real;
use ferromix_base::{Error, Result};

/// The image that a number stands for: fractions are cut, and there is none where it is negative.
///
/// # Errors
/// A number that is too large, or none.
pub(crate) fn image_of<R: Real>(
    name: &str,
    region: usize,
    number: R,
    images: usize,
) -> Result<Option<usize>> {
    let number = number.f64().trunc();
    if number < 0.0 {
        return Ok(None);
    }
    if number < images as f64 {
        return Ok(Some(number as usize));
    }
    Err(Error::index(format!(
        "{name}: region {region} is of image {number}, but there are {images}"
    )))
}
