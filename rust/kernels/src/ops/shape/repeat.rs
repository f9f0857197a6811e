//! Operators that repeat elements, or whole tensors, along axes.

use crate::affine::{AffineMap, AffinePair, boxed, ends};
use crate::api::axes::resolve;
use crate::api::{Attrs, Desc, Kernel, Row};
use ferromix_base::{Error, Result};

fn repeat(name: &str, attrs: &Attrs, data: &[usize], out: &[usize]) -> AffinePair {
    let times = usize::try_from(attrs.int("repeats")?).unwrap_or(0);
    let step = times as isize;
    if !attrs.has("axis") {
        // Each element of the flat output, as a row of repetitions.
        let from = AffineMap::whole(data).repeated(times);
        let mut pace = step;
        let mut steps = Vec::new();
        for &n in data.iter().rev() {
            steps.push((n, pace));
            pace *= n as isize;
        }
        let pick = |l: AffineMap, &(n, pace): &(usize, isize)| l.along(0, n, pace);
        let to = steps.iter().rev().fold(AffineMap::default(), pick);
        return Ok((from, to.along(0, times, 1)));
    }
    let axis = resolve(name, attrs.int("axis")?, data.len())?;
    if out.len() != data.len() {
        return Err(Error::value(format!(
            "{name}: shape {data:?} repeated along an axis does not have shape {out:?}"
        )));
    }
    Ok((0..data.len()).fold(
        Default::default(),
        |(from, to): (AffineMap, AffineMap), a| {
            let n = data[a];
            if a == axis {
                let to = to.along(a, n, step).along(a, times, 1);
                (from.along(a, n, 1).repeated(times), to)
            } else {
                (from.along(a, n, 1), to.along(a, n, 1))
            }
        },
    ))
}

fn tile(name: &str, attrs: &Attrs, data: &[usize], out: &[usize]) -> AffinePair {
    let reps = attrs.ints("reps")?;
    let lead = out.len().checked_sub(data.len());
    let (Some(lead), Some(skip)) = (lead, out.len().checked_sub(reps.len())) else {
        return Err(Error::value(format!(
            "{name}: shape {data:?} with reps {reps:?} does not give {out:?}"
        )));
    };
    Ok((0..out.len()).fold(
        Default::default(),
        |(from, to): (AffineMap, AffineMap), a| {
            let times = if a < skip {
                1
            } else {
                reps[a - skip].max(0) as usize
            };
            let n = if a < lead { 1 } else { data[a - lead] };
            let to = to.along(a, times, n as isize).along(a, n, 1);
            let from = from.repeated(times);
            let from = if a < lead {
                from.repeated(1)
            } else {
                from.along(a - lead, n, 1)
            };
            (from, to)
        },
    ))
}

type Rule = fn(&str, &Attrs, &[usize], &[usize]) -> AffinePair;

fn there(name: &str, rule: Rule, a: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let (data, out) = ends(name, i, o)?;
    boxed(name, i, o, rule(name, a, data, out))
}

fn back(name: &str, rule: Rule, a: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let (grad, data) = ends(name, i, o)?;
    let layouts = rule(name, a, data, grad).map(|(data, grad)| (grad, data));
    boxed(name, i, o, layouts)
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("repeat", |a, i, o| there("repeat", repeat, a, i, o)).strided(),
    Row::new("_backward_repeat", |a, i, o| {
        back("_backward_repeat", repeat, a, i, o)
    })
    .strided(),
    Row::new("tile", |a, i, o| there("tile", tile, a, i, o)).strided(),
    Row::new("_backward_tile", |a, i, o| {
        back("_backward_tile", tile, a, i, o)
    })
    .strided(),
];
