//! Halves for kernels of `f32` and `f64`: such arguments are copied to single precision, and results
//! rounded once at the end.

use crate::api::prepared::check_args;
use crate::api::{Attrs, Call, Desc, Kernel, Prepare, Req, View};
use crate::blocks::raw::{Scratch, scratch_bytes};
use crate::copy::assign;
use ferromix_base::{DType, Result};

fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

/// The kernel of `prepare`, which knows no halves, for arguments that all have one type.
///
/// # Errors
/// Mixed types, and what `prepare` refuses.
pub(crate) fn widened(
    name: &str,
    prepare: Prepare,
    attrs: &Attrs,
    ins: &[Desc],
    outs: &[Desc],
) -> Result<Box<dyn Kernel>> {
    check_args(name, (ins, ins.len()), (outs, outs.len()))?;
    widened_mixed(prepare, attrs, ins, outs)
}

/// As [`widened`], where some arguments may be halves and others `f32`.
///
/// # Errors
/// What `prepare` refuses.
pub(crate) fn widened_mixed(
    prepare: Prepare,
    attrs: &Attrs,
    ins: &[Desc],
    outs: &[Desc],
) -> Result<Box<dyn Kernel>> {
    if !ins.iter().chain(outs).any(|d| is_half(d.dtype)) {
        return prepare(attrs, ins, outs);
    }
    let mut copies = 0;
    let mut wide = |d: &Desc| {
        let mut d = d.clone();
        if is_half(d.dtype) {
            copies += scratch_bytes::<f32>(d.shape.iter().product());
            d.dtype = DType::F32;
        }
        d
    };
    let inputs: Vec<_> = ins.iter().map(&mut wide).collect();
    let outputs: Vec<_> = outs.iter().map(&mut wide).collect();
    let kernel = prepare(attrs, &inputs, &outputs)?;
    Ok(Box::new(Widened { kernel, copies }))
}

struct Widened {
    kernel: Box<dyn Kernel>,
    /// Bytes of the copies.
    copies: usize,
}

impl Kernel for Widened {
    fn workspace(&self) -> usize {
        self.copies + self.kernel.workspace()
    }

    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let mut scratch = Scratch::new(call.workspace);
        let mut copy = |view: &View| {
            let memory = scratch.take::<f32>(view.len())?;
            View::of_slice(memory, view.shape())
        };
        let mut inputs = Vec::with_capacity(call.inputs.len());
        for input in call.inputs {
            let mut given = input.clone();
            if is_half(input.dtype()) {
                given = copy(input)?;
                assign(input, &given, Req::Write)?;
            }
            inputs.push(given);
        }
        let (mut outputs, mut reqs) = (call.outputs.to_vec(), call.reqs.to_vec());
        for (output, req) in outputs.iter_mut().zip(&mut reqs) {
            if is_half(output.dtype()) && *req != Req::Null {
                (*output, *req) = (copy(output)?, Req::Write);
            }
        }
        self.kernel.run(&mut Call {
            inputs: &inputs,
            outputs: &mut outputs,
            reqs: &reqs,
            workspace: scratch.rest(),
            scalars: call.scalars,
            random: None,
            kept: None,
        })?;
        for ((from, to), &req) in outputs.iter().zip(call.outputs.iter()).zip(call.reqs) {
            if is_half(to.dtype()) && req != Req::Null {
                assign(from, to, req)?;
            }
        }
        Ok(())
    }
}
