//! `BatchNorm`: each channel shifted and scaled to mean `beta` and deviation `gamma`, by the
//! statistics of the batch in training, by the moving ones otherwise. Where the channels are the last
//! axis, statistics take two passes, the mean and then the squared distances from it; otherwise
//! both are taken of a block at a time.
//!
//! As in MXNet 1.9, the third output is the inverse of the standard deviation, the moving variance
//! averages the biased variance, the backward pass moves both, and `fix_gamma` reads `gamma` as ones
//! and gives it no gradient.

mod backward;
mod forward;
mod loops;
mod planes;

use crate::api::prepared::axis;
use crate::api::{Attrs, Call, Desc, Req, Row, View};
use crate::blocks::along_axis::AlongAxis;
use crate::blocks::raw::Target;
use crate::blocks::widened::widened_mixed;
use crate::math::real::Real;
use backward::{Back, prepare_backward};
use ferromix_base::Result;
use forward::{prepare_again, prepare_forward};
use planes::Planes;
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
        widened_mixed(|a, i, o| prepare_backward(Back::Moves, a, i, o), a, i, o)
    }),
    Row::new("_batch_norm_gradient", |a, i, o| {
        widened_mixed(|a, i, o| prepare_backward(Back::Plain, a, i, o), a, i, o)
    }),
    Row::new("_backward_batch_norm_relu", |a, i, o| {
        widened_mixed(|a, i, o| prepare_backward(Back::Relu, a, i, o), a, i, o)
    }),
    Row::new("_batch_norm_again", |a, i, o| {
        widened_mixed(|a, i, o| prepare_again(Kind::Plain, a, i, o), a, i, o)
    }),
    Row::new("_batch_norm_relu_again", |a, i, o| {
        widened_mixed(|a, i, o| prepare_again(Kind::Relu, a, i, o), a, i, o)
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

    /// Whether the channels are the last axis, so that rows of many of them are read together.
    fn together(&self) -> bool {
        self.layout.inner == 1
    }

    /// Channels per task: as many as are worth reading together, or worth a task.
    fn channels(&self) -> usize {
        const MANY: usize = 64;
        const ELEMENTS: usize = 16_384;
        if self.together() {
            return MANY;
        }
        let each = (self.layout.outer * self.layout.inner).max(1);
        (ELEMENTS / each).clamp(1, MANY)
    }

    /// Where the elements of a channel lie.
    fn planes(&self, channel: usize) -> Planes {
        let l = self.layout;
        Planes {
            start: channel * l.inner,
            step: l.k * l.inner,
            n: l.inner,
            count: if l.inner == 0 { 0 } else { l.outer },
        }
    }

    /// The rows of some channels, which are the last axis.
    fn rows(&self, channels: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
        let (l, first, n) = (self.layout, channels.start, channels.len());
        (0..l.outer).map(move |o| {
            let start = o * l.k + first;
            start..start + n
        })
    }

    /// Sums over rows for each of some channels, which are the last axis; `row` adds the elements of a row
    /// to the sums.
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

/// What channels are scaled by.
fn scales<T: Real>(norm: &Norm, gamma: &[T], inverse: &[T]) -> Vec<T> {
    let scale = |(&gamma, &inverse): (&T, &T)| {
        if norm.fix_gamma {
            inverse
        } else {
            gamma * inverse
        }
    };
    gamma.iter().zip(inverse).map(scale).collect()
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
