//! Triangular matrices: systems of equations, products and inverses. Halves are taken apart until
//! they are small, so that nearly all work is products of matrices.

use crate::blocks::raw::Target;
use crate::linalg::gemm::{Operand, gemm_within};
use crate::linalg::rows_dot::RowsDot;
use crate::math::real::Real;
use crate::par;
use crate::simd::vector::multiversion;
use std::ops::Range;

/// Sides up to which a system is solved row by row.
const BASE: usize = 16;

/// A triangle of a square matrix; the other one is not read.
#[derive(Clone, Copy)]
pub(crate) struct Triangle<'a, T> {
    pub(crate) of: Operand<'a, T>,
    pub(crate) lower: bool,
    /// Whether the diagonal is 1 and not read.
    pub(crate) unit: bool,
}

impl<'a, T: RowsDot> Triangle<'a, T> {
    pub(crate) fn new(of: Operand<'a, T>, lower: bool) -> Self {
        Triangle {
            of,
            lower,
            unit: false,
        }
    }

    /// The transposed matrix, where `flip`.
    pub(crate) fn flipped(self, flip: bool) -> Self {
        Triangle {
            of: self.of.flipped(flip),
            lower: self.lower != flip,
            ..self
        }
    }

    fn from(self, i: usize) -> Self {
        Triangle {
            of: self.of.from(i, i),
            ..self
        }
    }
}

/// Where a matrix of side `n` is cut in two.
pub(crate) fn half(n: usize) -> usize {
    (n / 2).next_multiple_of(8).min(n - 1)
}

multiversion! {
    /// `to -= x * row`.
    pub(crate) fn subtract<T: Real>(to: &mut [T], x: T, row: &[T]) {
        to.iter_mut().zip(row).for_each(|(t, &r)| *t = *t - x * r);
    }
}

/// Solves `T X = B` for `n` rows of `m` numbers that stand `width` apart; `X` takes the place of `B`.
pub(crate) fn solve<T: RowsDot>(
    t: Triangle<'_, T>,
    n: usize,
    b: &mut [T],
    (m, width): (usize, usize),
) {
    if m == 0 {
        return;
    }
    if n <= BASE {
        return substitute(t, n, b, (m, width));
    }
    let k = half(n);
    let (top, bottom) = b.split_at_mut(k * width);
    let minus = -T::ONE;
    if t.lower {
        solve(t, k, top, (m, width));
        let known = Operand::new(top, width);
        gemm_within(
            (n - k, m, k),
            minus,
            t.of.from(k, 0),
            known,
            T::ONE,
            (bottom, width),
        );
        solve(t.from(k), n - k, bottom, (m, width));
    } else {
        solve(t.from(k), n - k, bottom, (m, width));
        let known = Operand::new(bottom, width);
        gemm_within(
            (k, m, n - k),
            minus,
            t.of.from(0, k),
            known,
            T::ONE,
            (top, width),
        );
        solve(t, k, top, (m, width));
    }
}

fn substitute<T: RowsDot>(t: Triangle<'_, T>, n: usize, b: &mut [T], (m, width): (usize, usize)) {
    for step in 0..n {
        let i = if t.lower { step } else { n - 1 - step };
        for k in if t.lower { 0..i } else { i + 1..n } {
            let (low, high) = b.split_at_mut(i.max(k) * width);
            let (to, row) = if t.lower {
                (&mut high[..m], &low[k * width..][..m])
            } else {
                (&mut low[i * width..][..m], &high[..m])
            };
            subtract(to, t.of.at(i, k), row);
        }
        if !t.unit {
            let pivot = t.of.at(i, i);
            b[i * width..][..m].iter_mut().for_each(|x| *x = *x / pivot);
        }
    }
}

/// The inverse of a lower triangle, into `n` rows of zeros that stand `width` apart.
pub(crate) fn invert<T: RowsDot>(t: Triangle<'_, T>, n: usize, out: &mut [T], width: usize) {
    if n <= BASE {
        (0..n).for_each(|i| out[i * width + i] = T::ONE);
        return solve(t, n, out, (n, width));
    }
    let k = half(n);
    let (top, bottom) = out.split_at_mut(k * width);
    invert(t, k, top, width);
    invert(t.from(k), n - k, &mut bottom[k..], width);
    let first = Operand::new(top, width);
    let corner = t.of.from(k, 0);
    gemm_within(
        (n - k, k, k),
        -T::ONE,
        corner,
        first,
        T::ZERO,
        (bottom, width),
    );
    solve(t.from(k), n - k, bottom, (k, width));
}

/// `C = alpha X X^T + beta C`, the lower triangle alone and some of what is above; `X` is `n` by `k`.
pub(crate) fn square<T: RowsDot>(
    (n, k): (usize, usize),
    alpha: T,
    x: Operand<'_, T>,
    beta: T,
    (c, width): (&mut [T], usize),
) {
    let step = (n / 8).next_multiple_of(16).clamp(48, 512);
    for j in (0..n).step_by(step) {
        let rows = x.from(j, 0);
        let size = (n - j, step.min(n - j), k);
        let at = &mut c[j * width + j..];
        gemm_within(size, alpha, rows, rows.transposed(), beta, (at, width));
    }
}

/// Rows and columns that [`mirror`] moves at once.
const TILE: usize = 32;

/// Copies the lower triangle of a square matrix over the upper one.
pub(crate) fn mirror<T: Real>(a: &mut [T], n: usize) {
    let target = Target::of_slice(a);
    let grain = if n < 8 * TILE { n } else { 1 };
    par::for_ranges(n.div_ceil(TILE), grain, |blocks| {
        for i in blocks.map(|block| block * TILE) {
            let rows = i..n.min(i + TILE);
            for j in (0..=i).step_by(TILE) {
                // SAFETY: the columns of these rows above the diagonal belong to one task, and what is
                // below it nobody writes.
                unsafe { mirror_tile(target, n, rows.clone(), j..n.min(j + TILE)) };
            }
        }
    });
}

/// Copies what is below the diagonal in a part of a matrix of `n` columns to where it is above.
///
/// # Safety
/// Nobody writes the part, nor uses where it goes, meanwhile.
unsafe fn mirror_tile<T: Real>(a: Target<T>, n: usize, rows: Range<usize>, columns: Range<usize>) {
    let mut tile = [[T::ZERO; TILE]; TILE];
    for (i, to) in rows.clone().zip(&mut tile) {
        let row = i * n + columns.start..i * n + columns.end.min(i + 1);
        // SAFETY: below the diagonal.
        let row = unsafe { a.slice(row) };
        to[..row.len()].copy_from_slice(row);
    }
    for (at, j) in columns.enumerate() {
        let first = rows.start.max(j + 1);
        // SAFETY: above the diagonal.
        let to = unsafe { a.slice(j * n + first..j * n + rows.end) };
        let from = &tile[first - rows.start..][..to.len()];
        to.iter_mut().zip(from).for_each(|(to, row)| *to = row[at]);
    }
}
