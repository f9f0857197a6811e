//! What `mx.nd.X` is: finds the call that belongs to what a user passed. Python works that out once
//! for each call signature (`signature.rs`).

use crate::array::Array;
use crate::call::{Arrays, Call};
use crate::dense::{Dense, Outcome, wrap};
use crate::protocol::Frontend;
use crate::signature::{Arguments, Dynamic, Seen, Signature, Signatures};
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use smallvec::SmallVec;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

/// What is behind an operator's function.
#[pyclass(frozen, module = "ferromix._core")]
struct Function {
    module: Py<PyString>,
    /// The class of its cards.
    operator: Py<PyAny>,
    dynamic: Vec<Dynamic>,
    /// How many positional arguments are inputs and attributes; None where all are.
    takes: Option<usize>,
    /// Call signatures that it remembers.
    most: usize,
    signatures: Signatures,
}

#[pymethods]
impl Function {
    /// What the callable is an attribute of, so that it can be pickled: its module.
    fn __reduce__(&self, py: Python<'_>) -> PyResult<(Py<PyAny>, (Py<PyString>,))> {
        let import = py.import("importlib")?.getattr("import_module")?;
        Ok((import.unbind(), (self.module.clone_ref(py),)))
    }
}

type Passed<'a, 'py> = SmallVec<[&'a Bound<'py, Dense>; 4]>;

/// The function `name` of `module`, which runs the operator of a class of cards on what the user passes, into `out=` if
/// that is given: the visible output, or a list of them; `name=` is ignored. Both may also follow the
/// positional arguments that are inputs and attributes, of which there are `takes`. `doc` is the signature
/// with the documentation, as CPython has them in one. `dynamic` are the names of the dynamic
/// attributes, with their places among the positional arguments, and whether they are ints; `most` is
/// how many call signatures it remembers.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn function<'py>(
    py: Python<'py>,
    name: CString,
    module: &Bound<'py, PyString>,
    doc: CString,
    operator: Py<PyAny>,
    dynamic: Vec<Dynamic>,
    takes: Option<usize>,
    most: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let signatures = Signatures::default();
    let function = Function {
        module: module.clone().unbind(),
        operator,
        dynamic,
        takes,
        most,
        signatures,
    };
    let function = Bound::new(py, function)?;
    // There are as many functions as operators, and they live as long as the process.
    let definition = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: name.into_raw(),
        ml_meth: ffi::PyMethodDefPointer {
            PyCFunctionFastWithKeywords: entry,
        },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: doc.into_raw(),
    }));
    // SAFETY: the definition is never freed, the callable takes references to the other two, and
    // what is returned is a new reference, or null with an exception set.
    unsafe {
        let made = ffi::PyCFunction_NewEx(definition, function.as_ptr(), module.as_ptr());
        Bound::from_owned_ptr_or_err(py, made)
    }
}

/// What CPython calls, with a [`Function`], arguments, and a tuple of names for the last of them or
/// null; all are borrowed.
unsafe extern "C" fn entry(
    function: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    positional: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    Python::attach(|py| {
        let call = || {
            // SAFETY: CPython passes a tuple or null.
            let names = unsafe { Bound::from_borrowed_ptr_or_opt(py, names) };
            let names = names.map(Bound::cast_into::<PyTuple>).transpose()?;
            // SAFETY: so many arguments with and without names are there until the call ends, and
            // `Bound` is transparent; `function` is what the definition was made with.
            let (function, values) = unsafe {
                let count = positional as usize + names.as_ref().map_or(0, PyTupleMethods::len);
                let values: &[Bound<'_, PyAny>] = match count {
                    0 => &[],
                    _ => slice::from_raw_parts(args.cast(), count),
                };
                (Bound::ref_from_ptr(py, &function), values)
            };
            let arguments = Arguments::new(values, names);
            function.cast::<Function>()?.get().call(py, &arguments)
        };
        // No panic may pass into C.
        let outcome = catch_unwind(AssertUnwindSafe(call))
            .unwrap_or_else(|_| Err(PyRuntimeError::new_err("the call of an operator panicked")));
        outcome.map_or_else(
            |error| {
                error.restore(py);
                ptr::null_mut()
            },
            Bound::into_ptr,
        )
    })
}

impl Function {
    fn call<'py>(&self, py: Python<'py>, arguments: &Arguments<'_, 'py>) -> Outcome<'py> {
        if let Some(takes) = self.takes
            && let Some((values, names)) = arguments.with_results_named(py, takes)?
        {
            return self.call(py, &Arguments::new(&values, Some(names)));
        }
        let seen = arguments.look(&self.dynamic)?;
        let out = seen.out.map(|place| &arguments.values()[place]);
        if let Some(signature) = self.signatures.find(arguments, &seen)
            && !out.is_some_and(is_sparse)
        {
            let array = |&place: &usize| Ok(arguments.values()[place].cast::<Dense>()?);
            let inputs: Passed<'_, 'py> = signature
                .order()
                .iter()
                .map(array)
                .collect::<PyResult<_>>()?;
            return run(py, signature.call(), &inputs, out, &seen);
        }
        let (args, kwargs) = arguments.to_python(py, &seen)?;
        if seen.sparse || out.is_some_and(is_sparse) {
            return py.call_sparse(&self.operator, args, kwargs, out);
        }
        let Some((call, inputs)) = py.resolve(&self.operator, args.clone(), kwargs.clone())? else {
            return py.call_sparse(&self.operator, args, kwargs, out);
        };
        let result = run(
            py,
            call.get(),
            &inputs.iter().collect::<Passed<'_, 'py>>(),
            out,
            &seen,
        )?;
        if let Some(signature) = Signature::new(arguments, &seen, call, &inputs) {
            self.signatures.remember(&seen, signature, self.most);
        }
        Ok(result)
    }
}

fn run<'py>(
    py: Python<'py>,
    call: &Call,
    inputs: &[&Bound<'py, Dense>],
    out: Option<&Bound<'py, PyAny>>,
    seen: &Seen,
) -> Outcome<'py> {
    let given: SmallVec<[Bound<'py, Dense>; 1]> = match out.filter(|out| !out.is_none()) {
        None => SmallVec::new(),
        Some(out) => match out.cast::<Dense>() {
            Ok(array) => std::iter::once(array.clone()).collect(),
            Err(_) => several(out).map_err(|_| call.no_arrays(out))?,
        },
    };
    let arrays: Arrays<'_> = inputs.iter().map(|a| a.get().array(py)).collect();
    let handles: SmallVec<[Bound<'py, Array>; 1]> =
        given.iter().map(|a| a.get().handle(py).clone()).collect();
    let results = call.run(py, &arrays, &handles, None, &seen.scalars)?;
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

/// Whether `out` is a sparse array, or has one among several.
fn is_sparse(out: &Bound<'_, PyAny>) -> bool {
    let sparse = |array: &Bound<'_, Dense>| !array.get().is_dense();
    match out.cast::<Dense>() {
        Ok(array) => sparse(array),
        Err(_) => several(out).is_ok_and(|all| all.iter().any(sparse)),
    }
}

fn several<'py>(out: &Bound<'py, PyAny>) -> PyResult<SmallVec<[Bound<'py, Dense>; 1]>> {
    out.try_iter()?.map(|a| Ok(a?.cast_into()?)).collect()
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(function, m)?)
}
