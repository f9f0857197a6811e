//! Operators that give the same elements another shape, and those that tell the shape.

use crate::api::check::{arity, leading, one_dtype};
use crate::api::{Attrs, Call, Desc, Kernel, Row, View};
use crate::copy::assign;
use ferromix_base::{Error, Result};

/// The same elements under another shape; takes contiguous memory.
struct Reshape;

impl Kernel for Reshape {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let [data, out] = [&call.inputs[0], &call.outputs[0]].map(View::flattened);
        assign(&data, &out, call.reqs[0])
    }
}

fn prepare_reshape(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([data], [out]) = leading("_reshape", i, o)?;
    one_dtype("_reshape", &[data, out])?;
    let [from, to] = [data, out].map(|d| ferromix_base::element_count(&d.shape));
    if from? != to? {
        return Err(Error::value(format!(
            "_reshape: {:?} and {:?} have different numbers of elements",
            data.shape, out.shape
        )));
    }
    Ok(Box::new(Reshape))
}

/// Numbers that are known when the kernel is prepared.
struct Known {
    numbers: Vec<i64>,
}

impl Kernel for Known {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let mut numbers = self.numbers.clone();
        let shape = call.outputs[0].shape();
        assign(
            &View::of_slice(&mut numbers, shape)?,
            &call.outputs[0],
            call.reqs[0],
        )
    }
}

fn prepare_shape_array(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([data], [_]) = arity("shape_array", i, o)?;
    let numbers = data.shape.iter().map(|&n| n as i64).collect();
    Ok(Box::new(Known { numbers }))
}

fn prepare_size_array(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([data], [_]) = arity("size_array", i, o)?;
    let count = ferromix_base::element_count(&data.shape)? as i64;
    let numbers = vec![count];
    Ok(Box::new(Known { numbers }))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("_reshape", prepare_reshape),
    Row::new("shape_array", prepare_shape_array).strided(),
    Row::new("size_array", prepare_size_array).strided(),
];
