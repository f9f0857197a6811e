//! `dot`: the product over the last axis of the left operand and the first axis of the right one.
//! With `transpose_a` (`transpose_b`) it is the first (last) axis instead; the other axes keep
//! their order.

use crate::gemm::{Operand, gemm};
use crate::kernel::Row;
use crate::prepared::{boxed, check_args};
use crate::real::{Real, by_real};
use crate::{Attrs, Call, Desc, Kernel, Req};
use ferromix_base::{Error, Result, element_count};

pub(crate) const ROWS: &[Row] = &[Row::new("dot", prepare).heavy()];

/// Extents of the kept axes and of the contracted one.
fn split(shape: &[usize], contract_first: bool) -> (usize, usize) {
    match (shape, contract_first) {
        ([], _) => (1, 1),
        ([first, rest @ ..], true) => (rest.iter().product(), *first),
        ([rest @ .., last], false) => (rest.iter().product(), *last),
    }
}

fn prepare(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_args("dot", (ins, 2), (outs, 1))?;
    let (ta, tb) = (attrs.bool("transpose_a")?, attrs.bool("transpose_b")?);
    let (m, k) = split(&ins[0].shape, ta);
    let (n, contracted) = split(&ins[1].shape, !tb);
    if k != contracted || element_count(&outs[0].shape)? != m * n {
        return Err(Error::value(format!(
            "dot: shapes {:?} and {:?} (transpose_a={ta}, transpose_b={tb}) do not give output \
             shape {:?}; the contracted axes have {k} and {contracted} elements",
            &ins[0].shape[..],
            &ins[1].shape[..],
            &outs[0].shape[..]
        )));
    }
    by_real!("dot", ins[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let a = Operand::new(call.inputs[0].read::<T>()?, if ta { m } else { k }).flipped(ta);
        let b = Operand::new(call.inputs[1].read::<T>()?, if tb { k } else { n }).flipped(tb);
        let beta = match call.reqs[0] {
            Req::Null => return Ok(()),
            Req::Add => T::ONE,
            Req::Write | Req::Inplace => T::ZERO,
        };
        gemm((m, n, k), T::ONE, a, b, beta, call.outputs[0].write::<T>()?);
        Ok(())
    }))
}
