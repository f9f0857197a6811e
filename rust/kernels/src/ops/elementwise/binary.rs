//! Functions of two tensors with broadcasting.

use crate::api::check::{arity, one_dtype};
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::elementwise::arithmetic::Function::{self, *};
use crate::elementwise::arithmetic::find;
use crate::iter::walk::broadcast_strides;
use crate::loops::Loop;
use ferromix_base::{Error, Result};

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
            $(Row::new($name, |_: &Attrs, i, o| prepare($name, $f, i, o)).strided().pointwise()),*
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
