//! `IdentityAttachKLSparseReg`: a copy, which in training moves a running mean of each channel.

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::blocks::along_axis::AlongAxis;
use crate::blocks::sums;
use crate::blocks::widened::widened;
use crate::copy::assign;
use crate::math::real::{Real, by_real};
use ferromix_base::{Error, Result};

const NAME: &str = "IdentityAttachKLSparseReg";

pub(crate) const ROWS: &[Row] = &[Row::new(NAME, |a, i, o| widened(NAME, prepare, a, i, o))];

fn prepare(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_args(NAME, (ins, 2), (outs, 2))?;
    let shape = &ins[0].shape[..];
    let Some(&channels) = shape.get(1) else {
        return Err(Error::value(format!(
            "{NAME}: data of shape {shape:?} have no channels"
        )));
    };
    check_shape(NAME, "output", &outs[0], shape)?;
    check_shape(NAME, "moving_avg", &ins[1], &[channels])?;
    check_shape(NAME, "moving_avg", &outs[1], &[channels])?;
    let layout = AlongAxis::new(shape, 1);
    let momentum = attrs.float("momentum")?;
    let train = attrs.bool("__is_train__")?;
    by_real!(NAME, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let [data, moving] = call.inputs else {
            return Err(Error::internal("two inputs"));
        };
        if call.reqs[1] != Req::Null {
            let mut next = moving.read::<T>()?.to_vec();
            if train {
                let means = means(layout, data.read::<T>()?);
                for (next, mean) in next.iter_mut().zip(means) {
                    *next = T::of(momentum * next.f64() + (1.0 - momentum) * mean);
                }
            }
            assign(&View::of_slice(&mut next, &[channels])?, &call.outputs[1], call.reqs[1])?;
        }
        if call.reqs[0] == Req::Null { Ok(()) } else { assign(data, &call.outputs[0], call.reqs[0]) }
    }))
}

/// The mean of each channel.
fn means<T: Real>(l: AlongAxis, data: &[T]) -> Vec<f64> {
    let mut totals = vec![0.0; l.k];
    if l.inner == 1 {
        sums::add_rows(data, l.k.max(1), &mut totals);
    } else {
        for (i, row) in data.chunks(l.inner.max(1)).enumerate() {
            totals[i % l.k] += sums::sum(row);
        }
    }
    let count = (l.outer * l.inner).max(1) as f64;
    totals.iter().map(|total| total / count).collect()
}
