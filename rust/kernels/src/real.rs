//! Real arithmetic for the kernels that compute in `f32` or `f64`, with functions for `f32` that
//! the compiler vectorises, and the element types that are computed so.
//!
//! `exp` and its relatives reduce the argument to `x = n ln 2 + r` (Cody and Waite, "Software
//! Manual for the Elementary Functions", 1980) and use a minimax polynomial in `r`; errors stay
//! below 2 units in the last place.

use ferromix_base::{DType, Element, bf16, f16};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub};

/// The types that kernels compute in.
pub(crate) trait Real:
    Float<Real = Self>
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + MulAssign
    + Sum
{
    const ZERO: Self;
    const ONE: Self;
    /// The least finite number.
    const LOWEST: Self;
    fn of(x: f64) -> Self;
    fn f64(self) -> f64;
    fn abs(self) -> Self;
    fn exp(self) -> Self;
    /// `exp(x) - 1`.
    fn exp_m1(self) -> Self;
    fn ln(self) -> Self;
    fn ln_1p(self) -> Self;
    fn tanh(self) -> Self;
    fn erf(self) -> Self;
    /// `1 / (1 + exp(-x))`.
    #[inline(always)]
    fn sigmoid(self) -> Self {
        Self::ONE / (Self::ONE + (-self).exp())
    }
    /// The larger one; `self` where either is NaN.
    #[inline(always)]
    fn at_least(self, other: Self) -> Self {
        if other > self { other } else { self }
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LOWEST: Self = f64::MIN;
    #[inline(always)]
    fn of(x: f64) -> Self {
        x
    }
    #[inline(always)]
    fn f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn abs(self) -> Self {
        f64::abs(self)
    }
    #[inline(always)]
    fn exp(self) -> Self {
        f64::exp(self)
    }
    #[inline(always)]
    fn exp_m1(self) -> Self {
        f64::exp_m1(self)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        f64::ln(self)
    }
    #[inline(always)]
    fn ln_1p(self) -> Self {
        f64::ln_1p(self)
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        f64::tanh(self)
    }
    #[inline(always)]
    fn erf(self) -> Self {
        libm::erf(self)
    }
}

/// `exp(r) = 1 + r + r^2 q(r)` for `|r| <= ln 2 / 2`: the coefficients of `q`, lowest first, found
/// by iteratively reweighted least squares on Chebyshev points (error 5e-11).
const EXP_Q: [f32; 6] = [
    0.5,
    0.166_666_67,
    0.041_666_273,
    0.008_333_267,
    0.001_394_594_5,
    0.000_199_170_13,
];
/// `ln 2` in two parts, the first with trailing zeros so that `n` times it is exact.
const LN2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
/// Adding this rounds to an integer, which stands in the lowest bits of the sum.
const ROUNDER: f32 = 12_582_912.0;

/// `(n, exp(r) - 1)` for `x = n ln 2 + r`; `x` within the range where `2^n` is finite.
#[inline(always)]
fn exp_parts(x: f32) -> (i32, f32) {
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUNDER);
    let n = shifted - ROUNDER;
    let r = n.mul_add(-LN2[1], n.mul_add(-LN2[0], x));
    let q = EXP_Q.iter().rev().fold(0.0, |q: f32, &c| q.mul_add(r, c));
    let count = shifted.to_bits() as i32 - ROUNDER.to_bits() as i32;
    (count, (r * r).mul_add(q, r))
}

/// `2^n` for `-126 <= n <= 127`.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits(((n + 127) << 23) as u32)
}

/// `x` moved into `[low, high]`; NaN stays.
#[inline(always)]
fn clamp(x: f32, low: f32, high: f32) -> f32 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LOWEST: Self = f32::MIN;
    #[inline(always)]
    fn of(x: f64) -> Self {
        x as f32
    }
    #[inline(always)]
    fn f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        f32::abs(self)
    }
    #[inline(always)]
    fn exp(self) -> Self {
        let (n, p) = exp_parts(clamp(self, -104.0, 89.0));
        // In two factors, so that the ends of the range come out as infinity and subnormals.
        let half = n >> 1;
        (p + 1.0) * power_of_two(half) * power_of_two(n - half)
    }
    #[inline(always)]
    fn exp_m1(self) -> Self {
        let (n, p) = exp_parts(clamp(self, -20.0, 88.0));
        let scale = power_of_two(n);
        let y = scale.mul_add(p, scale - 1.0);
        // Beyond 88 only `exp` itself tells large from infinite.
        let y = if self > 88.0 { self.exp() } else { y };
        if self == 0.0 { self } else { y }
    }
    #[inline(always)]
    fn ln(self) -> Self {
        f32::ln(self)
    }
    #[inline(always)]
    fn ln_1p(self) -> Self {
        f32::ln_1p(self)
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        let (n, p) = exp_parts(clamp(2.0 * f32::abs(self), 0.0, 20.0));
        let scale = power_of_two(n);
        let e = scale.mul_add(p, scale - 1.0);
        (e / (e + 2.0)).copysign(self)
    }
    #[inline(always)]
    fn erf(self) -> Self {
        libm::erff(self)
    }
}

/// Element types that are computed as real numbers: halves in `f32`.
pub(crate) trait Float: Element {
    /// What to compute in.
    type Real: Real;
    fn up(self) -> Self::Real;
    fn down(x: Self::Real) -> Self;
    /// The same memory as numbers to compute with, where no conversion is needed.
    fn plain(x: &[Self]) -> Option<&[Self::Real]>;
    /// As [`Float::plain`], to write.
    fn plain_mut(x: &mut [Self]) -> Option<&mut [Self::Real]>;
}

macro_rules! plain_floats {
    ($($t:ty),*) => {$(
        impl Float for $t {
            type Real = $t;
            #[inline(always)]
            fn up(self) -> $t { self }
            #[inline(always)]
            fn down(x: $t) -> $t { x }
            #[inline(always)]
            fn plain(x: &[$t]) -> Option<&[$t]> { Some(x) }
            #[inline(always)]
            fn plain_mut(x: &mut [$t]) -> Option<&mut [$t]> { Some(x) }
        }
    )*};
}
plain_floats!(f32, f64);

macro_rules! half_floats {
    ($($t:ty),*) => {$(
        impl Float for $t {
            type Real = f32;
            #[inline(always)]
            fn up(self) -> f32 { self.to_f32() }
            #[inline(always)]
            fn down(x: f32) -> $t { <$t>::from_f32(x) }
            #[inline(always)]
            fn plain(_: &[$t]) -> Option<&[f32]> { None }
            #[inline(always)]
            fn plain_mut(_: &mut [$t]) -> Option<&mut [f32]> { None }
        }
    )*};
}
half_floats!(f16, bf16);

/// The error for an operator on an element type that it has no kernel for.
pub(crate) fn unsupported(operator: &str, got: DType, known: &str) -> ferromix_base::Error {
    ferromix_base::Error::dtype(format!(
        "{operator}: dtype {got} is not supported; cast to one of {known}"
    ))
}

/// Evaluates an expression with a type name bound to the element type: any float.
macro_rules! by_float {
    ($operator:expr, $dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            ferromix_base::DType::F32 => {
                type $t = f32;
                $body
            }
            ferromix_base::DType::F64 => {
                type $t = f64;
                $body
            }
            ferromix_base::DType::F16 => {
                type $t = ferromix_base::f16;
                $body
            }
            ferromix_base::DType::BF16 => {
                type $t = ferromix_base::bf16;
                $body
            }
            other => Err($crate::real::unsupported(
                $operator,
                other,
                "float32, float64, float16, bfloat16",
            )),
        }
    };
}
pub(crate) use by_float;

/// As [`by_float`] for `f32` and `f64` alone.
macro_rules! by_real {
    ($operator:expr, $dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            ferromix_base::DType::F32 => {
                type $t = f32;
                $body
            }
            ferromix_base::DType::F64 => {
                type $t = f64;
                $body
            }
            other => Err($crate::real::unsupported(
                $operator,
                other,
                "float32, float64",
            )),
        }
    };
}
pub(crate) use by_real;

#[cfg(test)]
mod tests {
    use super::Real;

    /// Distance of `got` from `want` in units of the last place of `want` as `f32`.
    fn ulps(got: f32, want: f64) -> f64 {
        let near = want as f32;
        if got == near || (got.is_nan() && near.is_nan()) {
            return 0.0;
        }
        let step = f64::from(f32::from_bits(near.abs().to_bits() + 1)) - f64::from(near.abs());
        (f64::from(got) - want).abs() / step
    }

    fn worst(low: f32, high: f32, got: fn(f32) -> f32, want: fn(f64) -> f64) -> f64 {
        (0..400_001)
            .map(|i| low + (high - low) * (i as f32 / 400_000.0))
            .map(|x| ulps(got(x), want(f64::from(x))))
            .fold(0.0, f64::max)
    }

    #[test]
    fn functions_are_within_two_ulps() {
        assert!(worst(-87.0, 88.7, Real::exp, f64::exp) < 2.0);
        assert!(worst(-1.0, 1.0, Real::exp, f64::exp) < 2.0);
        assert!(worst(-19.0, 88.7, Real::exp_m1, f64::exp_m1) < 2.0);
        assert!(worst(-0.01, 0.01, Real::exp_m1, f64::exp_m1) < 2.0);
        assert!(worst(-12.0, 12.0, Real::tanh, f64::tanh) < 2.5);
        assert!(worst(-1e-3, 1e-3, Real::tanh, f64::tanh) < 2.5);
        assert!(worst(-80.0, 80.0, Real::sigmoid, |x| 1.0 / (1.0 + (-x).exp())) < 3.0);
        assert!(worst(-5.0, 5.0, Real::erf, libm::erf) < 2.0);
    }

    #[test]
    fn ends_of_the_range_are_right() {
        let inf = f32::INFINITY;
        assert_eq!(
            [Real::exp(inf), Real::exp(-inf), Real::exp(100.0f32)],
            [inf, 0.0, inf]
        );
        assert_eq!([Real::exp(-200.0f32), Real::exp(0.0f32)], [0.0, 1.0]);
        assert!((f64::from(Real::exp(-100.0f32)) - (-100f64).exp()).abs() < 1.5e-45);
        assert_eq!([Real::exp_m1(inf), Real::exp_m1(-inf)], [inf, -1.0]);
        assert_eq!([Real::tanh(inf), Real::tanh(-inf)], [1.0, -1.0]);
        assert!(Real::tanh(-0.0f32).is_sign_negative() && Real::exp_m1(-0.0f32).is_sign_negative());
        assert!(Real::exp(f32::NAN).is_nan() && Real::tanh(f32::NAN).is_nan());
        assert!(Real::exp_m1(f32::NAN).is_nan() && Real::sigmoid(f32::NAN).is_nan());
    }
}
