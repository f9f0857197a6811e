//! Kernels of one tensor, element by element: what their families share.

use crate::api::check::{NUMBERS, arity, one_dtype, one_shape, unsupported};
use crate::api::{Call, Desc, Kernel};
use crate::copy::assign;
use crate::loops::Loop;
use crate::simd::body::Body;
use ferromix_base::{DType, Result};

/// A function of reals, in both precisions.
pub(crate) struct Real {
    pub(crate) f32: fn() -> Box<dyn Body<2>>,
    pub(crate) f64: fn() -> Box<dyn Body<2>>,
    /// Whether it maps integers to themselves.
    pub(crate) rounds: bool,
    /// Elements of a task.
    pub(crate) grain: usize,
}

impl Kernel for Loop<2> {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        self.run([&call.outputs[0], &call.inputs[0]], call.reqs[0])
    }
}

/// A copy that may change the type.
pub(crate) struct Assign;

impl Kernel for Assign {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        assign(&call.inputs[0], &call.outputs[0], call.reqs[0])
    }
}

pub(crate) fn checked(name: &str, inputs: &[Desc], outputs: &[Desc]) -> Result<DType> {
    let ([data], [out]) = arity(name, inputs, outputs)?;
    one_shape(name, &[data, out])?;
    one_dtype(name, &[data, out])
}

/// Integers are computed as `f64` and truncated, as in MXNet.
pub(crate) fn prepare_real(
    name: &str,
    f: &Real,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let dtype = checked(name, i, o)?;
    let (dtype, body) = match dtype {
        DType::F32 | DType::F16 | DType::BF16 => (DType::F32, (f.f32)()),
        DType::F64 => (dtype, (f.f64)()),
        DType::Bool => return Err(unsupported(name, dtype, &NUMBERS)),
        _ if f.rounds => return Ok(Box::new(Assign)),
        _ => (DType::F64, (f.f64)()),
    };
    Ok(Box::new(Loop::new([dtype; 2], body, f.grain)))
}
