//! The distributions: logarithms of densities, and their slopes.

use crate::math::Math;
use std::f64::consts::TAU;

/// A distribution: what of its parameters alone comes first, `ready`, is computed once for all of their
/// samples.
pub(super) trait Density: 'static {
    fn ready(params: [f64; 2]) -> [f64; 3];
    /// The logarithm of the density.
    fn log(x: f64, ready: &[f64; 3]) -> f64;
    /// How the logarithm changes with the sample and with each parameter.
    fn slopes(x: f64, params: [f64; 2]) -> [f64; 3];
}

/// `a ln(x)`, which is 0 for zeros.
#[inline(always)]
pub(super) fn weighted_ln(a: f64, x: f64) -> f64 {
    let y = a * Math::ln(x);
    if (a == 0.0) & (x == 0.0) { 0.0 } else { y }
}

pub(super) struct Uniform;
impl Density for Uniform {
    fn ready([low, high]: [f64; 2]) -> [f64; 3] {
        [-Math::ln(high - low), 0.0, 0.0]
    }
    #[inline(always)]
    fn log(_: f64, ready: &[f64; 3]) -> f64 {
        ready[0]
    }
    fn slopes(_: f64, [low, high]: [f64; 2]) -> [f64; 3] {
        let slope = 1.0 / (high - low);
        [0.0, slope, -slope]
    }
}

pub(super) struct Normal;
impl Density for Normal {
    fn ready([mean, deviation]: [f64; 2]) -> [f64; 3] {
        [mean, 1.0 / deviation, -Math::ln(deviation) - 0.5 * TAU.ln()]
    }
    #[inline(always)]
    fn log(x: f64, &[mean, inverse, top]: &[f64; 3]) -> f64 {
        let away = (x - mean) * inverse;
        top - 0.5 * away * away
    }
    fn slopes(x: f64, [mean, deviation]: [f64; 2]) -> [f64; 3] {
        let away = (x - mean) / deviation;
        let slope = away / deviation;
        [-slope, slope, (away * away - 1.0) / deviation]
    }
}

pub(super) struct Exponential;
impl Density for Exponential {
    fn ready([rate, _]: [f64; 2]) -> [f64; 3] {
        [rate, Math::ln(rate), 0.0]
    }
    #[inline(always)]
    fn log(x: f64, &[rate, logarithm, _]: &[f64; 3]) -> f64 {
        logarithm - rate * x
    }
    fn slopes(x: f64, [rate, _]: [f64; 2]) -> [f64; 3] {
        [-rate, 1.0 / rate - x, 0.0]
    }
}

/// With the rate for a second parameter, the inverse of a scale.
pub(super) struct Gamma;
impl Density for Gamma {
    fn ready([shape, rate]: [f64; 2]) -> [f64; 3] {
        let top = shape * Math::ln(rate) - Math::ln_gamma(shape);
        [shape - 1.0, rate, top]
    }
    #[inline(always)]
    fn log(x: f64, &[power, rate, top]: &[f64; 3]) -> f64 {
        top + weighted_ln(power, x) - rate * x
    }
    fn slopes(x: f64, [shape, rate]: [f64; 2]) -> [f64; 3] {
        let by_shape = Math::ln(rate) + Math::ln(x) - Math::digamma(shape);
        [(shape - 1.0) / x - rate, by_shape, shape / rate - x]
    }
}

pub(super) struct Poisson;
impl Density for Poisson {
    fn ready([mean, _]: [f64; 2]) -> [f64; 3] {
        [mean, 0.0, 0.0]
    }
    #[inline(always)]
    fn log(x: f64, &[mean, ..]: &[f64; 3]) -> f64 {
        weighted_ln(x, mean) - mean - Math::ln_gamma(x + 1.0)
    }
    fn slopes(x: f64, [mean, _]: [f64; 2]) -> [f64; 3] {
        [0.0, x / mean - 1.0, 0.0]
    }
}

pub(super) struct NegativeBinomial;
impl Density for NegativeBinomial {
    fn ready([k, p]: [f64; 2]) -> [f64; 3] {
        [k, weighted_ln(k, p) - Math::ln_gamma(k), 1.0 - p]
    }
    #[inline(always)]
    fn log(x: f64, &[k, top, failure]: &[f64; 3]) -> f64 {
        let ways = Math::ln_gamma(x + k) - Math::ln_gamma(x + 1.0);
        ways + top + weighted_ln(x, failure)
    }
    fn slopes(x: f64, [k, p]: [f64; 2]) -> [f64; 3] {
        let by_k = Math::digamma(x + k) - Math::digamma(k) + Math::ln(p);
        [0.0, by_k, k / p - x / (1.0 - p)]
    }
}

pub(super) struct GeneralizedNegativeBinomial;
impl Density for GeneralizedNegativeBinomial {
    fn ready([mu, alpha]: [f64; 2]) -> [f64; 3] {
        let (k, more) = (1.0 / alpha, mu * alpha);
        let top = -k * Math::ln_1p(more) - Math::ln_gamma(k);
        [k, top, more / (1.0 + more)]
    }
    #[inline(always)]
    fn log(x: f64, ready: &[f64; 3]) -> f64 {
        NegativeBinomial::log(x, ready)
    }
    fn slopes(x: f64, [mu, alpha]: [f64; 2]) -> [f64; 3] {
        let (k, p) = (1.0 / alpha, 1.0 / (1.0 + mu * alpha));
        let [_, by_k, by_p] = NegativeBinomial::slopes(x, [k, p]);
        [
            0.0,
            -by_p * alpha * p * p,
            -by_k * k * k - by_p * mu * p * p,
        ]
    }
}
