//! Sines, cosines and tangents, and their inverses.
//!
//! The argument is reduced to `x = n pi/2 + r` by subtracting `pi/2` in two parts, or to `n pi + r` in
//! three of single precision; the first difference is exact with a fused multiplication. That
//! suffices up to [`NEAR`] and [`NEAR_32`]; larger arguments are rare and go to the `libm` crate,
//! which reduces them as Payne and Hanek do ("Radian Reduction for Trigonometric Functions", 1983).

use super::exp::ROUNDER;
use super::{poly, wide_poly};
use crate::math::wide::ROUNDER_32;

/// The largest argument of [`sin`] and its like in double precision.
pub(super) const NEAR: f64 = 1e5;
/// The largest argument of [`sin_32`] and its like.
pub(super) const NEAR_32: f32 = 1e5;
/// The bit of the sign.
const SIGN: u32 = 1 << 31;

/// `sin r = r + r^3 q(r^2)` for `|r| <= pi/4`; error 6e-21.
const SIN: [f64; 7] = [
    -0.166_666_666_666_666_66,
    0.008_333_333_333_333_331,
    -0.000_198_412_698_412_650_6,
    2.755_731_921_933_466e-06,
    -2.505_210_623_088_241e-08,
    1.605_853_137_093_190_2e-10,
    -7.586_682_497_157_786e-13,
];
/// `cos r = 1 - r^2 / 2 + r^4 q(r^2)`; error 3e-22.
const COS: [f64; 7] = [
    0.041_666_666_666_666_664,
    -0.001_388_888_888_888_888_7,
    2.480_158_730_158_464_2e-05,
    -2.755_731_922_140_032e-07,
    2.087_675_579_021_022_8e-09,
    -1.147_046_074_969_686_2e-11,
    4.745_863_773_282_962_3e-14,
];
/// The same for `|r| <= pi/2` in single precision; error 7e-9 of the sine.
const SIN_32: [f32; 4] = [
    -0.166_666_6,
    0.008_333_068,
    -0.000_198_096_65,
    2.605_777_4e-6,
];
/// `atan t = t + t^3 q(t^2)` for `|t| <= tan(pi/8)`; error 2e-12.
const ATAN: [f64; 7] = [
    -0.333_333_333_314_387_8,
    0.199_999_989_163_430_23,
    -0.142_856_124_384_795_25,
    0.111_074_931_083_529_56,
    -0.090_289_583_018_078_92,
    0.071_351_820_846_856_53,
    -0.040_429_226_651_597_004,
];
/// The same for `|t| <= 1` in single precision; error 2e-8 of the arc tangent.
const ATAN_32: [f32; 8] = [
    -0.333_331_26,
    0.199_931_35,
    -0.142_058_21,
    0.106_453_26,
    -0.075_081_43,
    0.042_692_73,
    -0.016_049_758,
    0.002_841_484,
];
/// A quarter turn in two parts.
const HALF_PI: [f64; 2] = [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17];

/// The quadrant of `x` (in the lowest two bits), and sine and cosine of what is left.
#[inline(always)]
fn reduced(x: f64) -> (u64, f64, f64) {
    let shifted = x.mul_add(std::f64::consts::FRAC_2_PI, ROUNDER);
    let n = shifted - ROUNDER;
    let first = n.mul_add(-HALF_PI[0], x);
    let r = n.mul_add(-HALF_PI[1], first);
    let low = n.mul_add(-HALF_PI[1], first - r);
    let z = r * r;
    let half = 0.5 * z;
    let sin = r + (z * r).mul_add(poly(&SIN, z), low.mul_add(-half, low));
    let one = 1.0 - half;
    let rest = (1.0 - one) - half;
    let cos = one + (z * z).mul_add(poly(&COS, z), rest - r * low);
    (shifted.to_bits(), sin, cos)
}

/// `y`, negated where `negative` has its lowest bit set.
#[inline(always)]
fn with_sign(y: f64, negative: u64) -> f64 {
    f64::from_bits(y.to_bits() ^ (negative << 63))
}

/// The sine of an argument up to [`NEAR`].
#[inline(always)]
pub(super) fn sin(x: f64) -> f64 {
    let (n, sin, cos) = reduced(x);
    let y = with_sign(if n & 1 == 0 { sin } else { cos }, n >> 1);
    if x == 0.0 { x } else { y }
}

/// The cosine of an argument up to [`NEAR`].
#[inline(always)]
pub(super) fn cos(x: f64) -> f64 {
    let (n, sin, cos) = reduced(x);
    with_sign(if n & 1 == 0 { cos } else { sin }, (n >> 1) ^ n)
}

/// The tangent of an argument up to [`NEAR`].
#[inline(always)]
pub(super) fn tan(x: f64) -> f64 {
    let (n, sin, cos) = reduced(x);
    let even = n & 1 == 0;
    let y = if even { sin / cos } else { -cos / sin };
    if x == 0.0 { x } else { y }
}

/// A half turn in three parts. What `n` times the first leaves of an argument is exact.
const PI_32: [f32; 3] = [std::f32::consts::PI, -8.742_278e-8, -3.430_249e-15];

/// The sine of `t - n pi`, negated where the highest bit of `sign` is set.
#[inline(always)]
fn sin_of_rest(t: f32, n: f32, sign: u32) -> f32 {
    let r = n.mul_add(-PI_32[1], n.mul_add(-PI_32[0], t));
    let r = n.mul_add(-PI_32[2], r);
    let z = r * r;
    let y = (z * r).mul_add(wide_poly(&SIN_32, z), r);
    f32::from_bits(y.to_bits() ^ (sign & SIGN))
}

/// The sine of an argument up to [`NEAR_32`]; error 1.73 units.
#[inline(always)]
pub(super) fn sin_32(x: f32) -> f32 {
    let t = x.abs();
    let shifted = t.mul_add(std::f32::consts::FRAC_1_PI, ROUNDER_32);
    let sign = (shifted.to_bits() << 31) ^ x.to_bits();
    sin_of_rest(t, shifted - ROUNDER_32, sign)
}

/// The cosine of an argument up to [`NEAR_32`]: a sine, half a turn less a quarter on; error 1.81
/// units.
#[inline(always)]
pub(super) fn cos_32(x: f32) -> f32 {
    let t = x.abs();
    let shifted = t.mul_add(std::f32::consts::FRAC_1_PI, -0.5) + ROUNDER_32;
    let sign = !shifted.to_bits() << 31;
    sin_of_rest(t, (shifted - ROUNDER_32) + 0.5, sign)
}

/// The arc tangent in single precision, of a quotient up to 1: `t` or, beyond 1, `1 / t`, whose arc
/// tangent is what is missing to a quarter turn; error 1.47 units.
#[inline(always)]
pub(super) fn atan_32(x: f32) -> f32 {
    // Compared as integers, lest the compiler compute either case to the end: positive numbers have
    // the order of their bits.
    let one = 1_f32.to_bits() as i32;
    let bits = x.abs().to_bits() as i32;
    let quotient = f32::from_bits(bits.min(one) as u32) / f32::from_bits(bits.max(one) as u32);
    let z = quotient * quotient;
    let y = (z * quotient).mul_add(wide_poly(&ATAN_32, z), quotient);
    let y = f32::from_bits(y.to_bits() ^ ((one - bits) as u32 & SIGN));
    // The product of both constants is a quarter turn to 36 bits.
    let turned = if bits > one { 1.683_918_8 } else { 0.0 };
    0.932_821_87_f32.mul_add(turned, y).copysign(x)
}

/// The arc tangent to some 35 bits, of infinities too.
#[inline(always)]
pub(super) fn atan_short(x: f64) -> f64 {
    let t = x.abs();
    // tan(pi/8) and tan(3 pi/8) part the range: t, (t - 1) / (t + 1), -1 / t.
    let (steep, flat) = (t > 2.414_213_562_373_095, t > 0.414_213_562_373_095_03);
    let over = if flat { t - 1.0 } else { t };
    let under = if flat { t + 1.0 } else { 1.0 };
    let r = if steep { -1.0 } else { over } / if steep { t } else { under };
    let base = if flat {
        std::f64::consts::FRAC_PI_4
    } else {
        0.0
    };
    let base = if steep {
        std::f64::consts::FRAC_PI_2
    } else {
        base
    };
    let z = r * r;
    (base + (z * r).mul_add(poly(&ATAN, z), r)).copysign(x)
}

/// The arc sine to some 35 bits, of numbers in single precision.
#[inline(always)]
pub(super) fn asin_short(x: f64) -> f64 {
    atan_short(x / x.mul_add(-x, 1.0).sqrt())
}

/// The arc cosine to some 35 bits, of numbers in single precision.
#[inline(always)]
pub(super) fn acos_short(x: f64) -> f64 {
    2.0 * atan_short(((1.0 - x) / (1.0 + x)).sqrt())
}
