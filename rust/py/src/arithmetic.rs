//! `_core.Dense`, the base of NDArray: its array, and the operators of Python between arrays and
//! numbers, so that `a + b` runs no Python code. What an operator means, its cards and its errors,
//! is Python's part (`ferromix/ndarray/arithmetic.py`), which sets the table up.

use crate::array::Array;
use crate::call::Call;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyFloat, PyInt, PyTuple, PyType};
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// Numbers that an operator is remembered with.
const MOST: usize = 1024;

/// The operators, as Python and `arithmetic.py` name them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Power,
}

const OPERATORS: [(Operator, &str); 6] = [
    (Operator::Add, "add"),
    (Operator::Sub, "sub"),
    (Operator::Mul, "mul"),
    (Operator::Div, "div"),
    (Operator::Mod, "mod"),
    (Operator::Power, "power"),
];

/// What `arithmetic.py` says.
struct Table {
    /// The class of results.
    class: Py<PyType>,
    /// Its constructor, which it inherits from [`Dense`].
    new: ffi::newfunc,
    /// `apply(name, lhs, rhs, out)` for whatever is not in the table.
    apply: Py<PyAny>,
    /// `scalar(name, number, reflected)` gives the call of an operator with a number.
    scalar: Py<PyAny>,
    /// Calls of two arrays, by operator.
    arrays: [Py<Call>; OPERATORS.len()],
}

static TABLE: PyOnceLock<Table> = PyOnceLock::new();

thread_local! {
    /// For the constructor that [`wrap`] calls next, which so has no arguments to parse.
    static NEXT: Cell<Option<Py<Array>>> = const { Cell::new(None) };
}

type Key = (Operator, bool, u64);
static SCALARS: Mutex<Option<HashMap<Key, Py<Call>>>> = Mutex::new(None);

/// Sets the table up, once: see [`Table`].
#[pyfunction]
fn set_arithmetic(
    py: Python<'_>,
    class: Py<PyType>,
    apply: Py<PyAny>,
    scalar: Py<PyAny>,
    arrays: HashMap<String, Py<Call>>,
) -> PyResult<()> {
    let find = |(_, name): (Operator, &str)| {
        let found = arrays.get(name).map(|call| call.clone_ref(py));
        found.ok_or_else(|| PyRuntimeError::new_err(format!("there is no call for '{name}'")))
    };
    let [add, sub, mul, div, modulo, power] = OPERATORS.map(find);
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
        apply,
        scalar,
        arrays: [add?, sub?, mul?, div?, modulo?, power?],
    };
    TABLE
        .set(py, table)
        .map_err(|_| PyRuntimeError::new_err("arithmetic was set up before"))
}

fn table(py: Python<'_>) -> PyResult<&'static Table> {
    TABLE
        .get(py)
        .ok_or_else(|| PyRuntimeError::new_err("arithmetic is not set up yet"))
}

/// The base of NDArray.
#[pyclass(frozen, subclass, weakref, module = "ferromix._core")]
pub(crate) struct Dense {
    /// The core's array.
    #[pyo3(get)]
    handle: Py<Array>,
}

impl Dense {
    pub(crate) fn handle<'a, 'py>(&'a self, py: Python<'py>) -> &'a Bound<'py, Array> {
        self.handle.bind(py)
    }

    pub(crate) fn array<'a>(&'a self, py: Python<'a>) -> &'a Array {
        self.handle.bind(py).get()
    }
}

/// The call of an operator with a number.
fn scalar_call(
    py: Python<'_>,
    table: &Table,
    operator: Operator,
    number: f64,
    reflected: bool,
) -> PyResult<Py<Call>> {
    let key = (operator, reflected, number.to_bits());
    let known =
        |calls: &mut Option<HashMap<Key, Py<Call>>>| Some(calls.as_ref()?.get(&key)?.clone_ref(py));
    let mut calls = SCALARS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(call) = known(&mut calls) {
        return Ok(call);
    }
    drop(calls);
    let made = table
        .scalar
        .call1(py, (operator.name(), number, reflected))?;
    let made: Py<Call> = made.extract(py)?;
    let mut calls = SCALARS.lock().unwrap_or_else(PoisonError::into_inner);
    let forgotten = calls.take_if(|calls| calls.len() >= MOST);
    calls
        .get_or_insert_with(HashMap::new)
        .insert(key, made.clone_ref(py));
    drop(calls);
    drop(forgotten); // may run Python code, so not under the lock
    Ok(made)
}

impl Operator {
    fn name(self) -> &'static str {
        OPERATORS[self as usize].1
    }
}

/// The value of a Python number; None for anything else, NumPy's included.
fn number(value: &Bound<'_, PyAny>) -> Option<f64> {
    let exact = value.is_exact_instance_of::<PyFloat>() || value.is_exact_instance_of::<PyInt>();
    exact.then(|| value.extract().ok()).flatten()
}

type Outcome<'py> = PyResult<Bound<'py, PyAny>>;

/// `lhs (operator) rhs`, or the other way round, into `lhs` itself if so wanted.
fn apply<'py>(
    lhs: &Bound<'py, Dense>,
    rhs: &Bound<'py, PyAny>,
    operator: Operator,
    reflected: bool,
    in_place: bool,
) -> Outcome<'py> {
    let py = lhs.py();
    let table = table(py)?;
    let own = lhs.get().handle.bind(py);
    let other = rhs.cast::<Dense>().ok();
    let call = match (other, number(rhs)) {
        (Some(_), _) => table.arrays[operator as usize].clone_ref(py),
        (None, Some(number)) => scalar_call(py, table, operator, number, reflected)?,
        (None, None) => {
            let out = in_place.then_some(lhs);
            let (a, b) = if reflected {
                (rhs, lhs.as_any())
            } else {
                (lhs.as_any(), rhs)
            };
            return table.apply.bind(py).call1((operator.name(), a, b, out));
        }
    };
    let arrays = [
        own.get(),
        other.map_or(own, |o| o.get().handle.bind(py)).get(),
    ];
    let count = if other.is_some() { 2 } else { 1 };
    let out = if in_place {
        std::slice::from_ref(own)
    } else {
        &[]
    };
    let results = call.get().run(py, &arrays[..count], out, None)?;
    match results.into_iter().next() {
        _ if in_place => Ok(lhs.clone().into_any()),
        Some(result) => wrap(py, result),
        None => Err(PyRuntimeError::new_err("the operator has no output")),
    }
}

/// The NDArray around an array.
pub(crate) fn wrap<'py>(py: Python<'py>, array: Bound<'py, Array>) -> Outcome<'py> {
    let table = table(py)?;
    NEXT.set(Some(array.unbind()));
    let new = table.new;
    let nothing = PyTuple::empty(py);
    // SAFETY: the interpreter is attached, `new` is the slot of this class, and what it returns is a
    // new reference, or null with an exception set.
    unsafe {
        let made = new(
            table.class.as_ptr().cast(),
            nothing.as_ptr(),
            ptr::null_mut(),
        );
        Bound::from_owned_ptr_or_err(py, made)
    }
}

#[pymethods]
impl Dense {
    /// Around `handle`; without it, around what [`wrap`] has put down.
    #[new]
    #[pyo3(signature = (handle=None))]
    fn new(handle: Option<Py<Array>>) -> PyResult<Self> {
        let handle = handle.or_else(|| NEXT.take());
        let missing = || PyTypeError::new_err("an NDArray needs an array of the core");
        Ok(Dense {
            handle: handle.ok_or_else(missing)?,
        })
    }

    fn __add__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Outcome<'py> {
        apply(slf, other, Operator::Add, false, false)
    }

    fn __radd__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Outcome<'py> {
        apply(slf, other, Operator::Add, true, false)
    }

    fn __iadd__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        apply(slf, other, Operator::Add, false, true).map(drop)
    }

    fn __sub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Outcome<'py> {
        apply(slf, other, Operator::Sub, false, false)
    }

    fn __rsub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Outcome<'py> {
        apply(slf, other, Operator::Sub, true, false)
    }

    fn __isub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        apply(slf, other, Operator::Sub, false, true).map(drop)
    }

    fn __mul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Outcome<'py> {
        apply(slf, other, Operator::Mul, false, false)
    }

    fn __rmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Outcome<'py> {
        apply(slf, other, Operator::Mul, true, false)
    }

    fn __imul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        apply(slf, other, Operator::Mul, false, true).map(drop)
    }

    fn __truediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Outcome<'py> {
        apply(slf, other, Operator::Div, false, false)
    }

    fn __rtruediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Outcome<'py> {
        apply(slf, other, Operator::Div, true, false)
    }

    fn __itruediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        apply(slf, other, Operator::Div, false, true).map(drop)
    }

    fn __mod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Outcome<'py> {
        apply(slf, other, Operator::Mod, false, false)
    }

    fn __rmod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Outcome<'py> {
        apply(slf, other, Operator::Mod, true, false)
    }

    fn __imod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        apply(slf, other, Operator::Mod, false, true).map(drop)
    }
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(set_arithmetic, m)?)
}
