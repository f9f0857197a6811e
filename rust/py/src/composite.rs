//! Operators that are made of others: the calls of their parts, one after another. Each part is
//! pushed, and recorded, as if the user had called it, so that whatever holds for calls holds here.

use crate::array::Array;
use crate::call::{Arrays, Call, Outputs};
use crate::operator::Prepared;
use crate::protocol::PyDesc;
use crate::support::convert::desc;
use crate::support::errors::to_py;
use crate::tape::Recording;
use ferromix_base::Error;
use ferromix_engine::Name;
use ferromix_kernels::Desc;
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::slice;

/// What runs a card on certain inputs.
#[derive(FromPyObject)]
pub(crate) enum Work {
    Kernel(Py<Prepared>),
    Parts(Py<Composite>),
}

impl Work {
    /// Shapes and types of the inputs.
    pub(crate) fn inputs(&self) -> &[Desc] {
        match self {
            Work::Kernel(prepared) => prepared.get().inputs(),
            Work::Parts(parts) => &parts.get().inputs,
        }
    }

    /// Whether a function of a user's runs it.
    pub(crate) fn is_python(&self) -> bool {
        matches!(self, Work::Kernel(prepared) if prepared.get().is_python())
    }
}

/// The call of a part. Values are numbered: the operator's inputs first, then what parts give.
struct Part {
    call: Py<Call>,
    inputs: Vec<usize>,
    /// Values that nothing needs after it.
    last: Vec<usize>,
}

/// An operator that is made of others, for inputs of certain shapes and types.
#[pyclass(frozen, module = "ferromix._core")]
pub(crate) struct Composite {
    name: Name,
    inputs: Vec<Desc>,
    outputs: Vec<Desc>,
    parts: Vec<Part>,
    /// The values that are the outputs, each given by a part, and none twice.
    results: Vec<usize>,
    /// The output that is the first one of the last part, and so may be written where it is wanted:
    /// nothing is read any more but what that part reads.
    direct: Option<usize>,
    copy: Py<Call>,
}

type PyPart = (Py<Call>, Vec<usize>, Vec<usize>);

#[pymethods]
impl Composite {
    /// The operator `name`, for `inputs` and `outputs` of these shapes and types. Its parts are calls
    /// with the numbers of the values that they read and give; `results` are those of the outputs;
    /// `copy` is the call that copies an array.
    #[new]
    fn new(
        name: &str,
        inputs: Vec<PyDesc>,
        outputs: Vec<PyDesc>,
        parts: Vec<PyPart>,
        results: Vec<usize>,
        copy: Py<Call>,
    ) -> PyResult<Self> {
        let mut known = inputs.len();
        for (_, reads, gives) in &parts {
            let numbers = known..known + gives.len();
            if reads.iter().any(|&v| v >= known) || !gives.iter().copied().eq(numbers) {
                return Err(unordered(name));
            }
            known += gives.len();
        }
        let given = inputs.len()..known;
        if results.len() != outputs.len() || !results.iter().all(|v| given.contains(v)) {
            return Err(unordered(name));
        }
        let final_output = parts.last().and_then(|(_, _, gives)| gives.first());
        let direct = results.iter().position(|v| Some(v) == final_output);
        Ok(Composite {
            name: Name::intern(name),
            inputs: inputs.into_iter().map(desc).collect::<PyResult<_>>()?,
            outputs: outputs.into_iter().map(desc).collect::<PyResult<_>>()?,
            parts: with_last_uses(parts, given.start, &results),
            results,
            direct,
            copy,
        })
    }
}

/// The parts, with the values that may be let go of after each.
fn with_last_uses(parts: Vec<PyPart>, inputs: usize, results: &[usize]) -> Vec<Part> {
    let mut seen: Vec<usize> = results.to_vec();
    let mut found: Vec<Part> = parts
        .into_iter()
        .rev()
        .map(|(call, reads, gives)| {
            let mut last = Vec::new();
            for &value in reads.iter().chain(&gives) {
                if value >= inputs && !seen.contains(&value) {
                    seen.push(value);
                    last.push(value);
                }
            }
            Part {
                call,
                inputs: reads,
                last,
            }
        })
        .collect();
    found.reverse();
    found
}

impl Composite {
    /// Pushes all parts, and gives the outputs: the arrays of `out` first, which are overwritten,
    /// then new ones.
    pub(crate) fn run<'py>(
        &self,
        py: Python<'py>,
        inputs: &[&Array],
        out: &[Bound<'py, Array>],
        is_train: Option<bool>,
    ) -> PyResult<Outputs<'py>> {
        self.check(inputs, out)?;
        let mut values: SmallVec<[Option<Bound<'py, Array>>; 8]> = SmallVec::new();
        for (place, part) in self.parts.iter().enumerate() {
            let array = |&value: &usize| match value.checked_sub(inputs.len()) {
                None => inputs.get(value).copied(),
                Some(made) => values.get(made)?.as_ref().map(Bound::get),
            };
            let arrays: Option<Arrays<'_>> = part.inputs.iter().map(array).collect();
            let arrays = arrays.ok_or_else(|| unordered(&self.name.to_string()))?;
            let direct = self.direct.filter(|_| place + 1 == self.parts.len());
            let target = direct
                .and_then(|k| out.get(k))
                .map_or(&[][..], slice::from_ref);
            let found = part.call.get().run(py, &arrays, target, is_train, &[])?;
            drop(arrays);
            values.extend(found.into_iter().map(Some));
            for &value in &part.last {
                values[value - inputs.len()] = None;
            }
        }
        let mut results = Outputs::new();
        for (k, &value) in self.results.iter().enumerate() {
            let made = values[value - inputs.len()].take();
            let made = made.ok_or_else(|| unordered(&self.name.to_string()))?;
            match out.get(k) {
                Some(target) if !target.is(&made) => {
                    let copy = self.copy.get();
                    copy.run(py, &[made.get()], slice::from_ref(target), is_train, &[])?;
                    results.push(target.clone());
                }
                _ => results.push(made),
            }
        }
        Ok(results)
    }

    /// Sees that the arrays of `out` can take the outputs, before anything is run.
    fn check(&self, inputs: &[&Array], out: &[Bound<'_, Array>]) -> PyResult<()> {
        if out.is_empty() {
            return Ok(());
        }
        for (k, (target, wanted)) in out.iter().zip(&self.outputs).enumerate() {
            let target = &target.get().0;
            if target.shape() != &wanted.shape[..] || target.dtype() != wanted.dtype {
                return Err(to_py(Error::value(format!(
                    "operator {}: output {k} must be {} {:?}, got {} {:?}",
                    self.name,
                    wanted.dtype,
                    &wanted.shape[..],
                    target.dtype(),
                    target.shape()
                ))));
            }
        }
        let written: SmallVec<[_; 2]> = out.iter().map(|target| Some(target.get())).collect();
        Recording::start(self.name, inputs, &written).map(drop)
    }
}

fn unordered(name: &str) -> PyErr {
    to_py(Error::internal(format!(
        "operator {name}: its parts do not follow from each other"
    )))
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Composite>()
}
