//! Powers in single precision: `2^(y log2 x)` where `x` is positive and nothing is special, by tables
//! and numbers of two parts, and C's rules for the rest. `tools/math/fit.py` finds the tables.

#![allow(clippy::approx_constant)] // Some entries of tables are constants that have names.

use super::{exp, log, wide_poly};
use crate::math::wide::{ROUNDER_32NDS, Table, Wide};

/// The result, and where it must be [`by_rules`]: of arguments that are not positive, normal and finite,
/// and where it might be subnormal or infinite. Error 0.53 units while the result is between 2^-16 and
/// 2^16, so that it is exact where it can be, and 1.5 units beyond.
#[inline(always)]
pub(crate) fn quick<V: Wide>(x: V, y: V) -> (V, V::Mask) {
    let (high, low) = logarithm(x);
    // The logarithm of the result, in two parts too.
    let product = high * y;
    let rest = low.fma(y, high.fms(y, product));
    let odd = x
        .bits_minus(x.all(f32::MIN_POSITIVE))
        .bits_reach(f32::INFINITY.to_bits() - f32::MIN_POSITIVE.to_bits());
    (exponential(product, rest), odd | product.reaches(126.0))
}

/// The logarithm of a positive normal number to base 2, of which the second part has what the first
/// lacks; error 2^-31 of it.
#[inline(always)]
fn logarithm<V: Wide>(x: V) -> (V, V) {
    // x = 2^k m, and m / entry = 1 + f without a rounding, where |f| < 0.0198.
    let above = x.bits_minus(x.all(FIRST));
    let exponent = above.masked(0xff80_0000);
    let m = x.bits_minus(exponent);
    let f = m.fms(above.entry::<18>(&INVERSE), x.all(1.0));
    // That of 1 + f is f times a number of two parts,
    let bend = wide_poly(&LOG2_NEAR, f) * f;
    let slope = bend + x.all(LOG2_E[0]);
    let lost = bend - (slope - x.all(LOG2_E[0])) + x.all(LOG2_E[1]);
    let (near, low) = (f * slope, lost.fma(f, above.entry::<18>(&LOG2_LOW)));
    let low = low + f.fms(slope, near);
    // and this one exact.
    let far = exponent
        .bits_as_number()
        .fma(x.all(1.0 / 8_388_608.0), above.entry::<18>(&LOG2_HIGH));
    let sum = far + near;
    let low = low + (near - (sum - far));
    let high = sum + low;
    (high, low - (high - sum))
}

/// `2^(x + low)` where that is normal.
#[inline(always)]
fn exponential<V: Wide>(x: V, low: V) -> V {
    let shifted = x + x.all(ROUNDER_32NDS);
    let r = x - (shifted - x.all(ROUNDER_32NDS)) + low;
    let p = wide_poly(&EXP2_NEAR, r) * r;
    let root = shifted.entry::<0>(&EXP2_HIGH);
    let y = p.fma(root, shifted.entry::<0>(&EXP2_LOW)) + root;
    y.scaled(shifted)
}

/// The result for any arguments.
#[inline(always)]
pub(crate) fn by_rules(x: f32, y: f32) -> f32 {
    rules(f64::from(x), f64::from(y)) as f32
}

/// The result, whatever it takes.
#[cfg(test)]
pub(crate) fn pow(x: f32, y: f32) -> f32 {
    let (quick, odd) = quick(x, y);
    if odd { by_rules(x, y) } else { quick }
}

/// `x` to the power of `y` to some 27 bits, for numbers in single precision, by C's rules for
/// special ones.
#[inline(always)]
fn rules(x: f64, y: f64) -> f64 {
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

/// The least `m` of `2^k m`: 32 intervals as many bits long begin here, one of them with 1 in it.
const FIRST: f32 = 0.710_937_5;
/// `1 / ln 2` in two parts.
const LOG2_E: [f32; 2] = [std::f32::consts::LOG2_E, 1.925_963e-8];
/// `log2(1 + f) = f / ln 2 + f^2 q(f)`; error 2^-34 of it.
const LOG2_NEAR: [f32; 4] = [-0.721_347_5, 0.480_898_32, -0.360_785_75, 0.288_688_4];
/// `2^r = 1 + r q(r)` for `|r| <= 1/64`; error 1e-10.
const EXP2_NEAR: [f32; 3] = [0.693_147_2, 0.240_228_49, 0.055_495_124];
/// An inverse for each interval, of so few bits that the product with `m` is exact once 1 is taken off.
#[rustfmt::skip]
static INVERSE: Table = Table([
    1.390_625, 1.359_375, 1.328_125, 1.312_5, 1.281_25,
    1.25, 1.234_375, 1.203_125, 1.187_5, 1.156_25,
    1.140_625, 1.125, 1.109_375, 1.078_125, 1.062_5,
    1.046_875, 1.031_25, 1.015_625, 1.0, 0.968_75,
    0.937_5, 0.914_062_5, 0.890_625, 0.859_375, 0.843_75,
    0.820_312_5, 0.796_875, 0.781_25, 0.765_625, 0.742_187_5,
    0.726_562_5, 0.710_937_5,
]);
/// Minus its logarithm to base 2, to 15 bits after the point.
#[rustfmt::skip]
static LOG2_HIGH: Table = Table([
    -0.475_738_53, -0.442_932_13, -0.409_393_3, -0.392_303_47, -0.357_543_95,
    -0.321_929_93, -0.303_771_97, -0.266_784_67, -0.247_924_8, -0.209_442_14,
    -0.189_819_34, -0.169_921_88, -0.149_749_76, -0.108_520_51, -0.087_463_38,
    -0.066_101_074, -0.044_403_076, -0.022_369_385, 0.0, 0.045_806_885,
    0.093_109_13, 0.129_638_67, 0.167_114_26, 0.218_627_93, 0.245_117_19,
    0.285_766_6, 0.327_575_68, 0.356_140_14, 0.385_284_42, 0.430_145_26,
    0.460_845_95, 0.492_218_02,
]);
/// What that lacks.
#[rustfmt::skip]
static LOG2_LOW: Table = Table([
    5.094_424e-06, -1.136_694_2e-05, 2.374_409_2e-06, -1.395_598_2e-05, -8.059_305e-06,
    1.836_753_3e-06, -8.775_521e-06, -1.872_726_1e-06, -2.708_756e-06, -1.122_695_7e-05,
    -5.222_942_5e-06, -3.126_442_4e-06, 2.636_354_8e-06, -3.948_965_5e-06, 5.376_559e-07,
    1.188_376_1e-05, 8.956_814e-06, 1.571_737_1e-06, 0.0, -3.195_152_4e-06,
    2.735_321e-07, -3.391_458_4e-06, -4.271_977e-06, 1.235_678_8e-05, -4.689_663_5e-06,
    -1.211_922_9e-05, -1.025_565_2e-06, 3.673_506_6e-06, 5.732_056_7e-06, -8.720_028_3e-07,
    -4.758_373_5e-06, -1.265_777_7e-05,
]);
/// Powers of 2 of 32nds.
#[rustfmt::skip]
static EXP2_HIGH: Table = Table([
    1.0, 1.021_897_2, 1.044_273_7, 1.067_140_5, 1.090_507_7,
    1.114_386_8, 1.138_788_6, 1.163_724_9, 1.189_207_1, 1.215_247_4,
    1.241_857_8, 1.269_051, 1.296_839_6, 1.325_236_7, 1.354_255_6,
    1.383_91, 1.414_213_5, 1.445_180_8, 1.476_826_2, 1.509_164_5,
    1.542_210_8, 1.575_980_9, 1.610_490_3, 1.645_755_5, 1.681_792_9,
    1.718_619_3, 1.756_252_2, 1.794_709_1, 1.834_008_1, 1.874_167_7,
    1.915_206_6, 1.957_144_1,
]);
/// What they lack.
#[rustfmt::skip]
static EXP2_LOW: Table = Table([
    0.0, -4.811_56e-08, 4.833_47e-08, -5.933_752e-08, -1.307_754e-08,
    -5.435_54e-08, 5.386_222_3e-08, -4.051_441_5e-08, 3.797_635_3e-08, -3.267_395e-08,
    4.496_838e-08, 1.419_333_3e-09, -4.018_999_5e-08, -3.496_373_3e-08, -1.012_334_9e-08,
    -5.875_577_4e-08, 2.420_323_5e-08, 3.324_2e-08, -4.500_899e-08, -2.495_937_3e-08,
    8.070_905e-09, -5.661_025_4e-08, 9.836_217e-09, -5.124_972e-08, -2.475_532_7e-08,
    -4.849_617_6e-08, -9.235_77e-09, -1.141_504_5e-08, -1.123_927_8e-08, -4.663_005_6e-08,
    9.845_328e-09, -1.702_180_4e-08,
]);
