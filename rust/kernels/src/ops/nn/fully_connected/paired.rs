//! `FullyConnected` of bfloat16, where the CPU multiplies pairs of these.

use super::{Sizes, checked};
use crate::api::{Attrs, Call, Desc, Kept, Kernel, Req, View};
use crate::blocks::raw::{Scratch, numbers, scratch_bytes};
use crate::linalg::gemm::Operand;
use crate::linalg::halves;
use ferromix_base::{DType, Error, Result, bf16};

struct Paired(Sizes);

/// The kernel for arguments that it takes.
///
/// # Errors
/// Arguments of bfloat16 that do not fit each other.
pub(super) fn prepare(
    attrs: &Attrs,
    ins: &[Desc],
    outs: &[Desc],
) -> Result<Option<Box<dyn Kernel>>> {
    if !ins.iter().all(|d| d.dtype == DType::BF16) {
        return Ok(None);
    }
    let sizes = checked(attrs, ins, outs)?;
    let (a, b) = (
        Operand::new(&[], sizes.width),
        Operand::new(&[], sizes.width),
    );
    let takes = halves::takes(sizes.product(), a, b.transposed());
    Ok(takes.then(|| Box::new(Paired(sizes)) as Box<dyn Kernel>))
}

impl Paired {
    /// The weight as the product's second matrix.
    fn right<'a>(&self, weight: &'a View) -> Result<Operand<'a, bf16>> {
        Ok(Operand::new(weight.read()?, self.0.width).transposed())
    }
}

impl Kernel for Paired {
    fn kept(&self) -> Option<Kept> {
        let bytes = scratch_bytes::<f32>(halves::packed_size(self.0.product()));
        (bytes > 0).then(|| Kept {
            inputs: vec![1],
            bytes,
        })
    }

    fn keep(&self, inputs: &[View], memory: &mut [u8]) -> Result<()> {
        let packed = Scratch::new(memory).take(halves::packed_size(self.0.product()))?;
        let size = (self.0.hidden, self.0.width);
        halves::pack(size, self.right(&inputs[1])?, packed);
        Ok(())
    }

    fn choice(&self) -> Option<String> {
        let (rows, columns, depth) = self.0.product();
        Some(format!(
            "product of {rows} by {columns} by {depth} in pairs"
        ))
    }

    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let (s, req) = (self.0, call.reqs[0]);
        if req == Req::Null {
            return Ok(());
        }
        let data = Operand::new(call.inputs[0].read::<bf16>()?, s.width);
        let count = halves::packed_size(s.product());
        let packed = call.kept.map(|kept| numbers(kept, count)).transpose()?;
        let right = (self.right(&call.inputs[1])?, packed);
        let mut bias = Vec::new();
        if s.bias {
            bias.extend(call.inputs[2].read::<bf16>()?.iter().map(|x| x.to_f32()));
        }
        let row = s.bias.then_some(&bias[..]);
        let out = call.outputs[0].write::<bf16>()?;
        if halves::product(s.product(), data, right, row, (out, req)) {
            return Ok(());
        }
        Err(Error::internal(
            "FullyConnected: pairs are not there".to_owned(),
        ))
    }
}
