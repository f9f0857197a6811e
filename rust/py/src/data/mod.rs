//! Files of samples: records.

mod recordio;

use pyo3::prelude::*;

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    recordio::register(m)
}
