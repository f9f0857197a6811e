//! Functions of real numbers: exponentials, logarithms, trigonometry, error and gamma functions, for
//! any kernel by [`Math`], and the types that kernels compute reals in.
//!
//! Those for single precision, and the commonest for double, have no branches, so that the compiler
//! vectorises loops over them; `f32` results are within 2 units in the last place, `f64` results
//! too.

pub(crate) mod bounds;
pub(crate) mod exp;
pub(crate) mod halves;
mod log;
pub(crate) mod power;
pub(crate) mod powers;
pub(crate) mod real;
pub(crate) mod special;
pub(crate) mod stages;
pub(crate) mod tanh;
#[cfg(test)]
mod tests;
mod trig;
pub(crate) mod wide;

use crate::math::wide::{Function, Wide, map_in_place, map_slice};
use std::f64::consts::PI;
#[cfg(test)]
pub(crate) use {exp::Exp, exp::Sigmoid, tanh::Tanh};

/// The value of a polynomial of up to 16 coefficients, lowest first, by Estrin's scheme ("Organization
/// of computer systems: the fixed plus variable structure computer", 1960): pairs, pairs of pairs.
/// Horner's would be a chain as long as the polynomial, and processors do not look that far ahead.
macro_rules! poly {
    ($name:ident, $t:ty) => {
        #[inline(always)]
        fn $name<const N: usize>(c: &[$t; N], x: $t) -> $t {
            #[inline(always)]
            fn halve<const N: usize, const M: usize>(c: [$t; N], left: usize, x: $t) -> [$t; M] {
                // A loop, since a closure is not sure to become a part of this.
                let mut half = [0.0; M];
                let mut i = 0;
                while i < M {
                    half[i] = match left.saturating_sub(2 * i) {
                        0 => 0.0,
                        1 => c[2 * i],
                        _ => c[2 * i + 1].mul_add(x, c[2 * i]),
                    };
                    i += 1;
                }
                half
            }
            const { assert!(N <= 16) };
            let square = x * x;
            let fourth = square * square;
            let pairs: [$t; 8] = halve(*c, N, x);
            let fours: [$t; 4] = halve(pairs, N.div_ceil(2), square);
            let eights: [$t; 2] = halve(fours, N.div_ceil(4), fourth);
            let [y] = halve(eights, N.div_ceil(8), fourth * fourth);
            y
        }
    };
}
poly!(poly, f64);
poly!(poly_32, f32);

/// As [`poly_32`], by Horner's scheme: fewer operations and smaller errors, where the polynomial is
/// short, its last rounding counts, or several registers take its steps in turn.
#[inline(always)]
fn wide_poly<V: Wide, const N: usize>(c: &[f32; N], x: V) -> V {
    let (mut y, mut i) = (x.all(c[N - 1]), N - 1);
    while i > 0 {
        i -= 1;
        y = y.fma(x, x.all(c[i]));
    }
    y
}

/// Loops over a function: from one slice to another, and over one in its place.
type Loops<R> = (fn(&[R], &mut [R]), fn(&mut [R]));

/// Declares the trait of functions that both precisions have.
macro_rules! math {
    ($($(#[$doc:meta])* $name:ident: $f32:expr, $f64:expr;)*) => {
        /// Functions of real numbers.
        pub(crate) trait Math: Copy {
            /// The largest argument of [`Math::sin`], [`Math::cos`] and [`Math::tan`].
            const NEAR: Self;
            /// The square root of the sum of both squares, without overflow on the way.
            fn hypot(self, y: Self) -> Self;
            /// The loop of the hyperbolic tangent, if it is more than one over [`Math::tanh`].
            fn tanh_loop() -> Option<fn(&[Self], &mut [Self])> { None }
            /// The loops of [`Math::sigmoid`], likewise.
            fn sigmoid_loops() -> Option<Loops<Self>> { None }
            $($(#[$doc])* fn $name(self) -> Self;)*
        }

        impl Math for f32 {
            const NEAR: f32 = trig::NEAR_32;
            #[inline(always)]
            fn hypot(self, y: f32) -> f32 { hypot_short(f64::from(self), f64::from(y)) as f32 }
            fn tanh_loop() -> Option<fn(&[f32], &mut [f32])> { Some(map_slice::<tanh::Tanh>) }
            fn sigmoid_loops() -> Option<Loops<f32>> {
                Some((map_slice::<exp::Sigmoid>, map_in_place::<exp::Sigmoid>))
            }
            $(#[inline(always)] fn $name(self) -> f32 { ($f32)(self) })*
        }

        impl Math for f64 {
            const NEAR: f64 = trig::NEAR;
            #[inline(always)]
            fn hypot(self, y: f64) -> f64 { f64::hypot(self, y) }
            $(#[inline(always)] fn $name(self) -> f64 { ($f64)(self) })*
        }
    };
}

/// A function for single precision in two stages, with a number of double precision in between. Loops
/// take a number of elements through one stage and then through the other ([`crate::math::stages`]): in one
/// piece, the steps that wait for each other would be more than a processor looks ahead.
pub(crate) trait Staged: 'static {
    fn first(x: f32) -> f64;
    /// `x` is the argument again.
    fn second(between: f64, x: f32) -> f32;
}

#[inline(always)]
fn staged<F: Staged>(x: f32) -> f32 {
    F::second(F::first(x), x)
}

/// A function for single precision that computes in double, where it has bits to spare.
macro_rules! short {
    ($x:ident => $body:expr) => {
        |x: f32| {
            let $x = f64::from(x);
            ($body) as f32
        }
    };
}

math! {
    exp: exp::Exp::of, exp::exp;
    /// `exp(x) - 1`.
    exp_m1: exp::exp_m1_32, exp::exp_m1;
    /// The natural logarithm.
    ln: log::ln_32, log::ln;
    /// `ln(1 + x)`.
    ln_1p: log::ln_1p_32, log::ln_1p;
    log2: log::log2_32, f64::log2;
    log10: log::log10_32, f64::log10;
    /// The sine of an argument up to [`Math::NEAR`].
    sin: trig::sin_32, trig::sin;
    /// The cosine of an argument up to [`Math::NEAR`].
    cos: trig::cos_32, trig::cos;
    /// The tangent of an argument up to [`Math::NEAR`].
    tan: short!(x => trig::tan(x)), trig::tan;
    far_sin: short!(x => libm::sin(x)), libm::sin;
    far_cos: short!(x => libm::cos(x)), libm::cos;
    far_tan: short!(x => libm::tan(x)), libm::tan;
    asin: short!(x => trig::asin_short(x)), f64::asin;
    acos: short!(x => trig::acos_short(x)), f64::acos;
    atan: trig::atan_32, f64::atan;
    sinh: short!(x => sinh_short(x)), f64::sinh;
    cosh: short!(x => { let e = exp::exp_short(x.abs()); 0.5 * (e + 1.0 / e) }), f64::cosh;
    tanh: tanh::Tanh::of, exp::tanh;
    asinh: short!(x => asinh_short(x)), libm::asinh;
    acosh: short!(x => acosh_short(x)), |x: f64| if x < 1.0 { f64::NAN } else { libm::acosh(x) };
    atanh: short!(x => atanh_short(x)), libm::atanh;
    cbrt: cbrt_32, f64::cbrt;
    rcbrt: |x: f32| 1.0 / cbrt_32(x), |x: f64| 1.0 / x.cbrt();
    /// Radians as degrees.
    degrees: short!(x => x * (180.0 / PI)), |x: f64| x * (180.0 / PI);
    /// Degrees as radians.
    radians: short!(x => x * (PI / 180.0)), |x: f64| x * (PI / 180.0);
    erf: staged::<special::ErrorFunction>, libm::erf;
    erf_inv: short!(x => special::erf_inv(x)), special::erf_inv;
    gamma: short!(x => special::gamma(x)), special::gamma;
    ln_gamma: short!(x => special::ln_gamma(x)), special::ln_gamma;
    digamma: short!(x => special::digamma(x)), special::digamma;
    trigamma: short!(x => special::trigamma(x)), special::trigamma;
    /// `1 / (1 + exp(-x))`.
    sigmoid: exp::Sigmoid::of, exp::sigmoid;
    /// `-ln(1 + exp(-x))`.
    log_sigmoid: short!(x => log_sigmoid(x, exp::exp_short)), |x: f64| log_sigmoid(x, exp::exp);
    /// `x tanh(ln(1 + exp(x)))`.
    mish: short!(x => mish(x, exp::exp_short)), |x: f64| mish(x, exp::exp);
}

#[inline(always)]
fn sinh_short(x: f64) -> f64 {
    let e = exp::exp_m1_short(x.abs());
    (0.5 * (e + e / (e + 1.0))).copysign(x)
}

/// Of numbers in single precision, whose squares do not overflow.
#[inline(always)]
fn asinh_short(x: f64) -> f64 {
    let (t, z) = (x.abs(), x * x);
    let y = log::ln_1p(t + z / (1.0 + (1.0 + z).sqrt())).copysign(x);
    if t < f64::INFINITY { y } else { x }
}

#[inline(always)]
fn acosh_short(x: f64) -> f64 {
    let t = x - 1.0;
    let y = log::ln_1p(t + (t * (t + 2.0)).sqrt());
    if x < 1.0 { f64::NAN } else { y }
}

#[inline(always)]
fn atanh_short(x: f64) -> f64 {
    let t = x.abs();
    (0.5 * log::ln_1p(2.0 * t / (1.0 - t))).copysign(x)
}

/// An estimate by a third of the exponent's bits, made exact by two steps of Halley's method.
#[inline(always)]
fn cbrt_32(x: f32) -> f32 {
    let t = x.abs();
    let tiny = t < f32::MIN_POSITIVE;
    let (t, shrink) = if tiny {
        (t * 16_777_216.0, 1.0 / 256.0)
    } else {
        (t, 1.0)
    };
    let guess = f32::from_bits(t.to_bits() / 3 + 709_921_077);
    // Scaled by t, the cube of the guess is about 1 and cannot overflow.
    let cube = guess * (guess / t) * guess;
    let better = f64::from(guess * ((cube + 2.0) / (2.0 * cube + 1.0)));
    let (cube, t) = (better * better * better, f64::from(t));
    let y = (better * ((cube + 2.0 * t) / (2.0 * cube + t)) * shrink) as f32;
    if (x == 0.0) | (t == f64::INFINITY) {
        x
    } else {
        y.copysign(x)
    }
}

/// Of numbers in single precision. An infinite side counts more than one that is NaN.
#[inline(always)]
fn hypot_short(x: f64, y: f64) -> f64 {
    let infinite = (x.abs() == f64::INFINITY) | (y.abs() == f64::INFINITY);
    let h = x.mul_add(x, y * y).sqrt();
    if infinite { f64::INFINITY } else { h }
}

#[inline(always)]
fn log_sigmoid(x: f64, exp: impl Fn(f64) -> f64) -> f64 {
    let steep = if x < 0.0 { -x } else { 0.0 };
    -(log::ln_1p(exp(-x.abs())) + steep)
}

#[inline(always)]
fn mish(x: f64, exp: impl Fn(f64) -> f64) -> f64 {
    // From 40 on the hyperbolic tangent is 1.
    let e = exp(if x > 40.0 { 40.0 } else { x });
    let n = e * (e + 2.0);
    let y = x * (n / (n + 2.0));
    if x == f64::NEG_INFINITY { -0.0 } else { y }
}
