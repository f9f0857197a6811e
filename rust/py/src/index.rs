//! Basic indexing: ints, slices, None and `...` become an offset and strides.

use crate::support::convert::is_int;
use crate::support::errors::to_py;
use ferromix_base::{Shape, Strides};
use ferromix_runtime as rt;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PySlice, PyTuple};
use smallvec::SmallVec;
use std::cell::Cell;

thread_local! {
    /// Whether the thread's shapes are NumPy's.
    static NP_SHAPE: Cell<bool> = const { Cell::new(false) };
}

/// Sets whether the thread's shapes are NumPy's, so that a single element has the shape `()`; returns
/// what was set before.
#[pyfunction]
fn set_np_shape(active: bool) -> bool {
    NP_SHAPE.replace(active)
}

/// Whether the thread's shapes are NumPy's.
#[pyfunction]
fn is_np_shape() -> bool {
    NP_SHAPE.get()
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(set_np_shape, m)?)?;
    m.add_function(wrap_pyfunction!(is_np_shape, m)?)
}

/// One part of an index.
enum Part<'a, 'py> {
    At(isize),
    Range(&'a Bound<'py, PySlice>),
    NewAxis,
    Rest,
}

type Parts<'a, 'py> = SmallVec<[Part<'a, 'py>; 4]>;

/// The view that `key` selects, of shape `(1,)` for a single element, as in MXNet outside of
/// `np_shape`; None where the
/// index is not a basic one.
pub(crate) fn basic(array: &rt::Array, key: &Bound<'_, PyAny>) -> PyResult<Option<rt::Array>> {
    let Ok(tuple) = key.cast::<PyTuple>() else {
        let Some(part) = part(key)? else {
            return Ok(None);
        };
        return view(array, &[part]).map(Some);
    };
    let keys: SmallVec<[Bound<'_, PyAny>; 4]> = tuple.iter().collect();
    let mut parts = Parts::new();
    for key in &keys {
        let Some(part) = part(key)? else {
            return Ok(None);
        };
        parts.push(part);
    }
    view(array, &parts).map(Some)
}

fn part<'a, 'py>(key: &'a Bound<'py, PyAny>) -> PyResult<Option<Part<'a, 'py>>> {
    Ok(if let Ok(range) = key.cast::<PySlice>() {
        Some(Part::Range(range))
    } else if key.is_none() {
        Some(Part::NewAxis)
    } else if key.is_instance_of::<PyEllipsis>() {
        Some(Part::Rest)
    } else if is_int(key)? {
        let outside = |_| PyIndexError::new_err(format!("index {key} is out of range"));
        Some(Part::At(key.extract().map_err(outside)?))
    } else {
        None
    })
}

fn view(array: &rt::Array, parts: &[Part<'_, '_>]) -> PyResult<rt::Array> {
    let rest = rest(array, parts)?;
    let mut axes = array.shape().iter().zip(array.strides()).enumerate();
    let (mut offset, mut shape, mut strides) = (0, Shape::new(), Strides::new());
    let spelled_out = parts.iter().any(|part| matches!(part, Part::Rest));
    for part in parts.iter().chain((!spelled_out).then_some(&Part::Rest)) {
        match part {
            Part::NewAxis => {
                shape.push(1);
                strides.push(0);
            }
            Part::Rest => {
                for (_, (&extent, &stride)) in axes.by_ref().take(rest) {
                    shape.push(extent);
                    strides.push(stride);
                }
            }
            Part::At(at) => {
                for (axis, (&extent, &stride)) in axes.by_ref().take(1) {
                    offset += position(*at, extent, axis)? * stride;
                }
            }
            Part::Range(range) => {
                for (_, (&extent, &stride)) in axes.by_ref().take(1) {
                    let found = range.indices(extent as isize)?;
                    shape.push(found.slicelength);
                    strides.push(stride.saturating_mul(found.step));
                    // An empty range may start outside.
                    offset += if found.slicelength == 0 {
                        0
                    } else {
                        found.start * stride
                    };
                }
            }
        }
    }
    if shape.is_empty() && !array.shape().is_empty() && !NP_SHAPE.get() {
        shape.push(1);
        strides.push(1);
    }
    array.strided(offset, &shape, &strides).map_err(to_py)
}

/// How many axes no part speaks of, or `...` stands for.
fn rest(array: &rt::Array, parts: &[Part<'_, '_>]) -> PyResult<usize> {
    let count = |wanted: fn(&Part<'_, '_>) -> bool| parts.iter().filter(|p| wanted(p)).count();
    if count(|part| matches!(part, Part::Rest)) > 1 {
        return Err(PyIndexError::new_err("an index can hold '...' only once"));
    }
    let used = count(|part| matches!(part, Part::At(_) | Part::Range(_)));
    let axes = array.shape().len();
    axes.checked_sub(used).ok_or_else(|| {
        PyIndexError::new_err(format!(
            "too many indices: the array has {axes} dimensions, got {used}"
        ))
    })
}

/// An index from the start.
fn position(at: isize, extent: usize, axis: usize) -> PyResult<isize> {
    let extent = extent as isize;
    let position = if at < 0 {
        at.saturating_add(extent)
    } else {
        at
    };
    if !(0..extent).contains(&position) {
        return Err(PyIndexError::new_err(format!(
            "index {at} is out of range for axis {axis} with extent {extent}"
        )));
    }
    Ok(position)
}
