//! Python functions pushed on the engine, variables, waiting, and the state of the random numbers.

use crate::array::Array;
use crate::callback::{Finish, Job, OnComplete, Ticket};
use crate::convert::{context, runtime};
use crate::errors::{misuse, push_to_py, to_py};
use crate::lane::lane;
use crate::site;
use crate::wait::{Bulk, hold_back, set_naive, settle, wait};
use ferromix_engine::{FnProperty, Name, OpSpec, Var};
use ferromix_kernels::par;
use ferromix_runtime::Runtime;
use ferromix_runtime::held::{self, Held};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A variable of the engine: stands for anything that operations share.
#[pyclass(frozen, weakref, module = "ferromix._core")]
pub(crate) struct Variable {
    runtime: &'static Arc<Runtime>,
    var: Var,
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

    /// Waits for the writes pushed before.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        self.runtime.check_usable().map_err(to_py)?;
        if held::may_read(self.runtime, self.var) {
            return Ok(());
        }
        wait(py, |patience| self.runtime.wait_for_var(self.var, patience))
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

fn vars(objects: &[Bound<'_, PyAny>], what: &str) -> PyResult<Vec<Var>> {
    let var = |object: &Bound<'_, PyAny>| {
        if let Ok(array) = object.cast::<Array>() {
            Ok(array.get().0.chunk().var())
        } else if let Ok(variable) = object.cast::<Variable>() {
            Ok(variable.get().var)
        } else {
            Err(PyTypeError::new_err(format!(
                "{what} must be arrays or engine variables, got {}",
                object.get_type()
            )))
        }
    };
    objects.iter().map(var).collect()
}

/// Pushes a Python function that reads and mutates what arrays and variables stand for. With
/// `asynchronous` it gets a callable to call when it is done.
#[pyfunction]
fn push(
    py: Python<'_>,
    function: Py<PyAny>,
    const_vars: Vec<Bound<'_, PyAny>>,
    mutable_vars: Vec<Bound<'_, PyAny>>,
    priority: i32,
    name: &str,
    asynchronous: bool,
) -> PyResult<()> {
    // Relaxed: only that numbers grow along each thread's pushes matters.
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let runtime = runtime()?;
    runtime.check_usable().map_err(to_py)?;
    let reads = vars(&const_vars, "const_vars")?;
    let writes = vars(&mutable_vars, "mutable_vars")?;
    for array in mutable_vars.iter().filter_map(|v| v.cast::<Array>().ok()) {
        array.get().0.chunk().note_write();
    }
    let held = Held::new(runtime, &reads, &writes);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    // The engine's own threads only hand the function over, at once.
    let name = Name::intern(name);
    let spec = OpSpec::new(name)
        .property(FnProperty::CpuPrioritized)
        .priority(priority)
        .tag(site::current(py))
        .reads(&reads)
        .writes(&writes);
    hold_back(py, runtime)?;
    let (naive, ticket) = (runtime.is_naive(), Ticket::new());
    let start = move |_: &_, on_complete| {
        let job = Job {
            function,
            asynchronous,
            held,
            finish: Finish {
                on_complete,
                ticket,
            },
            priority,
            name,
            number,
        };
        if naive {
            job.run();
        } else {
            lane().submit(job);
        }
    };
    let engine = runtime.engine();
    let done = if naive {
        py.detach(|| engine.push_async(&spec, start))
    } else {
        engine.push_async(&spec, start)
    };
    done.map_err(push_to_py)?;
    settle(py, runtime)
}

/// Waits for everything pushed before; raises the first error that no wait has raised yet.
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
    wait(py, |patience| runtime.wait_for_all(patience))
}

/// Which engine runs, its threads, and how much it has done.
#[pyfunction]
fn engine_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let runtime = runtime()?;
    let counters = runtime.engine().counters();
    let dict = PyDict::new(py);
    dict.set_item("naive", runtime.is_naive())?;
    dict.set_item("workers", runtime.engine().num_workers())?;
    dict.set_item("pushed", counters.pushed)?;
    dict.set_item("completed", counters.completed)?;
    dict.set_item("in_flight", counters.in_flight)?;
    Ok(dict)
}

/// Starts the random numbers over.
#[pyfunction]
#[pyo3(signature = (value, device=None))]
fn seed(value: u64, device: Option<(i32, u16)>) -> PyResult<()> {
    let random = runtime()?.random();
    if let Some((code, id)) = device {
        return random.reseed_on(context(code, id)?, value).map_err(to_py);
    }
    random.reseed(value);
    Ok(())
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
    m.add_class::<OnComplete>()?;
    m.add_function(wrap_pyfunction!(push, m)?)?;
    m.add_function(wrap_pyfunction!(wait_all, m)?)?;
    m.add_class::<Bulk>()?;
    m.add_function(wrap_pyfunction!(set_naive, m)?)?;
    m.add_function(wrap_pyfunction!(engine_info, m)?)?;
    m.add_function(wrap_pyfunction!(seed, m)?)?;
    m.add_function(wrap_pyfunction!(num_threads, m)?)?;
    m.add_function(wrap_pyfunction!(set_thread_budget, m)?)?;
    m.add_function(wrap_pyfunction!(num_workers, m)?)
}
