//! The loops over a row.

use crate::blocks::sums::sums_of;
use crate::math::real::Real;
use crate::simd::vector::multiversion;

/// Elements of a row whose mean and squares are taken together.
const NEAR: usize = 2048;

/// Mean and sum of squared distances from it.
#[inline(always)]
fn moments<R: Real>(x: &[R]) -> (f64, f64) {
    let (mut n, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for part in x.chunks(NEAR) {
        let m = part.len() as f64;
        let center = R::of(sums_of([part], |x| x)[0] / m);
        // What rounding left of the mean is taken out of both.
        let [left, own] = sums_of([part], |[x]| [x - center, (x - center) * (x - center)]);
        let (own_mean, own) = (center.f64() + left / m, own - left * left / m);
        let (apart, total) = (own_mean - mean, n + m);
        mean += apart * (m / total);
        squares += own + apart * apart * (n * m / total);
        n = total;
    }
    // Rounding may take it below 0; NaN stays.
    (mean, if squares < 0.0 { 0.0 } else { squares })
}

multiversion! {
    /// The mean of a row, and the root of its variance plus `eps`.
    pub(super) fn statistics<R: Real>(x: &[R], eps: f64) -> (R, R) {
        let (mean, squares) = moments(x);
        (R::of(mean), R::of((squares / (x.len().max(1) as f64) + eps).sqrt()))
    }

    pub(super) fn shift_scale<R: Real>(x: &[R], mean: R, scale: R, beta: R, y: &mut [R]) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = (x - mean) * scale + beta;
        }
    }

    pub(super) fn shift_scale_along<R: Real>(x: &[R], mean: R, scale: R, gamma: &[R], beta: &[R], y: &mut [R]) {
        for (((y, &x), &g), &b) in y.iter_mut().zip(x).zip(gamma).zip(beta) {
            *y = (x - mean) * scale * g + b;
        }
    }

    /// The sums of `g` and of `g * (x - mean) * scale`.
    pub(super) fn gradient_sums<R: Real>(g: &[R], x: &[R], mean: R, scale: R) -> [f64; 2] {
        sums_of([g, x], |[g, x]| [g, g * ((x - mean) * scale)])
    }

    /// The same for `g * gamma`.
    pub(super) fn gradient_sums_along<R: Real>(g: &[R], x: &[R], gamma: &[R], mean: R, scale: R) -> [f64; 2] {
        sums_of([g, x, gamma], |[g, x, s]| [g * s, g * s * ((x - mean) * scale)])
    }

    /// `factor * g - offset - (x - mean) * slope`.
    pub(super) fn combine<R: Real>(g: &[R], x: &[R], mean: R, c: [R; 3], d: &mut [R]) {
        for ((d, &g), &x) in d.iter_mut().zip(g).zip(x) {
            *d = c[0] * g - c[1] - (x - mean) * c[2];
        }
    }

    /// The same for `g * gamma`.
    pub(super) fn combine_along<R: Real>(g: &[R], x: &[R], gamma: &[R], mean: R, c: [R; 3], d: &mut [R]) {
        for (((d, &g), &x), &s) in d.iter_mut().zip(g).zip(x).zip(gamma) {
            *d = c[0] * (g * s) - c[1] - (x - mean) * c[2];
        }
    }

    /// Adds what a row gives to the gradients of `gamma` and `beta`.
    pub(super) fn add_row<R: Real>(g: &[R], x: &[R], mean: R, scale: R, gammas: &mut [R], betas: &mut [R]) {
        for (((dg, db), &g), &x) in gammas.iter_mut().zip(betas).zip(g).zip(x) {
            *dg += g * ((x - mean) * scale);
            *db += g;
        }
    }
}
