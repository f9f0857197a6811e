//! Functions of two numbers, and their loops: for operators of two tensors, of a tensor and a scalar, and
//! whatever else computes so.

use crate::api::check::{NUMBERS, unsupported};
use crate::loops::{DEAR_GRAIN, GRAIN, Loop};
use crate::math::Math;
use crate::math::powers::{Powers, Slopes};
use crate::math::real::Real;
use crate::simd::body::{Body, Inlined, binary, whole};
use crate::simd::number::{From3, Number};
use ferromix_base::{DType, Result};

/// A function of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Power,
    Hypot,
    /// How the power changes with its base.
    PowerSlope,
    /// How the hypotenuse changes with its first side.
    HypotSlope,
    Maximum,
    Minimum,
    Equal,
    NotEqual,
    Greater,
    GreaterEqual,
    Lesser,
    LesserEqual,
    And,
    Or,
    Xor,
}
use Function::*;

impl Function {
    /// Whether bools are taken, too.
    fn logical(self) -> bool {
        !matches!(self, Add | Sub | Mul | Div | Mod) && !self.real()
    }

    /// Whether integers are computed as reals.
    fn real(self) -> bool {
        matches!(self, Power | Hypot | PowerSlope | HypotSlope)
    }

    fn grain(self) -> usize {
        if self == Mod || self.real() {
            DEAR_GRAIN
        } else {
            GRAIN
        }
    }
}

struct Hypotenuses;

impl<T: Math + 'static> Inlined<T> for Hypotenuses {
    #[inline(always)]
    fn apply(a: T, b: T) -> T {
        a.hypot(b)
    }
}

struct HypotenuseSlopes;

impl<T: Real> Inlined<T> for HypotenuseSlopes {
    #[inline(always)]
    fn apply(a: T, b: T) -> T {
        a / a.hypot(b)
    }
}

/// The loop of `f` for tensors of `dtype`. Halves are computed as `f32`; powers and hypotenuses of
/// integers as `f64`, as in MXNet.
pub(crate) fn find(name: &str, f: Function, dtype: DType) -> Result<Loop<3>> {
    let real = dtype.is_float();
    let compute = match dtype {
        DType::Bool if f.logical() => DType::Bool,
        DType::Bool => return Err(unsupported(name, dtype, &NUMBERS)),
        DType::F16 | DType::BF16 => DType::F32,
        _ if f.real() && !real => DType::F64,
        _ => dtype,
    };
    let body = match compute {
        DType::F32 if f == Power => Box::new(Powers),
        DType::F64 if f == Power => binary(f64::powf),
        DType::F32 if f == Hypot => whole::<f32, Hypotenuses>(),
        DType::F64 if f == Hypot => whole::<f64, Hypotenuses>(),
        DType::F32 if f == PowerSlope => Box::new(Slopes),
        DType::F64 if f == PowerSlope => binary(|a: f64, b: f64| b * a.powf(b - 1.0)),
        DType::F32 if f == HypotSlope => whole::<f32, HypotenuseSlopes>(),
        DType::F64 if f == HypotSlope => whole::<f64, HypotenuseSlopes>(),
        DType::F32 => body_of::<f32>(f),
        DType::F64 => body_of::<f64>(f),
        DType::U8 | DType::Bool => body_of::<u8>(f),
        DType::I8 => body_of::<i8>(f),
        DType::I32 => body_of::<i32>(f),
        _ => body_of::<i64>(f),
    };
    Ok(Loop::new([compute; 3], body, f.grain()))
}

fn body_of<T: Number + From3>(f: Function) -> Box<dyn Body<3>> {
    match f {
        Add => binary(T::plus),
        Sub => binary(T::minus),
        Mul => binary(T::times),
        Div => binary(T::over),
        Mod => binary(T::modulo),
        Maximum => binary(T::larger),
        Minimum => binary(T::smaller),
        Equal => binary(|a: T, b: T| T::flag(a == b)),
        NotEqual => binary(|a: T, b: T| T::flag(a != b)),
        Greater => binary(|a: T, b: T| T::flag(a > b)),
        GreaterEqual => binary(|a: T, b: T| T::flag(a >= b)),
        Lesser => binary(|a: T, b: T| T::flag(a < b)),
        LesserEqual => binary(|a: T, b: T| T::flag(a <= b)),
        And => binary(|a: T, b: T| T::flag(a.truth() & b.truth())),
        Or => binary(|a: T, b: T| T::flag(a.truth() | b.truth())),
        Xor => binary(|a: T, b: T| T::flag(a.truth() ^ b.truth())),
        // Only reached as reals, which `find` takes care of.
        Power => binary(|a: T, b: T| T::from_f64(a.to_f64().powf(b.to_f64()))),
        Hypot => binary(|a: T, b: T| T::from_f64(a.to_f64().hypot(b.to_f64()))),
        PowerSlope => binary(|a: T, b: T| {
            let b = b.to_f64();
            T::from_f64(b * a.to_f64().powf(b - 1.0))
        }),
        HypotSlope => binary(|a: T, b: T| {
            let a = a.to_f64();
            T::from_f64(a / a.hypot(b.to_f64()))
        }),
    }
}
