//! `SoftmaxOutput`: softmax forward; backward the gradient of cross entropy against labels,
//! whatever gradient comes from above (unless `out_grad` asks for it as a factor).

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row};
use crate::blocks::along_axis::AlongAxis;
use crate::blocks::blockwise::{lifted, store};
use crate::blocks::raw::{Source, Target};
use crate::math::real::{Float, Real, by_float};
use crate::par;
use crate::softmax::{self, Kind};
use ferromix_base::{Error, Result, Shape};

pub(crate) const ROWS: &[Row] = &[
    Row::new("SoftmaxOutput", prepare_forward),
    Row::new("_backward_SoftmaxOutput", prepare_backward),
];

fn layout(attrs: &Attrs, shape: &[usize]) -> Result<AlongAxis> {
    if shape.is_empty() {
        return Err(Error::value(
            "SoftmaxOutput: data must have at least one dimension",
        ));
    }
    if attrs.bool("multi_output")? {
        if shape.len() < 2 {
            return Err(Error::value(format!(
                "SoftmaxOutput: multi_output needs data with a channel axis 1, got shape {shape:?}"
            )));
        }
        return Ok(AlongAxis::new(shape, 1));
    }
    if attrs.bool("preserve_shape")? {
        return Ok(AlongAxis::new(shape, shape.len() - 1));
    }
    let k = shape[1..].iter().product();
    Ok(AlongAxis {
        outer: shape[0],
        k,
        inner: 1,
    })
}

fn prepare_forward(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_args("SoftmaxOutput", (ins, 2), (outs, 1))?;
    check_shape("SoftmaxOutput", "output", &outs[0], &ins[0].shape)?;
    let l = layout(attrs, &ins[0].shape)?;
    by_float!("SoftmaxOutput", ins[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let data = &call.inputs[..1];
        let how = (Kind::Softmax, l, 1.0, false);
        softmax::run::<T>(how, data, &mut call.outputs[0], call.reqs[0])
    }))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Normalization {
    Null,
    Batch,
    Valid,
}

/// What the backward pass does.
#[derive(Clone)]
struct Loss {
    layout: AlongAxis,
    /// Labels are probabilities, one per output.
    soft: bool,
    /// By how many samples a batch divides: the labels, of which there may be more than rows, and then
    /// the first ones are those of the rows.
    batch: usize,
    scale: f64,
    ignore: Option<i64>,
    ignore_label: i64,
    normalization: Normalization,
    /// Probability that is taken from the label and spread over the other classes.
    smooth: f64,
    multi: bool,
    out_grad: bool,
}

fn prepare_backward(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_backward_SoftmaxOutput";
    let out_grad = attrs.bool("out_grad")?;
    let first = usize::from(out_grad);
    check_args(name, (ins, 2 + first), (outs, 1))?;
    let (out, label) = (&ins[first], &ins[first + 1]);
    check_shape(name, "gradient", &outs[0], &out.shape)?;
    let layout = layout(attrs, &out.shape)?;
    let soft = label.shape == out.shape;
    let labels: usize = label.shape.iter().product();
    if !soft && labels < layout.outer * layout.inner {
        return Err(label_error(&out.shape, &label.shape, layout));
    }
    let ignore_label = attrs.float("ignore_label")? as i64;
    let multi = attrs.bool("multi_output")?;
    let loss = Loss {
        layout,
        soft,
        batch: if multi { out.shape[0] } else { labels },
        scale: attrs.float("grad_scale")?,
        ignore: attrs.bool("use_ignore")?.then_some(ignore_label),
        ignore_label,
        normalization: match attrs.str("normalization")? {
            "null" => Normalization::Null,
            "batch" => Normalization::Batch,
            "valid" => Normalization::Valid,
            other => {
                return Err(Error::value(format!(
                    "SoftmaxOutput: unknown normalization '{other}'; known: null, batch, valid"
                )));
            }
        },
        smooth: attrs.float("smooth_alpha")?,
        multi,
        out_grad,
    };
    by_float!(name, out.dtype, T => boxed(move |call: &mut Call<'_>| backward::<T>(&loss, call)))
}

fn label_error(out: &Shape, label: &Shape, l: AlongAxis) -> Error {
    Error::value(format!(
        "SoftmaxOutput: label of shape {:?} does not fit data of shape {:?}; give {} class indices, \
         or probabilities of the data's shape",
        &label[..],
        &out[..],
        l.outer * l.inner
    ))
}

impl Loss {
    /// The factor of every gradient.
    fn factor<T: Real>(&self, labels: &[T]) -> f64 {
        if self.soft {
            return self.scale;
        }
        let valid = || {
            let n = labels
                .iter()
                .filter(|l| l.f64() as i64 != self.ignore_label)
                .count();
            n.max(1)
        };
        let positions = if self.multi {
            self.layout.inner.max(1)
        } else {
            1
        };
        let count = match self.normalization {
            Normalization::Null => positions,
            Normalization::Batch => positions * self.batch.max(1),
            Normalization::Valid => valid(),
        };
        self.scale / count as f64
    }

    /// The gradients of class `k` at `row.len()` neighbouring positions, before the factor.
    fn class<T: Real>(&self, k: usize, labels: &[T], out: &[T], row: &mut [T]) {
        let smooth = if self.multi { 0.0 } else { self.smooth };
        let others = smooth / (self.layout.k as f64 - 1.0).max(1.0);
        let (hit, miss) = (T::of(1.0 - smooth), T::of(others));
        for ((d, &y), label) in row.iter_mut().zip(out).zip(labels) {
            let label = label.f64() as i64;
            *d = if self.ignore == Some(label) {
                T::ZERO
            } else if label == k as i64 {
                y - hit
            } else {
                y - miss
            };
        }
    }
}

fn backward<T: Float>(loss: &Loss, call: &mut Call<'_>) -> Result<()> {
    let req = call.reqs[0];
    if req == Req::Null || call.outputs[0].is_empty() {
        return Ok(());
    }
    let first = usize::from(loss.out_grad);
    let out = Source::<T>::of(&call.inputs[first])?;
    let labels = Source::<T>::of(&call.inputs[first + 1])?;
    let head = if loss.out_grad {
        Some(Source::<T>::of(&call.inputs[0])?)
    } else {
        None
    };
    let l = loss.layout;
    let n_labels = call.inputs[first + 1].len();
    // SAFETY: labels are no output.
    let all_labels = unsafe { labels.slice(0..n_labels) };
    let mut scratch = Vec::new();
    let all_labels = lifted(all_labels, &mut scratch);
    let factor = T::Real::of(loss.factor(all_labels));
    let target = Target::<T>::of(&mut call.outputs[0])?;
    let per_outer = l.k * l.inner;
    par::for_ranges(l.outer, (16_384 / per_outer.max(1)).max(1), |range| {
        let mut grad = vec![T::Real::ZERO; per_outer];
        let (mut y_scratch, mut head_scratch) = (Vec::new(), Vec::new());
        for outer in range {
            let place = outer * per_outer..(outer + 1) * per_outer;
            // SAFETY: this part belongs to this task; the output is written after it was read.
            let y = lifted(unsafe { out.slice(place.clone()) }, &mut y_scratch);
            if loss.soft {
                let p = &all_labels[place.clone()];
                grad.iter_mut()
                    .zip(y)
                    .zip(p)
                    .for_each(|((d, &y), &p)| *d = y - p);
            } else {
                let labels = &all_labels[outer * l.inner..(outer + 1) * l.inner];
                for (k, row) in grad.chunks_mut(l.inner.max(1)).enumerate() {
                    loss.class(k, labels, &y[k * l.inner..(k + 1) * l.inner], row);
                }
            }
            grad.iter_mut().for_each(|d| *d *= factor);
            if let Some(head) = &head {
                // SAFETY: as for `out`.
                let head = lifted(unsafe { head.slice(place.clone()) }, &mut head_scratch);
                grad.iter_mut().zip(head).for_each(|(d, &g)| *d *= g);
            }
            // SAFETY: this part belongs to this task.
            store(&grad, unsafe { target.slice(place) }, req);
        }
    });
    Ok(())
}
