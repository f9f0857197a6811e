//! Densities of distributions at samples, or their logarithms, and what these hand back. Each element
//! of the parameters has as many samples as fit. All is computed in double precision.

use crate::api::check::{one_dtype, one_shape};
use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row};
use crate::blocks::blockwise::store;
use crate::blocks::raw::{Source, Target};
use crate::math::Math;
use crate::math::real::{Float, Real, by_float};
use crate::par;
use crate::simd::vector::versions;
use densities::{
    Density, Exponential, Gamma, GeneralizedNegativeBinomial, NegativeBinomial, Normal, Poisson,
    Uniform,
};
use ferromix_base::Result;
use std::ops::Range;

mod densities;
mod dirichlet;

/// Samples of a task, and of a block.
const GRAIN: usize = 1 << 12;
const BLOCK: usize = 256;

versions! {
    /// Densities of samples of one distribution, or their logarithms.
    fn densities[D: Density](ready: &[f64; 3], is_log: bool, x: &[f64], out: &mut [f64]) [D] {
        if D::FLAT {
            let same = D::log(0.0, ready);
            return out.fill(if is_log { same } else { Math::exp(same) });
        }
        for (y, x) in out.iter_mut().zip(x) {
            *y = D::quick(*x, ready);
        }
        for (y, x) in out.iter_mut().zip(x).filter(|(y, _)| y.is_nan()) {
            *y = D::log(*x, ready);
        }
        if !is_log {
            for y in out {
                *y = Math::exp(*y);
            }
        }
    }
}

versions! {
    /// The same where each sample has parameters of its own.
    fn singles[D: Density](params: [&[f64]; 2], is_log: bool, x: &[f64], out: &mut [f64]) [D] {
        for (((y, x), a), b) in out.iter_mut().zip(x).zip(params[0]).zip(params[1]) {
            *y = D::log(*x, &D::ready([*a, *b]));
        }
        if !is_log {
            for y in out {
                *y = Math::exp(*y);
            }
        }
    }
}

/// Elements of an input in double precision.
fn read<'a, T: Float>(source: &Source<T>, range: Range<usize>, to: &'a mut [f64]) -> &'a [f64] {
    let to = &mut to[..range.len()];
    // SAFETY: inputs are not written while kernels run, but in place, by the task that read them.
    let from = unsafe { source.slice(range) };
    to.iter_mut()
        .zip(from)
        .for_each(|(to, x)| *to = x.up().f64());
    to
}

/// Writes as the request says.
fn write<T: Float>(target: &Target<T>, start: usize, from: &[f64], req: Req) {
    let mut values = [T::Real::ZERO; BLOCK];
    let values = &mut values[..from.len()];
    values
        .iter_mut()
        .zip(from)
        .for_each(|(to, x)| *to = T::Real::of(*x));
    // SAFETY: tasks write ranges of their own.
    store(
        values,
        unsafe { target.slice(start..start + from.len()) },
        req,
    );
}

/// Samples of each element of the parameters.
fn per(name: &str, sample: &Desc, params: &[Desc]) -> Result<usize> {
    let shape = &params[0].shape;
    if !sample.shape.starts_with(shape) {
        check_shape(name, "sample", sample, shape)?;
    }
    one_shape(name, &params.iter().collect::<Vec<_>>())?;
    one_dtype(name, &[sample, &params[0], &params[params.len() - 1]])?;
    Ok(sample.shape[shape.len()..].iter().product())
}

fn prepare<D: Density>(
    name: &'static str,
    count: usize,
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    check_args(name, (i, count + 1), (o, 1))?;
    check_shape(name, "output", &o[0], &i[0].shape)?;
    let per = per(name, &i[0], &i[1..])?;
    let is_log = attrs.bool("is_log").map_err(|e| e.within(name))?;
    by_float!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        forward::<T, D>(per, is_log, call)
    }))
}

fn forward<T: Float, D: Density>(per: usize, is_log: bool, call: &mut Call<'_>) -> Result<()> {
    let req = call.reqs[0];
    if req == Req::Null {
        return Ok(());
    }
    let inputs = sources::<T>(call)?;
    let target = Target::<T>::of(&mut call.outputs[0])?;
    par::for_ranges(target.len(), GRAIN, |range| {
        let [mut x, mut y, mut a, mut b] = [[0.0; BLOCK]; 4];
        let (mut at, mut row, mut ready) = (range.start, usize::MAX, [0.0; 3]);
        while at < range.end {
            let n = BLOCK.min(range.end - at);
            let x = if D::FLAT {
                &x[..n]
            } else {
                read(&inputs[0], at..at + n, &mut x)
            };
            let mut done = 0;
            if per == 1 {
                let a = read(&inputs[1], at..at + n, &mut a);
                let b = match inputs.get(2) {
                    Some(input) => read(input, at..at + n, &mut b),
                    None => &b[..n],
                };
                singles::<D>([a, b], is_log, x, &mut y[..n]);
                done = n;
            }
            while done < n {
                let own = (per - (at + done) % per).min(n - done);
                if row != (at + done) / per {
                    row = (at + done) / per;
                    ready = D::ready(params(&inputs[1..], row));
                }
                let part = done..done + own;
                densities::<D>(&ready, is_log, &x[part.clone()], &mut y[part]);
                done += own;
            }
            write(&target, at, &y[..n], req);
            at += n;
        }
    });
    Ok(())
}

fn sources<T: Float>(call: &Call<'_>) -> Result<Vec<Source<T>>> {
    call.inputs.iter().map(Source::of).collect()
}

/// The parameters of a row; 0 for a second one that is not there.
fn params<T: Float>(inputs: &[Source<T>], row: usize) -> [f64; 2] {
    let mut found = [0.0; 2];
    for (param, input) in found.iter_mut().zip(inputs) {
        read(input, row..row + 1, std::slice::from_mut(param));
    }
    found
}

fn prepare_back<D: Density>(
    name: &'static str,
    count: usize,
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    check_args(name, (i, count + 2), (o, count + 1))?;
    for (input, output) in i[1..].iter().zip(o) {
        check_shape(name, "a gradient", output, &input.shape)?;
    }
    check_shape(name, "out_grad", &i[0], &i[1].shape)?;
    let per = per(name, &i[1], &i[2..])?;
    let is_log = attrs.bool("is_log").map_err(|e| e.within(name))?;
    by_float!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        backward::<T, D>(per, is_log, call)
    }))
}

fn backward<T: Float, D: Density>(per: usize, is_log: bool, call: &mut Call<'_>) -> Result<()> {
    let inputs = sources::<T>(call)?;
    let rows = call.inputs[2].len();
    let reqs = call.reqs;
    let targets = targets::<T>(call)?;
    par::for_ranges(rows, (GRAIN / per.max(1)).max(1), |range| {
        let [mut g, mut x, mut slopes] = [[0.0; BLOCK]; 3];
        for row in range {
            let params = params(&inputs[2..], row);
            let (ready, mut sums) = (D::ready(params), [0.0; 2]);
            let own = D::ready_slope(params);
            for at in (row * per..(row + 1) * per).step_by(BLOCK) {
                let n = BLOCK.min((row + 1) * per - at);
                let g = read(&inputs[0], at..at + n, &mut g);
                let x = read(&inputs[1], at..at + n, &mut x);
                for ((slope, g), x) in slopes.iter_mut().zip(g).zip(x) {
                    let density = if is_log {
                        1.0
                    } else {
                        D::log(*x, &ready).exp()
                    };
                    let [by_sample, by_first, by_second] = D::slopes(*x, params, own);
                    let g = g * density;
                    *slope = g * by_sample;
                    sums[0] += g * by_first;
                    sums[1] += g * by_second;
                }
                if let Some(target) = &targets[0] {
                    write(target, at, &slopes[..n], reqs[0]);
                }
            }
            for (k, target) in targets[1..].iter().enumerate() {
                if let Some(target) = target {
                    write(target, row, &sums[k..=k], reqs[k + 1]);
                }
            }
        }
    });
    Ok(())
}

/// The outputs, but for those that are not wanted.
fn targets<T: Float>(call: &mut Call<'_>) -> Result<Vec<Option<Target<T>>>> {
    let wanted = call.outputs.iter_mut().zip(call.reqs);
    wanted
        .map(|(out, req)| (*req != Req::Null).then(|| Target::of(out)).transpose())
        .collect()
}

/// The row of a distribution of so many parameters.
macro_rules! pdf {
    ($name:literal, $density:ty, $count:literal) => {
        Row::new($name, |a, i, o| prepare::<$density>($name, $count, a, i, o)).cost(8)
    };
}

/// The row of its gradients.
macro_rules! back {
    ($name:literal, $density:ty, $count:literal) => {
        Row::new($name, |a, i, o| {
            prepare_back::<$density>($name, $count, a, i, o)
        })
        .cost(16)
    };
}

pub(crate) const ROWS: &[Row] = &[
    pdf!("_random_pdf_uniform", Uniform, 2),
    back!("_backward_pdf_uniform", Uniform, 2),
    pdf!("_random_pdf_normal", Normal, 2),
    back!("_backward_pdf_normal", Normal, 2),
    pdf!("_random_pdf_exponential", Exponential, 1),
    back!("_backward_pdf_exponential", Exponential, 1),
    pdf!("_random_pdf_gamma", Gamma, 2),
    back!("_backward_pdf_gamma", Gamma, 2),
    pdf!("_random_pdf_poisson", Poisson, 1),
    back!("_backward_pdf_poisson", Poisson, 1),
    pdf!("_random_pdf_negative_binomial", NegativeBinomial, 2),
    back!("_backward_pdf_negative_binomial", NegativeBinomial, 2),
    pdf!(
        "_random_pdf_generalized_negative_binomial",
        GeneralizedNegativeBinomial,
        2
    ),
    back!(
        "_backward_pdf_generalized_negative_binomial",
        GeneralizedNegativeBinomial,
        2
    ),
    Row::new(dirichlet::NAME, dirichlet::prepare).cost(8),
    Row::new(dirichlet::BACK, dirichlet::prepare_back).cost(16),
];
