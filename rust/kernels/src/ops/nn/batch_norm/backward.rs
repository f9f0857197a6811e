//! The gradients, with which the moving statistics change.

use super::{Norm, channel_values, targets};
use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req};
use crate::blocks::blockwise::{self, Buffers};
use crate::blocks::raw::{Source, Target};
use crate::blocks::sums;
use crate::math::real::{Real, by_real};
use crate::par;
use crate::simd::vector::multiversion;
use ferromix_base::{Error, Result};
use std::ops::Range;

multiversion! {
    fn add_products<R: Real>(g: &[R], x: &[R], center: &[R], totals: &mut [f64]) {
        for (((t, &g), &x), &c) in totals.iter_mut().zip(g).zip(x).zip(center) {
            *t += (g * (x - c)).f64();
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

/// With `moves`, the moving statistics are changed: the last inputs, which come once more after the
/// outputs.
pub(super) fn prepare_backward(
    moves: bool,
    attrs: &Attrs,
    ins: &[Desc],
    outs: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let name = "_backward_BatchNorm";
    let more = if moves { 2 } else { 0 };
    check_args(name, (ins, 5 + more), (outs, 3 + more))?;
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
    if norm.batch && call.inputs.len() > 5 {
        move_statistics(&norm, &mean, &inverse, call)?;
    }
    let targets = targets::<T>(call)?;
    let [dx, dgamma, dbeta, ..] = targets[..] else {
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

/// Brings the moving statistics closer to those of the batch.
fn move_statistics<T: Real>(
    norm: &Norm,
    mean: &[T],
    inverse: &[T],
    call: &mut Call<'_>,
) -> Result<()> {
    let var = |&inverse: &T| {
        let var = inverse.f64().powi(-2) - norm.eps;
        // Rounding may take a variance of 0 below it.
        if var < 0.0 { 0.0 } else { var }
    };
    let batch: [Vec<f64>; 2] = [
        mean.iter().map(|m| m.f64()).collect(),
        inverse.iter().map(var).collect(),
    ];
    for (i, batch) in batch.iter().enumerate() {
        if call.reqs[3 + i] == Req::Null {
            continue;
        }
        let old = channel_values::<T>(&call.inputs[5 + i])?;
        let blend =
            |(old, new): (&T, &f64)| T::of(old.f64() * norm.momentum + new * (1.0 - norm.momentum));
        let moved: Vec<T> = old.iter().zip(batch).map(blend).collect();
        let target = Target::<T>::of(&mut call.outputs[3 + i])?;
        // SAFETY: nobody else writes the output during the call, and its input was copied.
        blockwise::store(
            &moved,
            unsafe { target.slice(0..moved.len()) },
            call.reqs[3 + i],
        );
    }
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
