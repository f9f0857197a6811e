//! Diagonals: taken out of a matrix, or a vector put onto one.

use crate::affine::{AffineMap, AffinePair, boxed, ends};
use crate::api::axes::resolve;
use crate::api::{Attrs, Desc, Kernel, Row};
use ferromix_base::{Error, Result};

/// The layouts of `matrix` (of two axes or more) and of `lines`, which has the diagonal last. A
/// `square` was made of a vector, whatever the axes.
fn maps(name: &str, attrs: &Attrs, square: bool, matrix: &[usize], lines: &[usize]) -> AffinePair {
    let k = attrs.int("k")?;
    let shift = k.unsigned_abs() as usize;
    let [a, b] = if square {
        [0, 1]
    } else {
        let [a, b] = ["axis1", "axis2"].map(|x| resolve(name, attrs.int(x)?, matrix.len()));
        [a?, b?]
    };
    let Some(&n) = lines.last().filter(|_| a != b && matrix.len() > 1) else {
        return Err(Error::value(format!(
            "{name}: axis1 and axis2 must be two axes of {matrix:?}"
        )));
    };
    let others = (0..matrix.len()).filter(|&x| x != a && x != b);
    let from = others.fold(AffineMap::default(), |l, x| l.along(x, matrix[x], 1));
    let first = if k > 0 { b } else { a };
    let from = from.dim(n, vec![(a, 1), (b, 1)]).from(first, shift);
    Ok((from, AffineMap::whole(lines)))
}

fn prepare(
    name: &str,
    back: bool,
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let (input, output) = ends(name, i, o)?;
    let (data, out) = if back {
        (output, input)
    } else {
        (input, output)
    };
    let (data, out) = if data.len() == 1 {
        let (lines, matrix) = (data, out);
        maps(name, attrs, true, matrix, lines).map(|(matrix, lines)| (lines, matrix))?
    } else {
        maps(name, attrs, false, data, out)?
    };
    boxed(name, i, o, Ok(if back { (out, data) } else { (data, out) }))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("diag", |a, i, o| prepare("diag", false, a, i, o)).strided(),
    Row::new("_backward_diag", |a, i, o| {
        prepare("_backward_diag", true, a, i, o)
    })
    .strided(),
];
