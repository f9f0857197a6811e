#![doc = include_str!("../README.md")]

mod add;
mod arithmetic;
mod array;
mod call;
mod callback;
mod composite;
mod data;
mod dense;
mod engine;
mod files;
mod foreign;
mod function;
mod gpu;
mod graph;
mod index;
mod lane;
mod life;
mod operator;
mod profiler;
mod protocol;
mod pushed;
mod random;
mod signature;
mod storage;
mod support;
mod tape;

use pyo3::prelude::*;

/// The compiled core of Ferromix.
#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<array::Array>()?;
    m.add_class::<dense::Dense>()?;
    m.add_function(wrap_pyfunction!(dense::zeros, m)?)?;
    m.add_class::<call::Call>()?;
    m.add_class::<operator::Prepared>()?;
    m.add_class::<operator::Plan>()?;
    add::register(m)?;
    arithmetic::register(m)?;
    composite::register(m)?;
    data::register(m)?;
    support::device::register(m)?;
    support::errors::register(m)?;
    foreign::register(m)?;
    index::register(m)?;
    function::register(m)?;
    gpu::register(m)?;
    graph::register(m)?;
    operator::register(m)?;
    engine::register(m)?;
    life::register(m)?;
    profiler::register(m)?;
    protocol::register(m)?;
    pushed::register(m)?;
    random::register(m)?;
    storage::register(m)?;
    tape::register(m)?;
    files::register(m)
}
