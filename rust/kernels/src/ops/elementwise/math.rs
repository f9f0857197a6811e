//! Functions of real numbers as rows of the kernel table. Integers are computed as `f64` and truncated,
//! as in MXNet.

use crate::api::check::{NUMBERS, unsupported};
use crate::api::{Attrs, Desc, Kernel, Row};
use crate::elementwise::unary::{Real, checked, prepare_real};
use crate::loops::{DEAR_GRAIN, FAIR_GRAIN, GRAIN, Loop};
use crate::math::real::by_float;
use crate::math::wide::mapped;
use crate::math::{Math, exp, special, stages, tanh};
use crate::simd::body::{Body, guarded, unary};
use ferromix_base::{DType, Result};

macro_rules! body {
    ($T:ty, $x:ident => $fast:expr) => {
        || unary(|$x: $T| $fast)
    };
    ($T:ty, $x:ident => $fast:expr, $far:path) => {
        || guarded(|$x: $T| $fast, |x: $T| x.abs() > <$T>::NEAR, $far)
    };
}
macro_rules! row {
    ($name:literal, $grain:expr, wide $F:ty, $x:ident => $exact:expr) => {
        row!($name, $grain, by mapped::<$F>, $x => $exact)
    };
    ($name:literal, $grain:expr, staged $F:ty, $x:ident => $exact:expr) => {
        row!($name, $grain, by stages::staged::<$F>, $x => $exact)
    };
    ($name:literal, $grain:expr, by $single:expr, $x:ident => $exact:expr) => {
        Row::new($name, |_: &Attrs, i, o| {
            let f = Real {
                f32: $single,
                f64: body!(f64, $x => $exact),
                rounds: false,
                grain: $grain,
            };
            prepare_real($name, &f, i, o)
        })
        .strided().pointwise()
    };
    ($name:literal, $grain:expr, $($function:tt)*) => {
        Row::new($name, |_: &Attrs, i, o| {
            let f = Real {
                f32: body!(f32, $($function)*),
                f64: body!(f64, $($function)*),
                rounds: false,
                grain: $grain,
            };
            prepare_real($name, &f, i, o)
        })
        .strided().pointwise()
    };
}
/// A row of a function that has numbers for attributes.
macro_rules! numbers_row {
    ($name:literal, [$($attr:ident),*], $x:ident => $body:expr) => {
        Row::new($name, |attrs: &Attrs, i, o| {
            let dtype = checked($name, i, o)?;
            $(let $attr = attrs.float(stringify!($attr)).map_err(|e| e.within($name))?;)*
            let (dtype, body) = match dtype {
                DType::F32 | DType::F16 | DType::BF16 => {
                    $(let $attr = $attr as f32;)*
                    (DType::F32, unary(move |$x: f32| $body))
                }
                DType::Bool => return Err(unsupported($name, dtype, &NUMBERS)),
                _ => (DType::F64, unary(move |$x: f64| $body)),
            };
            Ok(Box::new(Loop::new([dtype; 2], body, GRAIN)))
        })
        .strided().pointwise()
    };
}

/// The cost of functions that the mathematical library computes in double precision.
const DEAR_IN_DOUBLE: usize = 8;

pub(crate) const ROWS: &[Row] = &[
    row!("exp", GRAIN, wide exp::Exp, x => Math::exp(x)),
    row!("log", FAIR_GRAIN, x => Math::ln(x)),
    row!("log1p", FAIR_GRAIN, x => Math::ln_1p(x)),
    row!("expm1", FAIR_GRAIN, x => Math::exp_m1(x)),
    row!("log2", FAIR_GRAIN, x => Math::log2(x)).cost(DEAR_IN_DOUBLE),
    row!("log10", FAIR_GRAIN, x => Math::log10(x)).cost(DEAR_IN_DOUBLE),
    row!("sqrt", GRAIN, x => x.sqrt()),
    row!("rsqrt", GRAIN, x => x.sqrt().recip()),
    row!("cbrt", FAIR_GRAIN, x => Math::cbrt(x)).cost(DEAR_IN_DOUBLE),
    row!("rcbrt", FAIR_GRAIN, x => Math::rcbrt(x)).cost(DEAR_IN_DOUBLE),
    row!("reciprocal", GRAIN, x => x.recip()),
    row!("sigmoid", FAIR_GRAIN, wide exp::Sigmoid, x => Math::sigmoid(x)),
    row!("log_sigmoid", FAIR_GRAIN, x => Math::log_sigmoid(x)),
    row!("mish", FAIR_GRAIN, x => Math::mish(x)),
    row!("softsign", GRAIN, x => x / (1.0 + x.abs())),
    row!("sin", FAIR_GRAIN, x => Math::sin(x), Math::far_sin),
    row!("cos", FAIR_GRAIN, x => Math::cos(x), Math::far_cos),
    row!("tan", FAIR_GRAIN, x => Math::tan(x), Math::far_tan),
    row!("arcsin", FAIR_GRAIN, x => Math::asin(x)).cost(DEAR_IN_DOUBLE),
    row!("arccos", FAIR_GRAIN, x => Math::acos(x)).cost(DEAR_IN_DOUBLE),
    row!("arctan", FAIR_GRAIN, x => Math::atan(x)).cost(2),
    row!("sinh", FAIR_GRAIN, x => Math::sinh(x)).cost(DEAR_IN_DOUBLE),
    row!("cosh", FAIR_GRAIN, x => Math::cosh(x)).cost(DEAR_IN_DOUBLE),
    row!("tanh", GRAIN, wide tanh::Tanh, x => Math::tanh(x)),
    row!("arcsinh", FAIR_GRAIN, x => Math::asinh(x)).cost(DEAR_IN_DOUBLE),
    row!("arccosh", FAIR_GRAIN, x => Math::acosh(x)).cost(DEAR_IN_DOUBLE),
    row!("arctanh", FAIR_GRAIN, x => Math::atanh(x)).cost(DEAR_IN_DOUBLE),
    row!("degrees", GRAIN, x => Math::degrees(x)),
    row!("radians", GRAIN, x => Math::radians(x)),
    row!("erf", FAIR_GRAIN, staged special::ErrorFunction, x => Math::erf(x)).cost(2),
    row!("erfinv", DEAR_GRAIN, x => Math::erf_inv(x)).cost(64),
    row!("gamma", DEAR_GRAIN, x => Math::gamma(x)).cost(64),
    row!("gammaln", DEAR_GRAIN, x => Math::ln_gamma(x)).cost(64),
    row!("digamma", DEAR_GRAIN, x => Math::digamma(x)).cost(64),
    row!("_trigamma", DEAR_GRAIN, x => Math::trigamma(x)).cost(64),
    numbers_row!("_contrib_quadratic", [a, b, c], x => a * x * x + b * x + c),
    Row::new("hard_sigmoid", prepare_hard_sigmoid)
        .strided()
        .pointwise(),
    Row::new("smooth_l1", prepare_smooth_l1)
        .strided()
        .pointwise(),
];

fn prepare_hard_sigmoid(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "hard_sigmoid";
    let dtype = checked(name, i, o)?;
    let number = |key: &str| attrs.float(key).map_err(|e| e.within(name));
    let (slope, bias) = (number("alpha")?, number("beta")?);
    let body: Box<dyn Body<2>> = by_float!(name, dtype, T => {
        type R = <T as crate::math::real::Float>::Real;
        let (slope, bias) = (slope as R, bias as R);
        Ok(unary(move |x: R| {
            let y = slope * x + bias;
            let y = if y > 1.0 { 1.0 } else { y };
            if y < 0.0 { 0.0 } else { y }
        }))
    })?;
    let dtype = if dtype == DType::F64 {
        dtype
    } else {
        DType::F32
    };
    Ok(Box::new(Loop::new([dtype; 2], body, GRAIN)))
}

/// The square near zero, the magnitude beyond: an integer takes the whole part of the scalar.
fn prepare_smooth_l1(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "smooth_l1";
    let dtype = checked(name, i, o)?;
    let sigma = attrs.float("scalar").map_err(|e| e.within(name))?;
    macro_rules! body {
        ($T:ty, $sigma:expr) => {{
            let square = $sigma * $sigma;
            unary(move |x: $T| {
                let t = x.abs();
                if t > 1.0 / square {
                    t - 0.5 / square
                } else {
                    0.5 * x * x * square
                }
            })
        }};
    }
    let (dtype, body) = match dtype {
        DType::F32 | DType::F16 | DType::BF16 => (DType::F32, body!(f32, sigma as f32)),
        DType::F64 => (dtype, body!(f64, sigma)),
        DType::Bool => {
            return Err(unsupported(name, dtype, &NUMBERS));
        }
        _ => (DType::F64, body!(f64, sigma.trunc())),
    };
    Ok(Box::new(Loop::new([dtype; 2], body, GRAIN)))
}
