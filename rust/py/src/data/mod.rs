//! Files of samples: records, CSV and LibSVM, images.

mod image;
mod loader;
mod recipe;
mod recordio;
mod text;

use pyo3::prelude::*;

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    image::register(m)?;
    loader::register(m)?;
    recordio::register(m)?;
    text::register(m)
}
