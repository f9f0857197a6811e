//! Logarithms.
//!
//! `x = 2^k m` with `m` between the square roots of 1/2 and 2. In double precision `ln m = 2
//! artanh(s)` for `s = (m - 1) / (m + 1)`; in single precision a polynomial in `m - 1` saves the
//! division, and the bits of the exponent, taken for an integer, are `2^23 k`, which saves a shift.
//! `tools/math/fit.py` finds the polynomials.

use super::{poly, poly_32};

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
/// `ln(1 + f) = f + f^2 q(f)`; error 3.5e-8 of the logarithm, as of the next two.
const LN_32: [f32; 8] = [
    -0.5,
    0.333_339_75,
    -0.250_009_75,
    0.199_605_05,
    -0.165_877_2,
    0.149_516_79,
    -0.141_997_11,
    0.085_080_49,
];
/// The same for the logarithm to base 2, where `f / ln 2` takes the place of `f`.
const LOG2_32: [f32; 8] = [
    -0.721_347_5,
    0.480_907_6,
    -0.360_688_42,
    0.287_970_2,
    -0.239_299_49,
    0.215_688_08,
    -0.204_917_4,
    0.122_862_406,
];
/// The same for the logarithm to base 10.
const LOG10_32: [f32; 8] = [
    -0.217_147_23,
    0.144_767_6,
    -0.108_578_466,
    0.086_688_384,
    -0.072_028_57,
    0.064_914_614,
    -0.061_728_887,
    0.037_070_632,
];
const LN2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
/// The bits of the square root of 1/2.
const ROOT: i64 = 0x3fe6_a09e_667f_3bcd;
const ROOT_32: u32 = 0x3f35_04f3;
/// The bits of the sign and the exponent.
const EXPONENT: u32 = 0xff80_0000;
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

/// A logarithm in single precision.
struct Base {
    /// The logarithm of 2 in two parts, the first with trailing zeros so that `k` times it is exact.
    two: [f32; 2],
    /// That of `1 + f` is `slope f + f^2 q(f)`.
    slope: f32,
    q: [f32; 8],
}

const NATURAL: Base = Base {
    two: [0.693_359_4, -2.121_944_4e-4],
    slope: 1.0,
    q: LN_32,
};
const BINARY: Base = Base {
    two: [1.0, 0.0],
    slope: std::f32::consts::LOG2_E,
    q: LOG2_32,
};
const DECIMAL: Base = Base {
    two: [0.301_025_4, 4.605_039e-6],
    slope: std::f32::consts::LOG10_E,
    q: LOG10_32,
};

impl Base {
    /// The logarithm of `2^k (1 + f)`; `scaled` is `2^23 k`.
    #[inline(always)]
    fn of(&self, scaled: i32, f: f32) -> f32 {
        const UNIT: f32 = 1.0 / 8_388_608.0;
        let k = scaled as f32;
        let rest = f * f * poly_32(&self.q, f);
        let rest = if self.two[1] == 0.0 {
            rest
        } else {
            k.mul_add(self.two[1] * UNIT, rest)
        };
        k.mul_add(self.two[0] * UNIT, f.mul_add(self.slope, rest))
    }
}

/// `2^23 k` for `x = 2^k m`, a positive normal number.
#[inline(always)]
fn exponent_32(x: f32) -> u32 {
    x.to_bits().wrapping_sub(ROOT_32) & EXPONENT
}

/// As [`ends`], in single precision.
#[inline(always)]
fn ends_32(x: f32, y: f32) -> f32 {
    // Infinity, NaN and, by their sign, negative numbers, of which the sum makes NaN: one comparison.
    let special = x.to_bits() >= f32::INFINITY.to_bits();
    let sum = x.mul_add(f32::INFINITY, f32::INFINITY);
    let y = if special { sum } else { y };
    if x == 0.0 { f32::NEG_INFINITY } else { y }
}

#[inline(always)]
fn log_32(x: f32, base: &Base) -> f32 {
    let tiny = x < f32::MIN_POSITIVE;
    let (normal, lost) = if tiny {
        (x * 8_388_608.0, 23 << 23)
    } else {
        (x, 0)
    };
    let k = exponent_32(normal);
    let f = f32::from_bits(normal.to_bits().wrapping_sub(k)) - 1.0;
    ends_32(x, base.of((k as i32).wrapping_sub(lost), f))
}

/// `ln(x)` in single precision; error 1.36 units.
#[inline(always)]
pub(super) fn ln_32(x: f32) -> f32 {
    log_32(x, &NATURAL)
}

/// The logarithm to base 2 in single precision, exact for powers of 2; error 1.71 units.
#[inline(always)]
pub(super) fn log2_32(x: f32) -> f32 {
    log_32(x, &BINARY)
}

/// The logarithm to base 10 in single precision; error 1.77 units.
#[inline(always)]
pub(super) fn log10_32(x: f32) -> f32 {
    log_32(x, &DECIMAL)
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

/// `ln(1 + x)` in single precision; error 1.91 units. What the sum of 1 and `x` loses counts in `k`
/// only: `f = 2^-k x + (2^-k - 1)`.
#[inline(always)]
pub(super) fn ln_1p_32(x: f32) -> f32 {
    let u = 1.0 + x;
    let k = exponent_32(u);
    // Zero where it would be subnormal, which then makes no difference.
    let shrink = (1_f32.to_bits() as i32).wrapping_sub(k as i32).max(0);
    let shrink = f32::from_bits(shrink as u32);
    // Where k is not 0, x is normal and remains so.
    let f = f32::from_bits(x.to_bits().wrapping_sub(k)) + (shrink - 1.0);
    // The logarithm has the sign of x; of zeros, too.
    ends_32(u, NATURAL.of(k as i32, f)).copysign(x)
}
