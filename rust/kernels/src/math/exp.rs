//! The exponential function and its relatives.
//!
//! The argument is reduced to `x = n ln 2 + r` (Cody and Waite, "Software Manual for the Elementary
//! Functions", 1980); a polynomial in `r` does the rest. `tools/math/fit.py` finds the polynomials.

use super::{poly, wide_poly};
use crate::math::wide::{Function, ROUNDER_32, Wide, power_of_two as power_of_two_32};

/// Adding this rounds to an integer, which then stands in the lowest bits of the sum.
pub(super) const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// `exp(r) = 1 + r + r^2 q(r)` for `|r| <= ln 2 / 2`; error 2e-19.
const EXP: [f64; 11] = [
    0.5,
    0.166_666_666_666_666_7,
    0.041_666_666_666_666_67,
    0.008_333_333_333_326_12,
    0.001_388_888_888_888_386_7,
    0.000_198_412_698_748_739_75,
    2.480_158_732_534_016_2e-05,
    2.755_725_533_255_441e-06,
    2.755_727_379_918_863_3e-07,
    2.510_524_515_390_137e-08,
    2.091_464_523_699_868_5e-09,
];
/// The same with an error of 1.4e-9, for results in single precision.
const EXP_SHORT: [f64; 6] = [
    0.500_000_001_348_722_6,
    0.166_666_666_816_470_16,
    0.041_666_464_711_379_08,
    0.008_333_310_901_725_97,
    0.001_393_367_373_293_185_2,
    0.000_198_910_171_843_020_3,
];
/// The same in single precision.
const EXP_32: [f32; 6] = [
    0.5,
    0.166_666_67,
    0.041_666_273,
    0.008_333_267,
    0.001_394_594_5,
    0.000_199_170_13,
];
/// `ln 2` in two parts, the first with trailing zeros so that `n` times it is exact.
const LN2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
const LN2_32: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];

/// `x` moved into `[low, high]`; NaN stays.
#[inline(always)]
fn clamp<T: Copy + PartialOrd>(x: T, low: T, high: T) -> T {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

/// `2^n` for `-1022 <= n <= 1023`.
#[inline(always)]
pub(super) fn power_of_two(n: i64) -> f64 {
    f64::from_bits(((n + 1023) << 52) as u64)
}

/// `(n, exp(r) - 1)` for `x = n ln 2 + r`, where `x` is moderate.
#[inline(always)]
fn parts<const N: usize>(x: f64, q: &[f64; N]) -> (i64, f64) {
    let shifted = x.mul_add(std::f64::consts::LOG2_E, ROUNDER);
    let n = shifted - ROUNDER;
    let r = n.mul_add(-LN2[1], n.mul_add(-LN2[0], x));
    let count = shifted.to_bits() as i64 - ROUNDER.to_bits() as i64;
    (count, (r * r).mul_add(poly(q, r), r))
}

/// As [`parts`], in single precision; `n` has [`ROUNDER_32`] added to it.
#[inline(always)]
fn parts_32<V: Wide>(x: V) -> (V, V) {
    let shifted = x.fma(x.all(std::f32::consts::LOG2_E), x.all(ROUNDER_32));
    let n = shifted - x.all(ROUNDER_32);
    let r = n.fma(x.all(-LN2_32[0]), x);
    let r = n.fma(x.all(-LN2_32[1]), r);
    (shifted, (r * r).fma(wide_poly(&EXP_32, r), r))
}

/// `n` of [`parts_32`].
#[inline(always)]
fn count(shifted: f32) -> i32 {
    shifted.to_bits() as i32 - ROUNDER_32.to_bits() as i32
}

/// `exp(x)`.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    let (n, p) = parts(clamp(x, -746.0, 710.0), &EXP);
    // In two factors, so that the ends of the range come out as infinity and subnormals. The
    // shift rounds down whatever the sign, and vectorises, unlike one of 64 bits on AVX2.
    let half = i64::from((n as i32) >> 1);
    (p + 1.0) * power_of_two(half) * power_of_two(n - half)
}

/// `exp(x)` to some 30 bits, for results in single precision.
#[inline(always)]
pub(super) fn exp_short(x: f64) -> f64 {
    let (n, p) = parts(clamp(x, -700.0, 700.0), &EXP_SHORT);
    (p + 1.0) * power_of_two(n)
}

/// `exp(x)` in single precision.
pub(crate) struct Exp;

impl Function for Exp {
    #[inline(always)]
    fn of<V: Wide>(x: V) -> V {
        let (n, p) = parts_32(x.at_least(-104.0).at_most(89.0));
        p.ldexp(n)
    }
}

/// `exp(x) - 1`.
#[inline(always)]
pub(super) fn exp_m1(x: f64) -> f64 {
    let (n, p) = parts(clamp(x, -40.0, 710.0), &EXP);
    let half = power_of_two(n - 1);
    let y = 2.0 * half.mul_add(p, half - 0.5);
    if x == 0.0 { x } else { y }
}

/// `exp(x) - 1` to some 30 bits.
#[inline(always)]
pub(super) fn exp_m1_short(x: f64) -> f64 {
    let (n, p) = parts(clamp(x, -40.0, 700.0), &EXP_SHORT);
    let scale = power_of_two(n);
    let y = scale.mul_add(p, scale - 1.0);
    if x == 0.0 { x } else { y }
}

/// `exp(x) - 1` in single precision.
#[inline(always)]
pub(super) fn exp_m1_32(x: f32) -> f32 {
    let (n, p) = parts_32(clamp(x, -20.0, 89.0));
    let half = power_of_two_32(count(n) - 1);
    let y = 2.0 * half.mul_add(p, half - 0.5);
    if x == 0.0 { x } else { y }
}

/// `tanh(x)`.
#[inline(always)]
pub(super) fn tanh(x: f64) -> f64 {
    let e = exp_m1(clamp(2.0 * x.abs(), 0.0, 44.0));
    // The quotient e / (e + 2), and what its roundings lost.
    let under = e + 2.0;
    let lost = e - (under - 2.0);
    let inverse = 1.0 / under;
    let y = e * inverse;
    let rest = y.mul_add(-lost, y.mul_add(-under, e));
    rest.mul_add(inverse, y).copysign(x)
}

/// `1 / (1 + exp(-x))`, by the exponential that cannot overflow.
#[inline(always)]
pub(super) fn sigmoid(x: f64) -> f64 {
    let e = exp(-x.abs());
    let y = (if x < 0.0 { e } else { 1.0 }) / (1.0 + e);
    // A small quotient is the exponential, less a little: that rounds once.
    if (x < 0.0) & (e < 0.25) {
        e.mul_add(-y, e)
    } else {
        y
    }
}

/// As [`sigmoid`], in single precision.
pub(crate) struct Sigmoid;

impl Function for Sigmoid {
    #[inline(always)]
    fn of<V: Wide>(x: V) -> V {
        let (zero, one) = (x.all(0.0), x.all(1.0));
        let (n, p) = parts_32((zero - x.magnitude()).at_least(-104.0));
        let e = p.ldexp(n);
        let y = x.if_negative(e, one) / (one + e);
        let small = x.if_negative(e - x.all(0.25), one);
        small.if_negative((zero - y).fma(e, e), y)
    }
}
