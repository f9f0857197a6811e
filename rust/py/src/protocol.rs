//! What the core asks of Python, all of it. Cards are Python's part, and so is whatever a user
//! passes that no fast path knows. Every question is a method of [`Frontend`], and a function of that
//! name in `ferromix/ndarray/protocol.py`, which is installed once, when the package is imported.
//!
//! Answers may run any Python code: no lock may be held while one is asked for.

use crate::array::Array;
use crate::call::Call;
use crate::composite::Work;
use crate::dense::{Dense, Outcome};
use crate::tape::{Program, Reads, Trace};
use ferromix_base::Context;
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule, PyString, PyTuple};

/// Shape and name of the element type of an array.
pub(crate) type PyDesc = (Vec<usize>, String);

/// How to run a card on certain inputs.
pub(crate) type Answer = (
    // The kernel, or the calls that the card is made of.
    Work,
    // Its outputs, hidden ones included.
    Vec<PyDesc>,
    // The inputs that it changes.
    Vec<usize>,
    // The request for those.
    u8,
    // Pairs of input and output that may share memory.
    Vec<(usize, usize)>,
);

/// A call, and the arrays for it in order.
pub(crate) type Resolved<'py> = (Py<Call>, Vec<Bound<'py, Dense>>);

/// The questions.
pub(crate) trait Frontend<'py> {
    /// The kernel for a card and inputs of these shapes and types on a device, and how to run it. Asked
    /// once for each combination of a [`Call`].
    fn prepare(
        self,
        card: &Py<PyAny>,
        inputs: Bound<'py, PyTuple>,
        is_train: bool,
        device: Context,
    ) -> PyResult<Answer>;

    /// The inputs and the outputs whose values the gradient rule of a card reads. Asked at the first
    /// recorded run of a prepared operator.
    fn gradient_reads(self, card: &Py<PyAny>) -> PyResult<Reads>;

    /// The program of a backward pass from the heads of a trace to its variables `wanted`, whose
    /// gradients are added to what is there where `adds` says so. With `create_graph` all outputs of all
    /// steps are given. Asked once for each structure that is recorded.
    fn backward_program(
        self,
        trace: &Bound<'py, Trace>,
        wanted: &[usize],
        adds: &[bool],
        create_graph: bool,
    ) -> PyResult<Program>;

    /// Runs a card that Python runs, and records the run where the thread records.
    fn run_card(
        self,
        card: &Py<PyAny>,
        inputs: Vec<Bound<'py, Array>>,
    ) -> PyResult<Vec<Bound<'py, Array>>>;

    /// The call that belongs to what a user passed to the function of an operator, and the arrays for
    /// it in order; none where the result is sparse, which `call_sparse` gives. Asked once for each call
    /// signature.
    fn resolve(
        self,
        operator: &Py<PyAny>,
        args: Bound<'py, PyTuple>,
        kwargs: Bound<'py, PyDict>,
    ) -> PyResult<Option<Resolved<'py>>>;

    /// What an operator gives where an argument or `out` is sparse.
    fn call_sparse(
        self,
        operator: &Py<PyAny>,
        args: Bound<'py, PyTuple>,
        kwargs: Bound<'py, PyDict>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> Outcome<'py>;

    /// The call of an arithmetic operator with a number on its right, or on its left if `reflected`.
    fn scalar_call(self, operator: &str, number: f64, reflected: bool) -> PyResult<Py<Call>>;

    /// Whether comparing an array with `value` for equality is more than "no".
    fn compares(self, value: &Bound<'py, PyAny>) -> PyResult<bool>;

    /// An arithmetic operator on operands that the fast path does not know, or the error for them.
    fn apply(
        self,
        operator: &str,
        lhs: &Bound<'py, PyAny>,
        rhs: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, Dense>>,
    ) -> Outcome<'py>;

    /// An arithmetic operator of one sparse array.
    fn apply_alone(self, operator: &str, array: &Bound<'py, Dense>) -> Outcome<'py>;

    /// Looks for a driver of GPUs and loads it; how many GPUs there are. Asked until there is one.
    fn load_gpus(self) -> PyResult<usize>;

    /// Makes a GPU ready for arrays. Asked once for each.
    fn open_gpu(self, number: u16) -> PyResult<()>;

    /// `array[key]` where that is no view, or is recorded.
    fn select(self, array: &Bound<'py, Dense>, key: &Bound<'py, PyAny>) -> Outcome<'py>;
}

/// The names of the methods above, each of which Python must answer.
const QUESTIONS: &[&str] = &[
    "prepare",
    "gradient_reads",
    "backward_program",
    "run_card",
    "resolve",
    "call_sparse",
    "scalar_call",
    "compares",
    "apply",
    "apply_alone",
    "load_gpus",
    "open_gpu",
    "select",
];

static ANSWERS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// Says who answers, once: the module that has a function for each question.
#[pyfunction]
fn install(py: Python<'_>, answers: &Bound<'_, PyModule>) -> PyResult<()> {
    for question in QUESTIONS {
        answers.getattr(*question)?;
    }
    ANSWERS
        .set(py, answers.clone().unbind())
        .map_err(|_| PyRuntimeError::new_err("the core's questions are answered already"))
}

fn ask<'py>(
    py: Python<'py>,
    question: &Bound<'py, PyString>,
    arguments: impl PyCallArgs<'py>,
) -> Outcome<'py> {
    let missing = || PyRuntimeError::new_err("import ferromix before you use its core");
    let answers = ANSWERS.get(py).ok_or_else(missing)?;
    answers.bind(py).getattr(question)?.call1(arguments)
}

impl<'py> Frontend<'py> for Python<'py> {
    fn prepare(
        self,
        card: &Py<PyAny>,
        inputs: Bound<'py, PyTuple>,
        is_train: bool,
        device: Context,
    ) -> PyResult<Answer> {
        let device = (device.device_type as i32, device.device_id);
        let arguments = (card, inputs, is_train, device);
        ask(self, intern!(self, "prepare"), arguments)?.extract()
    }

    fn gradient_reads(self, card: &Py<PyAny>) -> PyResult<Reads> {
        let (inputs, outputs) = ask(self, intern!(self, "gradient_reads"), (card,))?.extract()?;
        Ok(Reads { inputs, outputs })
    }

    fn backward_program(
        self,
        trace: &Bound<'py, Trace>,
        wanted: &[usize],
        adds: &[bool],
        create_graph: bool,
    ) -> PyResult<Program> {
        let question = intern!(self, "backward_program");
        ask(self, question, (trace, wanted, adds, create_graph))?.extract()
    }

    fn run_card(
        self,
        card: &Py<PyAny>,
        inputs: Vec<Bound<'py, Array>>,
    ) -> PyResult<Vec<Bound<'py, Array>>> {
        ask(self, intern!(self, "run_card"), (card, inputs))?.extract()
    }

    fn resolve(
        self,
        operator: &Py<PyAny>,
        args: Bound<'py, PyTuple>,
        kwargs: Bound<'py, PyDict>,
    ) -> PyResult<Option<Resolved<'py>>> {
        ask(self, intern!(self, "resolve"), (operator, args, kwargs))?.extract()
    }

    fn call_sparse(
        self,
        operator: &Py<PyAny>,
        args: Bound<'py, PyTuple>,
        kwargs: Bound<'py, PyDict>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> Outcome<'py> {
        let question = intern!(self, "call_sparse");
        ask(self, question, (operator, args, kwargs, out))
    }

    fn scalar_call(self, operator: &str, number: f64, reflected: bool) -> PyResult<Py<Call>> {
        let arguments = (operator, number, reflected);
        Ok(ask(self, intern!(self, "scalar_call"), arguments)?.extract()?)
    }

    fn compares(self, value: &Bound<'py, PyAny>) -> PyResult<bool> {
        ask(self, intern!(self, "compares"), (value,))?.is_truthy()
    }

    fn apply(
        self,
        operator: &str,
        lhs: &Bound<'py, PyAny>,
        rhs: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, Dense>>,
    ) -> Outcome<'py> {
        ask(self, intern!(self, "apply"), (operator, lhs, rhs, out))
    }

    fn apply_alone(self, operator: &str, array: &Bound<'py, Dense>) -> Outcome<'py> {
        ask(self, intern!(self, "apply_alone"), (operator, array))
    }

    fn load_gpus(self) -> PyResult<usize> {
        ask(self, intern!(self, "load_gpus"), ())?.extract()
    }

    fn open_gpu(self, number: u16) -> PyResult<()> {
        ask(self, intern!(self, "open_gpu"), (number,)).map(|_| ())
    }

    fn select(self, array: &Bound<'py, Dense>, key: &Bound<'py, PyAny>) -> Outcome<'py> {
        ask(self, intern!(self, "select"), (array, key))
    }
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(install, m)?)
}
