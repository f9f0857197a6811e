//! The Python bindings: the only crate that names PyO3. It converts values and errors, releases
//! the interpreter while it waits, and leaves everything else to the crates below.

mod arithmetic;
mod array;
mod call;
mod callback;
mod convert;
mod dense;
mod engine;
mod errors;
mod files;
mod function;
mod hash;
mod index;
mod lane;
mod life;
mod memory;
mod operator;
mod profiler;
mod site;
mod storage;
mod tape;
mod wait;
mod way;

use pyo3::prelude::*;

/// The compiled core of Ferromix.
#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<array::Array>()?;
    m.add_class::<dense::Dense>()?;
    m.add_class::<call::Call>()?;
    m.add_class::<operator::Prepared>()?;
    m.add_class::<operator::Plan>()?;
    arithmetic::register(m)?;
    function::register(m)?;
    operator::register(m)?;
    engine::register(m)?;
    life::register(m)?;
    profiler::register(m)?;
    storage::register(m)?;
    tape::register(m)?;
    files::register(m)
}
