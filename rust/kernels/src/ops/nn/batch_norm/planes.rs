//! Loops over one channel whose elements lie in planes. A channel is read twice, and written while it is
//! read again, from its last plane to its first, as the last ones were read a moment ago. Sums are
//! taken in lanes over blocks of a fixed size, which stay in the first-level cache, and added up in `f64`.

use super::loops::{BLOCK, LANES, fold, map};
use crate::api::Req;
use crate::blocks::raw::{Source, Target};
use crate::fold::Rows;
use crate::math::real::Real;
use crate::simd::vector::versions;

/// How many channels ahead data are fetched, and bytes of a channel up to which they are: several
/// fit into the second-level cache then. By itself the processor fetches ahead within planes only, and
/// many planes are too short for that.
const AHEAD: usize = 2;
const FETCHED: usize = 128 << 10;

/// Where the elements of a channel lie: `count` runs of `n`, `step` apart.
#[derive(Clone, Copy)]
pub(super) struct Planes {
    pub(super) start: usize,
    pub(super) step: usize,
    pub(super) n: usize,
    pub(super) count: usize,
}

impl Planes {
    /// The same in blocks: of some planes, or of a part of one.
    fn blocks(self) -> impl Iterator<Item = Planes> {
        let many = (BLOCK / self.n.max(1)).max(1);
        let parts = self.n.div_ceil(BLOCK);
        let block = move |i: usize, part: usize| Planes {
            start: self.start + i * many * self.step + part * BLOCK,
            n: (self.n - part * BLOCK).min(BLOCK),
            count: many.min(self.count - i * many),
            ..self
        };
        let groups = 0..self.count.div_ceil(many);
        groups.flat_map(move |i| (0..parts).map(move |part| block(i, part)))
    }

    fn len(self) -> usize {
        self.n * self.count
    }

    /// How far behind an element that of a later channel lies which is to be fetched, or 0.
    fn ahead<R>(self) -> usize {
        let near = self.len() * size_of::<R>() <= FETCHED;
        if near { AHEAD * self.n } else { 0 }
    }

    /// # Safety
    /// There is an element, and all are within `data`, where nobody writes them while the rows are used.
    unsafe fn rows<R: Real>(self, data: &Source<R>) -> Rows<R> {
        Rows {
            // SAFETY: as the caller vouches.
            first: unsafe { data.at(self.start) },
            step: self.step as isize,
            n: self.n,
        }
    }
}

/// What the elements of a channel are shifted and scaled by: `(x - mean) * scale + beta`.
#[derive(Clone, Copy)]
pub(super) struct Shift<R> {
    pub(super) mean: R,
    pub(super) scale: R,
    pub(super) beta: R,
}

impl<R: Real> Shift<R> {
    #[inline(always)]
    pub(super) fn apply(self, x: R) -> R {
        (x - self.mean) * self.scale + self.beta
    }

    /// What of the gradient `g` passes a relu behind this, if there is one; of NaN the slope is NaN.
    #[inline(always)]
    pub(super) fn back<const RELU: bool>(self, g: R, x: R) -> R {
        if !RELU {
            return g;
        }
        let y = self.apply(x);
        g * if y > R::ZERO {
            R::ONE
        } else if y <= R::ZERO {
            R::ZERO
        } else {
            y
        }
    }

    /// Data that add nothing to sums, with a gradient of zero: the mean, but where that would be no number
    /// behind an infinite scale, and the slope of the relu, too.
    fn nothing<const RELU: bool>(self) -> R {
        if !RELU || self.scale.f64().is_finite() {
            self.mean
        } else if self.mean == R::ZERO {
            R::ONE
        } else {
            R::ZERO
        }
    }
}

/// How the gradient of the data comes of that of the output and of the data:
/// `scale * g + slope * (x - mean) + offset`.
#[derive(Clone, Copy)]
pub(super) struct Slopes<R> {
    pub(super) scale: R,
    pub(super) slope: R,
    pub(super) offset: R,
}

impl<R: Real> Slopes<R> {
    #[inline(always)]
    pub(super) fn apply<const RELU: bool>(self, shift: Shift<R>, g: R, x: R) -> R {
        self.scale * shift.back::<RELU>(g, x) + self.slope * (x - shift.mean) + self.offset
    }
}

/// Mean and variance. Distances are from the mean of each block, so that they are exact where the mean
/// is large beside them; what they add up to is the error of that mean.
///
/// # Safety
/// The planes are within `data`, and nobody writes them meanwhile.
pub(super) unsafe fn moments<R: Real>(planes: Planes, data: &Source<R>) -> [f64; 2] {
    let (mut n, mut total, mut squares) = (0.0, 0.0, 0.0);
    let ahead = planes.ahead::<R>();
    for block in planes.blocks() {
        // SAFETY: as the caller vouches.
        let rows = unsafe { block.rows(data) };
        let more = block.len() as f64;
        let sum = sum(rows, block.count, ahead);
        let center = R::of(sum / more);
        let [rest, distances] = sum_distances(rows, block.count, center);
        let exact = center.f64() * more + rest;
        let sum = if exact.is_finite() { exact } else { sum };
        let own = distances - rest * rest / more;
        squares += if own < 0.0 { 0.0 } else { own };
        if n > 0.0 {
            let apart = sum / more - total / n;
            squares += apart * apart * (n * more / (n + more));
        }
        total += sum;
        n += more;
    }
    let n = f64::max(n, 1.0);
    [total / n, squares / n]
}

/// The sum of the gradient, and that of its products with the distances from the mean.
///
/// # Safety
/// As of [`moments`], for both.
pub(super) unsafe fn gradient_sums<R: Real>(
    planes: Planes,
    [head, data]: [&Source<R>; 2],
    shift: Shift<R>,
    relu: bool,
) -> [f64; 2] {
    let mut totals = [0.0; 2];
    let ahead = planes.ahead::<R>();
    for block in planes.blocks() {
        // SAFETY: as the caller vouches.
        let (g, x) = unsafe { (block.rows(head), block.rows(data)) };
        let sums = if relu {
            sum_both::<R, true>(g, x, block.count, shift, ahead)
        } else {
            sum_both::<R, false>(g, x, block.count, shift, ahead)
        };
        totals[0] += sums[0];
        totals[1] += sums[1];
    }
    totals
}

/// Writes the shifted and scaled data, with `relu` without what is negative; `read` says whether they were
/// read a moment ago.
///
/// # Safety
/// The planes are within both. Nobody else uses those of the output meanwhile, or writes those of the
/// data; they may be the same ones.
pub(super) unsafe fn normalise<R: Real>(
    planes: Planes,
    data: &Source<R>,
    (out, req): (&Target<R>, Req),
    shift: Shift<R>,
    [relu, read]: [bool; 2],
) {
    if planes.len() == 0 || req == Req::Null {
        return;
    }
    let ahead = if read { 0 } else { planes.ahead::<R>() };
    let run = match (relu, req == Req::Add) {
        (false, false) => shift_scale::<R, false, false>,
        (false, true) => shift_scale::<R, false, true>,
        (true, false) => shift_scale::<R, true, false>,
        (true, true) => shift_scale::<R, true, true>,
    };
    // SAFETY: as the caller vouches.
    unsafe {
        let (from, to) = (planes.rows(data), out.at(planes.start));
        run(from, to, planes.count, shift, ahead);
    }
}

/// Writes the gradient of the data.
///
/// # Safety
/// As of [`normalise`].
pub(super) unsafe fn combine<R: Real>(
    planes: Planes,
    [head, data]: [&Source<R>; 2],
    (out, req): (&Target<R>, Req),
    (slopes, shift): (Slopes<R>, Shift<R>),
    relu: bool,
) {
    if planes.len() == 0 || req == Req::Null {
        return;
    }
    let run = match (relu, req == Req::Add) {
        (false, false) => combine_rows::<R, false, false>,
        (false, true) => combine_rows::<R, false, true>,
        (true, false) => combine_rows::<R, true, false>,
        (true, true) => combine_rows::<R, true, true>,
    };
    // SAFETY: as the caller vouches.
    unsafe {
        let from = [planes.rows(head), planes.rows(data)];
        run(from, out.at(planes.start), planes.count, slopes, shift);
    }
}

versions! {
    fn sum[R: Real](x: Rows<R>, count: usize, ahead: usize) -> f64 [R] {
        let add = |lanes: &mut [[R; LANES]; 1], [x]: [[R; LANES]; 1]| {
            for i in 0..LANES {
                lanes[0][i] += x[i];
            }
        };
        fold([x], count, [R::ZERO], ahead, add)[0]
    }
}

versions! {
    /// The sums of `x - center` and of its square.
    fn sum_distances[R: Real](x: Rows<R>, count: usize, center: R) -> [f64; 2] [R] {
        let add = |lanes: &mut [[R; LANES]; 2], [x]: [[R; LANES]; 1]| {
            for i in 0..LANES {
                let d = x[i] - center;
                lanes[0][i] += d;
                lanes[1][i] += d * d;
            }
        };
        fold([x], count, [center], 0, add)
    }
}

versions! {
    fn sum_both[R: Real, const RELU: bool](
        g: Rows<R>, x: Rows<R>, count: usize, shift: Shift<R>, ahead: usize,
    ) -> [f64; 2] [R, RELU] {
        let add = |lanes: &mut [[R; LANES]; 2], [g, x]: [[R; LANES]; 2]| {
            for i in 0..LANES {
                let g = shift.back::<RELU>(g[i], x[i]);
                lanes[0][i] += g;
                lanes[1][i] += g * (x[i] - shift.mean);
            }
        };
        fold([g, x], count, [R::ZERO, shift.nothing::<RELU>()], ahead, add)
    }
}

versions! {
    unsafe fn shift_scale[R: Real, const RELU: bool, const ADD: bool](
        x: Rows<R>, y: *mut R, count: usize, shift: Shift<R>, ahead: usize,
    ) [R, RELU, ADD] {
        let f = |[x]: [R; 1]| {
            let y = shift.apply(x);
            if RELU && y <= R::ZERO { R::ZERO } else { y }
        };
        // SAFETY: as the caller vouches.
        unsafe { map::<R, 1, ADD>([x], y, count, ahead, f) }
    }
}

versions! {
    unsafe fn combine_rows[R: Real, const RELU: bool, const ADD: bool](
        from: [Rows<R>; 2], d: *mut R, count: usize, slopes: Slopes<R>, shift: Shift<R>,
    ) [R, RELU, ADD] {
        let f = |[g, x]: [R; 2]| slopes.apply::<RELU>(shift, g, x);
        // SAFETY: as the caller vouches.
        unsafe { map::<R, 2, ADD>(from, d, count, 0, f) }
    }
}
