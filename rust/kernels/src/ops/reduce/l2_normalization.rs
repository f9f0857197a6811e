//! `L2Normalization`: every instance, channel or position divided by its Euclidean norm.

use crate::api::axes::Axes;
use crate::api::check::{FLOATS, arity, one_dtype, one_shape, unsupported};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::elementwise::arithmetic::{self, Function};
use crate::fold::axes::fold_axes;
use crate::fold::sums::Squares;
use crate::loops::Loop;
use crate::simd::number::Number;
use ferromix_base::{DType, Error, Result};

struct Normalize {
    axes: Axes,
    eps: f64,
    divide: Loop<3>,
}

impl Kernel for Normalize {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let (data, out, req) = (&call.inputs[0], &call.outputs[0], call.reqs[0]);
        if req == Req::Null || out.is_empty() {
            return Ok(());
        }
        if data.dtype() == DType::F64 {
            let eps = self.eps;
            return self.apply(|x: f64| (x + eps).sqrt(), data, out, req);
        }
        let eps = self.eps as f32;
        self.apply(|x: f32| (x + eps).sqrt(), data, out, req)
    }
}

impl Normalize {
    fn apply<C: Number>(
        &self,
        root: impl Fn(C) -> C,
        data: &View,
        out: &View,
        req: Req,
    ) -> Result<()> {
        let shape = self.axes.kept(data.shape());
        let mut norms = vec![C::ZERO; shape.iter().product()];
        let mut norms = View::of_slice(&mut norms, &shape)?;
        fold_axes(&self.axes, Squares, root, data, &mut norms, Req::Write)?;
        self.divide.run([out, data, &norms], req)
    }
}

fn prepare(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "L2Normalization";
    let ([data], [out]) = arity(name, i, o)?;
    let dtype = one_dtype(name, &[data, out])?;
    one_shape(name, &[data, out])?;
    if !FLOATS.contains(&dtype) {
        return Err(unsupported(name, dtype, &FLOATS));
    }
    let (mode, ndim) = (attrs.str("mode")?, data.shape.len());
    let reduced = (0..ndim).map(|a| match mode {
        "channel" => a == 1,
        "spatial" => a >= 2,
        _ => a >= 1,
    });
    let least = if mode == "instance" { 1 } else { 3 };
    if !["instance", "channel", "spatial"].contains(&mode) || ndim < least {
        return Err(Error::value(format!(
            "{name}: mode {mode} does not go with shape {:?}",
            &data.shape[..]
        )));
    }
    let reduced = reduced.collect();
    Ok(Box::new(Normalize {
        axes: Axes { reduced },
        eps: attrs.float("eps")?,
        divide: arithmetic::find(name, Function::Div, dtype)?,
    }))
}

pub(crate) const ROWS: &[Row] = &[Row::new("L2Normalization", prepare).strided()];
