//! The distributions: logarithms of densities, and their slopes.

use crate::math::Math;

/// A distribution: what of its parameters alone comes first, `ready`, is computed once for all of their
/// samples.
pub(super) trait Density: 'static {
    /// Whether all samples have the same density.
    const FLAT: bool = false;
    fn ready(params: [f64; 2]) -> [f64; 3];
    /// The logarithm of the density.
    fn log(x: f64, ready: &[f64; 3]) -> f64;
    /// The same without branches, or NaN where that does not do.
    #[inline(always)]
    fn quick(x: f64, ready: &[f64; 3]) -> f64 {
        Self::log(x, ready)
    }
    /// What the slopes have of the parameters alone.
    fn ready_slope(_: [f64; 2]) -> f64 {
        0.0
    }
    /// How the logarithm changes with the sample and with each parameter.
    fn slopes(x: f64, params: [f64; 2], ready: f64) -> [f64; 3];
}

/// `a ln(x)`, which is 0 for zeros.
#[inline(always)]
pub(super) fn weighted_ln(a: f64, x: f64) -> f64 {
    let y = a * Math::ln(x);
    if (a == 0.0) & (x == 0.0) { 0.0 } else { y }
}

/// Half the logarithm of a full turn.
const HALF_LN_TAU: f64 = 0.918_938_533_204_672_7;

/// The logarithm of the gamma function, of positive numbers by Stirling's series, which begins high
/// enough to be exact.
pub(super) fn ln_gamma(x: f64) -> f64 {
    const START: f64 = 9.0;
    if !(x > 0.0 && x < 1e15) {
        return Math::ln_gamma(x);
    }
    let (mut x, mut below) = (x, 1.0);
    while x < START {
        below *= x;
        x += 1.0;
    }
    let (inverse, square) = (1.0 / x, 1.0 / (x * x));
    let series = 1.0 / 1260.0 + square * (-1.0 / 1680.0 + square * (1.0 / 1188.0));
    let series = 1.0 / 12.0 + square * (-1.0 / 360.0 + square * series);
    let tail = square * square * square * square * square * inverse * (691.0 / 360_360.0);
    (x - 0.5) * Math::ln(x) - x + HALF_LN_TAU + series * inverse - tail - Math::ln(below)
}

/// The same for numbers from 0 to 1e15, without branches; else NaN.
#[inline(always)]
fn quick_ln_gamma(x: f64) -> f64 {
    const UP: f64 = 9.0;
    let low = x < UP;
    let mut below = x;
    for i in 1..9 {
        below *= x + f64::from(i);
    }
    let (below, y) = (if low { below } else { 1.0 }, if low { x + UP } else { x });
    let (inverse, square) = (1.0 / y, 1.0 / (y * y));
    let series = 1.0 / 1260.0 + square * (-1.0 / 1680.0 + square * (1.0 / 1188.0));
    let series = 1.0 / 12.0 + square * (-1.0 / 360.0 + square * series);
    let tail = square * square * square * square * square * inverse * (691.0 / 360_360.0);
    let found =
        (y - 0.5) * Math::ln(y) - y + HALF_LN_TAU + series * inverse - tail - Math::ln(below);
    if (x > 0.0) & (x < 1e15) {
        found
    } else {
        f64::NAN
    }
}

pub(super) struct Uniform;
impl Density for Uniform {
    const FLAT: bool = true;
    #[inline(always)]
    fn ready([low, high]: [f64; 2]) -> [f64; 3] {
        [-Math::ln(high - low), 0.0, 0.0]
    }
    #[inline(always)]
    fn log(_: f64, ready: &[f64; 3]) -> f64 {
        ready[0]
    }
    fn slopes(_: f64, [low, high]: [f64; 2], _: f64) -> [f64; 3] {
        let slope = 1.0 / (high - low);
        [0.0, slope, -slope]
    }
}

pub(super) struct Normal;
impl Density for Normal {
    #[inline(always)]
    fn ready([mean, deviation]: [f64; 2]) -> [f64; 3] {
        [mean, 1.0 / deviation, -Math::ln(deviation) - HALF_LN_TAU]
    }
    #[inline(always)]
    fn log(x: f64, &[mean, inverse, top]: &[f64; 3]) -> f64 {
        let away = (x - mean) * inverse;
        top - 0.5 * away * away
    }
    fn slopes(x: f64, [mean, deviation]: [f64; 2], _: f64) -> [f64; 3] {
        let away = (x - mean) / deviation;
        let slope = away / deviation;
        [-slope, slope, (away * away - 1.0) / deviation]
    }
}

pub(super) struct Exponential;
impl Density for Exponential {
    #[inline(always)]
    fn ready([rate, _]: [f64; 2]) -> [f64; 3] {
        [rate, Math::ln(rate), 0.0]
    }
    #[inline(always)]
    fn log(x: f64, &[rate, logarithm, _]: &[f64; 3]) -> f64 {
        logarithm - rate * x
    }
    fn slopes(x: f64, [rate, _]: [f64; 2], _: f64) -> [f64; 3] {
        [-rate, 1.0 / rate - x, 0.0]
    }
}

/// With the rate for a second parameter, the inverse of a scale.
pub(super) struct Gamma;
impl Density for Gamma {
    #[inline(always)]
    fn ready([shape, rate]: [f64; 2]) -> [f64; 3] {
        let top = shape * Math::ln(rate) - ln_gamma(shape);
        [shape - 1.0, rate, top]
    }
    #[inline(always)]
    fn log(x: f64, &[power, rate, top]: &[f64; 3]) -> f64 {
        top + weighted_ln(power, x) - rate * x
    }
    fn ready_slope([shape, rate]: [f64; 2]) -> f64 {
        Math::ln(rate) - Math::digamma(shape)
    }
    fn slopes(x: f64, [shape, rate]: [f64; 2], ready: f64) -> [f64; 3] {
        let by_shape = ready + Math::ln(x);
        [(shape - 1.0) / x - rate, by_shape, shape / rate - x]
    }
}

pub(super) struct Poisson;
impl Density for Poisson {
    #[inline(always)]
    fn ready([mean, _]: [f64; 2]) -> [f64; 3] {
        [mean, 0.0, 0.0]
    }
    #[inline(always)]
    fn log(x: f64, &[mean, ..]: &[f64; 3]) -> f64 {
        weighted_ln(x, mean) - mean - ln_gamma(x + 1.0)
    }
    #[inline(always)]
    fn quick(x: f64, &[mean, ..]: &[f64; 3]) -> f64 {
        weighted_ln(x, mean) - mean - quick_ln_gamma(x + 1.0)
    }
    fn slopes(x: f64, [mean, _]: [f64; 2], _: f64) -> [f64; 3] {
        [0.0, x / mean - 1.0, 0.0]
    }
}

pub(super) struct NegativeBinomial;
impl Density for NegativeBinomial {
    #[inline(always)]
    fn ready([k, p]: [f64; 2]) -> [f64; 3] {
        [k, weighted_ln(k, p) - ln_gamma(k), 1.0 - p]
    }
    #[inline(always)]
    fn log(x: f64, &[k, top, failure]: &[f64; 3]) -> f64 {
        let ways = ln_gamma(x + k) - ln_gamma(x + 1.0);
        ways + top + weighted_ln(x, failure)
    }
    #[inline(always)]
    fn quick(x: f64, &[k, top, failure]: &[f64; 3]) -> f64 {
        let ways = quick_ln_gamma(x + k) - quick_ln_gamma(x + 1.0);
        ways + top + weighted_ln(x, failure)
    }
    fn ready_slope([k, p]: [f64; 2]) -> f64 {
        Math::ln(p) - Math::digamma(k)
    }
    fn slopes(x: f64, [k, p]: [f64; 2], ready: f64) -> [f64; 3] {
        let by_k = Math::digamma(x + k) + ready;
        [0.0, by_k, k / p - x / (1.0 - p)]
    }
}

pub(super) struct GeneralizedNegativeBinomial;
impl Density for GeneralizedNegativeBinomial {
    #[inline(always)]
    fn ready([mu, alpha]: [f64; 2]) -> [f64; 3] {
        let (k, more) = (1.0 / alpha, mu * alpha);
        let top = -k * Math::ln_1p(more) - ln_gamma(k);
        [k, top, more / (1.0 + more)]
    }
    #[inline(always)]
    fn log(x: f64, ready: &[f64; 3]) -> f64 {
        NegativeBinomial::log(x, ready)
    }
    #[inline(always)]
    fn quick(x: f64, ready: &[f64; 3]) -> f64 {
        NegativeBinomial::quick(x, ready)
    }
    fn ready_slope([mu, alpha]: [f64; 2]) -> f64 {
        NegativeBinomial::ready_slope([1.0 / alpha, 1.0 / (1.0 + mu * alpha)])
    }
    fn slopes(x: f64, [mu, alpha]: [f64; 2], ready: f64) -> [f64; 3] {
        let (k, p) = (1.0 / alpha, 1.0 / (1.0 + mu * alpha));
        let [_, by_k, by_p] = NegativeBinomial::slopes(x, [k, p], ready);
        [
            0.0,
            -by_p * alpha * p * p,
            -by_k * k * k - by_p * mu * p * p,
        ]
    }
}
