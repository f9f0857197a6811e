//! Functions of a tensor and a scalar. The scalar is first converted to the type of the result, as
//! MXNet does: 2.5 is 2 to an integer tensor, unless the result is asked for as float64.

use crate::api::check::{arity, one_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Row, View};
use crate::copy;
use crate::elementwise::arithmetic::{Function, find};
use crate::loops::Loop;
use Function::*;
use ferromix_base::{DType, Error, Result};

/// Where the scalar stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
    /// The tensor stands in for it: squares.
    Nowhere,
}

struct WithScalar {
    inner: Loop<3>,
    side: Side,
    dtype: DType,
    /// The bits of the scalar as `dtype`.
    scalar: [u64; 1],
}

impl Kernel for WithScalar {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let mut bits = self.scalar;
        let scalar = View::cell(&mut bits, self.dtype);
        let (data, out) = (&call.inputs[0], &call.outputs[0]);
        let views = match self.side {
            Side::Left => [out, &scalar, data],
            Side::Right => [out, data, &scalar],
            Side::Nowhere => [out, data, data],
        };
        self.inner.run(views, call.reqs[0])
    }
}

fn prepare(
    name: &str,
    (f, side): (Function, Side),
    attrs: &Attrs,
    inputs: &[Desc],
    outputs: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let ([data], [out]) = arity(name, inputs, outputs)?;
    one_shape(name, &[data, out])?;
    let scalar = attrs.float("scalar").map_err(|e| e.within(name))?;
    let widened = out.dtype == DType::F64 && !data.dtype.is_float();
    if data.dtype != out.dtype && data.dtype != DType::Bool && !widened {
        return Err(Error::dtype(format!(
            "{name} gives the dtype of its data, {}, or float64 for integers, not {}",
            data.dtype, out.dtype
        )));
    }
    let square = f == Power && side == Side::Right && scalar == 2.0 && out.dtype.is_float();
    let (f, side) = if square {
        (Mul, Side::Nowhere)
    } else {
        (f, side)
    };
    let mut bits = [0];
    let mut value = [scalar];
    copy(
        &View::of_slice(&mut value, &[])?,
        &mut View::cell(&mut bits, out.dtype),
    )?;
    Ok(Box::new(WithScalar {
        inner: find(name, f, out.dtype)?,
        side,
        dtype: out.dtype,
        scalar: bits,
    }))
}

macro_rules! rows {
    ($($name:literal => $f:expr, $side:expr);* $(;)?) => {
        pub(crate) const ROWS: &[Row] = &[
            $(Row::new($name, |a, i, o| prepare($name, ($f, $side), a, i, o)).strided().pointwise()),*
        ];
    };
}
rows! {
    "_plus_scalar" => Add, Side::Right;
    "_minus_scalar" => Sub, Side::Right;
    "_rminus_scalar" => Sub, Side::Left;
    "_mul_scalar" => Mul, Side::Right;
    "_div_scalar" => Div, Side::Right;
    "_rdiv_scalar" => Div, Side::Left;
    "_mod_scalar" => Mod, Side::Right;
    "_rmod_scalar" => Mod, Side::Left;
    "_power_scalar" => Power, Side::Right;
    "_rpower_scalar" => Power, Side::Left;
    "_hypot_scalar" => Hypot, Side::Right;
    "_power_slope_scalar" => PowerSlope, Side::Right;
    "_hypot_slope_scalar" => HypotSlope, Side::Right;
    "_maximum_scalar" => Maximum, Side::Right;
    "_minimum_scalar" => Minimum, Side::Right;
    "_equal_scalar" => Equal, Side::Right;
    "_not_equal_scalar" => NotEqual, Side::Right;
    "_greater_scalar" => Greater, Side::Right;
    "_greater_equal_scalar" => GreaterEqual, Side::Right;
    "_lesser_scalar" => Lesser, Side::Right;
    "_lesser_equal_scalar" => LesserEqual, Side::Right;
    "_logical_and_scalar" => And, Side::Right;
    "_logical_or_scalar" => Or, Side::Right;
    "_logical_xor_scalar" => Xor, Side::Right;
}
