//! The operators of Python between arrays and numbers, so that `a + b` and `a > 1` run no Python
//! code. What an operator means, its cards and its errors, is Python's part
//! (`ferromix/ndarray/arithmetic.py`).

use crate::array::Array;
use crate::call::{Call, Outputs};
use crate::dense::{Dense, Outcome, wrap};
use crate::protocol::Frontend;
use crate::support::convert::number;
use crate::support::errors::to_py;
use crate::support::hash::Hashing;
use ferromix_base::Error;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use std::collections::HashMap;
use std::ffi::c_void;
use std::slice;
use std::sync::{Mutex, PoisonError};

/// Numbers that an operator is remembered with.
const MOST: usize = 1024;

macro_rules! operators {
    ($($(#[$doc:meta])* $variant:ident $name:literal,)*) => {
        /// The operators, as Python and `arithmetic.py` name them.
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum Operator {
            $($(#[$doc])* $variant,)*
        }

        const OPERATORS: &[(Operator, &str)] = &[$((Operator::$variant, $name),)*];
    };
}
operators! {
    Add "add",
    Sub "sub",
    Mul "mul",
    Div "div",
    Mod "mod",
    Power "power",
    Maximum "maximum",
    Minimum "minimum",
    Equal "equal",
    NotEqual "not_equal",
    Greater "greater",
    GreaterEqual "greater_equal",
    Lesser "lesser",
    LesserEqual "lesser_equal",
    LogicalAnd "logical_and",
    LogicalOr "logical_or",
    LogicalXor "logical_xor",
    /// Of one array, as the next one.
    Negative "negative",
    Abs "abs",
}

/// What `arithmetic.py` says.
pub(crate) struct Table {
    /// The class of results.
    pub(crate) class: Py<PyType>,
    /// Its constructor, which it inherits from [`Dense`].
    pub(crate) new: ffi::newfunc,
    /// Calls of arrays, by operator.
    arrays: Vec<Py<Call>>,
}

static TABLE: PyOnceLock<Table> = PyOnceLock::new();

type Key = (Operator, bool, u64);
static SCALARS: Mutex<Option<HashMap<Key, Py<Call>, Hashing>>> = Mutex::new(None);

/// Sets the table up, once: see [`Table`].
#[pyfunction]
fn set_arithmetic(
    py: Python<'_>,
    class: Py<PyType>,
    arrays: HashMap<String, Py<Call>>,
) -> PyResult<()> {
    let find = |&(_, name): &(Operator, &str)| {
        let found = arrays.get(name).map(|call| call.clone_ref(py));
        found.ok_or_else(|| PyRuntimeError::new_err(format!("there is no call for '{name}'")))
    };
    if !class.bind(py).is_subclass_of::<Dense>()? {
        return Err(PyTypeError::new_err("results must be a subclass of Dense"));
    }
    // SAFETY: a type made by a class statement has slots, and its `tp_new` has this signature.
    let new = unsafe {
        let slot = ffi::PyType_GetSlot(class.as_ptr().cast(), ffi::Py_tp_new);
        std::mem::transmute::<*mut c_void, Option<ffi::newfunc>>(slot)
    };
    let table = Table {
        class,
        new: new.ok_or_else(|| PyTypeError::new_err("results need a constructor"))?,
        arrays: OPERATORS.iter().map(find).collect::<PyResult<_>>()?,
    };
    TABLE
        .set(py, table)
        .map_err(|_| PyRuntimeError::new_err("arithmetic was set up before"))
}

pub(crate) fn table(py: Python<'_>) -> PyResult<&'static Table> {
    TABLE
        .get(py)
        .ok_or_else(|| PyRuntimeError::new_err("arithmetic is not set up yet"))
}

/// The call of an operator with a number.
fn scalar_call(
    py: Python<'_>,
    operator: Operator,
    number: f64,
    reflected: bool,
) -> PyResult<Py<Call>> {
    let key = (operator, reflected, number.to_bits());
    let known = |calls: &mut Option<HashMap<Key, Py<Call>, Hashing>>| {
        Some(calls.as_ref()?.get(&key)?.clone_ref(py))
    };
    let mut calls = SCALARS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(call) = known(&mut calls) {
        return Ok(call);
    }
    drop(calls);
    let made = py.scalar_call(operator.name(), number, reflected)?;
    let mut calls = SCALARS.lock().unwrap_or_else(PoisonError::into_inner);
    let forgotten = calls.take_if(|calls| calls.len() >= MOST);
    let table = calls.get_or_insert_default();
    let replaced = table.insert(key, made.clone_ref(py));
    drop(calls);
    drop((forgotten, replaced)); // may run Python code, so not under the lock
    Ok(made)
}

impl Operator {
    fn name(self) -> &'static str {
        OPERATORS[self as usize].1
    }

    fn find(name: &str) -> PyResult<Self> {
        let found = OPERATORS.iter().find(|row| row.1 == name);
        found
            .map(|row| row.0)
            .ok_or_else(|| PyRuntimeError::new_err(format!("there is no operator '{name}'")))
    }
}

/// `lhs (operator) rhs`, or the other way round where `reflected`.
pub(crate) fn apply<'py>(
    lhs: &Bound<'py, Dense>,
    rhs: &Bound<'py, PyAny>,
    operator: Operator,
    reflected: bool,
) -> Outcome<'py> {
    let py = lhs.py();
    match run(lhs, rhs, operator, reflected, &[])? {
        Some(result) => wrap(py, result),
        None if reflected => py.apply(operator.name(), rhs, lhs, None),
        None => py.apply(operator.name(), lhs, rhs, None),
    }
}

/// `lhs (operator)= rhs`.
pub(crate) fn apply_in_place<'py>(
    lhs: &Bound<'py, Dense>,
    rhs: &Bound<'py, PyAny>,
    operator: Operator,
) -> PyResult<()> {
    let py = lhs.py();
    if !lhs.get().writable(py) {
        return Err(to_py(Error::value(format!(
            "{}: a read-only NDArray cannot be changed in place; copy it first",
            operator.name()
        ))));
    }
    let out = slice::from_ref(lhs.get().handle(py));
    if run(lhs, rhs, operator, false, out)?.is_none() {
        py.apply(operator.name(), lhs, rhs, Some(lhs))?;
    }
    Ok(())
}

/// `lhs == rhs`, or `!=`: NotImplemented for what is no operand, which is never equal to an array.
pub(crate) fn apply_equality<'py>(
    lhs: &Bound<'py, Dense>,
    rhs: &Bound<'py, PyAny>,
    operator: Operator,
) -> Outcome<'py> {
    let py = lhs.py();
    if let Some(result) = run(lhs, rhs, operator, false, &[])? {
        return wrap(py, result);
    }
    if !py.compares(rhs)? {
        return Ok(py.NotImplemented().into_bound(py));
    }
    py.apply(operator.name(), lhs, rhs, None)
}

/// The operator of one array.
pub(crate) fn apply_alone<'py>(array: &Bound<'py, Dense>, operator: Operator) -> Outcome<'py> {
    let py = array.py();
    if !array.get().is_dense() {
        return py.apply_alone(operator.name(), array);
    }
    let call = table(py)?.arrays[operator as usize].get();
    wrap(
        py,
        only(call.run(py, &[array.get().array(py)], &[], None, &[])?)?,
    )
}

/// Runs an operator on a dense array and another one or a number; None for any other operand.
fn run<'py>(
    lhs: &Bound<'py, Dense>,
    rhs: &Bound<'py, PyAny>,
    operator: Operator,
    reflected: bool,
    out: &[Bound<'py, Array>],
) -> PyResult<Option<Bound<'py, Array>>> {
    let py = lhs.py();
    let table = table(py)?;
    if !lhs.get().is_dense() {
        return Ok(None);
    }
    let own = lhs.get().array(py);
    let results = if let Ok(other) = rhs.cast::<Dense>() {
        if !other.get().is_dense() {
            return Ok(None);
        }
        let other = other.get().array(py);
        let arrays = if reflected {
            [other, own]
        } else {
            [own, other]
        };
        table.arrays[operator as usize]
            .get()
            .run(py, &arrays, out, None, &[])
    } else if let Some(number) = number(rhs)? {
        let call = scalar_call(py, operator, number, reflected)?;
        call.get().run(py, &[own], out, None, &[])
    } else {
        return Ok(None);
    };
    only(results?).map(Some)
}

fn only(results: Outputs<'_>) -> PyResult<Bound<'_, Array>> {
    let missing = || PyRuntimeError::new_err("the operator has no output");
    results.into_iter().next().ok_or_else(missing)
}

/// What the functions are: the operator of that name, between arrays and numbers.
#[pyfunction]
fn operate<'py>(name: &str, lhs: &Bound<'py, PyAny>, rhs: &Bound<'py, PyAny>) -> Outcome<'py> {
    let operator = Operator::find(name)?;
    match (lhs.cast::<Dense>(), rhs.cast::<Dense>()) {
        (Ok(lhs), _) => apply(lhs, rhs, operator, false),
        (_, Ok(rhs)) => apply(rhs, lhs, operator, true),
        _ => lhs.py().apply(operator.name(), lhs, rhs, None),
    }
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(set_arithmetic, m)?)?;
    m.add_function(wrap_pyfunction!(operate, m)?)
}
