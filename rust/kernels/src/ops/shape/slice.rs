//! Ranges of indices cut out of a tensor, and their way back into zeros.

use crate::affine::{AffineMap, AffinePair, boxed, ends};
use crate::api::axes::resolve;
use crate::api::{Attrs, Desc, Kernel, Row};
use ferromix_base::{Error, Result};

/// Finds the first index and the step of each axis of the whole tensor.
type Rule = fn(&str, &Attrs, &[usize], &[usize]) -> Result<Vec<(usize, isize)>>;

/// An index that may count from the end, as one from the front within an axis of `n`.
fn place(index: i64, n: usize) -> usize {
    let n = n as i64;
    let front = if index < 0 {
        index.saturating_add(n)
    } else {
        index
    };
    front.clamp(0, (n - 1).max(0)) as usize
}

fn slice(_: &str, attrs: &Attrs, whole: &[usize], _: &[usize]) -> Result<Vec<(usize, isize)>> {
    let (begin, step) = (attrs.ints("begin")?, attrs.ints("step")?);
    let along = |(a, &n): (usize, &usize)| {
        let first = place(begin.get(a).copied().unwrap_or(0), n);
        (first, step.get(a).map_or(1, |&s| s as isize))
    };
    Ok(whole.iter().enumerate().map(along).collect())
}

fn slice_axis(
    name: &str,
    attrs: &Attrs,
    whole: &[usize],
    part: &[usize],
) -> Result<Vec<(usize, isize)>> {
    let axis = resolve(name, attrs.int("axis")?, whole.len())?;
    let extent = whole[axis] as i64;
    let index = |attr: &str, default: i64| -> Result<i64> {
        if !attrs.has(attr) {
            return Ok(default);
        }
        let given = attrs.int(attr)?;
        Ok(if given < 0 { given + extent } else { given })
    };
    let (begin, end) = (index("begin", 0)?, index("end", extent)?);
    let length = part.get(axis).map(|&n| n as i64);
    if begin < 0 || end > extent || length != Some(end - begin) {
        return Err(Error::value(format!(
            "{name}: the range from {begin} to {end} of axis {axis} of {whole:?} does not have \
             shape {part:?}"
        )));
    }
    let mut starts = vec![(0, 1); whole.len()];
    starts[axis].0 = begin as usize;
    Ok(starts)
}

fn slice_like(_: &str, _: &Attrs, whole: &[usize], _: &[usize]) -> Result<Vec<(usize, isize)>> {
    Ok(vec![(0, 1); whole.len()])
}

fn crop(name: &str, attrs: &Attrs, whole: &[usize], part: &[usize]) -> Result<Vec<(usize, isize)>> {
    let offset = attrs.ints("offset")?;
    let (true, true, &[top, left]) = (whole.len() == 4, part.len() == 4, offset) else {
        return Err(Error::value(format!(
            "{name}: needs 4 axes and an offset of two numbers, got {whole:?} and {offset:?}"
        )));
    };
    let mut starts = vec![(0, 1); 4];
    for (axis, given) in [(2, top), (3, left)] {
        let middle = whole[axis].saturating_sub(part[axis]) / 2;
        let center = attrs.bool("center_crop")?;
        starts[axis].0 = if center {
            middle
        } else {
            given.max(0) as usize
        };
    }
    Ok(starts)
}

/// The layouts of the whole and of the part.
fn maps(name: &str, rule: Rule, attrs: &Attrs, whole: &[usize], part: &[usize]) -> AffinePair {
    if whole.len() != part.len() {
        return Err(Error::value(format!(
            "{name}: a part of {whole:?} cannot have shape {part:?}"
        )));
    }
    let starts = rule(name, attrs, whole, part)?;
    let axes = starts.into_iter().enumerate();
    let from = axes.fold(AffineMap::default(), |l, (a, (first, step))| {
        l.along(a, part[a], step).from(a, first)
    });
    Ok((from, AffineMap::whole(part)))
}

fn there(name: &str, rule: Rule, a: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let (data, out) = ends(name, i, o)?;
    boxed(name, i, o, maps(name, rule, a, data, out))
}

fn back(name: &str, rule: Rule, a: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let (grad, data) = ends(name, i, o)?;
    let layouts = maps(name, rule, a, data, grad).map(|(data, grad)| (grad, data));
    boxed(name, i, o, layouts)
}

macro_rules! rows {
    ($(($name:literal, $back:literal): $rule:ident;)*) => { &[$(
        Row::new($name, |a, i, o| there($name, $rule, a, i, o)).strided(),
        Row::new($back, |a, i, o| back($back, $rule, a, i, o)).strided(),
    )*] };
}
pub(crate) const ROWS: &[Row] = rows! {
    ("slice", "_backward_slice"): slice;
    ("slice_axis", "_backward_slice_axis"): slice_axis;
    ("slice_like", "_backward_slice_like"): slice_like;
    ("Crop", "_backward_Crop"): crop;
};
