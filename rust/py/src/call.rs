//! Operators as they are called: a card with its attributes is asked once for each combination of
//! shapes and types; from then on a call runs without it.

use crate::array::Array;
use crate::convert::{desc, req, runtime};
use crate::errors::to_py;
use crate::operator::{Prepared, Run};
use crate::tape;
use ferromix_base::{Context, Error};
use ferromix_kernels::{Desc, Req};
use ferromix_runtime as rt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, PoisonError};

/// Combinations of shapes and types that an operator remembers; the one used longest ago is
/// forgotten.
const MOST: usize = 64;

/// The arrays of a call.
pub(crate) type Arrays<'a> = SmallVec<[&'a Array; 4]>;
/// What a call gives, hidden outputs included.
pub(crate) type Outputs<'py> = SmallVec<[Bound<'py, Array>; 2]>;

/// What the card says for some shapes and types.
struct Entry {
    is_train: bool,
    prepared: Py<Prepared>,
    outputs: Vec<Desc>,
    /// Inputs that are changed, and the request for them.
    changed: Vec<usize>,
    change: Req,
    /// Inputs and outputs that may share memory.
    in_place: Vec<(usize, usize)>,
}

impl Entry {
    fn fits(&self, inputs: &[&Array], is_train: bool) -> bool {
        let wanted = self.prepared.get().prepared().inputs();
        self.is_train == is_train
            && wanted.len() == inputs.len()
            && wanted
                .iter()
                .zip(inputs)
                .all(|(desc, a)| desc.dtype == a.0.dtype() && desc.shape[..] == *a.0.shape())
    }
}

/// A card, ready to be called.
#[pyclass(frozen, module = "ferromix._core")]
pub(crate) struct Call {
    card: Py<PyAny>,
    name: String,
    uses_train_mode: bool,
    visible: usize,
    /// Asks the card.
    prepare: Py<PyAny>,
    /// Those used last in front.
    entries: Mutex<Vec<Arc<Entry>>>,
}

type Answer = (
    Py<Prepared>,
    Vec<(Vec<usize>, String)>,
    Vec<usize>,
    u8,
    Vec<(usize, usize)>,
);

#[pymethods]
impl Call {
    /// `prepare(card, inputs, is_train)` gives, for pairs of shape and type, the prepared operator,
    /// shapes and types of its outputs, the inputs that it changes, the request for those, and the
    /// pairs of input and output that may share memory.
    #[new]
    fn new(
        card: Py<PyAny>,
        name: String,
        uses_train_mode: bool,
        visible: usize,
        prepare: Py<PyAny>,
    ) -> Self {
        Call {
            card,
            name,
            uses_train_mode,
            visible,
            prepare,
            entries: Mutex::default(),
        }
    }

    /// Pushes one run, and gives its outputs, hidden ones included: the arrays of `out` first, which
    /// are overwritten, then new ones. `is_train` is what autograd says, if it is not given.
    #[pyo3(signature = (inputs, out=Vec::new(), is_train=None))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        inputs: Vec<PyRef<'py, Array>>,
        out: Vec<Bound<'py, Array>>,
        is_train: Option<bool>,
    ) -> PyResult<Vec<Bound<'py, Array>>> {
        let inputs: Arrays<'_> = inputs.iter().map(|a| &**a).collect();
        self.run(py, &inputs, &out, is_train, &[])
            .map(SmallVec::into_vec)
    }
}

impl Call {
    /// How many of the outputs a user sees.
    pub(crate) fn visible(&self) -> usize {
        self.visible
    }

    /// See `__call__`; `scalars` are this run's values of dynamic attributes, by place.
    pub(crate) fn run<'py>(
        &self,
        py: Python<'py>,
        inputs: &[&Array],
        out: &[Bound<'py, Array>],
        is_train: Option<bool>,
        scalars: &[(usize, f64)],
    ) -> PyResult<Outputs<'py>> {
        let is_train = is_train.unwrap_or_else(|| self.uses_train_mode && tape::is_training());
        let entry = self.find(py, inputs, is_train)?;
        let mut results: Outputs<'py> = out.iter().cloned().collect();
        let Some(missing) = entry.outputs.get(out.len()..) else {
            return Err(self.too_many(entry.outputs.len(), out.len()));
        };
        let runtime = runtime()?;
        for Desc { shape, dtype } in missing {
            let array = rt::Array::on(runtime, Context::cpu(), shape, *dtype).map_err(to_py)?;
            results.push(Bound::new(py, Array::from(array))?);
        }
        let mut reqs: SmallVec<[Req; 4]> = SmallVec::from_elem(Req::Write, results.len());
        for &(input, output) in &entry.in_place {
            let shares = |given: &Bound<'_, Array>| std::ptr::eq(given.get(), inputs[input]);
            if out.get(output).is_some_and(shares) {
                reqs[output] = Req::Inplace;
            }
        }
        let mut outputs: SmallVec<[Option<&Array>; 4]> = SmallVec::new();
        for output in &results {
            outputs.push(Some(output.get()));
        }
        for &changed in &entry.changed {
            outputs.push(Some(inputs[changed]));
            reqs.push(entry.change);
        }
        let run = Run {
            inputs,
            outputs: &outputs,
            reqs: &reqs,
            scalars,
        };
        run.push(entry.prepared.bind(py))?;
        drop(outputs);
        Ok(results)
    }

    fn find(&self, py: Python<'_>, inputs: &[&Array], is_train: bool) -> PyResult<Arc<Entry>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = entries.iter().position(|e| e.fits(inputs, is_train)) {
            entries[..=place].rotate_right(1);
            return Ok(entries[0].clone());
        }
        drop(entries);
        let entry = Arc::new(self.ask(py, inputs, is_train)?);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = (entries.len() == MOST).then(|| entries.pop());
        entries.insert(0, entry.clone());
        drop(entries);
        drop(oldest); // may run Python code, so not under the lock
        Ok(entry)
    }

    fn ask(&self, py: Python<'_>, inputs: &[&Array], is_train: bool) -> PyResult<Entry> {
        let described = inputs
            .iter()
            .map(|a| Ok((PyTuple::new(py, a.0.shape())?, a.0.dtype().name())))
            .collect::<PyResult<Vec<_>>>()?;
        let described = PyTuple::new(py, described)?;
        let answer = self.prepare.call1(py, (&self.card, described, is_train))?;
        let (prepared, outputs, changed, change, in_place): Answer = answer.extract(py)?;
        if changed.iter().any(|&i| i >= inputs.len())
            || in_place.iter().any(|p| p.0 >= inputs.len())
        {
            return Err(to_py(Error::internal(format!(
                "operator {}: its card names an input that it does not have",
                self.name
            ))));
        }
        Ok(Entry {
            is_train,
            prepared,
            outputs: outputs.into_iter().map(desc).collect::<PyResult<_>>()?,
            changed,
            change: req(change)?,
            in_place,
        })
    }

    /// What was given as `out` is no array, nor several.
    pub(crate) fn no_arrays(&self, out: &Bound<'_, PyAny>) -> PyErr {
        PyTypeError::new_err(format!(
            "{}: out must be an NDArray, or a list of them, got {out:?}",
            self.name
        ))
    }

    fn too_many(&self, outputs: usize, given: usize) -> PyErr {
        to_py(Error::value(format!(
            "{}: has {outputs} outputs, got {given} arrays for them",
            self.name
        )))
    }
}
