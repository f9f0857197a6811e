//! `BatchNorm`: each channel shifted and scaled to mean `beta` and deviation `gamma`, by the
//! statistics of the batch in training, by the moving ones otherwise. Statistics take two passes:
//! the mean, then the squared distances from it.
//!
//! As in MXNet 1.9, the third output is the inverse of the standard deviation, the moving variance
//! averages the biased variance, the backward pass moves both, and `fix_gamma` reads `gamma` as ones
//! and gives it no gradient.

mod backward;
mod forward;

use crate::api::prepared::axis;
use crate::api::{Attrs, Call, Desc, Req, Row, View};
use crate::blocks::along_axis::AlongAxis;
use crate::blocks::raw::Target;
use crate::blocks::widened::widened_mixed;
use crate::math::real::Real;
use backward::prepare_backward;
use ferromix_base::Result;
use forward::{prepare_again, prepare_forward};
use std::ops::Range;

pub(crate) const ROWS: &[Row] = &[
    Row::new("BatchNorm", |a, i, o| {
        widened_mixed(|a, i, o| prepare_forward(Kind::Plain, a, i, o), a, i, o)
    }),
    Row::new("_contrib_BatchNormWithReLU", |a, i, o| {
        widened_mixed(|a, i, o| prepare_forward(Kind::Relu, a, i, o), a, i, o)
    }),
    Row::new("_contrib_SyncBatchNorm", |a, i, o| {
        widened_mixed(|a, i, o| prepare_forward(Kind::Variance, a, i, o), a, i, o)
    }),
    Row::new("_backward_BatchNorm", |a, i, o| {
        widened_mixed(|a, i, o| prepare_backward(true, a, i, o), a, i, o)
    }),
    Row::new("_batch_norm_gradient", |a, i, o| {
        widened_mixed(|a, i, o| prepare_backward(false, a, i, o), a, i, o)
    }),
    Row::new("_batch_norm_again", |a, i, o| {
        widened_mixed(prepare_again, a, i, o)
    }),
];

/// What is different about relatives of `BatchNorm`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// What is negative becomes 0 in the end.
    Relu,
    /// The third output is the variance itself.
    Variance,
}

/// What both passes need to know.
#[derive(Clone, Copy)]
struct Norm {
    layout: AlongAxis,
    /// Whether the statistics are those of the batch.
    batch: bool,
    fix_gamma: bool,
    eps: f64,
    momentum: f64,
    kind: Kind,
}

impl Norm {
    fn new(attrs: &Attrs, data: &Desc) -> Result<Self> {
        let along = axis("BatchNorm", attrs.int("axis")?, data.shape.len())?;
        Ok(Norm {
            layout: AlongAxis::new(&data.shape, along),
            batch: attrs.bool("__is_train__")? && !attrs.bool("use_global_stats")?,
            fix_gamma: attrs.bool("fix_gamma")?,
            eps: attrs.float("eps")?,
            momentum: attrs.float("momentum")?,
            kind: Kind::Plain,
        })
    }

    /// Channels per task: one, or as many as are worth reading together where channels are the
    /// last axis.
    fn channels(&self) -> usize {
        if self.layout.inner == 1 { 64 } else { 1 }
    }

    /// The runs of memory of some channels: one channel's rows, or rows of several channels.
    fn rows(&self, channels: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
        let (l, first, n) = (self.layout, channels.start, channels.len());
        (0..l.outer).map(move |o| {
            let start = (o * l.k + first) * l.inner;
            start..start + n * l.inner
        })
    }

    /// Sums over rows for each of `n` channels; `row` gives the sum of a row, or adds the elements
    /// of a row to the sums.
    fn sums(
        &self,
        channels: &Range<usize>,
        mut row: impl FnMut(Range<usize>, &mut [f64]),
    ) -> Vec<f64> {
        let mut totals = vec![0.0; channels.len()];
        for range in self.rows(channels) {
            row(range, &mut totals);
        }
        totals
    }

    fn count(&self) -> f64 {
        (self.layout.outer * self.layout.inner).max(1) as f64
    }
}

/// Values of one channel-sized argument, by channel.
fn channel_values<T: Real>(view: &View) -> Result<Vec<T>> {
    Ok(view.read::<T>()?.to_vec())
}

/// The memory of each output; None where nothing is wanted.
fn targets<T: Real>(call: &mut Call<'_>) -> Result<Vec<Option<Target<T>>>> {
    let wanted = call.outputs.iter_mut().zip(call.reqs);
    wanted
        .map(|(view, &req)| match req {
            Req::Null => Ok(None),
            _ => Target::<T>::of(view).map(Some),
        })
        .collect()
}
