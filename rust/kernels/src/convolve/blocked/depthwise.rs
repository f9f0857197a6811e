//! Convolutions of each channel by itself, of blocks of channels: a position is a vector, or two.

use super::tile::End;
use super::words::Words;
use super::{BLOCK, Blocked};
use crate::blocks::raw::Source;
use crate::convolve::finish::Finish;
use crate::linalg::results::Results;
use crate::linalg::tile::tile_rows;
use crate::par;
use crate::simd::vector::{Level, level};
use ferromix_base::bf16;
use std::ops::Range;

/// Numbers that a task reads, about.
const TASK: usize = 1 << 15;
/// Positions that are computed together.
const TOGETHER: usize = 6;

/// A row of results: where its taps' rows and columns begin, and the steps between them.
#[derive(Clone, Copy)]
pub(crate) struct Row<T> {
    /// The first element of the first row that is read, and the distance to the next one.
    from: (*const T, usize),
    /// The weights of the first tap of that row.
    weights: *const f32,
    /// Rows that are read.
    rows: usize,
    /// Where the first result goes, and the one from which it takes what is added.
    to: *mut T,
    end: End<T>,
}

/// The taps of an axis that are within it for position `o`.
fn within(
    o: usize,
    (stride, dilate, pad): (usize, usize, usize),
    taps: usize,
    n: usize,
) -> Range<usize> {
    let start = o * stride;
    let first = pad.saturating_sub(start).div_ceil(dilate).min(taps);
    let last = (n + pad).saturating_sub(start).div_ceil(dilate).min(taps);
    first..last.max(first)
}

/// The positions of an axis that all taps reach.
fn reached(
    (stride, dilate, pad): (usize, usize, usize),
    taps: usize,
    (n, positions): (usize, usize),
) -> Range<usize> {
    let first = pad.div_ceil(stride).min(positions);
    let last = (n + pad)
        .saturating_sub((taps - 1) * dilate)
        .div_ceil(stride);
    first..last.clamp(first, positions)
}

impl<T: Words> Blocked<T> {
    /// Runs a convolution of each channel by itself.
    pub(super) fn run_depthwise(
        &self,
        (data, packed): (Source<T>, &[f32]),
        finish: &Finish<'_, T>,
    ) {
        let g = &self.g;
        let [_, high, wide] = g.output;
        let blocks = g.groups / BLOCK;
        let plane = g.input[1] * g.input[2] * BLOCK;
        let reads = g.kernel[1] * g.kernel[2] * wide * BLOCK;
        let rows = (TASK / reads.max(1)).clamp(1, high.max(1));
        let parts = high.div_ceil(rows);
        let packed = Source::of_slice(packed);
        let whole = reached(self.axis(2), g.kernel[2], (g.input[2], wide));
        par::for_each(g.batch * blocks * parts, |task| {
            let (image, part) = (task / parts, task % parts);
            let block = image % blocks;
            for y in part * rows..high.min((part + 1) * rows) {
                let taken = within(y, self.axis(1), g.kernel[1], g.input[1]);
                let top = (y * g.stride[1] + taken.start * g.dilate[1]).saturating_sub(g.pad[1]);
                let taps = (block * g.kernel[1] + taken.start) * g.kernel[2];
                let at = (image * high + y) * wide * BLOCK;
                // SAFETY: rows belong to one task each; the places are within the planes, as `within` says.
                unsafe {
                    let row = Row {
                        from: (
                            data.near(image * plane + top * g.input[2] * BLOCK),
                            g.dilate[1] * g.input[2] * BLOCK,
                        ),
                        weights: packed.near(taps * BLOCK),
                        rows: taken.len(),
                        to: finish.target.at(at),
                        end: self.end(finish, block * BLOCK, at),
                    };
                    T::row(self, &row, &whole);
                }
            }
        });
    }

    /// Stride, dilation and padding of an axis.
    fn axis(&self, i: usize) -> (usize, usize, usize) {
        (self.g.stride[i], self.g.dilate[i], self.g.pad[i])
    }
}

/// Computes a row.
///
/// # Safety
/// What the row names can be read and written, and nobody else uses what it writes meanwhile.
pub(super) unsafe fn row(this: &Blocked<f32>, row: &Row<f32>, whole: &Range<usize>) {
    // SAFETY: `level` found the instructions on this CPU; the rest as the caller vouches.
    unsafe {
        match level() {
            #[cfg(target_arch = "x86_64")]
            Level::V4 => v4(this, row, whole),
            #[cfg(target_arch = "x86_64")]
            Level::V3 => v3(this, row, whole),
            Level::Base => body::<_, crate::linalg::plain::Plain<f32, 4>, 4>(this, row, whole),
        }
    }
}

/// The same of bfloat16.
///
/// # Safety
/// As [`row`]; the CPU multiplies pairs.
pub(super) unsafe fn half_row(this: &Blocked<bf16>, row: &Row<bf16>, whole: &Range<usize>) {
    // SAFETY: as the caller vouches.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        halves(this, row, whole);
        #[cfg(not(target_arch = "x86_64"))]
        body::<_, crate::linalg::plain::Plain<f32, 4>, 4>(this, row, whole);
    }
}

/// A row of results: positions that all taps reach, some at a time, and those at either end one by one.
///
/// # Safety
/// As [`row`]; the CPU has the instructions of `V`.
#[inline(always)]
unsafe fn body<T: Words, V: Results<T>, const W: usize>(
    this: &Blocked<T>,
    row: &Row<T>,
    whole: &Range<usize>,
) {
    let g = &this.g;
    let wide = g.output[2];
    let threes = g.kernel[1..] == [3, 3] && g.dilate[2] == 1 && row.rows == 3;
    // SAFETY: as the caller vouches.
    unsafe {
        for x in (0..whole.start).chain(whole.end..wide) {
            alone::<T, V, W>(this, row, x);
        }
        for (x, n) in tile_rows(whole.len(), TOGETHER) {
            let x = whole.start + x;
            match (threes, g.stride[2]) {
                (true, 1) => some::<T, V, W, 3, 1>(this, row, x, n),
                (true, 2) => some::<T, V, W, 3, 2>(this, row, x, n),
                _ => some::<T, V, W, 0, 0>(this, row, x, n),
            }
        }
    }
}

/// `n` neighbouring positions that all taps reach.
///
/// # Safety
/// As [`body`].
#[inline(always)]
unsafe fn some<T: Words, V: Results<T>, const W: usize, const K: usize, const S: usize>(
    this: &Blocked<T>,
    row: &Row<T>,
    x: usize,
    n: usize,
) {
    // SAFETY: as the caller vouches.
    unsafe {
        match n {
            1 => positions::<T, V, W, 1, K, S>(this, row, x),
            2 => positions::<T, V, W, 2, K, S>(this, row, x),
            3 => positions::<T, V, W, 3, K, S>(this, row, x),
            4 => positions::<T, V, W, 4, K, S>(this, row, x),
            5 => positions::<T, V, W, 5, K, S>(this, row, x),
            _ => positions::<T, V, W, TOGETHER, K, S>(this, row, x),
        }
    }
}

/// `P` neighbouring positions that all taps reach. Windows of `K` by `K` with steps of `S` are compiled by
/// themselves, where that is not 0: what two positions read is loaded once.
///
/// # Safety
/// As [`body`].
#[inline(always)]
unsafe fn positions<T, V, const W: usize, const P: usize, const K: usize, const S: usize>(
    this: &Blocked<T>,
    row: &Row<T>,
    x: usize,
) where
    T: Words,
    V: Results<T>,
{
    let (stride, dilate, pad) = this.axis(2);
    let (stride, dilate) = if K > 0 { (S, 1) } else { (stride, dilate) };
    let (rows, taps) = if K > 0 {
        (K, K)
    } else {
        (row.rows, this.g.kernel[2])
    };
    let left = (x * stride - pad) * BLOCK;
    // SAFETY: as the caller vouches.
    unsafe {
        for j in 0..W {
            let mut acc = [V::zero(); P];
            for i in 0..rows {
                let from = row.from.0.add(i * row.from.1 + left + j * V::N);
                let w = row.weights.add(i * taps * BLOCK + j * V::N);
                for k in 0..taps {
                    let w = V::load(w.add(k * BLOCK));
                    for (p, acc) in acc.iter_mut().enumerate() {
                        let at = (p * stride + k * dilate) * BLOCK;
                        *acc = acc.fma(V::read(from.add(at)), w);
                    }
                }
            }
            for (p, acc) in acc.into_iter().enumerate() {
                store(acc, row, (x + p) * BLOCK + j * V::N, j * V::N);
            }
        }
    }
}

/// A position that some taps do not reach.
///
/// # Safety
/// As [`body`].
#[inline(always)]
unsafe fn alone<T, V, const W: usize>(this: &Blocked<T>, row: &Row<T>, x: usize)
where
    T: Words,
    V: Results<T>,
{
    let (g, axis) = (&this.g, this.axis(2));
    let taken = within(x, axis, g.kernel[2], g.input[2]);
    let left = (x * axis.0 + taken.start * axis.1).saturating_sub(axis.2) * BLOCK;
    // SAFETY: as the caller vouches.
    unsafe {
        for j in 0..W {
            let mut acc = V::zero();
            for i in 0..row.rows {
                // Of no use where no tap reaches anything, and then perhaps of no number.
                let from = row.from.0.wrapping_add(i * row.from.1 + left + j * V::N);
                let w = row
                    .weights
                    .add((i * g.kernel[2] + taken.start) * BLOCK + j * V::N);
                for k in 0..taken.len() {
                    let x = V::read(from.add(k * axis.1 * BLOCK));
                    acc = acc.fma(x, V::load(w.add(k * BLOCK)));
                }
            }
            store(acc, row, x * BLOCK + j * V::N, j * V::N);
        }
    }
}

/// Writes a vector of a row to its place.
///
/// # Safety
/// As [`body`].
#[inline(always)]
unsafe fn store<T: Words, V: Results<T>>(sum: V, row: &Row<T>, at: usize, lane: usize) {
    let end = &row.end;
    // SAFETY: as the caller vouches.
    unsafe {
        let mut sum = sum;
        if !end.factor.is_null() {
            sum = sum.mul(V::load(end.factor.add(lane)));
        }
        if !end.shift.is_null() {
            sum = sum.add(V::load(end.shift.add(lane)));
        }
        if !end.addend.is_null() {
            sum = sum.add(V::read(end.addend.add(at)));
        }
        if end.relu {
            sum = sum.relu();
        }
        sum.write(row.to.add(at));
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! compiled_for {
    ($($name:ident: $v:ident, $t:ty, $w:literal, $features:literal),*) => {$(
        /// # Safety
        /// As [`body`].
        #[target_feature(enable = $features)]
        unsafe fn $name(this: &Blocked<$t>, row: &Row<$t>, whole: &Range<usize>) {
            // SAFETY: as the caller vouches.
            unsafe { body::<$t, std::arch::x86_64::$v, $w>(this, row, whole) }
        }
    )*};
}
#[cfg(target_arch = "x86_64")]
compiled_for!(
    v4: __m512, f32, 1, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma",
    v3: __m256, f32, 2, "avx2,fma",
    halves: __m512, bf16, 1, "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma"
);
