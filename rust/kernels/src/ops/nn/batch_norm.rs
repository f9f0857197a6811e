//! `BatchNorm`: each channel shifted and scaled to mean `beta` and deviation `gamma`, by the
//! statistics of the batch in training, by the moving ones otherwise. Statistics take two passes:
//! the mean, then the squared distances from it.
//!
//! As in MXNet 1.9, the third output is the inverse of the standard deviation, the moving variance
//! averages the biased variance, and `fix_gamma` reads `gamma` as ones and gives it no gradient.

use crate::api::prepared::{axis, boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::blocks::along_axis::AlongAxis;
use crate::blocks::blockwise::{self, Buffers};
use crate::blocks::raw::{Source, Target};
use crate::blocks::sums;
use crate::blocks::widened::widened_mixed;
use crate::math::real::{Real, by_real};
use crate::par;
use crate::simd::vector::multiversion;
use ferromix_base::{Error, Result};
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
        widened_mixed(prepare_backward, a, i, o)
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

fn prepare_forward(
    kind: Kind,
    attrs: &Attrs,
    ins: &[Desc],
    outs: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let name = "BatchNorm";
    check_args(name, (ins, 5), (outs, 5))?;
    let norm = Norm {
        kind,
        ..Norm::new(attrs, &ins[0])?
    };
    check_shape(name, "output", &outs[0], &ins[0].shape)?;
    for (what, d) in ["gamma", "beta", "moving_mean", "moving_var"]
        .into_iter()
        .zip(&ins[1..])
    {
        check_shape(name, what, d, &[norm.layout.k])?;
    }
    for d in &outs[1..] {
        check_shape(name, "statistics", d, &[norm.layout.k])?;
    }
    by_real!(name, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| forward::<T>(norm, call)))
}

multiversion! {
    fn add_squares<R: Real>(x: &[R], center: &[R], totals: &mut [f64]) {
        for ((t, &x), &c) in totals.iter_mut().zip(x).zip(center) {
            let d = (x - c).f64();
            *t += d * d;
        }
    }
    fn add_products<R: Real>(g: &[R], x: &[R], center: &[R], totals: &mut [f64]) {
        for (((t, &g), &x), &c) in totals.iter_mut().zip(g).zip(x).zip(center) {
            *t += (g * (x - c)).f64();
        }
    }
    fn shift_scale<R: Real>(x: &[R], mean: R, scale: R, beta: R, y: &mut [R]) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = (x - mean) * scale + beta;
        }
    }
    fn shift_scale_each<R: Real>(x: &[R], mean: &[R], scale: &[R], beta: &[R], y: &mut [R]) {
        for ((((y, &x), &m), &s), &b) in y.iter_mut().zip(x).zip(mean).zip(scale).zip(beta) {
            *y = (x - m) * s + b;
        }
    }
    /// `scale * g + slope * (x - mean) + offset`.
    fn combine<R: Real>(g: &[R], x: &[R], c: &[R], d: &mut [R]) {
        let [scale, slope, mean, offset] = [c[0], c[1], c[2], c[3]];
        for ((d, &g), &x) in d.iter_mut().zip(g).zip(x) {
            *d = scale * g + slope * (x - mean) + offset;
        }
    }
}

/// Values of one channel-sized argument, by channel.
fn channel_values<T: Real>(view: &View) -> Result<Vec<T>> {
    Ok(view.read::<T>()?.to_vec())
}

/// Mean and inverse deviation of some channels, and the new moving statistics.
struct Stats<T> {
    mean: Vec<T>,
    var: Vec<T>,
    inverse: Vec<T>,
    moving_mean: Vec<T>,
    moving_var: Vec<T>,
}

/// The statistics that `channels` are normalised by.
///
/// # Safety
/// Nobody writes these channels of `data` meanwhile.
unsafe fn statistics<T: Real>(
    norm: &Norm,
    data: &Source<T>,
    moving: (&[T], &[T]),
    channels: &Range<usize>,
) -> Stats<T> {
    let (old_mean, old_var) = (&moving.0[channels.clone()], &moving.1[channels.clone()]);
    let inverse = |var: f64| T::of(1.0 / (var + norm.eps).sqrt());
    if !norm.batch {
        return Stats {
            mean: old_mean.to_vec(),
            var: old_var.to_vec(),
            inverse: old_var.iter().map(|v| inverse(v.f64())).collect(),
            moving_mean: old_mean.to_vec(),
            moving_var: old_var.to_vec(),
        };
    }
    // SAFETY: as the caller vouches.
    let at = |range| unsafe { data.slice(range) };
    let together = norm.layout.inner == 1;
    let totals = norm.sums(channels, |range, totals| {
        if together {
            sums::add_rows(at(range.clone()), range.len().max(1), totals);
        } else {
            totals[0] += sums::sum(at(range));
        }
    });
    let mean: Vec<T> = totals.iter().map(|t| T::of(t / norm.count())).collect();
    let squares = norm.sums(channels, |range, totals| {
        if together {
            add_squares(at(range), &mean, totals);
        } else {
            totals[0] += sums::sum_squares(at(range), mean[0]);
        }
    });
    let var: Vec<f64> = squares.iter().map(|s| s / norm.count()).collect();
    let blend = |old: &T, new: f64| T::of(old.f64() * norm.momentum + new * (1.0 - norm.momentum));
    Stats {
        moving_mean: old_mean
            .iter()
            .zip(&mean)
            .map(|(o, m)| blend(o, m.f64()))
            .collect(),
        moving_var: old_var
            .iter()
            .zip(&var)
            .map(|(o, &v)| blend(o, v))
            .collect(),
        inverse: var.iter().map(|&v| inverse(v)).collect(),
        var: var.iter().map(|&v| T::of(v)).collect(),
        mean,
    }
}

fn forward<T: Real>(norm: Norm, call: &mut Call<'_>) -> Result<()> {
    let data = Source::<T>::of(&call.inputs[0])?;
    let gamma = channel_values::<T>(&call.inputs[1])?;
    let beta = channel_values::<T>(&call.inputs[2])?;
    let moving = (
        channel_values::<T>(&call.inputs[3])?,
        channel_values::<T>(&call.inputs[4])?,
    );
    let mut targets = Vec::with_capacity(5);
    for (view, &req) in call.outputs.iter_mut().zip(call.reqs) {
        targets.push(if req == Req::Null {
            None
        } else {
            Some(Target::<T>::of(view)?)
        });
    }
    let reqs = call.reqs;
    par::for_ranges(norm.layout.k, norm.channels(), |channels| {
        // SAFETY: the channels belong to this task, and are written after they were read.
        let stats = unsafe { statistics(&norm, &data, (&moving.0, &moving.1), &channels) };
        let small = [
            &stats.mean,
            if norm.kind == Kind::Variance {
                &stats.var
            } else {
                &stats.inverse
            },
            &stats.moving_mean,
            &stats.moving_var,
        ];
        for (i, values) in small.into_iter().enumerate() {
            if let Some(target) = targets[i + 1] {
                // SAFETY: the channels belong to this task.
                let out = unsafe { target.slice(channels.clone()) };
                blockwise::store(values, out, reqs[i + 1]);
            }
        }
        let Some(out) = targets[0] else { return };
        let scale: Vec<T> = (channels.clone().zip(&stats.inverse))
            .map(|(c, &inverse)| {
                if norm.fix_gamma {
                    inverse
                } else {
                    gamma[c] * inverse
                }
            })
            .collect();
        let beta = &beta[channels.clone()];
        let together = norm.layout.inner == 1;
        let mut buffers = Buffers::new();
        for range in norm.rows(&channels) {
            let body: blockwise::Body<'_, T, 1> = &|[x], y| {
                if together {
                    shift_scale_each(x, &stats.mean, &scale, beta, y);
                } else {
                    shift_scale(x, stats.mean[0], scale[0], beta[0], y);
                }
                if norm.kind == Kind::Relu {
                    y.iter_mut().for_each(|y| *y = y.at_least(T::ZERO));
                }
            };
            let (from, to) = ([(data, range.start)], (out, range.start));
            // SAFETY: the channels belong to this task.
            unsafe { blockwise::run(&mut buffers, from, to, range.len(), reqs[0], body) };
        }
    });
    Ok(())
}

fn prepare_backward(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_backward_BatchNorm";
    check_args(name, (ins, 7), (outs, 3))?;
    let norm = Norm::new(attrs, &ins[1])?;
    check_shape(name, "data", &ins[1], &ins[0].shape)?;
    check_shape(name, "data gradient", &outs[0], &ins[0].shape)?;
    for d in ins[2..].iter().chain(&outs[1..]) {
        check_shape(name, "channel argument", d, &[norm.layout.k])?;
    }
    by_real!(name, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| backward::<T>(norm, call)))
}

fn backward<T: Real>(norm: Norm, call: &mut Call<'_>) -> Result<()> {
    let [head, data] = [
        Source::<T>::of(&call.inputs[0])?,
        Source::<T>::of(&call.inputs[1])?,
    ];
    let gamma = channel_values::<T>(&call.inputs[2])?;
    let mean = channel_values::<T>(&call.inputs[3])?;
    let inverse = channel_values::<T>(&call.inputs[4])?;
    let mut targets = Vec::with_capacity(3);
    for (view, &req) in call.outputs.iter_mut().zip(call.reqs) {
        targets.push(if req == Req::Null {
            None
        } else {
            Some(Target::<T>::of(view)?)
        });
    }
    let [dx, dgamma, dbeta] = targets[..] else {
        return Err(Error::internal("_backward_BatchNorm has three outputs"));
    };
    let reqs = call.reqs;
    par::for_ranges(norm.layout.k, norm.channels(), |channels| {
        let mean = &mean[channels.clone()];
        // SAFETY: the channels belong to this task, and are written after they were read.
        let (sum_g, sum_gx) = unsafe { gradient_sums(&norm, &head, &data, mean, &channels) };
        let mut coefficients = Vec::with_capacity(channels.len());
        for (i, c) in channels.clone().enumerate() {
            let inv = inverse[c].f64();
            let slope = if norm.fix_gamma { 0.0 } else { sum_gx[i] * inv };
            for (target, req, value) in [(dgamma, reqs[1], slope), (dbeta, reqs[2], sum_g[i])] {
                if let Some(target) = target {
                    // SAFETY: the channel belongs to this task.
                    blockwise::store(&[T::of(value)], unsafe { target.slice(c..c + 1) }, req);
                }
            }
            let scale = inv * if norm.fix_gamma { 1.0 } else { gamma[c].f64() };
            let n = if norm.batch {
                norm.count()
            } else {
                f64::INFINITY
            };
            let slope = -scale * inv * inv * sum_gx[i] / n;
            let offset = -scale * sum_g[i] / n;
            coefficients.push([T::of(scale), T::of(slope), mean[i], T::of(offset)]);
        }
        let Some(dx) = dx else { return };
        let mut buffers = Buffers::new();
        for range in norm.rows(&channels) {
            let body: blockwise::Body<'_, T, 2> = &|[g, x], d| {
                if norm.layout.inner == 1 {
                    for (i, c) in coefficients.iter().enumerate() {
                        d[i] = c[0] * g[i] + c[1] * (x[i] - c[2]) + c[3];
                    }
                } else {
                    combine(g, x, &coefficients[0], d);
                }
            };
            let from = [(head, range.start), (data, range.start)];
            let to = (dx, range.start);
            // SAFETY: the channels belong to this task.
            unsafe { blockwise::run(&mut buffers, from, to, range.len(), reqs[0], body) };
        }
    });
    Ok(())
}

/// Sums of the gradient, and of its products with the distances from the mean, by channel.
///
/// # Safety
/// Nobody writes these channels meanwhile.
unsafe fn gradient_sums<T: Real>(
    norm: &Norm,
    head: &Source<T>,
    data: &Source<T>,
    mean: &[T],
    channels: &Range<usize>,
) -> (Vec<f64>, Vec<f64>) {
    // SAFETY: as the caller vouches.
    let g = |range| unsafe { head.slice(range) };
    // SAFETY: as the caller vouches.
    let x = |range| unsafe { data.slice(range) };
    let together = norm.layout.inner == 1;
    let sum_g = norm.sums(channels, |range, totals| {
        if together {
            sums::add_rows(g(range.clone()), range.len().max(1), totals);
        } else {
            totals[0] += sums::sum(g(range));
        }
    });
    let sum_gx = norm.sums(channels, |range, totals| {
        if together {
            add_products(g(range.clone()), x(range), mean, totals);
        } else {
            totals[0] += sums::sum_products(g(range.clone()), x(range), mean[0]);
        }
    });
    (sum_g, sum_gx)
}
