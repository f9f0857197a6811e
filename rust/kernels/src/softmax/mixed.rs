//! Softmax between element types, and of negated data: through a copy in scratch memory of the type that
//! is computed in.

use super::{Kind, run};
use crate::api::{Call, Desc, Kernel, Req, View};
use crate::blocks::along_axis::AlongAxis;
use crate::blocks::raw::{Scratch, scratch_bytes};
use crate::copy::assign;
use crate::math::real::Real;
use ferromix_base::{DType, Result};

/// The kernel.
pub(crate) struct Mixed {
    pub(crate) kind: Kind,
    pub(crate) layout: AlongAxis,
    pub(crate) temperature: f64,
    pub(crate) masked: bool,
    pub(crate) negative: bool,
    /// Whether to compute in double precision.
    double: bool,
    /// How many inputs are numbers of the output's shape, and their number of elements.
    inputs: usize,
    elements: usize,
}

impl Mixed {
    /// The kernel for `inputs`, of which the last is no number where `masked`, and one output.
    pub(crate) fn new(
        (kind, layout, temperature): (Kind, AlongAxis, f64),
        (masked, negative): (bool, bool),
        inputs: &[Desc],
        output: &Desc,
    ) -> Self {
        let inputs = &inputs[..inputs.len() - usize::from(masked)];
        let mut all = inputs.iter().chain([output]);
        Mixed {
            kind,
            layout,
            temperature,
            masked,
            negative,
            double: all.any(|d| d.dtype == DType::F64),
            inputs: inputs.len(),
            elements: output.shape.iter().product(),
        }
    }

    fn run_as<R: Real>(&self, call: &mut Call<'_>) -> Result<()> {
        let mut scratch = Scratch::new(call.workspace);
        let mut copies = Vec::with_capacity(self.inputs + 1);
        for input in &call.inputs[..self.inputs] {
            let memory = scratch.take::<R>(self.elements)?;
            let mut copy = View::of_slice(memory, input.shape())?;
            crate::copy(input, &mut copy)?;
            copies.push(copy);
        }
        if self.negative {
            copies[0].write::<R>()?.iter_mut().for_each(|x| *x = -*x);
        }
        if self.masked {
            copies.push(call.inputs[self.inputs].clone());
        }
        let mut result = copies[0].clone();
        let how = (self.kind, self.layout, self.temperature, self.masked);
        run::<R>(how, &copies, &mut result, Req::Inplace)?;
        assign(&result, &call.outputs[0], call.reqs[0])
    }
}

impl Kernel for Mixed {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        if call.reqs[0] == Req::Null || call.outputs[0].is_empty() {
            Ok(())
        } else if self.double {
            self.run_as::<f64>(call)
        } else {
            self.run_as::<f32>(call)
        }
    }

    fn workspace(&self) -> usize {
        let bytes = if self.double {
            scratch_bytes::<f64>(self.elements)
        } else {
            scratch_bytes::<f32>(self.elements)
        };
        self.inputs * bytes
    }
}
