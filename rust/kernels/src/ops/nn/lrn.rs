//! `LRN`: every element divided by a power of the squares of its neighbours in other channels.
//!
//! The second output is what the power is taken of.

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row};
use crate::blocks::along_axis::AlongAxis;
use crate::blocks::blockwise::store;
use crate::blocks::raw::{Source, Target};
use crate::blocks::widened::widened;
use crate::math::real::{Real, by_real};
use crate::par;
use crate::simd::vector::multiversion;
use ferromix_base::{Error, Result};
use std::ops::Range;

pub(crate) const ROWS: &[Row] = &[
    Row::new("LRN", |a, i, o| widened("LRN", prepare_forward, a, i, o)).cost(4),
    Row::new("_backward_LRN", |a, i, o| {
        widened("_backward_LRN", prepare_backward, a, i, o)
    })
    .cost(4),
];

/// Neighbouring positions that are worked on together.
const WIDTH: usize = 256;
/// Elements per task, roughly.
const GRAIN: usize = 16_384;

#[derive(Clone, Copy)]
struct Lrn {
    layout: AlongAxis,
    /// Channels on either side that count.
    reach: usize,
    /// The factor of the sum of squares.
    alpha: f64,
    beta: f64,
    knorm: f64,
}

impl Lrn {
    fn new(name: &str, attrs: &Attrs, data: &Desc) -> Result<Self> {
        if data.shape.len() < 2 {
            return Err(Error::value(format!(
                "{name}: data of shape {:?} have no channels",
                &data.shape[..]
            )));
        }
        let n = usize::try_from(attrs.int("nsize")?).unwrap_or(0).max(1);
        Ok(Lrn {
            layout: AlongAxis::new(&data.shape, 1),
            reach: (n - 1) / 2,
            alpha: attrs.float("alpha")? / n as f64,
            beta: attrs.float("beta")?,
            knorm: attrs.float("knorm")?,
        })
    }

    /// The channels that count for channel `c`.
    fn near(&self, c: usize) -> Range<usize> {
        c.saturating_sub(self.reach)..(c + self.reach + 1).min(self.layout.k)
    }

    /// Calls `work` with the place of each channel of neighbouring positions: the channel, and a
    /// function from channels to ranges of memory.
    fn each(&self, work: impl Fn(usize, &dyn Fn(usize) -> Range<usize>) + Sync + Send) {
        let l = self.layout;
        let pieces = l.inner.div_ceil(WIDTH);
        let grain = GRAIN / (l.k * l.inner.min(WIDTH)).max(1);
        par::for_ranges(l.outer * pieces, grain, |range| {
            for i in range {
                let (outer, at) = (i / pieces, i % pieces * WIDTH);
                let width = WIDTH.min(l.inner - at);
                let place = |c: usize| {
                    let start = (outer * l.k + c) * l.inner + at;
                    start..start + width
                };
                (0..l.k).for_each(|c| work(c, &place));
            }
        });
    }
}

/// `x` to the power of `-beta`.
#[inline(always)]
fn inverse_power<R: Real>(x: R, beta: R) -> R {
    // The usual one takes two roots.
    if beta == R::of(0.75) {
        let root = x.sqrt();
        R::ONE / (root * root.sqrt())
    } else {
        (-beta * x.ln()).exp()
    }
}

multiversion! {
    fn add_squares<R: Real>(x: &[R], sums: &mut [R]) {
        sums.iter_mut().zip(x).for_each(|(s, &x)| *s += x * x);
    }

    /// Makes norms of sums of squares, and quotients.
    fn divide<R: Real>(x: &[R], numbers: [R; 3], norms: &mut [R], y: &mut [R]) {
        let [alpha, beta, knorm] = numbers;
        norms.iter_mut().for_each(|s| *s = knorm + alpha * *s);
        for ((y, &x), &norm) in y.iter_mut().zip(x).zip(&*norms) {
            *y = x * inverse_power(norm, beta);
        }
    }

    /// Adds `g * out / norm`, what a channel gives to its neighbours.
    fn add_shares<R: Real>(g: &[R], y: &[R], norm: &[R], sums: &mut [R]) {
        for (((s, &g), &y), &norm) in sums.iter_mut().zip(g).zip(y).zip(norm) {
            *s += g * y / norm;
        }
    }

    /// `g / norm ** beta - factor * x * sum`.
    fn combine<R: Real>(g: &[R], x: &[R], norm: &[R], numbers: [R; 2], sums: &[R], d: &mut [R]) {
        let [beta, factor] = numbers;
        for ((((d, &g), &x), &norm), &sum) in d.iter_mut().zip(g).zip(x).zip(norm).zip(sums) {
            *d = g * inverse_power(norm, beta) - factor * x * sum;
        }
    }
}

fn prepare_forward(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "LRN";
    check_args(name, (ins, 1), (outs, 2))?;
    let lrn = Lrn::new(name, attrs, &ins[0])?;
    for d in outs {
        check_shape(name, "output", d, &ins[0].shape)?;
    }
    by_real!(name, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| forward::<T>(lrn, call)))
}

fn forward<T: Real>(lrn: Lrn, call: &mut Call<'_>) -> Result<()> {
    let data = Source::<T>::of(&call.inputs[0])?;
    let mut targets = [None, None];
    for ((target, view), &req) in targets.iter_mut().zip(&mut *call.outputs).zip(call.reqs) {
        if req != Req::Null {
            *target = Some((Target::<T>::of(view)?, req));
        }
    }
    let numbers = [lrn.alpha, lrn.beta, lrn.knorm].map(T::of);
    lrn.each(|c, place| {
        // SAFETY: nobody writes the data.
        let x = |c: usize| unsafe { data.slice(place(c)) };
        let n = x(c).len();
        let (mut norms, mut results) = ([T::ZERO; WIDTH], [T::ZERO; WIDTH]);
        let (norms, results) = (&mut norms[..n], &mut results[..n]);
        lrn.near(c).for_each(|c| add_squares(x(c), norms));
        divide(x(c), numbers, norms, results);
        for (target, values) in targets.iter().zip([results, norms]) {
            if let Some((target, req)) = target {
                // SAFETY: the positions belong to this task.
                store(values, unsafe { target.slice(place(c)) }, *req);
            }
        }
    });
    Ok(())
}

fn prepare_backward(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_backward_LRN";
    check_args(name, (ins, 4), (outs, 1))?;
    let lrn = Lrn::new(name, attrs, &ins[0])?;
    for d in ins.iter().chain(outs) {
        check_shape(name, "argument", d, &ins[0].shape)?;
    }
    by_real!(name, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| backward::<T>(lrn, call)))
}

/// From the gradient of the output, data, output and norms.
fn backward<T: Real>(lrn: Lrn, call: &mut Call<'_>) -> Result<()> {
    let req = call.reqs[0];
    if req == Req::Null {
        return Ok(());
    }
    let mut sources = Vec::with_capacity(4);
    for view in call.inputs {
        sources.push(Source::<T>::of(view)?);
    }
    let target = Target::<T>::of(&mut call.outputs[0])?;
    let numbers = [lrn.beta, 2.0 * lrn.alpha * lrn.beta].map(T::of);
    lrn.each(|c, place| {
        // SAFETY: nobody writes the inputs.
        let of = |i: usize, c: usize| unsafe { sources[i].slice(place(c)) };
        let n = of(0, c).len();
        let (mut sums, mut results) = ([T::ZERO; WIDTH], [T::ZERO; WIDTH]);
        let (sums, results) = (&mut sums[..n], &mut results[..n]);
        lrn.near(c)
            .for_each(|c| add_shares(of(0, c), of(2, c), of(3, c), sums));
        combine(of(0, c), of(1, c), of(3, c), numbers, sums, results);
        // SAFETY: the positions belong to this task.
        store(results, unsafe { target.slice(place(c)) }, req);
    });
    Ok(())
}
