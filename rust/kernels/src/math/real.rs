//! Real arithmetic for the kernels that compute in `f32` or `f64`, and the element types that are
//! computed so. The functions of real numbers are those of [`Math`].

use crate::math::{Math, halves};
use ferromix_base::{DType, Element, bf16, f16};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub};

/// The types that kernels compute in.
pub(crate) trait Real:
    Float<Real = Self>
    + Math
    + PartialOrd
    + Default
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
    fn sqrt(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    /// The nearest whole number, of two the one away from zero.
    fn round(self) -> Self;
    /// The larger one; `self` where either is NaN.
    #[inline(always)]
    fn at_least(self, other: Self) -> Self {
        if other > self { other } else { self }
    }
}

macro_rules! reals {
    ($($t:ty),*) => {$(
        impl Real for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const LOWEST: Self = <$t>::MIN;
            #[inline(always)]
            fn of(x: f64) -> Self { x as $t }
            #[inline(always)]
            fn f64(self) -> f64 { f64::from(self) }
            #[inline(always)]
            fn abs(self) -> Self { <$t>::abs(self) }
            #[inline(always)]
            fn sqrt(self) -> Self { <$t>::sqrt(self) }
            #[inline(always)]
            fn floor(self) -> Self { <$t>::floor(self) }
            #[inline(always)]
            fn ceil(self) -> Self { <$t>::ceil(self) }
            #[inline(always)]
            fn round(self) -> Self { <$t>::round(self) }
        }
    )*};
}
reals!(f32, f64);

/// Element types that are computed as real numbers: halves in `f32`.
pub(crate) trait Float: Element {
    /// What to compute in.
    type Real: Real;
    /// The least finite number.
    const LEAST: Self::Real;
    fn up(self) -> Self::Real;
    fn down(x: Self::Real) -> Self;
    #[inline(always)]
    fn zero() -> Self {
        Self::down(Self::Real::ZERO)
    }
    /// As [`Float::up`], of as many elements as there are numbers.
    fn lift(from: &[Self], to: &mut [Self::Real]);
    /// As [`Float::down`], of as many numbers as there are elements.
    fn lower(from: &[Self::Real], to: &mut [Self]);
    /// The same memory as numbers to compute with, where no conversion is needed.
    fn plain(x: &[Self]) -> Option<&[Self::Real]>;
    /// As [`Float::plain`], to write.
    fn plain_mut(x: &mut [Self]) -> Option<&mut [Self::Real]>;
}

#[inline(always)]
fn same<T: Copy>(from: &[T], to: &mut [T]) {
    to.iter_mut().zip(from).for_each(|(o, &x)| *o = x);
}

macro_rules! plain_floats {
    ($($t:ty),*) => {$(
        impl Float for $t {
            type Real = $t;
            const LEAST: $t = <$t>::MIN;
            #[inline(always)]
            fn up(self) -> $t { self }
            #[inline(always)]
            fn down(x: $t) -> $t { x }
            #[inline(always)]
            fn lift(from: &[$t], to: &mut [$t]) { same(from, to) }
            #[inline(always)]
            fn lower(from: &[$t], to: &mut [$t]) { same(from, to) }
            #[inline(always)]
            fn plain(x: &[$t]) -> Option<&[$t]> { Some(x) }
            #[inline(always)]
            fn plain_mut(x: &mut [$t]) -> Option<&mut [$t]> { Some(x) }
        }
    )*};
}
plain_floats!(f32, f64);

macro_rules! half_floats {
    ($($t:ty: $least:literal, $up:path, $down:path, $lift:path, $lower:path;)*) => {$(
        impl Float for $t {
            type Real = f32;
            const LEAST: f32 = $least;
            #[inline(always)]
            fn up(self) -> f32 { $up(self) }
            #[inline(always)]
            fn down(x: f32) -> $t { $down(x) }
            #[inline(always)]
            fn lift(from: &[$t], to: &mut [f32]) { $lift(from, to) }
            #[inline(always)]
            fn lower(from: &[f32], to: &mut [$t]) { $lower(from, to) }
            #[inline(always)]
            fn plain(_: &[$t]) -> Option<&[f32]> { None }
            #[inline(always)]
            fn plain_mut(_: &mut [$t]) -> Option<&mut [f32]> { None }
        }
    )*};
}
half_floats! {
    f16: -65504.0, f16::to_f32, f16::from_f32, halves::lift_ieee, halves::lower_ieee;
    bf16: -3.389_531_4e38, halves::up_brain, halves::down_brain, halves::lift_brain, halves::lower_brain;
}

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
            other => Err($crate::math::real::unsupported(
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
            other => Err($crate::math::real::unsupported(
                $operator,
                other,
                "float32, float64",
            )),
        }
    };
}
pub(crate) use by_real;
