//! The engine as Python sees it: variables, waits, its start and end. What is pushed is in `pushed.rs`.

use crate::callback::ended;
use crate::support::convert::runtime;
use crate::support::errors::{misuse, push_to_py, to_py};
use crate::support::wait::{Bulk, set_naive, wait};
use ferromix_engine::Var;
use ferromix_kernels::par;
use ferromix_runtime::held;
use ferromix_runtime::{ReadError, Runtime};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// A variable of the engine: stands for anything that operations share.
#[pyclass(frozen, weakref, module = "ferromix._core")]
pub(crate) struct Variable {
    runtime: &'static Arc<Runtime>,
    var: Var,
}

impl Variable {
    pub(crate) fn var(&self) -> Var {
        self.var
    }
}

#[pymethods]
impl Variable {
    #[new]
    fn new() -> PyResult<Self> {
        let runtime = runtime()?;
        runtime.check_usable().map_err(to_py)?;
        let var = runtime.engine().new_variable();
        Ok(Variable { runtime, var })
    }

    /// Number of finished operations that mutated it.
    #[getter]
    fn version(&self) -> PyResult<u64> {
        let engine = self.runtime.engine();
        engine.version(self.var).map_err(push_to_py)
    }

    /// Whether the function that this thread runs as an operation has it, to read and to write.
    #[getter]
    fn held(&self) -> (bool, bool) {
        (
            held::may_read(self.runtime, self.var),
            held::may_write(self.runtime, self.var),
        )
    }

    /// Waits for the writes pushed before.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        self.runtime.check_usable().map_err(to_py)?;
        if held::may_read(self.runtime, self.var) {
            return Ok(());
        }
        wait(py, |policy| self.runtime.wait_for_var(self.var, policy))
    }

    /// Waits for everything pushed before that uses it.
    fn wait_to_write(&self, py: Python<'_>) -> PyResult<()> {
        wait_to_write(py, self.runtime, self.var)
    }

    /// Ends it after its last user.
    fn delete(&self) -> PyResult<()> {
        let engine = self.runtime.engine();
        engine.delete_variable(self.var, || ()).map_err(push_to_py)
    }
}

impl Drop for Variable {
    fn drop(&mut self) {
        // The only error is that it was deleted before.
        let _ = self.runtime.engine().delete_variable(self.var, || ());
    }
}

/// Waits for everything pushed before that uses the variable.
pub(crate) fn wait_to_write(
    py: Python<'_>,
    runtime: &'static Arc<Runtime>,
    var: Var,
) -> PyResult<()> {
    runtime.check_usable().map_err(to_py)?;
    if held::may_write(runtime, var) {
        return Ok(());
    }
    if held::may_read(runtime, var) {
        return Err(misuse(
            "the function of an operation waits to write what the operation was pushed with as \
             constant, which would never end; list it among the mutable variables",
        ));
    }
    wait(py, |policy| runtime.wait_to_write(var, policy))
}

/// Waits until nothing is pending: for everything pushed before, and for what the functions of it push.
/// Raises the first error that no wait has raised yet.
#[pyfunction]
fn wait_all(py: Python<'_>) -> PyResult<()> {
    let runtime = runtime()?;
    runtime.check_usable().map_err(to_py)?;
    if held::inside() {
        return Err(misuse(
            "an operation waited for all operations, itself among them; \
             wait for single arrays or variables instead",
        ));
    }
    loop {
        let before = ended();
        wait(py, |policy| runtime.wait_for_all(policy))?;
        wait(py, |_| runtime.wait_for_gpus().map_err(ReadError::Device))?;
        if ended() == before {
            return Ok(());
        }
    }
}

/// Finishes what was pushed and ends the workers; pushes are refused until `start`.
#[pyfunction]
fn stop(py: Python<'_>) -> PyResult<()> {
    let runtime = runtime()?;
    runtime.check_usable().map_err(to_py)?;
    if held::inside() {
        return Err(misuse(
            "an operation stopped the engine, which would wait for itself; stop it elsewhere",
        ));
    }
    wait(py, |policy| runtime.stop(policy))
}

/// Undoes `stop`.
#[pyfunction]
fn start(py: Python<'_>) -> PyResult<()> {
    let runtime = runtime()?;
    runtime.check_usable().map_err(to_py)?;
    wait(py, |policy| runtime.start(policy))
}

/// Further pushes are refused, for good.
#[pyfunction]
fn notify_shutdown() -> PyResult<()> {
    runtime()?.engine().notify_shutdown();
    Ok(())
}

/// How many threads an operation may use that does not say so itself; 0 for all.
#[pyfunction]
fn num_threads_per_worker() -> PyResult<u16> {
    Ok(runtime()?.engine().num_threads_per_worker())
}

/// Sets that, for what runs from now on.
#[pyfunction]
fn set_num_threads_per_worker(most: u16) -> PyResult<()> {
    runtime()?.engine().set_num_threads_per_worker(most);
    Ok(())
}

/// Which engine runs, its threads, and how much it has done.
#[pyfunction]
fn engine_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let runtime = runtime()?;
    // Without the interpreter: a thread that is about to fork holds the engine's locks, and may have to
    // wait for the interpreter before it goes on.
    let counters = py.detach(|| runtime.engine().counters());
    let dict = PyDict::new(py);
    dict.set_item("naive", runtime.is_naive())?;
    dict.set_item("workers", runtime.engine().num_workers())?;
    dict.set_item("pushed", counters.pushed)?;
    dict.set_item("completed", counters.completed)?;
    dict.set_item("in_flight", counters.in_flight)?;
    Ok(dict)
}

/// Threads that a kernel may use whose operation this thread pushes now.
#[pyfunction]
fn num_threads() -> PyResult<usize> {
    runtime()?;
    Ok(par::threads())
}

/// Sets the most threads that kernels may use whose operations this thread pushes, 0 for all;
/// returns the setting before.
#[pyfunction]
fn set_thread_budget(most: u16) -> u16 {
    par::set_budget(most)
}

/// Worker threads of the engine.
#[pyfunction]
fn num_workers() -> PyResult<usize> {
    Ok(runtime()?.engine().num_workers())
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Variable>()?;
    m.add_function(wrap_pyfunction!(stop, m)?)?;
    m.add_function(wrap_pyfunction!(start, m)?)?;
    m.add_function(wrap_pyfunction!(notify_shutdown, m)?)?;
    m.add_function(wrap_pyfunction!(num_threads_per_worker, m)?)?;
    m.add_function(wrap_pyfunction!(set_num_threads_per_worker, m)?)?;
    m.add_function(wrap_pyfunction!(wait_all, m)?)?;
    m.add_class::<Bulk>()?;
    m.add_function(wrap_pyfunction!(set_naive, m)?)?;
    m.add_function(wrap_pyfunction!(engine_info, m)?)?;
    m.add_function(wrap_pyfunction!(num_threads, m)?)?;
    m.add_function(wrap_pyfunction!(set_thread_budget, m)?)?;
    m.add_function(wrap_pyfunction!(num_workers, m)?)
}
