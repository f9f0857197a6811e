//! `_core.Prepared` and `_core.Plan`: operators for fixed shapes, and bound graphs of them.

mod maker;
mod plan;

pub(crate) use maker::Maker;
pub(crate) use plan::Plan;

use crate::array::Array;
use crate::callback::push;
use crate::gpu;
use crate::lane::PythonRun;
use crate::protocol::Frontend;
use crate::support::convert::{attrs, desc, req, runtime};
use crate::support::errors::to_py;
use crate::support::memory::attached;
use crate::support::site;
use crate::tape::{Reads, Recording};
use ferromix_base::{DType, Error};
use ferromix_engine::Name;
use ferromix_kernels::{self as kernels, Req};
use ferromix_runtime as rt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What computes an operator.
enum Work {
    Kernel(Arc<rt::Prepared>),
    /// A callable of Python, for inputs and outputs such as these; see [`PythonRun`].
    Python(Py<PyAny>, Vec<kernels::Desc>, Vec<kernels::Desc>),
}

/// A kernel, or a function of Python, prepared for attributes, shapes and element types.
#[pyclass(frozen, module = "ferromix._core")]
pub(crate) struct Prepared {
    work: Work,
    pub(crate) name: Name,
    card: Option<Py<PyAny>>,
    reads: OnceLock<Reads>,
    /// How many of the inputs it changes: its last outputs.
    changed: usize,
    binding: BindingCache,
}

impl Prepared {
    /// Whether a function of a user's runs it.
    pub(crate) fn is_python(&self) -> bool {
        matches!(self.work, Work::Python(..))
    }

    /// What errors call it.
    pub(crate) fn name(&self) -> Name {
        self.name
    }

    /// Shapes and types of the inputs.
    pub(crate) fn inputs(&self) -> &[kernels::Desc] {
        match &self.work {
            Work::Kernel(prepared) => prepared.inputs(),
            Work::Python(_, inputs, _) => inputs,
        }
    }

    /// Around a kernel of the operator `operator`, which changes so many inputs.
    pub(crate) fn around(
        kernel: Arc<rt::Prepared>,
        operator: &str,
        changed: usize,
        card: Option<Py<PyAny>>,
    ) -> Self {
        Prepared {
            work: Work::Kernel(kernel),
            name: Name::intern(operator),
            changed,
            card,
            reads: OnceLock::new(),
            binding: BindingCache::default(),
        }
    }

    /// Shapes and types of the outputs, and of the inputs that it changes.
    pub(crate) fn outputs(&self) -> &[kernels::Desc] {
        match &self.work {
            Work::Kernel(prepared) => prepared.outputs(),
            Work::Python(_, _, outputs) => outputs,
        }
    }

    /// The operator's card.
    pub(crate) fn card(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.card.as_ref().map(|card| card.clone_ref(py))
    }

    /// What the gradient rule reads, which is found out at the first recorded run.
    pub(crate) fn reads(&self, py: Python<'_>) -> PyResult<&Reads> {
        if let Some(reads) = self.reads.get() {
            return Ok(reads);
        }
        let Some(card) = &self.card else {
            return Err(to_py(Error::value(format!(
                "operator {}: cannot be recorded, as it was prepared without its card",
                self.name
            ))));
        };
        let reads = py.gradient_reads(card)?;
        Ok(self.reads.get_or_init(|| reads))
    }
}

fn bind(
    prepared: &Arc<rt::Prepared>,
    name: Name,
    inputs: &[&Array],
    outputs: &[Option<&Array>],
    reqs: &[Req],
) -> PyResult<Arc<rt::Binding>> {
    attached(|| rt::Binding::new(prepared, name, inputs, outputs, reqs)).map_err(to_py)
}

/// The binding of the last run, to be bound to the arrays of the next one.
#[derive(Default)]
pub(crate) struct BindingCache(Mutex<Option<Arc<rt::Binding>>>);

impl BindingCache {
    fn take(&self) -> Option<Arc<rt::Binding>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, bound: Arc<rt::Binding>) {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(bound);
    }
}

/// One run of a prepared operator.
pub(crate) struct Run<'a> {
    pub(crate) inputs: &'a [&'a Array],
    /// Last those inputs that it changes.
    pub(crate) outputs: &'a [Option<&'a Array>],
    pub(crate) reqs: &'a [Req],
    /// Its values of dynamic attributes, by place.
    pub(crate) scalars: &'a [(usize, f64)],
}

impl Run<'_> {
    fn bind(
        &self,
        prepared: &Arc<rt::Prepared>,
        name: Name,
        cache: &BindingCache,
    ) -> Result<Arc<rt::Binding>, Error> {
        let &Run {
            inputs,
            outputs,
            reqs,
            scalars,
        } = self;
        if let Some(mut bound) = cache.take()
            && rt::Binding::rebind(&mut bound, inputs, outputs, reqs, scalars)?
        {
            return Ok(bound);
        }
        rt::Binding::with_scalars(prepared, name, inputs, outputs, reqs, scalars)
    }

    /// Pushes it on behalf of the line `site`, and records it where this thread records and an input
    /// is on the tape.
    pub(crate) fn push(&self, prepared: &Bound<'_, Prepared>, site: u64) -> PyResult<()> {
        let (py, me) = (prepared.py(), prepared.get());
        let last = self.outputs.len().saturating_sub(me.changed);
        let (written, changed) = self.outputs.split_at(last);
        let recording = Recording::start(me.name, self.inputs, written)?;
        match &me.work {
            Work::Kernel(kernel) => {
                let cache = &me.binding;
                let bound = attached(|| self.bind(kernel, me.name, cache)).map_err(to_py)?;
                let runtime = runtime()?;
                self.note_writes();
                push(py, || bound.push(runtime, site))?;
                cache.put(bound);
            }
            Work::Python(function, inputs, outputs) => {
                let operator = me.name.to_string();
                let given = self.inputs.iter().map(|a| Some(&a.0));
                rt::check(&operator, "input", inputs, given).map_err(to_py)?;
                let given = self.outputs.iter().map(|a| a.map(|a| &a.0));
                rt::check(&operator, "output", outputs, given).map_err(to_py)?;
                let bound = PythonRun::new(py, function, me.name, self)?;
                self.note_writes();
                bound.push_from(py, site)?;
            }
        }
        recording.map_or(Ok(()), |r| {
            r.finish(prepared, self.inputs, written, changed, site)
        })
    }

    /// Announces the writes.
    fn note_writes(&self) {
        for (output, req) in self.outputs.iter().zip(self.reqs) {
            if let (Some(output), true) = (output, *req != Req::Null) {
                output.0.chunk().note_write();
            }
        }
    }
}

/// The arrays of a Python call.
fn given<'a>(arrays: &'a [PyRef<'_, Array>]) -> SmallVec<[&'a Array; 4]> {
    arrays.iter().map(|a| &**a).collect()
}

fn given_or_none<'a>(arrays: &'a [Option<PyRef<'_, Array>>]) -> SmallVec<[Option<&'a Array>; 4]> {
    arrays.iter().map(Option::as_deref).collect()
}

fn requests(codes: &[u8]) -> PyResult<SmallVec<[Req; 4]>> {
    codes.iter().map(|&code| req(code)).collect()
}

#[pymethods]
impl Prepared {
    /// Prepares the kernel `row` of the operator `operator`; shapes and types come as pairs.
    ///
    /// The attributes named `dynamic` may differ from run to run, which gives them by their places
    /// here. The last `changed` outputs are inputs that the operator changes. Without its `card`, runs
    /// cannot be recorded.
    #[new]
    #[pyo3(signature = (operator, row, attributes, inputs, outputs, changed=0, card=None,
                        dynamic=Vec::new()))]
    #[allow(clippy::too_many_arguments)] // they come from Python by name
    fn new(
        operator: &str,
        row: &str,
        attributes: &Bound<'_, PyDict>,
        inputs: Vec<(Vec<usize>, String)>,
        outputs: Vec<(Vec<usize>, String)>,
        changed: usize,
        card: Option<Py<PyAny>>,
        dynamic: Vec<String>,
    ) -> PyResult<Self> {
        let inputs = inputs.into_iter().map(desc).collect::<PyResult<_>>()?;
        let outputs = outputs.into_iter().map(desc).collect::<PyResult<_>>()?;
        let attrs = attrs(attributes, &dynamic)?;
        let prepared = rt::Prepared::new(operator, row, &attrs, inputs, outputs);
        let kernel = prepared.map_err(to_py)?;
        Ok(Prepared::around(kernel, operator, changed, card))
    }

    /// Launches on GPU `number` as the operator `operator`: function, blocks, threads and arguments of
    /// each, which share `temporary` bytes. Without `strided` the arrays come without gaps. Runs take random
    /// numbers, of which they may draw none, if they are `random`. `refusals` are
    /// kinds of errors and sentences, by the codes that kernels give. `scalars` are the dynamic attributes
    /// of runs that bring none.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)] // they come from Python by name
    fn gpu(
        operator: &str,
        number: u16,
        launches: Vec<gpu::PyLaunch<'_>>,
        temporary: usize,
        strided: bool,
        random: bool,
        refusals: Vec<(String, String)>,
        inputs: Vec<(Vec<usize>, String)>,
        outputs: Vec<(Vec<usize>, String)>,
        changed: usize,
        card: Option<Py<PyAny>>,
        scalars: Vec<f64>,
    ) -> PyResult<Self> {
        let what = gpu::Launches {
            number,
            launches,
            temporary,
            strided,
            random,
            refusals,
        };
        let prepared = gpu::prepared(operator, what, inputs, outputs, scalars)?;
        Ok(Prepared {
            work: Work::Kernel(prepared),
            name: Name::intern(operator),
            changed,
            card,
            reads: OnceLock::new(),
            binding: BindingCache::default(),
        })
    }

    /// The function of Python `bind` as the operator `operator`. It is called with the arrays of the
    /// inputs and of the outputs, None for those that nobody wants, and the requests; it gives a
    /// callable without arguments, which runs as an operation on them, in a plan again and again,
    /// and the variables that this changes besides.
    #[staticmethod]
    fn python(
        operator: &str,
        bind: Py<PyAny>,
        inputs: Vec<(Vec<usize>, String)>,
        outputs: Vec<(Vec<usize>, String)>,
        changed: usize,
        card: Py<PyAny>,
    ) -> PyResult<Self> {
        let inputs = inputs.into_iter().map(desc).collect::<PyResult<_>>()?;
        let outputs = outputs.into_iter().map(desc).collect::<PyResult<_>>()?;
        Ok(Prepared {
            work: Work::Python(bind, inputs, outputs),
            name: Name::intern(operator),
            changed,
            card: Some(card),
            reads: OnceLock::new(),
            binding: BindingCache::default(),
        })
    }

    /// Whether a run takes random numbers.
    #[getter]
    fn random(&self) -> bool {
        matches!(&self.work, Work::Kernel(prepared) if prepared.is_random())
    }

    /// Pushes one run, and records it where this thread records and an input is on the tape.
    /// `reqs` holds 0 (null), 1 (write), 2 (in place) or 3 (add) for each output.
    fn invoke(
        slf: &Bound<'_, Self>,
        inputs: Vec<PyRef<'_, Array>>,
        outputs: Vec<Option<PyRef<'_, Array>>>,
        reqs: Vec<u8>,
    ) -> PyResult<()> {
        let run = Run {
            inputs: &given(&inputs),
            outputs: &given_or_none(&outputs),
            reqs: &requests(&reqs)?,
            scalars: &[],
        };
        run.push(slf, site::current(slf.py()))
    }

    /// Records a run whose outputs are views of its input, without running anything.
    fn record(
        slf: &Bound<'_, Self>,
        inputs: Vec<PyRef<'_, Array>>,
        outputs: Vec<Option<PyRef<'_, Array>>>,
    ) -> PyResult<()> {
        let (inputs, outputs) = (given(&inputs), given_or_none(&outputs));
        let recording = Recording::start_view(&inputs);
        let site = site::current(slf.py());
        recording.map_or(Ok(()), |r| r.finish(slf, &inputs, &outputs, &[], site))
    }
}

/// The names of all kernels.
#[pyfunction]
fn kernel_names() -> Vec<&'static str> {
    kernels::names().collect()
}

/// The names of the kernels that draw random numbers.
#[pyfunction]
fn random_kernels() -> Vec<&'static str> {
    kernels::rows()
        .filter(|r| r.random)
        .map(|r| r.name)
        .collect()
}

/// The names of the kernels that go element by element.
#[pyfunction]
fn pointwise_kernels() -> Vec<&'static str> {
    let rows = kernels::rows().filter(|r| r.pointwise);
    rows.map(|r| r.name).collect()
}

/// The channels that lie side by side where convolutions of a type have results in blocks of them; else 0.
///
/// # Errors
/// A name of no type.
#[pyfunction]
fn channel_block(dtype: &str) -> PyResult<usize> {
    Ok(kernels::channel_block(
        DType::from_name(dtype).map_err(to_py)?,
    ))
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Maker>()?;
    m.add_function(wrap_pyfunction!(kernel_names, m)?)?;
    m.add_function(wrap_pyfunction!(channel_block, m)?)?;
    m.add_function(wrap_pyfunction!(random_kernels, m)?)?;
    m.add_function(wrap_pyfunction!(pointwise_kernels, m)?)
}
