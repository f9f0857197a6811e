//! Folds over axes of a tensor.

use super::sums::{Squares, Sum};
use super::{Fold, Space};
use crate::api::axes::Axes;
use crate::api::{Desc, Req, View};
use crate::copy::assign;
use crate::iter::reader::Reader;
use crate::iter::walk::{Order, Walk};
use crate::simd::number::Number;
use ferromix_base::{DType, Error, Result};

/// The positions that are kept, and those that are reduced.
pub(crate) type Walks = [Walk<1>; 2];

pub(crate) fn walks(axes: &Axes, data: &View) -> Walks {
    [(false, Order::Kept), (true, Order::Free)].map(|(reduced, order)| {
        let (dims, strides) = axes.select(data, reduced);
        Walk::new(&dims, [&strides], order)
    })
}

/// Sums `data` over `axes` to `out`.
pub(crate) fn sum_axes(axes: &Axes, data: &View, out: &mut View, req: Req) -> Result<()> {
    match data.dtype() {
        DType::F64 => fold_axes(axes, Sum, |x: f64| x, data, out, req),
        t if t.is_float() => fold_axes(axes, Sum, |x: f32| x, data, out, req),
        _ => fold_axes(axes, Sum, |x: i64| x, data, out, req),
    }
}

/// Reduces `data` over `axes` to `out`, each result through `last`.
pub(crate) fn fold_axes<C: Number, F: Fold<C>>(
    axes: &Axes,
    f: F,
    last: impl Fn(C) -> C,
    data: &View,
    out: &mut View,
    req: Req,
) -> Result<()> {
    fold_along(&walks(axes, data), f, last, data, out, req)
}

/// As [`fold_axes`], along walks over `data`.
pub(crate) fn fold_along<C: Number, F: Fold<C>>(
    [kept, reduced]: &Walks,
    f: F,
    last: impl Fn(C) -> C,
    data: &View,
    out: &mut View,
    req: Req,
) -> Result<()> {
    let input = Reader::<C>::new(data);
    let space = Space {
        input,
        kept,
        reduced,
    };
    let in_place = out.dtype() == C::DTYPE && out.is_contiguous() && out.ptr() != data.ptr();
    if in_place && req != Req::Add {
        let out = out.write::<C>()?;
        space.fold(f, out);
        out.iter_mut().for_each(|x| *x = last(*x));
        return Ok(());
    }
    let mut results = vec![C::ZERO; out.len()];
    space.fold(f, &mut results);
    results.iter_mut().for_each(|x| *x = last(*x));
    assign(&View::of_slice(&mut results, out.shape())?, out, req)
}

/// Requires `small` to be what reducing `large` over `axes` leaves.
pub(crate) fn check_shapes(name: &str, axes: &Axes, large: &Desc, small: &Desc) -> Result<()> {
    if axes.leaves(&large.shape, &small.shape) {
        return Ok(());
    }
    Err(Error::value(format!(
        "{name}: reducing {:?} over the given axes does not leave {:?}",
        large.shape, small.shape
    )))
}

/// Reduces all elements of `data` to one.
pub(crate) fn fold_all<C: Number, F: Fold<C>>(
    f: F,
    data: &View,
    out: &mut View,
    req: Req,
) -> Result<()> {
    let axes = Axes {
        reduced: vec![true],
    };
    fold_axes(&axes, f, |x: C| x, &data.flattened(), out, req)
}

/// The sum of the squares of all elements.
pub(crate) fn sum_squares(data: &View) -> Result<f64> {
    let mut sum = [0.0f64];
    let mut out = View::of_slice(&mut sum, &[1])?;
    fold_all::<f64, _>(Squares, data, &mut out, Req::Write)?;
    Ok(sum[0])
}
