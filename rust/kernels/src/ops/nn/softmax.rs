//! `softmax`, `softmin` and `log_softmax` along any axis.

use crate::api::prepared::{axis, boxed, check_count, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::blocks::along_axis::AlongAxis;
use crate::math::real::by_float;
use crate::softmax::{self, Kind, Mixed};
use ferromix_base::{DType, Error, Result};

pub(crate) const ROWS: &[Row] = &[
    Row::new("softmax", |a, i, o| {
        prepare("softmax", Kind::Softmax, a, i, o)
    }),
    Row::new("softmin", |a, i, o| {
        prepare("softmin", Kind::Softmax, a, i, o)
    }),
    Row::new("log_softmax", |a, i, o| {
        prepare("log_softmax", Kind::Log, a, i, o)
    }),
    Row::new("_backward_softmax", |a, i, o| {
        prepare("_backward_softmax", Kind::SoftmaxGrad, a, i, o)
    }),
    Row::new("_backward_log_softmax", |a, i, o| {
        prepare("_backward_log_softmax", Kind::LogGrad, a, i, o)
    }),
];

/// Requires a length for each position, as an integer.
fn check_lengths(name: &str, lengths: &[Desc], l: AlongAxis) -> Result<()> {
    for length in lengths {
        let count: usize = length.shape.iter().product();
        if count != l.outer * l.inner || !matches!(length.dtype, DType::I32 | DType::I64) {
            return Err(Error::value(format!(
                "{name}: length must be {} int32 or int64 numbers, got {:?} of {}",
                l.outer * l.inner,
                &length.shape[..],
                length.dtype
            )));
        }
    }
    Ok(())
}

fn prepare(
    name: &'static str,
    kind: Kind,
    attrs: &Attrs,
    ins: &[Desc],
    outs: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let gradient = matches!(kind, Kind::SoftmaxGrad | Kind::LogGrad);
    let masked = attrs.has("use_length") && attrs.bool("use_length")?;
    let (numbers, lengths) = ins.split_at(ins.len().saturating_sub(usize::from(masked)));
    check_count(name, (numbers, if gradient { 2 } else { 1 }), (outs, 1))?;
    let shape = &ins[0].shape;
    check_shape(name, "output", &outs[0], shape)?;
    if gradient {
        check_shape(name, "out", &ins[1], shape)?;
    }
    let temperature = if attrs.has("temperature") {
        attrs.float("temperature")?
    } else {
        1.0
    };
    let layout = if shape.is_empty() {
        AlongAxis {
            outer: 1,
            k: 1,
            inner: 1,
        }
    } else {
        let along = if attrs.has("axis") {
            attrs.int("axis")?
        } else {
            -1
        };
        AlongAxis::new(shape, axis(name, along, shape.len())?)
    };
    check_lengths(name, lengths, layout)?;
    let negative = name == "softmin";
    let reals = numbers.iter().chain(outs);
    if negative || reals.clone().any(|d| d.dtype != ins[0].dtype) {
        for real in reals {
            by_float!(name, real.dtype, _T => Ok(()))?;
        }
        let how = (kind, layout, temperature);
        let kernel = Mixed::new(how, (masked, negative), ins, &outs[0]);
        return Ok(Box::new(kernel));
    }
    let how = (kind, layout, temperature, masked);
    by_float!(name, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        softmax::run::<T>(how, call.inputs, &mut call.outputs[0], call.reqs[0])
    }))
}
