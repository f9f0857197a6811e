//! The normalized data, from the statistics of the batch or the moving ones.

use super::planes::{self, Shift};
use super::{Kind, Norm, channel_values, scales, targets};
use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req};
use crate::blocks::blockwise::{self, Buffers};
use crate::blocks::raw::{Source, Target};
use crate::blocks::sums;
use crate::math::real::{Real, by_real};
use crate::par;
use crate::simd::vector::multiversion;
use ferromix_base::Result;
use std::ops::Range;

pub(super) fn prepare_forward(
    kind: Kind,
    attrs: &Attrs,
    ins: &[Desc],
    outs: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let name = "BatchNorm";
    // The moving statistics may come once more after the outputs, and stay as they are.
    let outs = &outs[..outs.len().min(3)];
    check_args(name, (ins, 5), (outs, 3))?;
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
    fn shift_scale_each<R: Real>(x: &[R], mean: &[R], scale: &[R], beta: &[R], y: &mut [R]) {
        for ((((y, &x), &m), &s), &b) in y.iter_mut().zip(x).zip(mean).zip(scale).zip(beta) {
            *y = (x - m) * s + b;
        }
    }
}

/// Mean, variance and inverse deviation of some channels.
struct Stats<T> {
    mean: Vec<T>,
    var: Vec<T>,
    inverse: Vec<T>,
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
        };
    }
    let (mean, var) = if norm.together() {
        // SAFETY: as the caller vouches.
        unsafe { moments_together(norm, data, channels) }
    } else {
        // SAFETY: as the caller vouches.
        let each = channels
            .clone()
            .map(|c| unsafe { planes::moments(norm.planes(c), data) });
        each.map(|[mean, var]| (T::of(mean), var)).unzip()
    };
    Stats {
        inverse: var.iter().map(|&v| inverse(v)).collect(),
        var: var.iter().map(|&v| T::of(v)).collect(),
        mean,
    }
}

/// Mean and variance of channels that are the last axis.
///
/// # Safety
/// Nobody writes these channels of `data` meanwhile.
unsafe fn moments_together<T: Real>(
    norm: &Norm,
    data: &Source<T>,
    channels: &Range<usize>,
) -> (Vec<T>, Vec<f64>) {
    // SAFETY: as the caller vouches.
    let at = |range| unsafe { data.slice(range) };
    let totals = norm.sums(channels, |range, totals| {
        sums::add_rows(at(range.clone()), range.len().max(1), totals);
    });
    let mean: Vec<T> = totals.iter().map(|t| T::of(t / norm.count())).collect();
    let squares = norm.sums(channels, |range, totals| {
        add_squares(at(range), &mean, totals)
    });
    let var = squares.iter().map(|s| s / norm.count()).collect();
    (mean, var)
}

fn forward<T: Real>(norm: Norm, call: &mut Call<'_>) -> Result<()> {
    let data = Source::<T>::of(&call.inputs[0])?;
    let gamma = channel_values::<T>(&call.inputs[1])?;
    let beta = channel_values::<T>(&call.inputs[2])?;
    let moving = (
        channel_values::<T>(&call.inputs[3])?,
        channel_values::<T>(&call.inputs[4])?,
    );
    let targets = targets::<T>(call)?;
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
        ];
        for (i, values) in small.into_iter().enumerate() {
            if let Some(target) = targets[i + 1] {
                // SAFETY: the channels belong to this task.
                let out = unsafe { target.slice(channels.clone()) };
                blockwise::store(values, out, reqs[i + 1]);
            }
        }
        let Some(out) = targets[0] else { return };
        let parameters = (&gamma[channels.clone()], &beta[channels.clone()]);
        let statistics = (&stats.mean[..], &stats.inverse[..]);
        // SAFETY: the channels belong to this task.
        unsafe {
            normalise(
                &norm,
                &channels,
                (data, out, reqs[0]),
                statistics,
                parameters,
                norm.batch,
            )
        };
    });
    Ok(())
}

/// Writes the normalised data of some channels, from mean and inverse deviation, scale and shift of each;
/// `read` says whether the channels were read a moment ago.
///
/// # Safety
/// Nobody else uses these channels of the output meanwhile, or writes those of the data.
unsafe fn normalise<T: Real>(
    norm: &Norm,
    channels: &Range<usize>,
    (data, out, req): (Source<T>, Target<T>, Req),
    (mean, inverse): (&[T], &[T]),
    (gamma, beta): (&[T], &[T]),
    read: bool,
) {
    let scale = scales(norm, gamma, inverse);
    let relu = norm.kind == Kind::Relu;
    if !norm.together() {
        for (i, c) in channels.clone().enumerate() {
            let shift = Shift {
                mean: mean[i],
                scale: scale[i],
                beta: beta[i],
            };
            // SAFETY: as the caller vouches.
            unsafe { planes::normalise(norm.planes(c), &data, (&out, req), shift, [relu, read]) };
        }
        return;
    }
    let mut buffers = Buffers::new();
    for range in norm.rows(channels) {
        let body: blockwise::Body<'_, T, 1> = &|[x], y| {
            shift_scale_each(x, mean, &scale, beta, y);
            if relu {
                y.iter_mut()
                    .filter(|y| **y <= T::ZERO)
                    .for_each(|y| *y = T::ZERO);
            }
        };
        let (from, to) = ([(data, range.start)], (out, range.start));
        // SAFETY: as the caller vouches.
        unsafe { blockwise::run(&mut buffers, from, to, range.len(), req, body) };
    }
}

/// The output once more, from the statistics that a forward pass gave.
pub(super) fn prepare_again(
    kind: Kind,
    attrs: &Attrs,
    ins: &[Desc],
    outs: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let name = "_batch_norm_again";
    check_args(name, (ins, 5), (outs, 1))?;
    let norm = Norm {
        kind,
        ..Norm::new(attrs, &ins[0])?
    };
    check_shape(name, "output", &outs[0], &ins[0].shape)?;
    for d in &ins[1..] {
        check_shape(name, "channel argument", d, &[norm.layout.k])?;
    }
    by_real!(name, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| again::<T>(norm, call)))
}

fn again<T: Real>(norm: Norm, call: &mut Call<'_>) -> Result<()> {
    if call.reqs[0] == Req::Null {
        return Ok(());
    }
    let data = Source::<T>::of(&call.inputs[0])?;
    let out = Target::<T>::of(&mut call.outputs[0])?;
    let mut each = Vec::with_capacity(4);
    for view in &call.inputs[1..] {
        each.push(channel_values::<T>(view)?);
    }
    let req = call.reqs[0];
    par::for_ranges(norm.layout.k, norm.channels(), |channels| {
        let [gamma, beta, mean, inverse] = std::array::from_fn(|i| &each[i][channels.clone()]);
        // SAFETY: the channels belong to this task.
        unsafe {
            normalise(
                &norm,
                &channels,
                (data, out, req),
                (mean, inverse),
                (gamma, beta),
                false,
            );
        }
    });
    Ok(())
}
