//! `LRN`: every element divided by a power of the squares of its neighbours in other channels. The
//! gradient computes the powers again, which is cheaper than to keep them in memory.

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

    /// Calls `work` for neighbouring positions of all channels, some at a time, with their number and a
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
                work(width, &place);
            }
        });
    }

    fn numbers<T: Real>(&self) -> [T; 3] {
        [self.alpha, self.beta, self.knorm].map(T::of)
    }
}

/// Norms for which [`Usual::usual_power`] is good.
const NEAR: (f64, f64) = (1e-30, 1e30);

/// Numbers with a fast way to the usual exponent.
trait Usual: Real {
    /// To the power of -3/4.
    fn usual_power(self) -> Self;
}

impl Usual for f64 {
    #[inline(always)]
    fn usual_power(self) -> f64 {
        let root = self.sqrt();
        1.0 / (root * root.sqrt())
    }
}

impl Usual for f32 {
    /// Three steps of Newton's method to the inverse of the fourth root, from an estimate by a quarter of
    /// the exponent's bits: less than a third of the time that two roots and a quotient take.
    #[inline(always)]
    fn usual_power(self) -> f32 {
        let mut y = f32::from_bits(0x4F58_CAE5_u32.wrapping_sub(self.to_bits() >> 2));
        let quarter = 0.25 * self;
        for _ in 0..3 {
            let square = y * y;
            y *= 1.25 - quarter * (square * square);
        }
        y * y * y
    }
}

multiversion! {
    fn add_squares<R: Real>(x: &[R], sums: &mut [R]) {
        sums.iter_mut().zip(x).for_each(|(s, &x)| *s += x * x);
    }

    /// Makes norms of sums of squares, and their powers to `-beta`.
    fn powers<R: Usual>(numbers: [R; 3], norms: &mut [R], factors: &mut [R]) {
        let [alpha, beta, knorm] = numbers;
        norms.iter_mut().for_each(|s| *s = knorm + alpha * *s);
        let near = norms.iter().fold(true, |all, s| {
            all & (*s > R::of(NEAR.0)) & (*s < R::of(NEAR.1))
        });
        if near && beta == R::of(0.75) {
            for (f, &norm) in factors.iter_mut().zip(&*norms) {
                *f = norm.usual_power();
            }
        } else {
            for (f, &norm) in factors.iter_mut().zip(&*norms) {
                *f = (-beta * norm.ln()).exp();
            }
        }
    }

    fn multiply<R: Real>(x: &[R], y: &mut [R]) {
        y.iter_mut().zip(x).for_each(|(y, &x)| *y = x * *y);
    }

    /// What a channel gives to its neighbours, in place of its norms.
    fn share<R: Real>(g: &[R], x: &[R], factors: &[R], norms: &mut [R]) {
        for (((s, &f), &g), &x) in norms.iter_mut().zip(factors).zip(g).zip(x) {
            *s = g * x * f / *s;
        }
    }

    fn add<R: Real>(x: &[R], sums: &mut [R]) {
        sums.iter_mut().zip(x).for_each(|(s, &x)| *s += x);
    }

    /// `g * factor - slope * x * sum`.
    fn combine<R: Real>(g: &[R], x: &[R], factors: &[R], slope: R, sums: &[R], d: &mut [R]) {
        for ((((d, &g), &x), &f), &sum) in d.iter_mut().zip(g).zip(x).zip(factors).zip(sums) {
            *d = g * f - slope * x * sum;
        }
    }
}

fn prepare_forward(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "LRN";
    check_args(name, (ins, 1), (outs, 1))?;
    let lrn = Lrn::new(name, attrs, &ins[0])?;
    check_shape(name, "output", &outs[0], &ins[0].shape)?;
    by_real!(name, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| forward::<T>(lrn, call)))
}

fn forward<T: Usual>(lrn: Lrn, call: &mut Call<'_>) -> Result<()> {
    let req = call.reqs[0];
    if req == Req::Null {
        return Ok(());
    }
    let data = Source::<T>::of(&call.inputs[0])?;
    let target = Target::<T>::of(&mut call.outputs[0])?;
    lrn.each(|n, place| {
        // SAFETY: nobody writes the data.
        let x = |c: usize| unsafe { data.slice(place(c)) };
        let (mut sums, mut results) = ([T::ZERO; WIDTH], [T::ZERO; WIDTH]);
        let (sums, results) = (&mut sums[..n], &mut results[..n]);
        for c in 0..lrn.layout.k {
            sums.fill(T::ZERO);
            lrn.near(c).for_each(|c| add_squares(x(c), sums));
            powers(lrn.numbers(), sums, results);
            multiply(x(c), results);
            // SAFETY: the positions belong to this task.
            store(results, unsafe { target.slice(place(c)) }, req);
        }
    });
    Ok(())
}

fn prepare_backward(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_backward_LRN";
    check_args(name, (ins, 2), (outs, 1))?;
    let lrn = Lrn::new(name, attrs, &ins[0])?;
    check_shape(name, "data", &ins[1], &ins[0].shape)?;
    check_shape(name, "data gradient", &outs[0], &ins[0].shape)?;
    by_real!(name, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| backward::<T>(lrn, call)))
}

/// From the gradient of the output and the data.
fn backward<T: Usual>(lrn: Lrn, call: &mut Call<'_>) -> Result<()> {
    let req = call.reqs[0];
    if req == Req::Null {
        return Ok(());
    }
    let [head, data] = [
        Source::<T>::of(&call.inputs[0])?,
        Source::<T>::of(&call.inputs[1])?,
    ];
    let target = Target::<T>::of(&mut call.outputs[0])?;
    let slope = T::of(2.0 * lrn.alpha * lrn.beta);
    lrn.each(|n, place| {
        // SAFETY: nobody writes the inputs.
        let g = |c: usize| unsafe { head.slice(place(c)) };
        // SAFETY: as above.
        let x = |c: usize| unsafe { data.slice(place(c)) };
        let own = |c: usize| c * n..(c + 1) * n;
        let channels = lrn.layout.k;
        let mut factors = vec![T::ZERO; channels * n];
        let mut shares = vec![T::ZERO; channels * n];
        for c in 0..channels {
            let (factors, shares) = (&mut factors[own(c)], &mut shares[own(c)]);
            lrn.near(c).for_each(|c| add_squares(x(c), shares));
            powers(lrn.numbers(), shares, factors);
            share(g(c), x(c), factors, shares);
        }
        let (mut sums, mut results) = ([T::ZERO; WIDTH], [T::ZERO; WIDTH]);
        let (sums, results) = (&mut sums[..n], &mut results[..n]);
        for c in 0..channels {
            sums.fill(T::ZERO);
            lrn.near(c).for_each(|c| add(&shares[own(c)], sums));
            combine(g(c), x(c), &factors[own(c)], slope, sums, results);
            // SAFETY: the positions belong to this task.
            store(results, unsafe { target.slice(place(c)) }, req);
        }
    });
    Ok(())
}
