//! GPUs as Python sees them: the driver, devices, and operators that launch kernels there.

use crate::array::Array;
use crate::callback::push;
use crate::protocol::Frontend;
use crate::support::convert::{desc, dtype, runtime};
use crate::support::errors::to_py;
use crate::support::site;
use crate::tape;
use ferromix_base::Error;
use ferromix_runtime::gpu::{
    Arg, Collective, Convolution, ConvolutionPlan, Launch, Problem, Product, Recipe, Sentence,
    Step, Way, among_devices,
};
use ferromix_runtime::{self as rt};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::PathBuf;
use std::sync::Arc;

/// Loads the driver of GPUs from a library, unless there is one; how many GPUs there are.
#[pyfunction]
fn gpu_install(py: Python<'_>, driver: PathBuf) -> PyResult<usize> {
    let runtime = runtime()?;
    let loaded = py.detach(|| runtime.install_gpus(&driver).map(rt::gpu::Gpus::count));
    loaded.map_err(to_py)
}

/// How many GPUs there are; the first time it looks for a driver.
#[pyfunction]
fn gpu_count(py: Python<'_>) -> PyResult<usize> {
    match runtime()?.existing_gpus() {
        Some(gpus) => Ok(gpus.count()),
        None => py.load_gpus(),
    }
}

/// The name of a GPU, the version of its instructions, how many multiprocessors it has, and CUDA's
/// version that the driver is for, such as 12040.
#[pyfunction]
fn gpu_properties(py: Python<'_>, number: u16) -> PyResult<(String, (i32, i32), i32, i32)> {
    let gpus = runtime()?.gpus().map_err(to_py)?;
    let found = py.detach(|| gpus.properties(number)).map_err(to_py)?;
    Ok((found.name, found.capability, found.processors, found.driver))
}

/// Free and total bytes of a GPU's memory.
#[pyfunction]
fn gpu_memory_info(py: Python<'_>, number: u16) -> PyResult<(usize, usize)> {
    gpu_count(py)?;
    let gpus = runtime()?.gpus().map_err(to_py)?;
    py.detach(|| gpus.memory_info(number)).map_err(to_py)
}

/// Sets the kernels that copy on a GPU: the types of source and target, and the function. The first
/// call for a GPU counts.
#[pyfunction]
fn gpu_set_copies(number: u16, copies: Vec<(String, String, usize)>) -> PyResult<()> {
    let copies = copies
        .iter()
        .map(|(from, to, function)| Ok((dtype(from)?, dtype(to)?, *function)))
        .collect::<PyResult<Vec<_>>>()?;
    let gpus = runtime()?.gpus().map_err(to_py)?;
    gpus.set_copies(number, &copies).map_err(to_py)
}

/// Sees to it that arrays can be made on a GPU.
pub(crate) fn ready(py: Python<'_>, number: u16) -> PyResult<()> {
    let gpus = runtime()?.existing_gpus();
    match gpus.is_some_and(|gpus| gpus.is_ready(number)) {
        true => Ok(()),
        false => py.open_gpu(number),
    }
}

/// Loads the library of matrix products for GPUs, unless there is one; whether it may round float32 to
/// tf32.
#[pyfunction]
fn gpu_install_blas(py: Python<'_>, library: PathBuf, tf32: bool) -> PyResult<()> {
    let gpus = runtime()?.gpus().map_err(to_py)?;
    py.detach(|| gpus.install_blas(&library, tf32))
        .map_err(to_py)
}

/// Loads the library of sums among GPUs, unless there is one.
#[pyfunction]
fn gpu_install_collectives(py: Python<'_>, library: PathBuf) -> PyResult<()> {
    let gpus = runtime()?.gpus().map_err(to_py)?;
    py.detach(|| gpus.install_collectives(&library))
        .map_err(to_py)
}

/// Loads the library of convolutions for GPUs, unless there is one; whether it may round float32 to tf32,
/// and use Winograd's way.
#[pyfunction]
fn gpu_install_convolutions(
    py: Python<'_>,
    library: PathBuf,
    tf32: bool,
    winograd: bool,
) -> PyResult<()> {
    let gpus = runtime()?.gpus().map_err(to_py)?;
    py.detach(|| gpus.install_convolutions(&library, (tf32, winograd)))
        .map_err(to_py)
}

/// How the library of convolutions does something.
#[pyclass(frozen, module = "ferromix._core")]
pub(crate) struct GpuConvolution(Arc<ConvolutionPlan>);

#[pymethods]
impl GpuConvolution {
    /// Bytes of temporary memory that it takes.
    #[getter]
    fn workspace(&self) -> usize {
        self.0.workspace
    }

    fn __repr__(&self) -> String {
        format!("<{:?}>", self.0)
    }
}

/// How the library of convolutions does what is asked for: `way` is `""`, `"data_"` or `"weight_"`, for the
/// output and the gradients; shapes are those of data, weights and output, steps are strides, dilations
/// and paddings. It times its algorithms where `timed`, and else guesses. None where it does not, in so many
/// bytes of temporary memory.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // the parts of a problem
fn gpu_plan_convolution(
    py: Python<'_>,
    number: u16,
    way: &str,
    of: &str,
    shapes: [Vec<usize>; 3],
    steps: [Vec<usize>; 3],
    groups: usize,
    timed: bool,
    room: usize,
) -> PyResult<Option<GpuConvolution>> {
    let problem = Problem {
        way: match way {
            "data_" => Way::Data,
            "weight_" => Way::Weight,
            _ => Way::Forward,
        },
        dtype: dtype(of)?,
        shapes,
        steps,
        groups,
        timed,
    };
    let gpus = runtime()?.gpus().map_err(to_py)?;
    let plan = py.detach(|| gpus.plan_convolution(number, problem, room));
    Ok(plan
        .map_err(to_py)?
        .map(|plan| GpuConvolution(Arc::new(plan))))
}

/// Pushes the sum of arrays, one on each of several GPUs, into one on one of these.
#[pyfunction]
fn reduce_on_gpus(py: Python<'_>, parts: Vec<PyRef<'_, Array>>, whole: &Array) -> PyResult<()> {
    tape::require_unrecorded(whole, "_reduce_devices")?;
    whole.0.chunk().note_write();
    among(py, Collective::Reduce, &parts, whole)
}

/// Pushes copies of an array on a GPU into others, one on each of several GPUs, of which it is on one.
#[pyfunction]
fn broadcast_on_gpus(py: Python<'_>, whole: &Array, parts: Vec<PyRef<'_, Array>>) -> PyResult<()> {
    for part in &parts {
        tape::require_unrecorded(part, "_broadcast_devices")?;
        part.0.chunk().note_write();
    }
    among(py, Collective::Broadcast, &parts, whole)
}

fn among(
    py: Python<'_>,
    what: Collective,
    parts: &[PyRef<'_, Array>],
    whole: &Array,
) -> PyResult<()> {
    let site = site::current(py);
    let parts: Vec<rt::Array> = parts.iter().map(|part| part.0.clone()).collect();
    push(py, || among_devices(what, &parts, &whole.0, site))
}

/// One launch.
#[derive(FromPyObject)]
pub(crate) enum PyLaunch<'py> {
    /// Function, blocks, threads, bytes of shared memory, arguments.
    Kernel(usize, [u32; 3], [u32; 3], u32, Vec<Bound<'py, PyTuple>>),
    /// Factors, whether each is flipped, where products go, whose request counts, type, batch, extents,
    /// whether it adds, workspace, whether each factor is the same in all pairs.
    #[allow(clippy::type_complexity)] // the fields of a product, in their order
    Product(
        [Bound<'py, PyTuple>; 2],
        [bool; 2],
        Bound<'py, PyTuple>,
        Option<usize>,
        String,
        usize,
        [usize; 3],
        bool,
        usize,
        [bool; 2],
    ),
    /// How, operands, where the result goes, whose request counts, whether it adds.
    Convolution(
        PyRef<'py, GpuConvolution>,
        [Bound<'py, PyTuple>; 2],
        Bound<'py, PyTuple>,
        usize,
        bool,
    ),
}

/// The launches of an operator.
pub(crate) struct Launches<'py> {
    pub(crate) number: u16,
    pub(crate) launches: Vec<PyLaunch<'py>>,
    pub(crate) temporary: usize,
    pub(crate) strided: bool,
    pub(crate) random: bool,
    /// Kinds of errors, and what these say.
    pub(crate) refusals: Vec<(String, String)>,
}

type Descs = Vec<(Vec<usize>, String)>;

/// What launches kernels for an operator.
pub(crate) fn prepared(
    operator: &str,
    what: Launches<'_>,
    inputs: Descs,
    outputs: Descs,
    scalars: Vec<f64>,
) -> PyResult<Arc<rt::Prepared>> {
    let launches = what.launches.iter().map(launch);
    let launches = launches.collect::<PyResult<Vec<_>>>()?;
    let inputs = inputs.into_iter().map(desc).collect::<PyResult<Vec<_>>>()?;
    let outputs = outputs
        .into_iter()
        .map(desc)
        .collect::<PyResult<Vec<_>>>()?;
    let counts = (inputs.len(), outputs.len(), scalars.len());
    let gpus = runtime()?.gpus().map_err(to_py)?;
    let (temporary, kind) = (what.temporary, (what.strided, what.random));
    let sentences = what.refusals.into_iter();
    let sentences = sentences.map(|(kind, text)| Sentence::new(&kind, text));
    let recipe = sentences.collect::<Result<_, _>>().and_then(|sentences| {
        Recipe::new(
            gpus,
            what.number,
            launches,
            temporary,
            kind,
            counts,
            sentences,
        )
    });
    let within = |e: Error| to_py(e.within(format_args!("operator {operator}")));
    let recipe = recipe.map_err(within)?;
    Ok(rt::Prepared::on_gpu(
        operator, recipe, inputs, outputs, scalars,
    ))
}

fn launch(given: &PyLaunch<'_>) -> PyResult<Step> {
    Ok(match given {
        PyLaunch::Kernel(function, grid, block, shared, args) => Step::Kernel(Launch {
            function: *function,
            grid: *grid,
            block: *block,
            shared: *shared,
            args: args.iter().map(arg).collect::<PyResult<_>>()?,
        }),
        PyLaunch::Product([a, b], flips, out, req, of, batch, extents, adds, workspace, shared) => {
            Step::Product(Product {
                factors: [arg(a)?, arg(b)?],
                flips: *flips,
                out: arg(out)?,
                req: *req,
                dtype: dtype(of)?,
                batch: *batch,
                extents: *extents,
                adds: *adds,
                workspace: *workspace,
                shared: *shared,
            })
        }
        PyLaunch::Convolution(plan, [a, b], out, req, adds) => Step::Convolution(Convolution {
            plan: plan.0.clone(),
            operands: [arg(a)?, arg(b)?],
            out: arg(out)?,
            req: *req,
            adds: *adds,
        }),
    })
}

/// What `dispatch/recipe.py` says that an argument is.
fn arg(given: &Bound<'_, PyTuple>) -> PyResult<Arg> {
    let (kind, value): (String, Bound<'_, PyAny>) = given.extract()?;
    let several = || -> PyResult<Vec<Arg>> {
        let parts: Vec<Bound<'_, PyTuple>> = value.extract()?;
        parts.iter().map(arg).collect()
    };
    Ok(match kind.as_str() {
        "input" => Arg::Input(value.extract()?),
        "output" => Arg::Output(value.extract()?),
        "workspace" => Arg::Temporary(value.extract()?),
        "behind" => {
            let (of, bytes): (Bound<'_, PyTuple>, usize) = value.extract()?;
            Arg::Behind(Box::new(arg(&of)?), bytes)
        }
        "bytes" => Arg::Bytes(value.extract::<Vec<u8>>()?.into()),
        "dynamic" => Arg::Dynamic(value.extract()?),
        "req" => Arg::Req(value.extract()?),
        "draws" => Arg::Draws,
        "refusal" => Arg::Refusal,
        "walk" => Arg::Walk(several()?),
        "struct" => Arg::Struct(several()?),
        other => {
            return Err(PyValueError::new_err(format!(
                "an argument of a kernel cannot be '{other}'"
            )));
        }
    })
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(gpu_install, m)?)?;
    m.add_function(wrap_pyfunction!(gpu_install_blas, m)?)?;
    m.add_function(wrap_pyfunction!(gpu_install_collectives, m)?)?;
    m.add_function(wrap_pyfunction!(gpu_install_convolutions, m)?)?;
    m.add_function(wrap_pyfunction!(gpu_plan_convolution, m)?)?;
    m.add_class::<GpuConvolution>()?;
    m.add_function(wrap_pyfunction!(reduce_on_gpus, m)?)?;
    m.add_function(wrap_pyfunction!(broadcast_on_gpus, m)?)?;
    m.add_function(wrap_pyfunction!(gpu_count, m)?)?;
    m.add_function(wrap_pyfunction!(gpu_properties, m)?)?;
    m.add_function(wrap_pyfunction!(gpu_memory_info, m)?)?;
    m.add_function(wrap_pyfunction!(gpu_set_copies, m)?)
}
