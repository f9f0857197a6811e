//! Python functions pushed on the engine: once, again and again as operators, and after a variable's
//! last user.

use crate::array::Array;
use crate::callback::{Finish, Job, OnComplete, RunContext, Work, next_number};
use crate::engine::Variable;
use crate::lane;
use crate::life::let_forks_pass;
use crate::support::convert::{context, runtime};
use crate::support::errors::{misuse, push_to_py, to_py};
use crate::support::site;
use crate::support::wait::{hold_back, settle};
use ferromix_engine as engine;
use ferromix_engine::{Device, FnProperty, Name, OpSpec, Var};
use ferromix_runtime::held::Held;
use ferromix_runtime::{Chunk, Runtime};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

fn vars(objects: &[Bound<'_, PyAny>], what: &str) -> PyResult<Vec<Var>> {
    let var = |object: &Bound<'_, PyAny>| {
        if let Ok(array) = object.cast::<Array>() {
            Ok(array.get().0.chunk().var())
        } else if let Ok(variable) = object.cast::<Variable>() {
            Ok(variable.get().var())
        } else {
            Err(PyTypeError::new_err(format!(
                "{what} must be arrays or engine variables, got {}",
                object.get_type()
            )))
        }
    };
    objects.iter().map(var).collect()
}

/// Kinds of work, as MXNet numbers them.
fn property(code: u8) -> PyResult<FnProperty> {
    Ok(match code {
        0 => FnProperty::Normal,
        1 => FnProperty::CopyFromGpu,
        2 => FnProperty::CopyToGpu,
        3 => FnProperty::CpuPrioritized,
        4 => FnProperty::Async,
        5 => FnProperty::DeleteVar,
        6 => FnProperty::GpuPrioritized,
        _ => return Err(misuse("there is no such FnProperty")),
    })
}

/// What the engine's own threads do for a function is to hand it over, at once. So nothing of that
/// waits behind kernels, whatever its kind of work; the lanes go by that.
const HAND_OVER: FnProperty = FnProperty::CpuPrioritized;

/// Whether a function takes a [`RunContext`], and whether an [`OnComplete`] after it.
type Takes = (bool, bool);

/// A Python function with what it uses, to be pushed once or many times.
struct Function {
    runtime: &'static Arc<Runtime>,
    function: Arc<Py<PyAny>>,
    takes: Takes,
    property: FnProperty,
    name: Name,
    held: Arc<Held>,
    reads: Vec<Var>,
    writes: Vec<Var>,
    /// The memory of the arrays that it may change.
    changed: Vec<Chunk>,
}

/// How one of its pushes goes.
struct Push {
    /// The user's object for the device, and the device.
    context: Py<PyAny>,
    device: Device,
    priority: i32,
    profiled: bool,
}

impl Function {
    fn new(
        function: Py<PyAny>,
        const_vars: &[Bound<'_, PyAny>],
        mutable_vars: &[Bound<'_, PyAny>],
        (takes, property): (Takes, FnProperty),
        name: &str,
    ) -> PyResult<Self> {
        let runtime = runtime()?;
        let reads = vars(const_vars, "const_vars")?;
        let writes = vars(mutable_vars, "mutable_vars")?;
        let arrays = mutable_vars.iter().filter_map(|v| v.cast::<Array>().ok());
        let changed = arrays.map(|array| array.get().0.chunk().clone()).collect();
        Ok(Function {
            runtime,
            function: Arc::new(function),
            takes,
            property,
            name: Name::intern(name),
            held: Held::new(runtime, &reads, &writes),
            reads,
            writes,
            changed,
        })
    }

    fn work(&self, py: Python<'_>, push: &Push) -> Work {
        let (takes_context, asynchronous) = self.takes;
        Work {
            function: self.function.clone(),
            context: takes_context
                .then(|| RunContext::new(push.context.clone_ref(py), push.priority, self.name)),
            asynchronous,
            held: self.held.clone(),
            turn: None,
            profiled: push.profiled,
            property: self.property,
            priority: push.priority,
            name: self.name,
            number: next_number(),
            depth: lane::depth(),
        }
    }

    fn push(&self, py: Python<'_>, push: &Push) -> PyResult<()> {
        let_forks_pass(py);
        hold_back(py, self.runtime)?;
        self.runtime.check_pushable().map_err(to_py)?;
        self.changed.iter().for_each(Chunk::note_write);
        let spec = OpSpec::new(self.name)
            .on(push.device)
            .property(HAND_OVER)
            .priority(push.priority)
            .tag(site::current(py))
            .reads(&self.reads)
            .writes(&self.writes);
        let work = self.work(py, push);
        let finish = Finish::later();
        submit(py, self.runtime, &spec, move |stream, on_complete| {
            Some(work.ready(stream, finish(on_complete)))
        })?;
        settle(py, self.runtime)
    }
}

/// Pushes an operation that hands a function over, if `job` gives one. Without the interpreter where
/// the push runs it.
fn submit(
    py: Python<'_>,
    runtime: &'static Arc<Runtime>,
    spec: &OpSpec<'_>,
    job: impl FnOnce(Option<u64>, engine::OnComplete) -> Option<Job> + Send + 'static,
) -> PyResult<()> {
    let naive = runtime.is_naive();
    let start = move |context: &engine::RunContext, on_complete| {
        if let Some(job) = job(context.stream(), on_complete) {
            hand_over(job, naive);
        }
    };
    let engine = runtime.engine();
    let done = if naive {
        py.detach(|| engine.push_async(spec, start))
    } else {
        engine.push_async(spec, start)
    };
    done.map_err(push_to_py)
}

/// Runs a function, or has its lane run it.
fn hand_over(job: Job, naive: bool) {
    if naive {
        job.run();
    } else {
        lane::of(job.work.property).submit(job);
    }
}

fn device(code: i32, id: u16) -> PyResult<Device> {
    let context = context(code, id)?;
    Ok(Device::new(context.device_type as u8, context.device_id))
}

/// What a function reads and changes, or is said to.
type Objects<'py> = Vec<Bound<'py, PyAny>>;

/// Pushes a Python function that reads and mutates what arrays and variables stand for; `takes` are
/// the arguments that it gets.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // One for each of the function in Python.
fn push(
    py: Python<'_>,
    function: Py<PyAny>,
    takes: Takes,
    context: (Py<PyAny>, i32, u16),
    const_vars: Objects<'_>,
    mutable_vars: Objects<'_>,
    prop: u8,
    priority: i32,
    name: &str,
) -> PyResult<()> {
    let kind = (takes, property(prop)?);
    let function = Function::new(function, &const_vars, &mutable_vars, kind, name)?;
    let push = Push {
        device: device(context.1, context.2)?,
        context: context.0,
        priority,
        profiled: true,
    };
    function.push(py, &push)
}

/// A function with its variables, to be pushed again and again.
#[pyclass(frozen, module = "ferromix._core")]
struct Operator(Mutex<Option<Arc<Function>>>);

#[pymethods]
impl Operator {
    #[new]
    fn new(
        function: Py<PyAny>,
        takes: Takes,
        const_vars: Objects<'_>,
        mutable_vars: Objects<'_>,
        prop: u8,
        name: &str,
    ) -> PyResult<Self> {
        let kind = (takes, property(prop)?);
        let function = Function::new(function, &const_vars, &mutable_vars, kind, name)?;
        Ok(Operator(Mutex::new(Some(Arc::new(function)))))
    }

    /// Pushes it once more; false if it was deleted.
    fn push(
        &self,
        py: Python<'_>,
        context: (Py<PyAny>, i32, u16),
        priority: i32,
        profiled: bool,
    ) -> PyResult<bool> {
        let Some(function) = self.function().clone() else {
            return Ok(false);
        };
        let push = Push {
            device: device(context.1, context.2)?,
            context: context.0,
            priority,
            profiled,
        };
        function.push(py, &push).map(|()| true)
    }

    /// Forgets the function; what was pushed still runs. False if that was so before.
    fn delete(&self) -> bool {
        let function = self.function().take();
        function.is_some()
    }
}

impl Operator {
    /// The interpreter is ours meanwhile, so that nobody waits for the lock without it.
    fn function(&self) -> std::sync::MutexGuard<'_, Option<Arc<Function>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a variable after its last user, whatever became of that; then runs a function.
#[pyfunction]
fn delete_then(
    py: Python<'_>,
    variable: &Variable,
    function: Py<PyAny>,
    takes: Takes,
    context: (Py<PyAny>, i32, u16),
    name: &str,
) -> PyResult<()> {
    let kind = (takes, FnProperty::DeleteVar);
    let function = Function::new(function, &[], &[], kind, name)?;
    let runtime = function.runtime;
    runtime.check_pushable().map_err(to_py)?;
    let push = Push {
        device: device(context.1, context.2)?,
        context: context.0,
        priority: 0,
        profiled: true,
    };
    let work = function.work(py, &push);
    let naive = runtime.is_naive();
    // An operation of its own, so that waits for all cover the function; its variable's end and its
    // own turn come in any order, and the second of them hands it over.
    let meeting = Arc::new(Mutex::new(Meeting::default()));
    let other = meeting.clone();
    let engine = runtime.engine();
    let deleted = engine.delete_variable(variable.var(), move || {
        let ready = lock(&other).ended();
        if let Some(job) = ready {
            hand_over(job, naive);
        }
    });
    deleted.map_err(push_to_py)?;
    let spec = OpSpec::new(function.name)
        .on(push.device)
        .property(HAND_OVER)
        .tag(site::current(py));
    let finish = Finish::later();
    submit(py, runtime, &spec, move |stream, on_complete| {
        lock(&meeting).arrived(work.ready(stream, finish(on_complete)))
    })?;
    settle(py, runtime)
}

/// Where a function waits for the end of a variable.
#[derive(Default)]
struct Meeting {
    ended: bool,
    job: Option<Job>,
}

impl Meeting {
    fn ended(&mut self) -> Option<Job> {
        self.ended = true;
        self.job.take()
    }

    fn arrived(&mut self, job: Job) -> Option<Job> {
        if self.ended {
            return Some(job);
        }
        self.job = Some(job);
        None
    }
}

fn lock(meeting: &Mutex<Meeting>) -> std::sync::MutexGuard<'_, Meeting> {
    meeting.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<OnComplete>()?;
    m.add_class::<RunContext>()?;
    m.add_class::<Operator>()?;
    m.add_function(wrap_pyfunction!(push, m)?)?;
    m.add_function(wrap_pyfunction!(delete_then, m)?)
}
