//! Functions of one tensor, element by element, and conversions.

use crate::api::check::{NUMBERS, leading, one_shape, unsupported};
use crate::api::{Attrs, Desc, Kernel, Row};
use crate::elementwise::unary::{Assign, Real, checked, prepare_real};
use crate::loops::{GRAIN, Loop};
use crate::simd::body::{Body, unary};
use crate::simd::number::Number;
use ferromix_base::{DType, Result};

/// A function that every type with arithmetic has.
#[derive(Clone, Copy)]
enum Plain {
    Negative,
    Abs,
    Sign,
    Square,
    Relu,
    Not,
}

fn plain<T: Number>(f: Plain) -> Box<dyn Body<2>> {
    match f {
        Plain::Negative => unary(T::opposite),
        Plain::Abs => unary(T::magnitude),
        Plain::Sign => unary(T::signum_or_zero),
        Plain::Square => unary(|x: T| x.times(x)),
        // NaN stays, -0 becomes 0.
        Plain::Relu => unary(|x: T| if x <= T::ZERO { T::ZERO } else { x }),
        Plain::Not => unary(|x: T| T::flag(!x.truth())),
    }
}

macro_rules! rounding {
    ($x:ident => $body:expr) => {
        Real {
            f32: || unary(|$x: f32| $body),
            f64: || unary(|$x: f64| $body),
            rounds: true,
            grain: GRAIN,
        }
    };
}

fn prepare_plain(name: &str, f: Plain, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let dtype = checked(name, i, o)?;
    let (dtype, body) = match dtype {
        DType::F32 | DType::F16 | DType::BF16 => (DType::F32, plain::<f32>(f)),
        DType::F64 => (dtype, plain::<f64>(f)),
        DType::U8 => (dtype, plain::<u8>(f)),
        DType::I8 => (dtype, plain::<i8>(f)),
        DType::I32 => (dtype, plain::<i32>(f)),
        DType::I64 => (dtype, plain::<i64>(f)),
        DType::Bool if matches!(f, Plain::Not) => (dtype, plain::<u8>(f)),
        DType::Bool => return Err(unsupported(name, dtype, &NUMBERS)),
    };
    Ok(Box::new(Loop::new([dtype; 2], body, GRAIN)))
}

fn prepare_copy(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    checked("_copy", i, o)?;
    Ok(Box::new(Assign))
}

fn prepare_cast(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([data], [out]) = leading("Cast", i, o)?;
    one_shape("Cast", &[data, out])?;
    Ok(Box::new(Assign))
}

/// NaN stays; the upper bound counts first.
fn clip<T: Number>(low: T, high: T) -> Box<dyn Body<2>> {
    unary(move |x: T| {
        let y = if x < low { low } else { x };
        if x > high { high } else { y }
    })
}

fn prepare_clip(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let dtype = checked("clip", i, o)?;
    let bound = |name: &str| attrs.float(name).map_err(|e| e.within("clip"));
    let (low, high) = (bound("a_min")?, bound("a_max")?);
    // Bounds of integers are truncated, as in MXNet, but stay within the type's range.
    macro_rules! whole {
        ($T:ty) => {
            clip::<$T>(low as $T, high as $T)
        };
    }
    let (dtype, body) = match dtype {
        DType::F32 => (dtype, clip(low as f32, high as f32)),
        DType::F16 | DType::BF16 => (DType::F32, clip(low as f32, high as f32)),
        DType::F64 => (dtype, clip(low, high)),
        DType::U8 => (dtype, whole!(u8)),
        DType::I8 => (dtype, whole!(i8)),
        DType::I32 => (dtype, whole!(i32)),
        DType::I64 => (dtype, whole!(i64)),
        DType::Bool => return Err(unsupported("clip", dtype, &NUMBERS)),
    };
    Ok(Box::new(Loop::new([dtype; 2], body, GRAIN)))
}

/// MXNet's rounding: halves go down.
macro_rules! rint {
    ($x:expr) => {{
        let (below, above) = ($x.floor(), $x.ceil());
        if $x - below <= above - $x {
            below
        } else {
            above
        }
    }};
}

macro_rules! plain_row {
    ($name:literal, $f:expr) => {
        Row::new($name, |_: &Attrs, i, o| prepare_plain($name, $f, i, o))
            .strided()
            .pointwise()
    };
}
macro_rules! rounding_row {
    ($name:literal, $($function:tt)*) => {
        Row::new($name, |_: &Attrs, i, o| prepare_real($name, &rounding!($($function)*), i, o))
            .strided().pointwise()
    };
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("_copy", prepare_copy).strided().pointwise(),
    Row::new("Cast", prepare_cast).strided().pointwise(),
    Row::new("clip", prepare_clip).strided().pointwise(),
    plain_row!("negative", Plain::Negative),
    plain_row!("abs", Plain::Abs),
    plain_row!("sign", Plain::Sign),
    plain_row!("square", Plain::Square),
    plain_row!("relu", Plain::Relu),
    plain_row!("logical_not", Plain::Not),
    rounding_row!("floor", x => x.floor()),
    rounding_row!("ceil", x => x.ceil()),
    rounding_row!("trunc", x => x.trunc()),
    rounding_row!("round", x => x.round()),
    rounding_row!("rint", x => rint!(x)),
];
