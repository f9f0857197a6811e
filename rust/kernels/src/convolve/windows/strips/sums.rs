//! The gradient of the weights of windows, in strips: the sums over a plane of what each tap reads times the
//! gradient of the result.

use super::{SIDE, Strip, Strips};
use crate::blocks::raw::fetch_far;
use crate::linalg::lanes::Places;
use crate::math::real::Real;
use std::ops::Range;

/// A plane, the gradient of its result, and those that are read next, of which the cache is told meanwhile.
pub(in crate::convolve) struct Pair<T> {
    pub(in crate::convolve) source: *const T,
    pub(in crate::convolve) head: *const T,
    pub(in crate::convolve) next: [*const T; 2],
}

impl Strips {
    /// The sum of each tap.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`, of which these are the vectors; the pair are planes of the product
    /// that these are of, and there is a sum for each tap.
    #[inline(always)]
    pub(in crate::convolve) unsafe fn sums<T: Real, V: Places<T>>(
        &self,
        pair: &Pair<T>,
        sums: &mut [T],
    ) {
        // SAFETY: as the caller vouches.
        unsafe {
            let acc = if self.stride == 1 {
                self.all_sums::<T, V, 1>(pair)
            } else {
                self.all_sums::<T, V, 2>(pair)
            };
            for (acc, &number) in acc.into_iter().zip(&self.order) {
                let mut lanes = [T::ZERO; 16];
                acc.store(lanes.as_mut_ptr());
                sums[number] = lanes[..V::N].iter().copied().sum();
            }
        }
    }

    /// As [`Strips::sums`] for a stride of `S`, in the order of the places of a window.
    ///
    /// # Safety
    /// As [`Strips::sums`].
    #[inline(always)]
    unsafe fn all_sums<T: Real, V: Places<T>, const S: usize>(
        &self,
        pair: &Pair<T>,
    ) -> [V; SIDE * SIDE] {
        let some = self.rows_at_once::<T>();
        let steps = self.out[0] * self.strips.len();
        let sizes = [self.high as usize * self.wide, self.out[0] * self.out[1]];
        let mut next = [0, 1].map(|i| (pair.next[i], sizes[i].div_ceil(steps.max(1))));
        let mut fetch = || {
            for (at, len) in &mut next {
                fetch_far(*at, *len);
                *at = at.wrapping_add(*len);
            }
        };
        // SAFETY: as the caller vouches.
        unsafe {
            let mut acc = [V::zero(); SIDE * SIDE];
            for first in (0..self.out[0]).step_by(some) {
                let rows = first..self.out[0].min(first + some);
                for strip in &self.strips {
                    let rows = rows.clone();
                    acc = if strip.whole {
                        self.row_sums::<T, V, S, true>(strip, rows, pair, acc, &mut fetch)
                    } else {
                        self.row_sums::<T, V, S, false>(strip, rows, pair, acc, &mut fetch)
                    };
                }
            }
            acc
        }
    }

    /// Adds the products of some rows of a strip.
    ///
    /// # Safety
    /// As [`Strips::row`].
    #[inline(always)]
    unsafe fn row_sums<T: Real, V: Places<T>, const S: usize, const W: bool>(
        &self,
        strip: &Strip,
        rows: Range<usize>,
        pair: &Pair<T>,
        mut acc: [V; SIDE * SIDE],
        fetch: &mut impl FnMut(),
    ) -> [V; SIDE * SIDE] {
        let column = (strip.column * S) as isize + self.first[1];
        let from = pair.source.wrapping_offset(column);
        // SAFETY: as the caller vouches.
        unsafe {
            let row = |y: isize| self.row::<T, V, S, W>((from, y), strip.reads);
            let start = (rows.start * S) as isize + self.first[0];
            let mut read = [row(start), row(start + 1), [V::zero(); SIDE]];
            for y in rows {
                fetch();
                let start = (y * S) as isize + self.first[0];
                if S == 2 {
                    read[1] = row(start + 1);
                }
                read[2] = row(start + 2);
                let head = pair.head.add(y * self.out[1] + strip.column);
                let head = if W {
                    V::load(head)
                } else {
                    V::load_places(head, strip.places)
                };
                for (i, acc) in acc.iter_mut().enumerate() {
                    *acc = acc.fma(head, read[i / SIDE][i % SIDE]);
                }
                if S == 1 {
                    read[0] = read[1];
                    read[1] = read[2];
                } else {
                    read[0] = read[2];
                }
            }
        }
        acc
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::product;
    use super::super::super::{Pair, Windows};
    use crate::convolve::lines::Planewise;

    fn check<T: Planewise>([high, wide]: [usize; 2], (stride, pad): (usize, usize)) {
        let loops = T::plane_loops();
        let numbers = |n: usize, seed: usize| {
            let number = |i: usize| T::of(((i * 37 + seed * 11) % 19) as f64 - 9.0);
            (0..n).map(number).collect::<Vec<T>>()
        };
        let out = [high, wide].map(|e| (e + 2 * pad - 3) / stride + 1);
        let Some(strips) = Windows::strips(&product([high, wide], (3, stride, pad)), loops.lanes)
        else {
            panic!("no strips for {high} by {wide}");
        };
        // What is read outside of the planes is no number.
        let plane = |n: usize, seed: usize| {
            let mut memory = vec![T::of(f64::NAN); 8 * wide + n];
            memory[4 * wide..][..n].copy_from_slice(&numbers(n, seed));
            memory
        };
        let (source, head) = (plane(high * wide, 1), plane(out[0] * out[1], 2));
        let [source, head] = [&source[4 * wide..], &head[4 * wide..]];
        let pair = Pair {
            source: source.as_ptr(),
            head: head.as_ptr(),
            next: [source.as_ptr(), head.as_ptr()],
        };
        let mut sums = [T::ZERO; 9];
        // SAFETY: the loops are for this CPU, and these are planes of the product.
        unsafe { (loops.strip_sums)(&strips, &pair, &mut sums) };
        for (k, sum) in sums.into_iter().enumerate() {
            let at = |i: usize| {
                let row = (i / out[1] * stride + k / 3).wrapping_sub(pad);
                let column = (i % out[1] * stride + k % 3).wrapping_sub(pad);
                let inside = row < high && column < wide;
                inside.then(|| head[i].f64() * source[row * wide + column].f64())
            };
            let want: f64 = (0..out[0] * out[1]).filter_map(at).sum();
            assert_eq!(
                sum.f64(),
                want,
                "{high} by {wide}, stride {stride}, tap {k}"
            );
        }
    }

    #[test]
    fn sums_of_strips_agree_with_the_definition() {
        let sides = [5, 7, 8, 14, 15, 16, 17, 18, 28, 33, 34, 35, 66];
        for (wide, high) in sides.into_iter().flat_map(|w| [(w, 7), (w, w), (w, 3)]) {
            for window in [(1, 0), (1, 1), (2, 0), (2, 1)] {
                check::<f32>([high, wide], window);
                check::<f64>([high, wide], window);
            }
        }
    }
}
