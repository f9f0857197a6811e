//! The error function, the gamma function and their relatives.

use super::exp::exp_m1_short;
use super::{Staged, poly};
use std::f64::consts::PI;

/// `erf x = 1 - exp(-x q(x))` for `0 <= x <= 4.1`; error 4e-11.
const ERF: [f64; 16] = [
    1.128_379_167_070_658_2,
    0.636_619_775_446_835_6,
    0.102_772_542_029_746_46,
    -0.019_127_984_932_567_47,
    -0.000_210_905_931_670_063_53,
    0.001_699_556_319_224_701_2,
    -0.000_592_994_887_271_606,
    2.412_118_219_828_021_4e-05,
    7.271_581_865_414_893e-05,
    -4.133_740_747_762_025e-05,
    1.340_439_606_749_255_5e-05,
    -2.959_578_259_667_369_7e-06,
    4.543_241_716_983_403_3e-07,
    -4.671_017_858_600_677e-08,
    2.901_396_537_202_2e-09,
    -8.242_627_361_917_254e-11,
];

/// The error function in single precision, where it is 1 from 3.93 on.
pub(crate) struct ErrorFunction;

impl Staged for ErrorFunction {
    /// The logarithm of `1 - erf(|x|)`.
    #[inline(always)]
    fn first(x: f32) -> f64 {
        let t = f64::from(x.abs());
        let t = if t > 4.1 { 4.1 } else { t };
        -t * poly(&ERF, t)
    }

    #[inline(always)]
    fn second(logarithm: f64, x: f32) -> f32 {
        (-exp_m1_short(logarithm) as f32).copysign(x)
    }
}

/// `erf_inv(x) / x` to seven digits, from `w = -ln(1 - x^2)` up to 16 (Giles, GPU Computing Gems, 2012).
fn giles(w: f64) -> f64 {
    let (x, terms) = if w < 5.0 {
        (w - 2.5, &CENTRE)
    } else {
        (w.sqrt() - 3.0, &TAIL)
    };
    terms.iter().fold(0.0, |sum, term| sum * x + term)
}

/// From the highest power on.
const CENTRE: [f64; 9] = [
    2.810_226_36e-8,
    3.432_739_39e-7,
    -3.523_387_7e-6,
    -4.391_506_54e-6,
    0.000_218_580_87,
    -0.001_253_725_03,
    -0.004_177_681_64,
    0.246_640_727,
    1.501_409_41,
];
const TAIL: [f64; 9] = [
    -0.000_200_214_257,
    0.000_100_950_558,
    0.001_349_343_22,
    -0.003_673_428_44,
    0.005_739_507_73,
    -0.007_622_461_3,
    0.009_438_870_47,
    1.001_674_06,
    2.832_976_82,
];

/// The inverse of the error function: the estimate of Winitzki ("A handy approximation for the
/// error function and its inverse", 2008), made exact by steps of Halley's method.
pub(super) fn erf_inv(x: f64) -> f64 {
    let t = x.abs();
    if t >= 1.0 || t.is_nan() || t == 0.0 {
        return match t {
            1.0 => f64::INFINITY.copysign(x),
            0.0 => x,
            _ => f64::NAN,
        };
    }
    let logarithm = (-t * t).ln_1p();
    let (mut y, steps) = if logarithm > -16.0 {
        (t * giles(-logarithm), 1)
    } else {
        let middle = 2.0 / (PI * 0.147) + logarithm / 2.0;
        let square = (middle * middle - logarithm / 0.147).sqrt() - middle;
        (square.sqrt(), 3)
    };
    for _ in 0..steps {
        // Near 1 the complements tell numbers apart.
        let error = if t < 0.5 {
            libm::erf(y) - t
        } else {
            (1.0 - t) - libm::erfc(y)
        };
        let step = error * (PI.sqrt() / 2.0) * (y * y).exp();
        y -= step / (1.0 + y * step);
    }
    y.copysign(x)
}

/// The gamma function.
pub(super) fn gamma(x: f64) -> f64 {
    libm::tgamma(x)
}

/// The logarithm of the absolute value of the gamma function.
pub(super) fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// The coefficients of `1 / x^(2 k)` in the asymptotic series of [`digamma`]: `B(2 k) / (2 k)`.
const DIGAMMA: [f64; 7] = [
    1.0 / 12.0,
    -1.0 / 120.0,
    1.0 / 252.0,
    -1.0 / 240.0,
    1.0 / 132.0,
    -691.0 / 32_760.0,
    1.0 / 12.0,
];
/// The Bernoulli numbers `B(2 k)`, for the series of [`trigamma`].
const BERNOULLI: [f64; 7] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
];
/// From here on the asymptotic series are exact enough.
const FAR: f64 = 10.0;

/// The logarithmic derivative of the gamma function: reflection below zero, recurrence up to
/// [`FAR`], then the asymptotic series (Abramowitz and Stegun, 6.3). Infinite at its poles, as in
/// MXNet.
pub(super) fn digamma(x: f64) -> f64 {
    if x <= 0.0 {
        if x == x.floor() {
            return if x == f64::NEG_INFINITY {
                f64::NAN
            } else {
                f64::INFINITY
            };
        }
        // The period of the tangent keeps its argument small.
        return digamma(1.0 - x) - PI / (PI * (x - x.round())).tan();
    }
    let (mut x, mut below) = (x, 0.0);
    while x < FAR {
        below += 1.0 / x;
        x += 1.0;
    }
    let z = 1.0 / (x * x);
    x.ln() - 0.5 / x - z * poly(&DIGAMMA, z) - below
}

/// The derivative of [`digamma`] (Abramowitz and Stegun, 6.4).
pub(super) fn trigamma(x: f64) -> f64 {
    if x <= 0.0 {
        if x == x.floor() {
            return if x == f64::NEG_INFINITY {
                f64::NAN
            } else {
                f64::INFINITY
            };
        }
        let sine = (PI * (x - x.round())).sin();
        return PI * PI / (sine * sine) - trigamma(1.0 - x);
    }
    let (mut x, mut below) = (x, 0.0);
    while x < FAR {
        below += 1.0 / (x * x);
        x += 1.0;
    }
    let z = 1.0 / (x * x);
    if x == f64::INFINITY {
        return 0.0;
    }
    1.0 / x + 0.5 * z + z / x * poly(&BERNOULLI, z) + below
}
