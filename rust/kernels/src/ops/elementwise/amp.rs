//! Casts of several tensors at once, for mixed precision.

use crate::api::check::one_shape;
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::copy::assign;
use ferromix_base::{Error, Result};

/// Each output is its input, converted to the output's type.
struct AssignEach;

impl Kernel for AssignEach {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let pairs = call.inputs.iter().zip(&*call.outputs).zip(call.reqs);
        pairs
            .into_iter()
            .try_for_each(|((x, y), &req)| assign(x, y, req))
    }
}

fn prepare(_: &Attrs, inputs: &[Desc], outputs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "amp_multicast";
    if inputs.len() != outputs.len() {
        return Err(Error::internal(format!(
            "{name} has an output for each of its {} inputs, got {}",
            inputs.len(),
            outputs.len()
        )));
    }
    for (x, y) in inputs.iter().zip(outputs) {
        one_shape(name, &[x, y])?;
    }
    Ok(Box::new(AssignEach))
}

pub(crate) const ROWS: &[Row] = &[Row::new("amp_multicast", prepare).strided()];
