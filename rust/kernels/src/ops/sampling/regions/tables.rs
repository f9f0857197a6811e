//! A region as two tables, which bins take which rows and columns of pixels, and the passes over a
//! channel that both lead to.

use crate::math::real::Real;
use std::ops::Range;

/// The pixels along an axis that each bin counts, and their weights.
pub(super) struct Axis<R> {
    /// The first pixel of each bin, and the end of its weights.
    bins: Vec<(usize, usize)>,
    weights: Vec<R>,
}

impl<R: Real> Axis<R> {
    /// One of no bins yet, with room for so many.
    pub(super) fn new(bins: usize) -> Self {
        Axis {
            bins: Vec::with_capacity(bins),
            weights: Vec::new(),
        }
    }

    #[inline(always)]
    fn of(&self, bin: usize) -> (usize, &[R]) {
        let start = bin.checked_sub(1).map_or(0, |before| self.bins[before].1);
        let (first, end) = self.bins[bin];
        (first, &self.weights[start..end])
    }

    /// All pixels of some bins.
    fn hull(&self, bins: Range<usize>) -> Range<usize> {
        let pixels = bins.map(|bin| self.of(bin)).filter(|(_, w)| !w.is_empty());
        let ends = pixels.fold((usize::MAX, 0), |(low, high), (first, weights)| {
            (low.min(first), high.max(first + weights.len()))
        });
        ends.0.min(ends.1)..ends.1
    }

    /// Adds a bin: its first pixel, and the weights from there on.
    pub(super) fn push(&mut self, first: usize, weights: impl Iterator<Item = R>) {
        self.weights.extend(weights);
        self.bins.push((first, self.weights.len()));
    }
}

/// A region of an image; there is none where its number is negative.
pub(super) struct Region<R> {
    pub(super) image: Option<usize>,
    pub(super) axes: [Axis<R>; 2],
}

/// The bins that read one channel.
pub(super) struct Part {
    pub(super) rows: Range<usize>,
    pub(super) columns: Range<usize>,
    /// Columns of bins that the region has.
    pub(super) across: usize,
}

/// Which of `count` points, from half a `step` after `base` on, may lie within a pixel of the axis.
pub(super) fn nearby(base: f64, step: f64, n: usize, count: usize) -> Range<usize> {
    if !(base.is_finite() && step.is_finite()) {
        return 0..0;
    }
    if step == 0.0 {
        return 0..count;
    }
    // Casts stop at the ends of the type.
    let low = ((-1.0 - base) / step - 2.0).max(0.0) as usize;
    let high = ((n as f64 - base) / step + 2.0).max(0.0) as usize;
    low.min(count)..high.min(count)
}

crate::simd::vector::multiversion! {
    /// Computes the bins of a group from a channel.
    pub(super) fn gather<R: Real>(
        region: &Region<R>,
        part: &Part,
        plane: &[R],
        row: &mut [R],
        out: &mut [R],
    ) {
        let hull = region.axes[1].hull(part.columns.clone());
        for i in part.rows.clone() {
            let (first, weights) = region.axes[0].of(i);
            let wide = row.len();
            let sums = &mut row[hull.clone()];
            sums.fill(R::ZERO);
            for (y, &weight) in (first..).zip(weights) {
                // What is not counted may be no number.
                if weight == R::ZERO {
                    continue;
                }
                let from = &plane[y * wide..][hull.clone()];
                sums.iter_mut().zip(from).for_each(|(s, &x)| *s += weight * x);
            }
            for j in part.columns.clone() {
                let (first, weights) = region.axes[1].of(j);
                // A bin without pixels may be anywhere.
                let sums = row[first.min(row.len())..].iter();
                let mut sum = R::ZERO;
                for (&w, &s) in weights.iter().zip(sums) {
                    sum += if w == R::ZERO { R::ZERO } else { w * s };
                }
                out[i * part.across + j] = sum;
            }
        }
    }

    /// Adds what the bins of a group give to a channel.
    pub(super) fn scatter<R: Real>(
        region: &Region<R>,
        part: &Part,
        g: &[R],
        row: &mut [R],
        plane: &mut [R],
    ) {
        let hull = region.axes[1].hull(part.columns.clone());
        for i in part.rows.clone() {
            row[hull.clone()].fill(R::ZERO);
            for j in part.columns.clone() {
                let (first, weights) = region.axes[1].of(j);
                let g = g[i * part.across + j];
                let start = first.min(row.len());
                let sums = row[start..].iter_mut();
                sums.zip(weights).for_each(|(s, &w)| *s += w * g);
            }
            let (first, weights) = region.axes[0].of(i);
            for (y, &weight) in (first..).zip(weights) {
                let to = &mut plane[y * row.len()..][hull.clone()];
                to.iter_mut().zip(&row[hull.clone()]).for_each(|(t, &s)| *t += weight * s);
            }
        }
    }
}
