//! The device that a thread places new arrays on.

use crate::support::convert::context;
use ferromix_base::Context;
use pyo3::prelude::*;
use std::cell::Cell;

thread_local! {
    static CURRENT: Cell<Context> = const { Cell::new(Context::cpu()) };
}

pub(crate) fn current() -> Context {
    CURRENT.get()
}

/// Says where this thread places new arrays, by device type, as MXNet numbers them, and number.
#[pyfunction]
fn set_device(code: i32, number: u16) -> PyResult<()> {
    CURRENT.set(context(code, number)?);
    Ok(())
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(set_device, m)?)
}
