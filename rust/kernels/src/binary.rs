//! Functions of two tensors with broadcasting, and of a tensor and a scalar.

use crate::Attrs;
use crate::body::{Body, Inlined, binary, whole};
use crate::check::{NUMBERS, arity, one_dtype, unsupported};
use crate::kernel::{Call, Desc, Kernel, Row};
use crate::loops::{DEAR_GRAIN, GRAIN, Loop};
use crate::math::Math;
use crate::number::{From3, Number};
use crate::real::Real;
use crate::walk::broadcast_strides;
use ferromix_base::{DType, Error, Result};

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
        DType::F32 if f == Power => Box::new(crate::powers::Powers),
        DType::F64 if f == Power => binary(f64::powf),
        DType::F32 if f == Hypot => whole::<f32, Hypotenuses>(),
        DType::F64 if f == Hypot => whole::<f64, Hypotenuses>(),
        DType::F32 if f == PowerSlope => Box::new(crate::powers::Slopes),
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

struct Broadcast(Loop<3>);

impl Kernel for Broadcast {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let [a, b] = [&call.inputs[0], &call.inputs[1]];
        self.0.run([&call.outputs[0], a, b], call.reqs[0])
    }
}

fn prepare(name: &str, f: Function, inputs: &[Desc], outputs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([a, b], [out]) = arity(name, inputs, outputs)?;
    let dtype = one_dtype(name, &[a, b, out])?;
    for (side, d) in [("lhs", a), ("rhs", b)] {
        let strides = ferromix_base::contiguous_strides(&d.shape);
        broadcast_strides(&d.shape, &strides, &out.shape)
            .map_err(|e| Error::value(format!("{name}: {side}: {e}")))?;
    }
    Ok(Box::new(Broadcast(find(name, f, dtype)?)))
}

macro_rules! rows {
    ($($name:literal => $f:expr),* $(,)?) => {
        pub(crate) const ROWS: &[Row] = &[
            $(Row::new($name, |_: &Attrs, i, o| prepare($name, $f, i, o)).strided()),*
        ];
    };
}
rows! {
    "broadcast_add" => Add,
    "broadcast_sub" => Sub,
    "broadcast_mul" => Mul,
    "broadcast_div" => Div,
    "broadcast_mod" => Mod,
    "broadcast_power" => Power,
    "broadcast_hypot" => Hypot,
    "_power_slope" => PowerSlope,
    "_hypot_slope" => HypotSlope,
    "broadcast_maximum" => Maximum,
    "broadcast_minimum" => Minimum,
    "broadcast_equal" => Equal,
    "broadcast_not_equal" => NotEqual,
    "broadcast_greater" => Greater,
    "broadcast_greater_equal" => GreaterEqual,
    "broadcast_lesser" => Lesser,
    "broadcast_lesser_equal" => LesserEqual,
    "broadcast_logical_and" => And,
    "broadcast_logical_or" => Or,
    "broadcast_logical_xor" => Xor,
}
