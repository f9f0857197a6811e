//! `_core.Prepared` and `_core.Plan`: operators for fixed shapes, and bound graphs of them.

use crate::array::Array;
use crate::callback::push;
use crate::convert::{attrs, desc, req, runtime};
use crate::errors::to_py;
use crate::memory::attached;
use crate::site;
use crate::wait::{hold_back, settle, wait};
use ferromix_engine::Name;
use ferromix_kernels as kernels;
use ferromix_runtime as rt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// A kernel prepared for attributes, shapes and element types.
#[pyclass(frozen, module = "ferromix._core")]
pub(crate) struct Prepared {
    prepared: Arc<rt::Prepared>,
    name: Name,
}

fn bind(
    prepared: &Arc<rt::Prepared>,
    name: Name,
    inputs: &[PyRef<'_, Array>],
    outputs: &[Option<PyRef<'_, Array>>],
    reqs: &[u8],
) -> PyResult<Arc<rt::Bound>> {
    let inputs: Vec<rt::Array> = inputs.iter().map(|a| a.0.clone()).collect();
    let outputs: Vec<Option<rt::Array>> = outputs
        .iter()
        .map(|a| a.as_ref().map(|a| a.0.clone()))
        .collect();
    let reqs = reqs.iter().map(|&r| req(r)).collect::<PyResult<Vec<_>>>()?;
    attached(|| rt::Bound::new(prepared, name, &inputs, &outputs, &reqs)).map_err(to_py)
}

#[pymethods]
impl Prepared {
    /// Prepares the kernel `row` of the operator `operator`; shapes and types come as pairs.
    #[new]
    fn new(
        operator: &str,
        row: &str,
        attributes: &Bound<'_, PyDict>,
        inputs: Vec<(Vec<usize>, String)>,
        outputs: Vec<(Vec<usize>, String)>,
    ) -> PyResult<Self> {
        let inputs = inputs.into_iter().map(desc).collect::<PyResult<_>>()?;
        let outputs = outputs.into_iter().map(desc).collect::<PyResult<_>>()?;
        let prepared = rt::Prepared::new(operator, row, &attrs(attributes)?, inputs, outputs);
        Ok(Prepared {
            prepared: prepared.map_err(to_py)?,
            name: Name::intern(operator),
        })
    }

    /// Pushes one run; `reqs` holds 0 (null), 1 (write), 2 (in place) or 3 (add) for each output.
    fn invoke(
        &self,
        py: Python<'_>,
        inputs: Vec<PyRef<'_, Array>>,
        outputs: Vec<Option<PyRef<'_, Array>>>,
        reqs: Vec<u8>,
    ) -> PyResult<()> {
        let bound = bind(&self.prepared, self.name, &inputs, &outputs, &reqs)?;
        let (runtime, site) = (runtime()?, site::current(py));
        push(py, || bound.push(runtime, site))
    }
}

type Step<'py> = (
    PyRef<'py, Prepared>,
    String,
    Vec<PyRef<'py, Array>>,
    Vec<Option<PyRef<'py, Array>>>,
    Vec<u8>,
);

/// A list of operators bound to arrays, launched by one call.
#[pyclass(frozen, module = "ferromix._core")]
pub(crate) struct Plan(rt::Plan);

#[pymethods]
impl Plan {
    /// A plan of steps: prepared operator, name of the node, inputs, outputs, requests. Nobody but
    /// plans uses the memory of `buffers`; plans that share one share `token`, which stands for them.
    #[new]
    fn new(
        steps: Vec<Step<'_>>,
        buffers: Vec<PyRef<'_, Array>>,
        token: PyRef<'_, Array>,
    ) -> PyResult<Self> {
        let (mut bound, mut arrays) = (Vec::with_capacity(steps.len()), Vec::new());
        for (prepared, name, inputs, outputs, reqs) in steps {
            bound.push(bind(
                &prepared.prepared,
                Name::intern(&name),
                &inputs,
                &outputs,
                &reqs,
            )?);
            arrays.extend(inputs.iter().map(|a| a.0.clone()));
            arrays.extend(outputs.iter().flatten().map(|a| a.0.clone()));
        }
        let private = rt::Private {
            buffers: buffers.iter().map(|a| a.0.clone()).collect(),
            token: token.0.clone(),
        };
        Ok(Plan(rt::Plan::new(
            runtime()?,
            bound,
            arrays,
            Some(private),
        )))
    }

    /// Launches the steps from `start` to before `stop`.
    #[pyo3(signature = (start=0, stop=None))]
    fn run(&self, py: Python<'_>, start: usize, stop: Option<usize>) -> PyResult<()> {
        let (site, stop) = (site::current(py), stop.unwrap_or(self.0.len()));
        hold_back(py, runtime()?)?;
        wait(py, |_| {
            self.0.run(start..stop, site).map_err(rt::ReadError::from)
        })?;
        settle(py, runtime()?)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}

/// The names of all kernels.
#[pyfunction]
fn kernel_names() -> Vec<&'static str> {
    kernels::names().collect()
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(kernel_names, m)?)
}
