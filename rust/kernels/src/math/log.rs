//! Logarithms.
//!
//! `x = 2^k m` with `m` between the square roots of 1/2 and 2. In double precision `ln m = 2
//! artanh(s)` for `s = (m - 1) / (m + 1)`; in single precision a polynomial in `m - 1` saves the
//! division. `tools/math/fit.py` finds the polynomials.

use super::{Staged, poly, poly_32};

/// `artanh(s) = s + s^3 q(s^2)` for `|s| <= 0.1716`; error 5e-21.
const ARTANH: [f64; 8] = [
    0.333_333_333_333_333_3,
    0.200_000_000_000_004_4,
    0.142_857_142_854_009_77,
    0.111_111_111_960_445_04,
    0.090_908_978_000_303_97,
    0.076_931_209_409_692_97,
    0.066_343_573_961_740_48,
    0.065_436_180_983_298_1,
];
/// `ln(1 + f) = f - f^2 / 2 + f^3 q(f)`; error 2e-9.
const LN_32: [f32; 9] = [
    0.333_333_3,
    -0.249_999_97,
    0.200_007_17,
    -0.166_678_09,
    0.142_490_1,
    -0.124_254_87,
    0.116_857_2,
    -0.114_814_77,
    0.069_730_7,
];
/// As [`ARTANH`], with an error of 9e-8.
const ARTANH_SHORT: [f64; 3] = [
    0.333_333_425_318_751_65,
    0.199_943_853_367_554_38,
    0.147_901_991_407_423_55,
];
const LN2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
const LN2_32: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
/// The bits of the square root of 1/2.
const ROOT: i64 = 0x3fe6_a09e_667f_3bcd;
const ROOT_32: i32 = 0x3f35_04f3;
/// 2^52 and its bits, for converting small integers by addition.
const SHIFT: f64 = 4_503_599_627_370_496.0;

/// `(k, m)` of a positive normal number.
#[inline(always)]
fn split(x: f64) -> (f64, f64) {
    // The bias makes the difference positive, so that a logical shift does; AVX2 has no other.
    let bits = x.to_bits().wrapping_sub(ROOT as u64);
    let biased = bits.wrapping_add(2048 << 52) >> 52;
    let k = f64::from_bits(biased | SHIFT.to_bits()) - (SHIFT + 2048.0);
    (
        k,
        f64::from_bits(x.to_bits().wrapping_sub(biased.wrapping_sub(2048) << 52)),
    )
}

/// `ln(x)` of a positive normal number.
#[inline(always)]
fn ln_normal(x: f64, offset: f64) -> f64 {
    let (k, m) = split(x);
    let k = k + offset;
    let f = m - 1.0;
    let s = f / (f + 2.0);
    let z = s * s;
    // 2 artanh(s) = f - s (f - 2 z q): the leading term is exact.
    let tail = s * (f - 2.0 * z * poly(&ARTANH, z));
    k.mul_add(LN2[0], f - (tail - k * LN2[1]))
}

/// The values of a logarithm where the formula has none.
#[inline(always)]
fn ends(x: f64, y: f64) -> f64 {
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    let y = if x < 0.0 { f64::NAN } else { y };
    if x < f64::INFINITY { y } else { x }
}

/// `ln(x)`.
#[inline(always)]
pub(super) fn ln(x: f64) -> f64 {
    let tiny = x < f64::MIN_POSITIVE;
    let scaled = if tiny { x * SHIFT * 4.0 } else { x };
    ends(x, ln_normal(scaled, if tiny { -54.0 } else { 0.0 }))
}

/// `ln(x)` in single precision.
#[inline(always)]
pub(super) fn ln_32(x: f32) -> f32 {
    let tiny = x < f32::MIN_POSITIVE;
    let bits = (if tiny { x * 8_388_608.0 } else { x }).to_bits() as i32;
    let k = bits.wrapping_sub(ROOT_32) >> 23;
    let f = f32::from_bits(bits.wrapping_sub(k << 23) as u32) - 1.0;
    let k = k as f32 - if tiny { 23.0 } else { 0.0 };
    let q = poly_32(&LN_32, f);
    let z = f * f;
    let tail = k.mul_add(LN2_32[1], z * f.mul_add(q, -0.5));
    let y = k.mul_add(LN2_32[0], f + tail);
    let y = if x == 0.0 { f32::NEG_INFINITY } else { y };
    let y = if x < 0.0 { f32::NAN } else { y };
    if x < f32::INFINITY { y } else { x }
}

/// `ln(1 + x)`.
#[inline(always)]
pub(super) fn ln_1p(x: f64) -> f64 {
    let u = 1.0 + x;
    // What the sum lost, which the derivative of the logarithm carries over.
    let lost = if x.abs() < 1.0 {
        x - (u - 1.0)
    } else {
        1.0 - (u - x)
    };
    let y = ln_normal(u, 0.0) + lost / u;
    let y = if u == 0.0 { f64::NEG_INFINITY } else { y };
    let y = if u < 0.0 { f64::NAN } else { y };
    let y = if x < f64::INFINITY { y } else { x };
    if x == 0.0 { x } else { y }
}

/// `ln(1 + x)` in single precision.
pub(crate) struct LnOnePlus;

/// `k` for `u = 2^k m`, a positive number.
#[inline(always)]
fn exponent_32(u: f32) -> i32 {
    (u.to_bits() as i32).wrapping_sub(ROOT_32) >> 23
}

impl Staged for LnOnePlus {
    /// `s = f / (f + 2)` for `1 + x = 2^k (1 + f)`; what the sum of 1 and `x` loses counts in `k` only.
    #[inline(always)]
    fn first(x: f32) -> f64 {
        let k = i64::from(exponent_32(1.0 + x));
        let shrink = f64::from_bits(((1023 - k) << 52) as u64);
        let f = f64::from(x).mul_add(shrink, shrink - 1.0);
        f / (f + 2.0)
    }

    #[inline(always)]
    fn second(s: f64, x: f32) -> f32 {
        let u = 1.0 + x;
        let (z, twice) = (s * s, s + s);
        let y = (twice * z).mul_add(poly(&ARTANH_SHORT, z), twice);
        let y = f64::from(exponent_32(u)).mul_add(std::f64::consts::LN_2, y) as f32;
        let y = if x < f32::INFINITY { y } else { x };
        let edge = if u == 0.0 {
            f32::NEG_INFINITY
        } else {
            f32::NAN
        };
        let y = if u <= 0.0 { edge } else { y };
        if x == 0.0 { x } else { y }
    }
}

/// `log2(m) = s q(s^2)` for `s = (m - 1) / (m + 1)`; error 1.2e-11.
const LOG2: [f64; 5] = [
    2.885_390_081_790_013_6,
    0.961_796_673_415_497_3,
    0.577_083_573_363_693_3,
    0.411_673_299_141_158_13,
    0.340_721_114_954_929_5,
];

/// The logarithm to base 2 of a positive normal number, to some 36 bits.
#[inline(always)]
pub(super) fn log2_short(x: f32) -> f64 {
    let k = exponent_32(x);
    let m = f32::from_bits((x.to_bits() as i32).wrapping_sub(k << 23) as u32);
    let f = f64::from(m) - 1.0;
    let s = f / (f + 2.0);
    s.mul_add(poly(&LOG2, s * s), f64::from(k))
}
