//! Softmax and its logarithm along an axis other than the last: some neighbouring columns at a time,
//! straight from the input to the output. Three passes over them are all: the largest, the
//! exponentials with their sum, the quotients.

use super::WIDTH;
use crate::real::Real;
use crate::vector::versions;

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

    /// The largest of each column.
    #[inline(always)]
    fn tops(&self) -> [R; WIDTH] {
        let mut tops = [R::LOWEST; WIDTH];
        for i in 0..self.rows {
            tops.iter_mut()
                .zip(self.row(i))
                .for_each(|(top, &x)| *top = top.at_least(x));
        }
        tops
    }
}

versions! {
    /// The softmax of the columns of `x / t`.
    pub(super) fn softmax[R: Real](columns: Columns<R>, t: R) [R] {
        let mut columns = columns;
        let (tops, mut sums) = (columns.tops(), [R::ZERO; WIDTH]);
        for i in 0..columns.rows {
            let (x, y) = columns.both(i);
            for (((y, &x), &top), sum) in y.iter_mut().zip(x).zip(&tops).zip(&mut sums) {
                *y = ((x - top) / t).exp();
                *sum += *y;
            }
        }
        for i in 0..columns.rows {
            columns.row_mut(i).iter_mut().zip(&sums).for_each(|(y, &sum)| *y = *y / sum);
        }
    }
}

versions! {
    /// The logarithm of that.
    pub(super) fn log_softmax[R: Real](columns: Columns<R>, t: R) [R] {
        let mut columns = columns;
        let (tops, mut sums) = (columns.tops(), [R::ZERO; WIDTH]);
        for i in 0..columns.rows {
            let (x, y) = columns.both(i);
            for (((y, &x), &top), sum) in y.iter_mut().zip(x).zip(&tops).zip(&mut sums) {
                *y = (x - top) / t;
                *sum += y.exp();
            }
        }
        sums.iter_mut().for_each(|sum| *sum = sum.ln());
        for i in 0..columns.rows {
            columns.row_mut(i).iter_mut().zip(&sums).for_each(|(y, &sum)| *y = *y - sum);
        }
    }
}
