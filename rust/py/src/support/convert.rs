//! Values between Python and the core.

use crate::gpu;
use crate::support::errors::to_py;
use ferromix_base::{Context, DType, DeviceType, Error};
use ferromix_kernels::{Attrs, Desc, Req, Value};
use ferromix_runtime::Runtime;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};
use std::sync::Arc;

/// The process's runtime.
pub(crate) fn runtime() -> PyResult<&'static Arc<Runtime>> {
    Runtime::global().map_err(to_py)
}

/// A device by MXNet's code and its number.
pub(crate) fn context(code: i32, device_id: u16) -> PyResult<Context> {
    let device_type = match code {
        1 => DeviceType::Cpu,
        2 => DeviceType::Gpu,
        3 => DeviceType::CpuPinned,
        5 => DeviceType::CpuShared,
        _ => return Err(PyValueError::new_err(format!("no device has type {code}"))),
    };
    Ok(Context {
        device_type,
        device_id,
    })
}

/// That device, if arrays can be placed there.
pub(crate) fn place(code: i32, device_id: u16) -> PyResult<Context> {
    let context = context(code, device_id)?;
    if !context.is_host() {
        Python::attach(|py| gpu::ready(py, device_id))?;
    }
    Ok(context)
}

/// An element type by name.
pub(crate) fn dtype(name: &str) -> PyResult<DType> {
    DType::from_name(name).map_err(to_py)
}

/// What to do with an output, as MXNet numbers it.
pub(crate) fn req(code: u8) -> PyResult<Req> {
    match code {
        0 => Ok(Req::Null),
        1 => Ok(Req::Write),
        2 => Ok(Req::Inplace),
        3 => Ok(Req::Add),
        _ => Err(PyValueError::new_err(format!(
            "unknown request {code}; known: 0 to 3"
        ))),
    }
}

/// Shape and type from a pair.
pub(crate) fn desc((shape, name): (Vec<usize>, String)) -> PyResult<Desc> {
    Ok(Desc::new(&shape, dtype(&name)?))
}

/// Whether it is an int, or one of NumPy's; a bool is none.
pub(crate) fn is_int(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    static INTEGER: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if value.is_instance_of::<PyInt>() {
        return Ok(!value.is_instance_of::<PyBool>());
    }
    value.is_instance(INTEGER.import(value.py(), "numpy", "integer")?)
}

/// The value of a real number of Python or NumPy; None for anything else.
pub(crate) fn number(value: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    static FLOATING: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let is_number = value.is_instance_of::<PyFloat>()
        || value.is_instance_of::<PyInt>()
        || value.is_instance(FLOATING.import(value.py(), "numpy", "floating")?)?
        || is_int(value)?;
    let too_large = |_| to_py(Error::value("a number lies beyond the range of float64"));
    is_number
        .then(|| value.extract().map_err(too_large))
        .transpose()
}

/// The attributes of an operator from a dict; those named `dynamic` have these places.
pub(crate) fn attrs(dict: &Bound<'_, PyDict>, dynamic: &[String]) -> PyResult<Attrs> {
    let rows = dict.iter().map(|(name, v)| {
        let name = name.extract::<String>()?;
        let value = match dynamic.iter().position(|d| *d == name) {
            Some(slot) => Value::Dynamic(slot, v.extract()?),
            None => value(&v)?,
        };
        Ok((name, value))
    });
    Ok(Attrs::new(rows.collect::<PyResult<_>>()?))
}

fn value(v: &Bound<'_, PyAny>) -> PyResult<Value> {
    if v.is_none() {
        Ok(Value::None)
    } else if v.is_instance_of::<PyBool>() {
        Ok(Value::Bool(v.extract()?))
    } else if v.is_instance_of::<PyInt>() {
        Ok(Value::Int(v.extract()?))
    } else if v.is_instance_of::<PyFloat>() {
        Ok(Value::Float(v.extract()?))
    } else if v.is_instance_of::<PyString>() {
        Ok(Value::Str(v.extract()?))
    } else if v.is_instance_of::<PyTuple>() || v.is_instance_of::<PyList>() {
        v.extract()
            .map(Value::Ints)
            .or_else(|_| v.extract().map(Value::Floats))
    } else {
        Err(PyTypeError::new_err(format!(
            "a kernel cannot take an attribute of {}",
            v.get_type()
        )))
    }
}
