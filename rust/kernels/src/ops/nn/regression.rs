//! The gradients of losses of regression, whatever gradient comes from above.

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::blocks::blockwise::map;
use crate::math::Math;
use crate::math::real::{Float, Real, by_float};
use crate::simd::vector::multiversion;
use ferromix_base::{Error, Result};

pub(crate) const ROWS: &[Row] = &[
    Row::new("_regression_linear", |_, i, o| {
        forward("_regression_linear", i, o, false)
    }),
    Row::new("_regression_logistic", |_, i, o| {
        forward("_regression_logistic", i, o, true)
    }),
    Row::new("_backward_regression", prepare),
];

multiversion! {
    fn sigmoids<R: Real>(x: &[R], y: &mut [R]) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = Math::sigmoid(x);
        }
    }
}

/// The data, or the logistic function of them; the labels do not matter.
fn forward(
    name: &'static str,
    ins: &[Desc],
    outs: &[Desc],
    logistic: bool,
) -> Result<Box<dyn Kernel>> {
    check_args(name, (ins, 2), (outs, 1))?;
    check_shape(name, "output", &outs[0], &ins[0].shape)?;
    by_float!(name, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let data = &call.inputs[0];
        map::<T, 1>([data], &mut call.outputs[0], call.reqs[0], &|[x], y| {
            if logistic {
                sigmoids(x, y);
            } else {
                y.copy_from_slice(x);
            }
        })
    }))
}

/// The slope of the absolute value; where that has none, the one before, as MXNet has it.
#[inline(always)]
fn slope<T: Real>(x: T) -> T {
    if x > T::ZERO {
        T::ONE
    } else if x <= T::ZERO {
        -T::ONE
    } else {
        x
    }
}

/// The difference of output and label, or its sign, by the labels of a sample.
fn prepare(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    const NAME: &str = "_backward_regression";
    check_args(NAME, (ins, 2), (outs, 1))?;
    let count = |d: &Desc| d.shape.iter().product::<usize>();
    if count(&ins[0]) != count(&ins[1]) || count(&ins[0]) != count(&outs[0]) {
        return Err(Error::value(format!(
            "{NAME}: labels of shape {:?} for outputs of shape {:?}",
            &ins[1].shape[..],
            &ins[0].shape[..]
        )));
    }
    let samples = ins[1].shape.first().copied().unwrap_or(1).max(1);
    let each = (count(&ins[1]) / samples).max(1);
    let (scale, absolute) = (
        attrs.float("grad_scale")? / each as f64,
        attrs.bool("absolute")?,
    );
    by_float!(NAME, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let [out, label] = call.inputs else {
            return Err(Error::internal("two inputs"));
        };
        let (out, label) = (out.flattened(), label.flattened());
        let scale = <<T as Float>::Real as Real>::of(scale);
        let mut grad = call.outputs[0].flattened();
        map::<T, 2>([&out, &label], &mut grad, call.reqs[0], &|[y, l], g| {
            for ((g, &y), &l) in g.iter_mut().zip(y).zip(l) {
                let apart = y - l;
                *g = scale * if absolute { slope(apart) } else { apart };
            }
        })
    }))
}
