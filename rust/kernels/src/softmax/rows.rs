//! Softmax and its logarithm of rows that lie in memory one after the other, straight from the input
//! to the output. Some rows at a time go through each step, so that exponentials are computed of many
//! elements at once, however short the rows are.

use crate::fold::lanes_of;
use crate::real::Real;
use crate::vector::versions;

/// Elements of the rows that go through a step before the next: they stay in the first-level cache.
const GROUP: usize = 4096;
/// Elements whose exponentials are kept until they are added.
const BLOCK: usize = 256;
/// Elements that are added in single precision.
const SUM: usize = 1024;

#[inline(always)]
fn sum<R: Real>(x: &[R]) -> f64 {
    let part = |x: &[R]| lanes_of(x, R::ZERO, |x| x, |a, b| a + b).f64();
    x.chunks(SUM).fold(0.0, |total, x| total + part(x))
}

#[inline(always)]
fn sum_of_exponentials<R: Real>(x: &[R]) -> f64 {
    let mut room = [R::ZERO; BLOCK];
    x.chunks(BLOCK).fold(0.0, |total, x| {
        let room = &mut room[..x.len()];
        room.iter_mut().zip(x).for_each(|(r, &x)| *r = x.exp());
        total + sum(room)
    })
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

versions! {
    /// The logarithm of that.
    pub(super) fn log_softmax[R: Real](x: &[R], y: &mut [R], k: usize, t: R) [R] {
        let group = (GROUP / k).max(1) * k;
        for (x, y) in x.chunks(group).zip(y.chunks_mut(group)) {
            shift(x, y, k, t);
            for y in y.chunks_exact_mut(k) {
                let logarithm = R::of(sum_of_exponentials(y)).ln();
                y.iter_mut().for_each(|y| *y = *y - logarithm);
            }
        }
    }
}
