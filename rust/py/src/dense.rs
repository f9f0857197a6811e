//! `_core.Dense`, the base of NDArray: its array, and the slots of the type that run no Python code.

use crate::arithmetic::{Operator, apply, apply_alone, apply_equality, apply_in_place, table};
use crate::array::Array;
use crate::callback::push;
use crate::foreign::buffer;
use crate::index;
use crate::protocol::Frontend;
use crate::support::convert::{place, runtime};
use crate::support::errors::misuse;
use crate::support::site;
use crate::tape;
use ferromix_base::{DType, StorageType};
use ferromix_runtime as rt;
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyTuple;
use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;

/// What a slot gives.
pub(crate) type Outcome<'py> = PyResult<Bound<'py, PyAny>>;

thread_local! {
    /// For the constructor that [`wrap`] calls next, which so has no arguments to parse.
    static NEXT: Cell<Option<Py<Array>>> = const { Cell::new(None) };
}

/// The base of NDArray.
#[pyclass(frozen, subclass, weakref, module = "ferromix._core")]
pub(crate) struct Dense {
    /// The core's array.
    #[pyo3(get)]
    handle: Py<Array>,
    storage: StorageType,
    writable: bool,
}

impl Dense {
    pub(crate) fn handle<'a, 'py>(&'a self, py: Python<'py>) -> &'a Bound<'py, Array> {
        self.handle.bind(py)
    }

    pub(crate) fn array<'a>(&'a self, py: Python<'a>) -> &'a Array {
        self.handle.bind(py).get()
    }

    /// Whether kernels can take the array as it is. What is sparse goes by way of Python.
    pub(crate) fn is_dense(&self) -> bool {
        self.storage == StorageType::Default
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

/// New arrays of zeros, in memory of the host, by shape and element type.
#[pyfunction]
#[pyo3(signature = (descs, dev_type=1, dev_id=0))]
pub(crate) fn zeros<'py>(
    py: Python<'py>,
    descs: Vec<(Vec<usize>, PyBackedStr)>,
    dev_type: i32,
    dev_id: u16,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let (runtime, context, site) = (runtime()?, place(dev_type, dev_id)?, site::current(py));
    if !context.is_host() {
        return Err(misuse("zeros: operators make those on other devices"));
    }
    let make = |(shape, name): (Vec<usize>, PyBackedStr)| {
        rt::zeros(runtime, context, &shape, DType::from_name(&name)?, site)
    };
    let arrays = push(py, || {
        descs.into_iter().map(make).collect::<Result<Vec<_>, _>>()
    })?;
    let around = |array| wrap(py, Bound::new(py, Array::from(array))?);
    arrays.into_iter().map(around).collect()
}

#[pymethods]
impl Dense {
    /// Around `handle`; without it, around what [`wrap`] has put down.
    #[new]
    #[pyo3(signature = (handle=None, stype=None, writable=true))]
    fn new(handle: Option<Py<Array>>, stype: Option<&str>, writable: bool) -> PyResult<Self> {
        let handle = handle.or_else(|| NEXT.take());
        let missing = || PyTypeError::new_err("an NDArray needs an array of the core");
        let unknown = || PyValueError::new_err("an NDArray is default, row_sparse or csr");
        let storage = stype.map_or(Some(StorageType::Default), StorageType::from_name);
        Ok(Dense {
            handle: handle.ok_or_else(missing)?,
            storage: storage.ok_or_else(unknown)?,
            writable,
        })
    }

    /// The storage type: ``"default"``, that is dense, ``"row_sparse"`` or ``"csr"``.
    #[getter]
    fn stype(&self) -> &'static str {
        self.storage.name()
    }

    /// Whether the array may be assigned to.
    #[getter]
    pub(crate) fn writable(&self, py: Python<'_>) -> bool {
        self.writable && !self.array(py).0.chunk().is_read_only()
    }

    fn __add__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Outcome<'py> {
        apply(slf, other, Operator::Add, false)
    }

    fn __radd__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Outcome<'py> {
        apply(slf, other, Operator::Add, true)
    }

    fn __iadd__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        apply_in_place(slf, other, Operator::Add)
    }

    fn __sub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Outcome<'py> {
        apply(slf, other, Operator::Sub, false)
    }

    fn __rsub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Outcome<'py> {
        apply(slf, other, Operator::Sub, true)
    }

    fn __isub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        apply_in_place(slf, other, Operator::Sub)
    }

    fn __mul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Outcome<'py> {
        apply(slf, other, Operator::Mul, false)
    }

    fn __rmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Outcome<'py> {
        apply(slf, other, Operator::Mul, true)
    }

    fn __imul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        apply_in_place(slf, other, Operator::Mul)
    }

    fn __truediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Outcome<'py> {
        apply(slf, other, Operator::Div, false)
    }

    fn __rtruediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Outcome<'py> {
        apply(slf, other, Operator::Div, true)
    }

    fn __itruediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        apply_in_place(slf, other, Operator::Div)
    }

    fn __mod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Outcome<'py> {
        apply(slf, other, Operator::Mod, false)
    }

    fn __rmod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Outcome<'py> {
        apply(slf, other, Operator::Mod, true)
    }

    fn __imod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        apply_in_place(slf, other, Operator::Mod)
    }

    fn __pow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        modulo: &Bound<'py, PyAny>,
    ) -> Outcome<'py> {
        power(slf, other, modulo, false)
    }

    fn __rpow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        modulo: &Bound<'py, PyAny>,
    ) -> Outcome<'py> {
        power(slf, other, modulo, true)
    }

    fn __neg__<'py>(slf: &Bound<'py, Self>) -> Outcome<'py> {
        apply_alone(slf, Operator::Negative)
    }

    fn __abs__<'py>(slf: &Bound<'py, Self>) -> Outcome<'py> {
        apply_alone(slf, Operator::Abs)
    }

    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        comparison: CompareOp,
    ) -> Outcome<'py> {
        let operator = match comparison {
            CompareOp::Eq => return apply_equality(slf, other, Operator::Equal),
            CompareOp::Ne => return apply_equality(slf, other, Operator::NotEqual),
            CompareOp::Gt => Operator::Greater,
            CompareOp::Ge => Operator::GreaterEqual,
            CompareOp::Lt => Operator::Lesser,
            CompareOp::Le => Operator::LesserEqual,
        };
        apply(slf, other, operator, false)
    }

    /// By identity, as comparing gives arrays.
    fn __hash__(slf: &Bound<'_, Self>) -> usize {
        // Without the bits in which all addresses are alike.
        slf.as_ptr() as usize >> 4
    }

    /// See [`buffer::fill`].
    ///
    /// # Safety
    /// As there.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let own = slf.get();
        if !own.is_dense() {
            return Err(PyBufferError::new_err(
                "a sparse array has no buffer; take its data, or tostype('default')",
            ));
        }
        // SAFETY: the caller's promise.
        unsafe { buffer::fill(slf.as_any(), own.array(slf.py()), view, flags) }
    }

    /// See [`buffer::release`].
    ///
    /// # Safety
    /// As there.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: the caller's promise.
        unsafe { buffer::release(view) }
    }

    /// A view for a basic index that is not recorded; everything else is Python's part.
    fn __getitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> Outcome<'py> {
        let py = slf.py();
        let array = slf.get().array(py);
        if !tape::records(array)
            && slf.get().is_dense()
            && let Some(view) = index::basic(&array.0, key)?
        {
            return wrap(py, Bound::new(py, Array::from(view))?);
        }
        py.select(slf, key)
    }
}

fn power<'py>(
    lhs: &Bound<'py, Dense>,
    rhs: &Bound<'py, PyAny>,
    modulo: &Bound<'py, PyAny>,
    reflected: bool,
) -> Outcome<'py> {
    if !modulo.is_none() {
        return Ok(lhs.py().NotImplemented().into_bound(lhs.py()));
    }
    apply(lhs, rhs, Operator::Power, reflected)
}
