//! Softmax and its logarithm along an axis other than the last: some neighbouring columns at a time,
//! straight from the input to the output. Three passes over them are all: the largest, the
//! exponentials with their sum, the quotients.

use super::WIDTH;
use crate::math::real::Real;
use crate::simd::vector::versions;

/// Columns of two matrices, at most [`WIDTH`] of each. Whoever makes them vouches that the rows are
/// there, that the input's stay as they are, and that nobody else uses these columns of the output,
/// which are other memory.
#[derive(Clone, Copy)]
pub(super) struct Columns<R> {
    pub(super) input: *const R,
    pub(super) output: *mut R,
    /// How many columns.
    pub(super) count: usize,
    pub(super) rows: usize,
    /// Elements from row to row.
    pub(super) step: usize,
}

impl<R: Real> Columns<R> {
    #[inline(always)]
    fn row(&self, i: usize) -> &[R] {
        // SAFETY: as the maker of the columns vouches.
        unsafe { std::slice::from_raw_parts(self.input.add(i * self.step), self.count) }
    }

    #[inline(always)]
    fn row_mut(&mut self, i: usize) -> &mut [R] {
        // SAFETY: as the maker of the columns vouches.
        unsafe { std::slice::from_raw_parts_mut(self.output.add(i * self.step), self.count) }
    }

    /// A row of each.
    #[inline(always)]
    fn both(&mut self, i: usize) -> (&[R], &mut [R]) {
        // SAFETY: as the maker of the columns vouches.
        let x = unsafe { std::slice::from_raw_parts(self.input.add(i * self.step), self.count) };
        (x, self.row_mut(i))
    }
}

impl<R: Real> Columns<R> {
    /// Some columns that lie in registers, where all are near enough to each other to stay in the first
    /// cache from pass to pass.
    #[inline(always)]
    fn split(&mut self) -> Option<Self> {
        let near = self.rows * self.step * size_of::<R>() <= NEAR;
        if !near || self.count < FEW {
            return None;
        }
        let some = Columns {
            count: FEW,
            ..*self
        };
        self.input = self.input.wrapping_add(FEW);
        self.output = self.output.wrapping_add(FEW);
        self.count -= FEW;
        Some(some)
    }
}

/// Columns that lie in registers.
const FEW: usize = 16;
/// Bytes that stay in the first cache.
const NEAR: usize = 1 << 14;

/// The softmax of the columns of `x / t`, at most W of them, or its logarithm.
#[inline(always)]
fn pass<R: Real, const LOG: bool, const W: usize>(mut columns: Columns<R>, t: R) {
    let n = if W == FEW { FEW } else { columns.count };
    let (mut tops, mut sums) = ([R::LOWEST; W], [R::ZERO; W]);
    for i in 0..columns.rows {
        let x = &columns.row(i)[..n];
        for (top, &x) in tops.iter_mut().zip(x) {
            *top = top.at_least(x);
        }
    }
    for i in 0..columns.rows {
        let (x, y) = columns.both(i);
        let (x, y) = (&x[..n], &mut y[..n]);
        for (((y, &x), &top), sum) in y.iter_mut().zip(x).zip(&tops).zip(&mut sums) {
            let z = (x - top) / t;
            let e = z.exp();
            *y = if LOG { z } else { e };
            *sum += e;
        }
    }
    if LOG {
        sums.iter_mut().for_each(|sum| *sum = sum.ln());
    }
    for i in 0..columns.rows {
        let y = &mut columns.row_mut(i)[..n];
        for (y, &sum) in y.iter_mut().zip(&sums) {
            *y = if LOG { *y - sum } else { *y / sum };
        }
    }
}

versions! {
    /// The softmax of the columns of `x / t`, or its logarithm.
    pub(super) fn softmax[R: Real, const LOG: bool](columns: Columns<R>, t: R) [R, LOG] {
        let mut columns = columns;
        while let Some(few) = columns.split() {
            pass::<R, LOG, FEW>(few, t);
        }
        if columns.count > 0 {
            pass::<R, LOG, WIDTH>(columns, t);
        }
    }
}
