//! Indices of several axes as one number, and back.

use crate::api::prepared::{boxed, check_args};
use crate::api::{Attrs, Call, Desc, Kernel, Row, View};
use crate::blocks::indices::Indices;
use crate::blocks::raw::Target;
use crate::copy::assign;
use crate::par;
use ferromix_base::{Error, Result};

/// Numbers of a task.
const GRAIN: usize = 16_384;

pub(crate) const ROWS: &[Row] = &[
    Row::new("_ravel_multi_index", |a, i, o| {
        prepare("_ravel_multi_index", a, i, o)
    }),
    Row::new("_unravel_index", |a, i, o| {
        prepare("_unravel_index", a, i, o)
    }),
];

/// `n` indices of `depth` axes as numbers.
fn ravel(extents: &[i64], indices: &[i64], n: usize) -> Vec<i64> {
    let mut numbers = vec![0_i64; n];
    for (rows, extent) in indices.chunks_exact(n).zip(extents) {
        for (number, index) in numbers.iter_mut().zip(rows) {
            *number = number.wrapping_mul(*extent).wrapping_add(*index);
        }
    }
    numbers
}

/// Numbers as indices; the first axis has what is left.
fn unravel(extents: &[i64], numbers: &[i64]) -> Vec<i64> {
    let n = numbers.len();
    let mut indices = vec![0; extents.len() * n];
    let target = Target::of_slice(&mut indices);
    par::for_ranges(n, GRAIN, |range| {
        let mut left = numbers[range.clone()].to_vec();
        for (axis, &extent) in extents.iter().enumerate().rev() {
            // SAFETY: each column belongs to one task.
            let row = unsafe { target.slice(axis * n + range.start..axis * n + range.end) };
            if axis == 0 {
                return row.copy_from_slice(&left);
            }
            for (index, left) in row.iter_mut().zip(&mut left) {
                (*left, *index) = divided(*left, extent);
            }
        }
    });
    indices
}

/// Quotient and rest; 32 bits are several times as fast.
#[inline(always)]
fn divided(x: i64, by: i64) -> (i64, i64) {
    match (u32::try_from(x), u32::try_from(by)) {
        (Ok(x), Ok(by)) => (i64::from(x / by), i64::from(x % by)),
        _ => (x / by, x % by),
    }
}

fn prepare(name: &'static str, attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_args(name, (i, 1), (o, 1))?;
    let back = name == "_unravel_index";
    let extents = attrs.ints("shape")?.to_vec();
    let (numbers, indices) = if back { (&i[0], &o[0]) } else { (&o[0], &i[0]) };
    let axes = [&[extents.len()], &numbers.shape[..]].concat();
    if numbers.shape.len() != 1 || indices.shape[..] != axes || extents.is_empty() {
        return Err(Error::value(format!(
            "{name}: {:?} does not give {:?} with shape={extents:?}",
            i[0].shape, o[0].shape
        )));
    }
    if let Some(wrong) = extents.iter().skip(1).find(|n| **n < 1) {
        return Err(Error::value(format!(
            "{name}: attribute 'shape' has an extent {wrong}, expected positive ones but for the \
             first"
        )));
    }
    boxed(move |call: &mut Call<'_>| {
        if call.outputs[0].is_empty() {
            return Ok(());
        }
        let given = Indices::of(&call.inputs[0])?;
        let mut found = vec![0; given.len()];
        given.each(0..given.len(), |at, x| found[at] = x);
        let mut made = if back {
            unravel(&extents, &found)
        } else {
            ravel(&extents, &found, call.outputs[0].len())
        };
        let view = View::of_slice(&mut made, call.outputs[0].shape())?;
        assign(&view, &call.outputs[0], call.reqs[0])
    })
}
