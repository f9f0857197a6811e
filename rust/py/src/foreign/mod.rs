//! Memory that crosses the border: other owners' as arrays, and arrays' for others to see.
//!
//! What comes in stays where it is ([`import`], [`buffer`]), and its owner is told when the last
//! operation that uses it is done ([`release`]). What goes out keeps the chunk alive for as long as
//! somebody outside may look ([`export`], [`buffer`]). Whoever hands memory out waits first: the engine
//! orders nobody outside.

pub(crate) mod buffer;
mod dlpack;
mod export;
mod gpu;
mod import;
mod release;

pub(crate) use release::shut_down;

use crate::array::Array;
use crate::support::convert::runtime;
use crate::support::errors::to_py;
use crate::support::memory::attached;
use crate::support::wait::wait;
use ferromix_runtime::{self as rt, held};
use pyo3::prelude::*;

/// Waits for everything in flight that keeps somebody outside from reading the memory, or from writing
/// it, and gives its address. Inside a user's function that holds the array there is nothing to wait
/// for.
fn settled(py: Python<'_>, array: &Array, writing: bool) -> PyResult<*mut u8> {
    let chunk = array.0.chunk();
    if writing {
        array
            .0
            .require_writable("to write from outside")
            .map_err(to_py)?;
    }
    let address = attached(|| array.0.data()).map_err(to_py)?;
    if !held::may_read(chunk.runtime(), chunk.var()) {
        runtime()?.check_usable().map_err(to_py)?;
        wait(py, |policy| match writing {
            true => chunk
                .runtime()
                .wait_to_write(chunk.var(), policy)
                .map_err(rt::ReadError::from),
            false => rt::wait_to_read_with(&array.0, policy),
        })?;
    }
    if writing {
        chunk.note_write();
        chunk.expose();
    }
    Ok(address)
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    import::register(m)?;
    export::register(m)?;
    gpu::register(m)?;
    buffer::register(m)
}
