//! The gradients, with which the moving statistics change.

use super::planes::{self, Shift, Slopes};
use super::{Norm, channel_values, scales, targets};
use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req};
use crate::blocks::blockwise::{self, Buffers};
use crate::blocks::raw::{Source, Target};
use crate::math::real::{Real, by_real};
use crate::par;
use crate::simd::vector::versions;
use ferromix_base::{Error, Result};
use std::ops::Range;

/// What is different about kernels that give the gradients.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Back {
    /// The moving statistics stay as they are.
    Plain,
    /// They are changed: the last inputs, which come once more after the outputs.
    Moves,
    /// So they are, and the gradient is that of a relu's output behind it; `beta` comes before them.
    Relu,
}

versions! {
    /// Adds a row of gradients, and of their products with the distances from the mean, to the sums.
    fn add_row[R: Real, const RELU: bool](
        g: &[R], x: &[R], shifts: &[Shift<R>], totals: &mut [[f64; 2]],
    ) [R, RELU] {
        for (((t, &g), &x), shift) in totals.iter_mut().zip(g).zip(x).zip(shifts) {
            let g = shift.back::<RELU>(g, x);
            t[0] += g.f64();
            t[1] += (g * (x - shift.mean)).f64();
        }
    }
}

versions! {
    fn combine_row[R: Real, const RELU: bool](
        g: &[R], x: &[R], each: &[(Slopes<R>, Shift<R>)], d: &mut [R],
    ) [R, RELU] {
        for (((d, &g), &x), (slopes, shift)) in d.iter_mut().zip(g).zip(x).zip(each) {
            *d = slopes.apply::<RELU>(*shift, g, x);
        }
    }
}

pub(super) fn prepare_backward(
    back: Back,
    attrs: &Attrs,
    ins: &[Desc],
    outs: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let name = "_backward_BatchNorm";
    let (inputs, outputs) = match back {
        Back::Plain => (5, 3),
        Back::Moves => (7, 5),
        Back::Relu => (8, 5),
    };
    check_args(name, (ins, inputs), (outs, outputs))?;
    let norm = Norm::new(attrs, &ins[1])?;
    check_shape(name, "data", &ins[1], &ins[0].shape)?;
    check_shape(name, "data gradient", &outs[0], &ins[0].shape)?;
    for d in ins[2..].iter().chain(&outs[1..]) {
        check_shape(name, "channel argument", d, &[norm.layout.k])?;
    }
    by_real!(name, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| backward::<T>(norm, back, call)))
}

fn backward<T: Real>(norm: Norm, back: Back, call: &mut Call<'_>) -> Result<()> {
    let both = [
        Source::<T>::of(&call.inputs[0])?,
        Source::<T>::of(&call.inputs[1])?,
    ];
    let relu = back == Back::Relu;
    let gamma = channel_values::<T>(&call.inputs[2])?;
    let mean = channel_values::<T>(&call.inputs[3])?;
    let inverse = channel_values::<T>(&call.inputs[4])?;
    let beta = match relu {
        true => channel_values::<T>(&call.inputs[5])?,
        false => vec![T::ZERO; gamma.len()],
    };
    if norm.batch && back != Back::Plain {
        move_statistics(&norm, &mean, &inverse, call)?;
    }
    let shifts = shifts(&norm, [&gamma, &beta, &mean, &inverse]);
    let targets = targets::<T>(call)?;
    let [dx, dgamma, dbeta, ..] = targets[..] else {
        return Err(Error::internal("_backward_BatchNorm has three outputs"));
    };
    let reqs = call.reqs;
    par::for_ranges(norm.layout.k, norm.channels(), |channels| {
        let shifts = &shifts[channels.clone()];
        // SAFETY: the channels belong to this task, and are written after they were read.
        let sums = unsafe { gradient_sums(&norm, &both, shifts, relu, &channels) };
        let mut each = Vec::with_capacity(channels.len());
        for ((c, &shift), sums) in channels.clone().zip(shifts).zip(sums) {
            let (scale, inverse) = (gamma[c].f64(), inverse[c].f64());
            let by_gamma = if norm.fix_gamma {
                0.0
            } else {
                sums[1] * inverse
            };
            for (target, req, value) in [(dgamma, reqs[1], by_gamma), (dbeta, reqs[2], sums[0])] {
                if let Some(target) = target {
                    // SAFETY: the channel belongs to this task.
                    blockwise::store(&[T::of(value)], unsafe { target.slice(c..c + 1) }, req);
                }
            }
            each.push((slopes(&norm, scale, inverse, sums), shift));
        }
        let Some(dx) = dx else { return };
        // SAFETY: the channels belong to this task.
        unsafe { data_gradient(&norm, &both, (&dx, reqs[0]), &each, relu, &channels) };
    });
    Ok(())
}

/// What each channel was shifted and scaled by.
fn shifts<T: Real>(norm: &Norm, [gamma, beta, mean, inverse]: [&[T]; 4]) -> Vec<Shift<T>> {
    let scale = scales(norm, gamma, inverse);
    let shift = |c: usize| Shift {
        mean: mean[c],
        scale: scale[c],
        beta: beta[c],
    };
    (0..gamma.len()).map(shift).collect()
}

/// How the gradient of a channel's data comes of its sums.
fn slopes<T: Real>(norm: &Norm, gamma: f64, inverse: f64, [sum_g, sum_gx]: [f64; 2]) -> Slopes<T> {
    let scale = inverse * if norm.fix_gamma { 1.0 } else { gamma };
    let n = if norm.batch {
        norm.count()
    } else {
        f64::INFINITY
    };
    Slopes {
        scale: T::of(scale),
        slope: T::of(-scale * inverse * inverse * sum_gx / n),
        offset: T::of(-scale * sum_g / n),
    }
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
    let first = call.inputs.len() - batch.len();
    for (i, batch) in batch.iter().enumerate() {
        if call.reqs[3 + i] == Req::Null {
            continue;
        }
        let old = channel_values::<T>(&call.inputs[first + i])?;
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
    [head, data]: &[Source<T>; 2],
    shifts: &[Shift<T>],
    relu: bool,
    channels: &Range<usize>,
) -> Vec<[f64; 2]> {
    if !norm.together() {
        let each = channels.clone().zip(shifts);
        // SAFETY: as the caller vouches.
        let sums = |(c, &shift): (usize, &Shift<T>)| unsafe {
            planes::gradient_sums(norm.planes(c), [head, data], shift, relu)
        };
        return each.map(sums).collect();
    }
    let mut totals = vec![[0.0; 2]; channels.len()];
    for range in norm.rows(channels) {
        // SAFETY: as the caller vouches.
        let (g, x) = unsafe { (head.slice(range.clone()), data.slice(range)) };
        if relu {
            add_row::<T, true>(g, x, shifts, &mut totals);
        } else {
            add_row::<T, false>(g, x, shifts, &mut totals);
        }
    }
    totals
}

/// Writes the gradient of the data.
///
/// # Safety
/// Nobody else uses these channels of the output meanwhile, or writes those of the inputs.
unsafe fn data_gradient<T: Real>(
    norm: &Norm,
    [head, data]: &[Source<T>; 2],
    (out, req): (&Target<T>, Req),
    each: &[(Slopes<T>, Shift<T>)],
    relu: bool,
    channels: &Range<usize>,
) {
    if !norm.together() {
        for (c, &how) in channels.clone().zip(each) {
            // SAFETY: as the caller vouches.
            unsafe { planes::combine(norm.planes(c), [head, data], (out, req), how, relu) };
        }
        return;
    }
    let mut buffers = Buffers::new();
    for range in norm.rows(channels) {
        let body: blockwise::Body<'_, T, 2> = &|[g, x], d| {
            if relu {
                combine_row::<T, true>(g, x, each, d);
            } else {
                combine_row::<T, false>(g, x, each, d);
            }
        };
        let from = [(*head, range.start), (*data, range.start)];
        let to = (*out, range.start);
        // SAFETY: as the caller vouches.
        unsafe { blockwise::run(&mut buffers, from, to, range.len(), req, body) };
    }
}
