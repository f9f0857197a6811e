//! The tape of autograd: what operations were run on arrays that gradients are asked for.
//!
//! There is no list. An array that an operation gave refers to the operation's node, and a node to
//! the nodes that its inputs came from; so what no living array depends on is freed at once, and
//! each thread's recording is its own. The cards' rules say what a backward pass runs, so Python
//! makes a program of it (`ferromix/dispatch/tape.py`), once for each structure that is recorded.

mod backward;
mod node;
mod program;
mod record;
mod trace;

pub(crate) use node::Slot;
pub(crate) use program::Program;
pub(crate) use record::{Reads, Recording, gradient, mark, records, require_unrecorded};
pub(crate) use trace::Trace;

use pyo3::prelude::*;
use std::cell::Cell;

thread_local! {
    static IS_RECORDING: Cell<bool> = const { Cell::new(false) };
    static IS_TRAINING: Cell<bool> = const { Cell::new(false) };
}

/// Whether operations of this thread are recorded.
#[pyfunction]
fn is_recording() -> bool {
    IS_RECORDING.get()
}

/// Whether operations of this thread train.
#[pyfunction]
pub(crate) fn is_training() -> bool {
    IS_TRAINING.get()
}

/// Says whether operations of this thread are recorded; gives what was so before.
#[pyfunction]
fn set_recording(value: bool) -> bool {
    IS_RECORDING.replace(value)
}

/// Says whether operations of this thread train; gives what was so before.
#[pyfunction]
fn set_training(value: bool) -> bool {
    IS_TRAINING.replace(value)
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<trace::Trace>()?;
    m.add_function(wrap_pyfunction!(is_recording, m)?)?;
    m.add_function(wrap_pyfunction!(is_training, m)?)?;
    m.add_function(wrap_pyfunction!(set_recording, m)?)?;
    m.add_function(wrap_pyfunction!(set_training, m)?)?;
    m.add_function(wrap_pyfunction!(record::record_python, m)?)?;
    m.add_function(wrap_pyfunction!(backward::backward, m)?)?;
    m.add_function(wrap_pyfunction!(backward::gradients, m)?)
}
