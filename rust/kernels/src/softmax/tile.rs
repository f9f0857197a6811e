//! Pieces of a tensor in scratch memory, and the passes over them.

use super::{Kind, WIDTH};
use crate::api::Req;
use crate::blocks::along_axis::AlongAxis;
use crate::blocks::blockwise::store;
use crate::blocks::raw::{Source, Target};
use crate::blocks::sums::sums_of;
use crate::math::real::{Float, Real};
use crate::simd::vector::multiversion;

/// A copied piece of a tensor: `k` rows of `w` neighbouring positions.
pub(super) struct Tile<R> {
    pub(super) data: Vec<R>,
    pub(super) w: usize,
}

multiversion! {
    /// Leaves `(x - max) / t` in `x` and the sums of its exponentials in `sums`; `x` has rows of
    /// `sums.len()` elements.
    fn shift<R: Real>(x: &mut [R], t: R, exponentiate: bool, sums: &mut [R]) {
        let w = sums.len();
        let mut top = [R::LOWEST; WIDTH];
        if w == 1 {
            let parts = x.chunks_exact(32);
            let rest = parts.remainder();
            let mut lanes = [R::LOWEST; 32];
            for part in parts {
                lanes.iter_mut().zip(part).for_each(|(m, &v)| *m = m.at_least(v));
            }
            let top = lanes.iter().chain(rest).fold(R::LOWEST, |m, &v| m.at_least(v));
            let sum = if exponentiate {
                x.iter_mut().for_each(|v| *v = ((*v - top) / t).exp());
                sums_of([&*x], |x| x)[0]
            } else {
                x.iter_mut().for_each(|v| *v = (*v - top) / t);
                sums_of([&*x], |[x]| [x.exp()])[0]
            };
            sums[0] = R::of(sum);
            return;
        }
        sums.fill(R::ZERO);
        for row in x.chunks(w) {
            top.iter_mut().zip(row).for_each(|(m, &v)| *m = m.at_least(v));
        }
        for row in x.chunks_mut(w) {
            row.iter_mut().zip(&top).for_each(|(v, m)| *v = *v - *m);
        }
        if t != R::ONE {
            x.iter_mut().for_each(|v| *v = *v / t);
        }
        if exponentiate {
            x.iter_mut().for_each(|v| *v = v.exp());
        }
        let mut scratch = [R::ZERO; WIDTH];
        for row in x.chunks(w) {
            if exponentiate {
                sums.iter_mut().zip(row).for_each(|(s, &v)| *s += v);
            } else {
                scratch.iter_mut().zip(row).for_each(|(r, &v)| *r = v.exp());
                sums.iter_mut().zip(&scratch).for_each(|(s, &v)| *s += v);
            }
        }
    }

    fn divide<R: Real>(x: &mut [R], by: &[R]) {
        for row in x.chunks_mut(by.len()) {
            row.iter_mut().zip(by).for_each(|(v, &s)| *v = *v / s);
        }
    }

    fn subtract<R: Real>(x: &mut [R], what: &[R]) {
        for row in x.chunks_mut(what.len()) {
            row.iter_mut().zip(what).for_each(|(v, &s)| *v = *v - s);
        }
    }

    /// Turns the gradient `g` with respect to `softmax(x / t) = y` into the one with respect to
    /// `x`; rows of `sums.len()` elements.
    fn softmax_grad<R: Real>(g: &mut [R], y: &[R], t: R, sums: &mut [R]) {
        let w = sums.len();
        if w == 1 {
            let mut lanes = [R::ZERO; 32];
            for (g, y) in g.chunks(32).zip(y.chunks(32)) {
                for ((sum, &g), &y) in lanes.iter_mut().zip(g).zip(y) {
                    *sum += g * y;
                }
            }
            let sum = lanes.into_iter().fold(R::ZERO, |a, b| a + b);
            g.iter_mut().zip(y).for_each(|(g, &y)| *g = y * (*g - sum) / t);
            return;
        }
        sums.fill(R::ZERO);
        for (g, y) in g.chunks(w).zip(y.chunks(w)) {
            for ((sum, &g), &y) in sums.iter_mut().zip(g).zip(y) {
                *sum += g * y;
            }
        }
        for (g, y) in g.chunks_mut(w).zip(y.chunks(w)) {
            for ((g, &y), &sum) in g.iter_mut().zip(y).zip(&*sums) {
                *g = y * (*g - sum) / t;
            }
        }
    }

    fn log_softmax_grad<R: Real>(g: &mut [R], y: &[R], t: R, sums: &mut [R]) {
        let w = sums.len();
        sums.fill(R::ZERO);
        for g in g.chunks(w) {
            sums.iter_mut().zip(g).for_each(|(sum, &g)| *sum += g);
        }
        for (g, y) in g.chunks_mut(w).zip(y.chunks(w)) {
            for ((g, &y), &sum) in g.iter_mut().zip(y).zip(&*sums) {
                *g = (*g - y.exp() * sum) / t;
            }
        }
    }
}

pub(super) fn work<R: Real>(kind: Kind, t: R, a: &mut Tile<R>, b: &Tile<R>) {
    let mut scratch = [R::ZERO; WIDTH];
    let sums = &mut scratch[..a.w];
    match kind {
        Kind::Softmax => {
            shift(&mut a.data, t, true, sums);
            divide(&mut a.data, sums);
        }
        Kind::Log => {
            shift(&mut a.data, t, false, sums);
            sums.iter_mut().for_each(|s| *s = s.ln());
            subtract(&mut a.data, sums);
        }
        Kind::SoftmaxGrad => softmax_grad(&mut a.data, &b.data, t, sums),
        Kind::LogGrad => log_softmax_grad(&mut a.data, &b.data, t, sums),
    }
}

impl<R: Real> Tile<R> {
    pub(super) fn empty() -> Self {
        Tile {
            data: Vec::new(),
            w: 1,
        }
    }

    /// Copies the positions `at..at + w` of one outer index.
    pub(super) fn load<T: Float<Real = R>>(
        &mut self,
        from: &Source<T>,
        l: AlongAxis,
        outer: usize,
        (at, w): (usize, usize),
    ) {
        self.w = w;
        self.data.clear();
        self.data.reserve(l.k * w);
        for k in 0..l.k {
            let start = (outer * l.k + k) * l.inner + at;
            // SAFETY: the piece belongs to this task; it is written after it was read.
            let row = unsafe { from.slice(start..start + w) };
            match T::plain(row) {
                Some(row) => self.data.extend_from_slice(row),
                None => self.data.extend(row.iter().map(|x| x.up())),
            }
        }
    }

    pub(super) fn store<T: Float<Real = R>>(
        &self,
        to: &Target<T>,
        l: AlongAxis,
        outer: usize,
        at: usize,
        req: Req,
    ) {
        for (k, row) in self.data.chunks(self.w).enumerate() {
            let start = (outer * l.k + k) * l.inner + at;
            // SAFETY: the piece belongs to this task.
            store(row, unsafe { to.slice(start..start + self.w) }, req);
        }
    }
}
