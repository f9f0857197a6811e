//! The gradient of `MakeLoss`, a constant: the scale, divided by the number of rows or of elements above
//! a threshold.

use crate::api::check::{FLOATS, arity, one_dtype, one_shape, unsupported};
use crate::api::prepared::boxed;
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::copy::fill::fill;
use crate::fold::Fold;
use crate::fold::axes::fold_all;
use crate::loops::GRAIN;
use ferromix_base::{DType, Result};

/// Counts elements above a number.
#[derive(Clone, Copy)]
struct Above(f64);

impl Fold<f64> for Above {
    #[inline(always)]
    fn start(self) -> f64 {
        0.0
    }
    #[inline(always)]
    fn lift(self, x: f64) -> f64 {
        f64::from(u8::from(x > self.0))
    }
    #[inline(always)]
    fn join(self, a: f64, b: f64) -> f64 {
        a + b
    }
}

/// The number of elements above the threshold, at least 1.
fn valid(data: &View, threshold: f64) -> Result<f64> {
    let mut count = [0.0f64];
    let mut out = View::of_slice(&mut count, &[1])?;
    fold_all(Above(threshold), data, &mut out, Req::Write)?;
    Ok(count[0].max(1.0))
}

fn prepare(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_backward_MakeLoss";
    let ([data], [out]) = arity(name, i, o)?;
    one_shape(name, &[data, out])?;
    let dtype = one_dtype(name, &[data, out])?;
    if !dtype.is_float() {
        return Err(unsupported(name, dtype, &FLOATS));
    }
    let scale = attrs.float("grad_scale").map_err(|e| e.within(name))?;
    let threshold = attrs.float("valid_thresh").map_err(|e| e.within(name))?;
    let wide = dtype == DType::F64;
    let threshold = if wide {
        threshold
    } else {
        f64::from(threshold as f32)
    };
    let normalization = attrs.str("normalization").map_err(|e| e.within(name))?;
    let batch = normalization == "batch";
    let count_valid = normalization == "valid";
    boxed(move |call: &mut Call<'_>| {
        let (data, req) = (&call.inputs[0], call.reqs[0]);
        if req == Req::Null || data.is_empty() {
            return Ok(());
        }
        // MXNet's batch is all but the last axis.
        let divisor = match data.shape().split_last() {
            _ if count_valid => valid(data, threshold)?,
            Some((_, rest)) if batch => rest.iter().product::<usize>() as f64,
            _ => 1.0,
        };
        let value = scale / divisor;
        let out = &mut call.outputs[0];
        if wide {
            fill::<f64>(out, req, GRAIN, |_, block| block.fill(value))
        } else {
            fill::<f32>(out, req, GRAIN, |_, block| block.fill(value as f32))
        }
    })
}

pub(crate) const ROWS: &[Row] = &[Row::new("_backward_MakeLoss", prepare)];
