//! Softmax and its logarithm of rows that lie in memory one after the other, straight from the input
//! to the output. Some rows at a time go through each step, so that exponentials are computed of many
//! elements at once, however short the rows are.

use crate::fold::lanes_of;
use crate::iter::memory::{finish_stream, stream};
use crate::math::real::Real;
use crate::simd::vector::versions;

/// Elements of the rows that go through a step before the next: they stay in the first-level cache.
pub(super) const GROUP: usize = 4096;
/// Most rows of them.
const MOST: usize = 64;
/// Elements that are added in single precision.
const SUM: usize = 1024;

#[inline(always)]
fn sum<R: Real>(x: &[R]) -> f64 {
    let part = |x: &[R]| lanes_of(x, R::ZERO, |x| x, |a, b| a + b).f64();
    x.chunks(SUM).fold(0.0, |total, x| total + part(x))
}

/// `(x - the largest of the row) / t`, for each row of `k`.
#[inline(always)]
fn shift<R: Real>(x: &[R], y: &mut [R], k: usize, t: R) {
    for (x, y) in x.chunks_exact(k).zip(y.chunks_exact_mut(k)) {
        let top = lanes_of(x, R::LOWEST, |x| x, R::at_least);
        y.iter_mut().zip(x).for_each(|(y, &x)| *y = x - top);
    }
    if t != R::ONE {
        y.iter_mut().for_each(|y| *y = *y / t);
    }
}

versions! {
    /// The softmax of `x / t` in rows of `k`.
    pub(super) fn softmax[R: Real](x: &[R], y: &mut [R], k: usize, t: R) [R] {
        let group = (GROUP / k).max(1) * k;
        for (x, y) in x.chunks(group).zip(y.chunks_mut(group)) {
            shift(x, y, k, t);
            y.iter_mut().for_each(|y| *y = y.exp());
            for y in y.chunks_exact_mut(k) {
                let sum = R::of(sum(y));
                y.iter_mut().for_each(|y| *y = *y / sum);
            }
        }
    }
}

/// The logarithm of that.
pub(super) fn log_softmax<R: Real>(x: &[R], y: &mut [R], k: usize, t: R) {
    // To clear a large scratch takes longer than little work in it.
    if x.len() <= LITTLE {
        logs::<R, LITTLE>(x, y, k, t);
    } else {
        logs::<R, GROUP>(x, y, k, t);
    }
}

/// Elements for which the scratch is little.
const LITTLE: usize = 256;

versions! {
    /// The same, with scratch for so many exponentials.
    fn logs[R: Real, const SCRATCH: usize](x: &[R], y: &mut [R], k: usize, t: R) [R, SCRATCH] {
        let group = (SCRATCH / k).clamp(1, MOST) * k;
        let (mut scratch, mut sums) = ([R::ZERO; SCRATCH], [R::ONE; MOST]);
        for (x, y) in x.chunks(group).zip(y.chunks_mut(group)) {
            shift(x, y, k, t);
            // A row longer than the scratch fills it several times.
            let mut totals = [0.0; MOST];
            for y in y.chunks(SCRATCH) {
                let scratch = &mut scratch[..y.len()];
                scratch.iter_mut().zip(y).for_each(|(r, &y)| *r = y.exp());
                scratch.chunks(k).zip(&mut totals).for_each(|(r, s)| *s += sum(r));
            }
            let sums = &mut sums[..y.len().div_ceil(k)];
            sums.iter_mut().zip(&totals).for_each(|(s, &total)| *s = R::of(total));
            sums.iter_mut().for_each(|s| *s = s.ln());
            for (y, &s) in y.chunks_exact_mut(k).zip(&*sums) {
                y.iter_mut().for_each(|y| *y = *y - s);
            }
        }
    }
}

/// Runs `work` on rows of `k`, at most [`GROUP`], by way of a buffer, from which results are stored non-temporally to the
/// caches.
pub(super) fn streamed<R: Real>(
    work: fn(&[R], &mut [R], usize, R),
    x: &[R],
    y: &mut [R],
    k: usize,
    t: R,
) {
    let group = GROUP / k * k;
    let mut scratch = vec![R::ZERO; group];
    for (x, y) in x.chunks(group).zip(y.chunks_mut(group)) {
        let scratch = &mut scratch[..x.len()];
        work(x, scratch, k, t);
        let ahead = [x.as_ptr_range().end.cast()];
        // SAFETY: the two slices have the same length, and are different memory.
        unsafe {
            stream(
                y.as_mut_ptr().cast(),
                scratch.as_ptr().cast(),
                size_of_val(scratch),
                &ahead,
            )
        };
    }
    finish_stream();
}
