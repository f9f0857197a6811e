//! `_core.Function`, what is behind each `mx.nd.X`: finds the call that belongs to what a user
//! passed. Python works that out once for each way of passing it (which arguments are arrays, and
//! the values of all others).

use crate::array::Array;
use crate::call::{Arrays, Call};
use crate::dense::{Dense, wrap};
use pyo3::PyTypeInfo;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use smallvec::SmallVec;

/// Ways of calling that a function remembers.
const MOST: usize = 4096;

/// An operator's function.
#[pyclass(frozen, module = "ferromix._core")]
pub(crate) struct Function {
    /// `resolve(args, kwargs)` gives the call, and the arrays for it in order.
    resolve: Py<PyAny>,
    known: Py<PyDict>,
}

/// A way of calling.
#[pyclass(frozen, module = "ferromix._core")]
struct Known {
    call: Py<Call>,
    /// Which of the arrays passed, by place, are the inputs.
    order: SmallVec<[usize; 4]>,
}

type Passed<'py> = SmallVec<[Bound<'py, Dense>; 4]>;

#[pymethods]
impl Function {
    #[new]
    fn new(py: Python<'_>, resolve: Py<PyAny>) -> Self {
        Function {
            resolve,
            known: PyDict::new(py).unbind(),
        }
    }

    /// Runs the operator on what the user passed, into `out` if that is not None: the visible
    /// output, or a list of them.
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = args.py();
        let mut passed = Passed::new();
        let key = key(args, kwargs, &mut passed)?;
        // What cannot be hashed is looked at each time.
        let known = self.known.bind(py);
        let found = match known.get_item(&key) {
            Err(e) if e.is_instance_of::<PyTypeError>(py) => None,
            found => Some(found?),
        };
        if let Some(Some(found)) = &found {
            let found = found.cast::<Known>()?.get();
            let inputs = found.order.iter().map(|&place| passed[place].clone());
            return run(py, found.call.get(), &inputs.collect::<Passed<'_>>(), out);
        }
        let resolved = self.resolve.bind(py).call1((args, kwargs))?;
        let (call, inputs): (Py<Call>, Vec<Bound<'py, Dense>>) = resolved.extract()?;
        let result = run(py, call.get(), &inputs, out)?;
        if let (Some(_), Some(order)) = (found, order(&passed, &inputs)) {
            if known.len() >= MOST {
                known.clear();
            }
            known.set_item(key, Known { call, order }.into_pyobject(py)?)?;
        }
        Ok(result)
    }
}

/// What tells one way of calling from others: arrays by their type, all else by type and value.
/// Collects the arrays.
fn key<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
    passed: &mut Passed<'py>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = args.py();
    let mut parts: SmallVec<[Bound<'py, PyAny>; 12]> = SmallVec::new();
    let mut add = |value: Bound<'py, PyAny>| match value.cast_into::<Dense>() {
        Ok(array) => {
            passed.push(array);
            parts.push(Dense::type_object(py).into_any());
        }
        Err(other) => {
            let value = other.into_inner();
            parts.push(value.get_type().into_any());
            parts.push(value);
        }
    };
    args.iter().for_each(&mut add);
    for (name, value) in kwargs {
        add(name);
        add(value);
    }
    PyTuple::new(py, parts)
}

/// The places of `inputs` among the arrays passed; None where that is not certain.
fn order(passed: &[Bound<'_, Dense>], inputs: &[Bound<'_, Dense>]) -> Option<SmallVec<[usize; 4]>> {
    let twice = (1..passed.len()).any(|k| passed[..k].iter().any(|a| a.is(&passed[k])));
    let place = |input: &Bound<'_, Dense>| passed.iter().position(|a| a.is(input));
    (!twice)
        .then(|| inputs.iter().map(place).collect())
        .flatten()
}

fn run<'py>(
    py: Python<'py>,
    call: &Call,
    inputs: &[Bound<'py, Dense>],
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let given: Passed<'py> = match out {
        None => Passed::new(),
        Some(out) => match out.cast::<Dense>() {
            Ok(array) => std::iter::once(array.clone()).collect(),
            Err(_) => out
                .try_iter()?
                .map(|a| Ok(a?.cast_into()?))
                .collect::<PyResult<_>>()?,
        },
    };
    let arrays: Arrays<'_> = inputs.iter().map(|a| a.get().array(py)).collect();
    let handles: SmallVec<[Bound<'py, Array>; 2]> =
        given.iter().map(|a| a.get().handle(py).clone()).collect();
    let results = call.run(py, &arrays, &handles, None)?;
    let mut visible = results.into_iter().take(call.visible()).enumerate();
    let mut next = || {
        let (place, handle) = visible.next()?;
        Some(match given.get(place) {
            Some(array) => Ok(array.clone().into_any()),
            None => wrap(py, handle),
        })
    };
    if call.visible() == 1
        && let Some(only) = next()
    {
        return only;
    }
    let all = std::iter::from_fn(next).collect::<PyResult<Vec<_>>>()?;
    Ok(PyList::new(py, all)?.into_any())
}
