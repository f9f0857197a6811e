//! The axes of a reduction, from MXNet's attributes `axis`, `keepdims` and `exclude`.

use crate::api::Attrs;
use crate::api::Value;
use crate::api::View;
use ferromix_base::{Error, Result, Shape, Strides};

/// Which axes of a tensor are reduced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Axes {
    /// For each axis, whether it is reduced.
    pub(crate) reduced: Vec<bool>,
}

impl Axes {
    /// Reads `axis` (None or () for all, an int or ints, counted from the end where negative) and
    /// `exclude` for a tensor of `ndim` axes.
    ///
    /// # Errors
    /// Axes out of range or named twice.
    pub(crate) fn from_attrs(name: &str, attrs: &Attrs, ndim: usize) -> Result<Self> {
        Self::from_attr(name, attrs, "axis", ndim)
    }

    /// As [`Axes::from_attrs`], for axes that stand under another name.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn from_attr(name: &str, attrs: &Attrs, attr: &str, ndim: usize) -> Result<Self> {
        let given: &[i64] = match attrs.get(attr) {
            None | Some(Value::None) => &[],
            Some(Value::Int(axis)) => std::slice::from_ref(axis),
            Some(_) => attrs.ints(attr).map_err(|e| e.within(name))?,
        };
        if given.is_empty() {
            return Ok(Axes {
                reduced: vec![true; ndim],
            });
        }
        let mut reduced = vec![false; ndim];
        for &axis in given {
            let place = resolve(name, axis, ndim)?;
            if std::mem::replace(&mut reduced[place], true) {
                return Err(Error::value(format!(
                    "{name}: axis {axis} is named twice in {given:?}"
                )));
            }
        }
        if attrs.has("exclude") && attrs.bool("exclude")? {
            reduced.iter_mut().for_each(|r| *r = !*r);
        }
        Ok(Axes { reduced })
    }

    /// Extents and strides of the axes that are reduced (`true`) or kept.
    pub(crate) fn select(&self, view: &View, reduced: bool) -> (Shape, Strides) {
        let picked = (0..self.reduced.len()).filter(|&a| self.reduced[a] == reduced);
        picked.map(|a| (view.shape()[a], view.strides()[a])).unzip()
    }

    /// Number of elements that become one, in a tensor of `shape`.
    pub(crate) fn count(&self, shape: &[usize]) -> usize {
        let dims = shape.iter().zip(&self.reduced);
        dims.filter(|(_, r)| **r).map(|(d, _)| d).product()
    }

    /// `shape` with 1 in place of what is reduced.
    pub(crate) fn kept(&self, shape: &[usize]) -> Shape {
        let dims = shape.iter().zip(&self.reduced);
        dims.map(|(&d, &r)| if r { 1 } else { d }).collect()
    }

    /// Whether `result` is what remains of `shape`, with or without axes of extent 1 for those
    /// reduced.
    pub(crate) fn leaves(&self, shape: &[usize], result: &[usize]) -> bool {
        let with_ones = shape
            .iter()
            .zip(&self.reduced)
            .map(|(&d, &r)| if r { 1 } else { d });
        let without = shape
            .iter()
            .zip(&self.reduced)
            .filter(|(_, r)| !**r)
            .map(|(&d, _)| d);
        let scalar = result == [1] && self.reduced.iter().all(|&r| r);
        scalar || with_ones.eq(result.iter().copied()) || without.eq(result.iter().copied())
    }
}

/// The place of `axis`, which counts from the end where negative, among `ndim`.
///
/// # Errors
/// An axis out of range.
pub(crate) fn resolve(name: &str, axis: i64, ndim: usize) -> Result<usize> {
    let place = if axis < 0 { axis + ndim as i64 } else { axis };
    usize::try_from(place)
        .ok()
        .filter(|&p| p < ndim)
        .ok_or_else(|| {
            Error::value(format!(
                "{name}: axis {axis} is out of range for a tensor of {ndim} axes"
            ))
        })
}
