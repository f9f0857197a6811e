//! Powers in single precision: `2^(y log2 x)` where `x` is positive and nothing is special, which is
//! computed in two stages, and C's rules for the rest.

use super::{exp, log};

/// Whether [`third`] is needed.
#[inline(always)]
pub(crate) fn is_rare(x: f32, y: f32) -> bool {
    // One comparison for: not negative, zero, subnormal, infinite or NaN.
    let least = f32::MIN_POSITIVE.to_bits();
    let ordinary = x.to_bits().wrapping_sub(least) < f32::INFINITY.to_bits() - least;
    !(ordinary & (y.abs() < f32::INFINITY))
}

/// The logarithm of the result to base 2.
#[inline(always)]
pub(crate) fn first(x: f32, y: f32) -> f64 {
    log::log2_short(x) * f64::from(y)
}

/// The result.
#[inline(always)]
pub(crate) fn second(logarithm: f64) -> f32 {
    exp::exp2_short(logarithm)
}

/// The result for any arguments.
#[inline(always)]
pub(crate) fn third(x: f32, y: f32) -> f32 {
    by_rules(f64::from(x), f64::from(y)) as f32
}

/// All stages.
#[cfg(test)]
pub(super) fn pow(x: f32, y: f32) -> f32 {
    if is_rare(x, y) {
        third(x, y)
    } else {
        second(first(x, y))
    }
}

/// `x` to the power of `y` to some 27 bits, for numbers in single precision, by C's rules for
/// special ones.
#[inline(always)]
fn by_rules(x: f64, y: f64) -> f64 {
    let t = x.abs();
    let size = exp::exp_short(y * log::ln(t));
    // The logarithm is 0 or infinite where the product may not be a number.
    let one = (y == 0.0) | (x == 1.0) | ((t == 1.0) & (y.abs() == f64::INFINITY));
    let size = if one { 1.0 } else { size };
    let whole = y.floor() == y;
    let odd = whole & ((0.5 * y).floor() != 0.5 * y);
    let negative = odd & x.is_sign_negative();
    let nowhere = (x < 0.0) & !whole & (t < f64::INFINITY);
    let signed = if negative { -size } else { size };
    if nowhere { f64::NAN } else { signed }
}
