//! Operators that put the axes, or the elements along them, into another order.

use crate::affine::{AffineMap, AffinePair, boxed, ends};
use crate::api::axes::{Axes, resolve};
use crate::api::check::arity;
use crate::api::{Attrs, Desc, Kernel, Row};
use ferromix_base::{Error, Result};

/// The layout of a tensor of `shape` with its axes in another order.
fn permuted(shape: &[usize], axes: &[usize]) -> AffineMap {
    let pick = |l: AffineMap, &a: &usize| l.along(a, shape[a], 1);
    axes.iter().fold(AffineMap::default(), pick)
}

fn prepare_transpose(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "transpose";
    let (data, out) = ends(name, i, o)?;
    let ndim = data.len();
    let given = if attrs.has("axes") {
        attrs.ints("axes")?
    } else {
        &[]
    };
    let mut axes = Vec::new();
    for &axis in given {
        axes.push(resolve(name, axis, ndim)?);
    }
    if given.is_empty() {
        axes = (0..ndim).rev().collect();
    }
    let mut sorted = axes.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..ndim) {
        return Err(Error::value(format!(
            "{name}: axes {given:?} must name each of the {ndim} axes once"
        )));
    }
    boxed(
        name,
        i,
        o,
        Ok((permuted(data, &axes), AffineMap::whole(out))),
    )
}

fn prepare_swap(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "SwapAxis";
    let (data, out) = ends(name, i, o)?;
    let mut axes: Vec<usize> = (0..data.len()).collect();
    let [a, b] = ["dim1", "dim2"].map(|dim| resolve(name, attrs.int(dim)?, data.len()));
    axes.swap(a?, b?);
    boxed(
        name,
        i,
        o,
        Ok((permuted(data, &axes), AffineMap::whole(out))),
    )
}

fn prepare_reverse(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "reverse";
    let (data, out) = ends(name, i, o)?;
    let turned = Axes::from_attrs(name, attrs, data.len())?.reduced;
    let from = (0..data.len()).fold(AffineMap::default(), |l, a| match turned[a] {
        true => l.along(a, data[a], -1).from(a, data[a].saturating_sub(1)),
        false => l.along(a, data[a], 1),
    });
    boxed(name, i, o, Ok((from, AffineMap::whole(out))))
}

/// The layouts of the deep and the wide tensor: blocks of pixels are channels of the deep one, in
/// the slowest place.
fn blocks(name: &str, attrs: &Attrs, deep: &[usize], wide: &[usize]) -> AffinePair {
    let side = usize::try_from(attrs.int("block_size")?).unwrap_or(0);
    let (&[n, channels, height, width], &[_, kept, _, _]) = (deep, wide) else {
        return Err(Error::value(format!(
            "{name}: needs 4 axes, got shapes {deep:?} and {wide:?}"
        )));
    };
    if side == 0 || kept * side * side != channels {
        return Err(Error::value(format!(
            "{name}: {channels} channels are not {side} * {side} * {kept}"
        )));
    }
    let place = (kept * side) as isize;
    let from = AffineMap::default()
        .along(0, n, 1)
        .along(1, kept, 1)
        .along(2, height, 1)
        .along(1, side, place)
        .along(3, width, 1)
        .along(1, side, kept as isize);
    let step = side as isize;
    let to = AffineMap::default()
        .along(0, n, 1)
        .along(1, kept, 1)
        .along(2, height, step)
        .along(2, side, 1)
        .along(3, width, step)
        .along(3, side, 1);
    Ok((from, to))
}

fn prepare_depth_to_space(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "depth_to_space";
    arity::<1, 1>(name, i, o)?;
    let (data, out) = ends(name, i, o)?;
    boxed(name, i, o, blocks(name, attrs, data, out))
}

fn prepare_space_to_depth(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "space_to_depth";
    arity::<1, 1>(name, i, o)?;
    let (data, out) = ends(name, i, o)?;
    let layouts = blocks(name, attrs, out, data).map(|(deep, wide)| (wide, deep));
    boxed(name, i, o, layouts)
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("transpose", prepare_transpose).strided(),
    Row::new("SwapAxis", prepare_swap).strided(),
    Row::new("reverse", prepare_reverse).strided(),
    Row::new("depth_to_space", prepare_depth_to_space).strided(),
    Row::new("space_to_depth", prepare_space_to_depth).strided(),
];
