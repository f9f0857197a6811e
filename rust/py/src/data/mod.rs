//! Files of samples: records and images.

mod image;
mod recordio;

use pyo3::prelude::*;

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    image::register(m)?;
    recordio::register(m)
}
