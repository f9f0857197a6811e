//! Sines, cosines and tangents, and their inverses.
//!
//! The argument is reduced to `x = n pi/2 + r` by subtracting `pi/2` in two parts; the first
//! difference is exact with a fused multiplication. That suffices up to [`NEAR`] in double and
//! [`NEAR_32`] in single precision; larger arguments are rare and go to the `libm` crate, which
//! reduces them as Payne and Hanek do ("Radian Reduction for Trigonometric Functions", 1983).

use super::exp::ROUNDER;
use super::{Staged, poly};

/// The largest argument of [`sin`] and its like in double precision.
pub(super) const NEAR: f64 = 1e5;
/// The largest argument of [`sin`] and its like where single precision is asked for.
pub(super) const NEAR_32: f32 = 1e9;

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
/// `sin r = r + r^3 q(r^2)` for `|r| <= pi/2`; error 3e-11.
const SIN_SHORT: [f64; 5] = [
    -0.166_666_666_638_806_8,
    0.008_333_332_768_663_713,
    -0.000_198_410_865_396_438_2,
    2.753_646_191_165_073e-06,
    -2.408_015_221_587_895e-08,
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

/// The same with an error of 2e-8, for results in single precision.
const ATAN_SHORT: [f64; 5] = [
    -0.333_333_317_600_080_4,
    0.199_995_402_169_375_34,
    -0.142_639_463_579_123_4,
    0.107_436_316_271_445_74,
    -0.064_515_972_589_529_92,
];
/// A half turn in two parts.
const PI: [f64; 2] = [std::f64::consts::PI, 1.224_646_799_147_353_2e-16];

/// The sine of `x - n pi`, negated where `n` is odd; `x` is moved by `n` half turns, of which
/// `shifted` has the lowest bits. To some 35 bits.
#[inline(always)]
fn sin_of_rest(x: f64, n: f64, shifted: u64) -> f64 {
    let r = n.mul_add(-PI[1], n.mul_add(-PI[0], x));
    let z = r * r;
    with_sign(r, shifted) * z.mul_add(poly(&SIN_SHORT, z), 1.0)
}

/// The sine of an argument up to [`NEAR_32`], to some 35 bits.
#[inline(always)]
pub(super) fn sin_short(x: f64) -> f64 {
    let shifted = x.mul_add(std::f64::consts::FRAC_1_PI, ROUNDER);
    sin_of_rest(x, shifted - ROUNDER, shifted.to_bits())
}

/// The cosine of an argument up to [`NEAR_32`], to some 35 bits: a sine, half a turn less a quarter on.
#[inline(always)]
pub(super) fn cos_short(x: f64) -> f64 {
    let x = x.abs();
    let shifted = x.mul_add(std::f64::consts::FRAC_1_PI, -0.5) + ROUNDER;
    sin_of_rest(x, (shifted - ROUNDER) + 0.5, !shifted.to_bits())
}

/// The arc tangent in single precision.
pub(crate) struct ArcTangent;

/// Where [`ArcTangent`] changes its argument: the tangents of a sixteenth and of three sixteenths of a turn.
const FLAT: f32 = 0.414_213_57;
const STEEP: f32 = 2.414_213_7;

impl Staged for ArcTangent {
    /// `t`, `(t - 1) / (t + 1)` or `-1 / t` for the magnitude `t`. (A quotient in each branch would
    /// be computed in each.)
    #[inline(always)]
    fn first(x: f32) -> f64 {
        let (t, flat, steep) = (f64::from(x.abs()), x.abs() > FLAT, x.abs() > STEEP);
        let over = t - if flat { 1.0 } else { 0.0 };
        let over = if steep { -1.0 } else { over };
        let under = if flat { t + 1.0 } else { 1.0 };
        over / if steep { t } else { under }
    }

    #[inline(always)]
    fn second(r: f64, x: f32) -> f32 {
        let (flat, steep) = (x.abs() > FLAT, x.abs() > STEEP);
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
        ((base + (z * r).mul_add(poly(&ATAN_SHORT, z), r)) as f32).copysign(x)
    }
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
