//! Windows of 3 by 3 in strips: a strip is a vector of neighbouring columns, from the first row of the result
//! to the last. What the three rows of a window read stays in registers from one row of the result to the
//! next, so that each row of the plane is loaded once, and what is read is the same for all rows of a strip.

pub(in crate::convolve) mod sums;

use super::{Plane, Shape};
use crate::blocks::raw::fetch_far;
use crate::linalg::lanes::Places;
use crate::math::real::Real;
use std::ops::Range;

/// Rows and columns of a window.
const SIDE: usize = 3;
/// Bytes of rows that strips go through one after the other.
const NEAR: usize = 1 << 14;
/// How many vectors of strips take as long as how many of those that may run over the ends of rows.
const WORTH: (usize, usize) = (3, 2);

/// A vector of neighbouring columns of the result.
struct Strip {
    column: usize,
    /// Which of its columns there are.
    places: u16,
    /// Which numbers are read for the first, second and third tap of a row; for every second column, in two
    /// vectors for the first two taps and in two for the third.
    reads: [u16; 4],
    /// Whether these are all.
    whole: bool,
}

/// The strips of a plane of results.
pub(in crate::convolve) struct Strips {
    stride: usize,
    high: isize,
    wide: usize,
    /// Rows and columns of the result.
    out: [usize; 2],
    /// Where the first window begins.
    first: [isize; 2],
    /// Which weight is that of each place of a window.
    order: [usize; SIDE * SIDE],
    strips: Vec<Strip>,
}

impl Strips {
    /// Those of windows of a shape, for a result of so many rows and columns, in vectors of so many lanes;
    /// nothing where the windows are others.
    pub(super) fn of(shape: &Shape, out: [usize; 2], lanes: usize) -> Option<Self> {
        let [stride, along] = shape.stride;
        let least = |i: usize| shape.taps.iter().map(|tap| tap[i]).min();
        let first = [least(0)?, least(1)?];
        let place = |i: usize| {
            let at = [i / SIDE, i % SIDE].map(|x| x as isize);
            let here = |tap: &[isize; 2]| *tap == [first[0] + at[0], first[1] + at[1]];
            shape.taps.iter().position(here)
        };
        let mut order = [0; SIDE * SIDE];
        for (i, number) in order.iter_mut().enumerate() {
            *number = place(i)?;
        }
        if shape.taps.len() != order.len() || stride != along || !(1..=2).contains(&stride) {
            return None;
        }
        let strips = out[1].div_ceil(lanes);
        let mut found = Strips {
            stride,
            high: shape.high as isize,
            wide: shape.wide,
            out,
            first,
            order,
            strips: Vec::new(),
        };
        found.strips = (0..strips).map(|i| found.strip(i * lanes, lanes)).collect();
        Some(found)
    }

    /// Whether enough of the vectors is filled, beside those that may run over the ends of rows.
    pub(super) fn fill(&self, lanes: usize) -> bool {
        let strips = self.strips.len() * self.out[0];
        let others = match self.stride {
            1 => (self.out[0] * self.out[1]).div_ceil(lanes),
            _ => strips,
        };
        strips * WORTH.1 <= others * WORTH.0
    }

    /// The strip from a column on.
    fn strip(&self, column: usize, lanes: usize) -> Strip {
        let n = lanes.min(self.out[1] - column);
        let bits = |f: &dyn Fn(usize) -> bool| (0..lanes).fold(0, |b, i| b | u16::from(f(i)) << i);
        let start = (column * self.stride) as isize + self.first[1];
        let inside = |x: isize| (0..self.wide as isize).contains(&x);
        // Numbers that are read for no column of the result may be any, but must be there.
        let ends = start + ((n - 1) * self.stride + SIDE) as isize;
        let reads = [0, 1, 2, 3].map(|v| {
            let from = match (self.stride, v) {
                (1, v) => v,
                (_, v) => v / 2 * 2 + v % 2 * lanes,
            };
            bits(&|i| {
                let x = start + (from + i) as isize;
                inside(x) && x < ends
            })
        });
        let places = bits(&|i| i < n);
        let last = start + (self.stride * lanes + 1) as isize;
        let whole = n == lanes && inside(start) && inside(last);
        Strip {
            column,
            places,
            reads,
            whole,
        }
    }

    /// Rows of the result that strips go through one after the other.
    fn rows_at_once<T>(&self) -> usize {
        (NEAR / (size_of::<T>() * self.wide.max(1) * self.stride)).max(1)
    }

    /// Whether the result may lie where the plane does: with one strip, what is read of a row is there before
    /// a row is written over.
    pub(super) fn may_cover<T>(&self) -> bool {
        let same = self.out == [self.high as usize, self.wide] && self.first[0] >= -1;
        same && self.strips.len() == 1 && self.out[0] <= self.rows_at_once::<T>()
    }

    /// Computes a plane.
    ///
    /// # Safety
    /// As [`super::Windows::run`].
    #[inline(always)]
    pub(super) unsafe fn run<T: Real, V: Places<T>>(&self, plane: &Plane<'_, T>) {
        // SAFETY: as the caller vouches.
        unsafe {
            if self.stride == 1 {
                self.all::<T, V, 1>(plane);
            } else {
                self.all::<T, V, 2>(plane);
            }
        }
    }

    /// As [`Strips::run`] for a stride of `S`.
    ///
    /// # Safety
    /// As [`Strips::run`].
    #[inline(always)]
    unsafe fn all<T: Real, V: Places<T>, const S: usize>(&self, plane: &Plane<'_, T>) {
        let some = self.rows_at_once::<T>();
        let steps = self.out[0] * self.strips.len();
        let [(mut read, some_read), (mut written, some_written)] =
            [plane.next, plane.after].map(|(at, len)| (at, len.div_ceil(steps)));
        let mut fetch = || {
            fetch_far(read, some_read);
            fetch_far(written, some_written);
            read = read.wrapping_add(some_read);
            written = written.wrapping_add(some_written);
        };
        for first in (0..self.out[0]).step_by(some) {
            let rows = first..self.out[0].min(first + some);
            for strip in &self.strips {
                // SAFETY: as the caller vouches.
                unsafe {
                    if strip.whole {
                        self.rows::<T, V, S, true>(strip, rows.clone(), plane, &mut fetch);
                    } else {
                        self.rows::<T, V, S, false>(strip, rows.clone(), plane, &mut fetch);
                    }
                }
            }
        }
    }

    /// What the three taps of a row read; zeros outside of the plane.
    ///
    /// # Safety
    /// As [`Strips::run`]; whole strips are `W`.
    #[inline(always)]
    unsafe fn row<T: Real, V: Places<T>, const S: usize, const W: bool>(
        &self,
        (from, row): (*const T, isize),
        reads: [u16; 4],
    ) -> [V; SIDE] {
        // SAFETY: as the caller vouches; what is read is in the plane.
        unsafe {
            if !(0..self.high).contains(&row) {
                return [V::zero(); SIDE];
            }
            let from = from.wrapping_offset(row * self.wide as isize);
            let vector = |at: usize, places: u16| {
                let from = from.wrapping_add(at);
                if W {
                    V::load(from)
                } else {
                    V::load_places(from, places)
                }
            };
            if S == 1 {
                return std::array::from_fn(|i| vector(i, reads[i]));
            }
            let (a, b) = (vector(0, reads[0]), vector(V::N, reads[1]));
            let (c, d) = (vector(2, reads[2]), vector(2 + V::N, reads[3]));
            [a.every_second(b), a.odd_ones(b), c.every_second(d)]
        }
    }

    /// Computes some rows of a strip.
    ///
    /// # Safety
    /// As [`Strips::row`].
    #[inline(always)]
    unsafe fn rows<T: Real, V: Places<T>, const S: usize, const W: bool>(
        &self,
        strip: &Strip,
        rows: Range<usize>,
        plane: &Plane<'_, T>,
        fetch: &mut impl FnMut(),
    ) {
        let column = (strip.column * S) as isize + self.first[1];
        let from = plane.source.wrapping_offset(column);
        let reads = strip.reads;
        // SAFETY: as the caller vouches.
        unsafe {
            let row = |y: isize| self.row::<T, V, S, W>((from, y), reads);
            let weights: [V; SIDE * SIDE] =
                std::array::from_fn(|i| V::splat(plane.weights[self.order[i]]));
            let start = (rows.start * S) as isize + self.first[0];
            let mut read = [row(start), row(start + 1), [V::zero(); SIDE]];
            for y in rows {
                fetch();
                let start = (y * S) as isize + self.first[0];
                if S == 2 {
                    read[1] = row(start + 1);
                }
                read[2] = row(start + 2);
                let mut sum = V::zero();
                for (i, &w) in weights.iter().enumerate() {
                    sum = sum.fma(w, read[i / SIDE][i % SIDE]);
                }
                let at = y * self.out[1] + strip.column;
                plane.store::<V>(sum, at, strip.places, W);
                if S == 1 {
                    read[0] = read[1];
                    read[1] = read[2];
                } else {
                    read[0] = read[2];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::product;
    use super::super::{Plane, Windows};
    use crate::convolve::lines::Planewise;

    fn check<T: Planewise>([high, wide]: [usize; 2], (stride, pad): (usize, usize)) {
        let loops = T::plane_loops();
        let number = |i: usize, seed: usize| T::of(((i * 37 + seed * 11) % 19) as f64 - 9.0);
        let numbers = |n: usize, seed| (0..n).map(|i| number(i, seed)).collect::<Vec<T>>();
        let out = [high, wide].map(|e| (e + 2 * pad - 3) / stride + 1);
        let found = Windows::of(&product([high, wide], (3, stride, pad)), loops.lanes);
        let Some(windows) = &found else {
            panic!("no windows for {high} by {wide}");
        };
        assert!(matches!(windows, Windows::Strips(_)) || out[1] <= 18);
        let covers = windows.may_cover::<T>();
        // What is read outside of the plane is no number.
        let mut memory = vec![T::of(f64::NAN); 8 * wide + high * wide];
        memory[4 * wide..][..high * wide].copy_from_slice(&numbers(high * wide, 1));
        let (source, weights) = (&memory[4 * wide..][..high * wide], numbers(9, 2));
        let addend = numbers(out[0] * out[1], 3);
        for (added, relu) in [(false, false), (true, true)] {
            let mut found = numbers(out[0] * out[1] + 32, 4);
            if covers {
                found[..source.len()].copy_from_slice(source);
            }
            let mut want = found.clone();
            let plane = Plane {
                weights: &weights,
                source: if covers {
                    found.as_ptr()
                } else {
                    source.as_ptr()
                },
                next: (source.as_ptr(), source.len()),
                after: (source.as_ptr(), 0),
                shift: T::of(2.0),
                addend: if added {
                    addend.as_ptr()
                } else {
                    std::ptr::null()
                },
                relu,
                target: found.as_mut_ptr(),
            };
            // SAFETY: the loops are for this CPU, and these are planes of the product.
            unsafe { (loops.windows)(windows, &plane) };
            for at in 0..out[0] * out[1] {
                let mut sum = if added { addend[at].f64() } else { 0.0 } + 2.0;
                for (k, w) in weights.iter().enumerate() {
                    let row = (at / out[1] * stride + k / 3).wrapping_sub(pad);
                    let column = (at % out[1] * stride + k % 3).wrapping_sub(pad);
                    if row < high && column < wide {
                        sum += w.f64() * source[row * wide + column].f64();
                    }
                }
                want[at] = T::of(if relu { sum.max(0.0) } else { sum });
            }
            assert_eq!(
                found, want,
                "{high} by {wide}, stride {stride}, padding {pad}"
            );
        }
    }

    #[test]
    fn strips_agree_with_the_definition() {
        let sides = [5, 7, 8, 14, 15, 16, 17, 18, 28, 33, 34, 35, 66];
        for (wide, high) in sides.into_iter().flat_map(|w| [(w, 7), (w, w), (w, 3)]) {
            for window in [(1, 0), (1, 1), (2, 0), (2, 1)] {
                check::<f32>([high, wide], window);
                check::<f64>([high, wide], window);
            }
        }
    }
}
