//! The gradient of the data of windows of 3 by 3 that are two apart, plane by plane: a number of the gradient
//! of the result reaches rows and columns twice its own, and the next two. So two rows of the plane come of
//! two rows, and even and odd columns, which are computed by themselves, go to memory in turn.

use crate::blocks::raw::fetch_far;
use crate::convolve::geometry::Geometry;
use crate::linalg::lanes::Places;
use crate::math::real::Real;

/// Rows and columns of a window.
const SIDE: usize = 3;

/// The planes that are filled, and those that they are filled from.
#[derive(Clone, Copy, Debug)]
pub(in crate::convolve) struct Spread {
    /// Rows and columns of a plane that is filled.
    plane: [usize; 2],
    /// Those of a plane that is read.
    head: [usize; 2],
    pad: [usize; 2],
}

/// A plane to fill.
pub(in crate::convolve) struct Filled<'a, T> {
    /// In the order of the window's places.
    pub(in crate::convolve) weights: &'a [T],
    pub(in crate::convolve) head: *const T,
    pub(in crate::convolve) target: *mut T,
    /// What is read and written next, of which the cache is told meanwhile.
    pub(in crate::convolve) next: [*const T; 2],
}

/// Vectors of a row of the gradient of the result.
#[derive(Clone, Copy)]
struct Columns<V> {
    /// The number of each column, and of the one before.
    here: V,
    before: V,
}

impl Spread {
    /// The planes of a convolution, if its windows are such.
    pub(in crate::convolve) fn of(g: &Geometry) -> Option<Self> {
        let flat = g.input[0] == 1 && g.kernel == [1, SIDE, SIDE] && g.pad[0] == 0;
        let apart = g.stride[1..] == [2; 2] && g.dilate[1..] == [1; 2];
        let alone = g.channels == 1 && g.filters == 1 && g.groups > 1;
        let two = |x: [usize; 3]| [x[1], x[2]];
        (flat && apart && alone && g.output[0] == 1).then(|| Spread {
            plane: two(g.input),
            head: two(g.output),
            pad: two(g.pad),
        })
    }

    /// Numbers of a plane that is filled, and of one that is read.
    pub(in crate::convolve) fn sizes(&self) -> [usize; 2] {
        [self.plane, self.head].map(|[high, wide]| high * wide)
    }

    /// Fills a plane.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`; the planes are of these sizes, there are nine weights, and nobody
    /// else uses the target meanwhile.
    #[inline(always)]
    pub(in crate::convolve) unsafe fn run<T: Real, V: Places<T>>(&self, plane: &Filled<'_, T>) {
        let half = |i: usize| (self.plane[i] + self.pad[i]).div_ceil(2);
        let (rows, columns) = (half(0), half(1));
        let sizes = self.sizes();
        let [mut read, mut written] = [plane.next[0], plane.next[1]];
        let [some_written, some_read] = sizes.map(|size| size.div_ceil(rows.max(1)));
        // SAFETY: as the caller vouches; rows and columns outside of the planes are neither read nor written.
        unsafe {
            let weights: [V; SIDE * SIDE] = std::array::from_fn(|i| V::splat(plane.weights[i]));
            for row in 0..rows {
                fetch_far(read, some_read);
                fetch_far(written, some_written);
                read = read.wrapping_add(some_read);
                written = written.wrapping_add(some_written);
                for column in (0..columns).step_by(V::N) {
                    let below = self.columns::<T, V>(plane.head, row, column);
                    let above = self.columns::<T, V>(plane.head, row.wrapping_sub(1), column);
                    let w = &weights;
                    let zero = V::zero();
                    let even = zero.fma(w[0], below.here).fma(w[2], below.before);
                    let even = even.fma(w[6], above.here).fma(w[8], above.before);
                    let odd = zero.fma(w[1], below.here).fma(w[7], above.here);
                    self.store::<T, V>(plane.target, (2 * row, column), even.in_turn(odd));
                    let even = zero.fma(w[3], below.here).fma(w[5], below.before);
                    let odd = zero.fma(w[4], below.here);
                    self.store::<T, V>(plane.target, (2 * row + 1, column), even.in_turn(odd));
                }
            }
        }
    }

    /// What a row has from a column on; zero outside of the plane.
    ///
    /// # Safety
    /// As [`Spread::run`].
    #[inline(always)]
    unsafe fn columns<T: Real, V: Places<T>>(
        &self,
        head: *const T,
        row: usize,
        column: usize,
    ) -> Columns<V> {
        let [high, wide] = self.head;
        // SAFETY: as the caller vouches.
        unsafe {
            if row >= high {
                let here = V::zero();
                return Columns { here, before: here };
            }
            let from = head.add(row * wide).wrapping_add(column);
            let before = from.wrapping_sub(1);
            if column > 0 && column + V::N <= wide {
                let (here, before) = (V::load(from), V::load(before));
                return Columns { here, before };
            }
            let places = |first: isize| within::<T, V>(first, wide);
            Columns {
                here: V::load_places(from, places(column as isize)),
                before: V::load_places(before, places(column as isize - 1)),
            }
        }
    }

    /// Writes what columns from twice this one on have in a row, both counted from the first window.
    ///
    /// # Safety
    /// As [`Spread::run`].
    #[inline(always)]
    unsafe fn store<T: Real, V: Places<T>>(
        &self,
        target: *mut T,
        (row, column): (usize, usize),
        sums: [V; 2],
    ) {
        let [high, wide] = self.plane;
        let row = row.wrapping_sub(self.pad[0]);
        if row >= high {
            return;
        }
        for (i, sum) in sums.into_iter().enumerate() {
            let first = (2 * column + i * V::N) as isize - self.pad[1] as isize;
            // SAFETY: as the caller vouches.
            unsafe {
                let to = target.add(row * wide).wrapping_offset(first);
                if first >= 0 && first as usize + V::N <= wide {
                    sum.store(to);
                } else {
                    sum.store_places(to, within::<T, V>(first, wide));
                }
            }
        }
    }
}

/// Which places of a vector from `first` on are below `wide`, and not negative.
#[inline(always)]
fn within<T, V: Places<T>>(first: isize, wide: usize) -> u16 {
    let low = (-first).clamp(0, V::N as isize) as u32;
    let high = (wide as isize - first).clamp(0, V::N as isize) as u32;
    let below = |n: u32| (1u32 << n) - 1;
    (below(high) & !below(low)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convolve::lines::Planewise;

    fn check<T: Planewise>(plane: [usize; 2], pad: [usize; 2]) {
        let number = |i: usize, seed: usize| T::of(((i * 37 + seed * 11) % 19) as f64 - 9.0);
        let head = [0, 1].map(|i| (plane[i] + 2 * pad[i] - SIDE) / 2 + 1);
        let spread = Spread { plane, head, pad };
        let [size, read] = spread.sizes();
        // What is read outside of the plane is no number, and what is written there stays.
        let mut memory = vec![T::of(f64::NAN); read + 64];
        (0..read).for_each(|i| memory[32 + i] = number(i, 1));
        let weights: Vec<T> = (0..9).map(|i| number(i, 2)).collect();
        let mut want = vec![0.0; size];
        for (i, tap) in (0..read).flat_map(|i| (0..9).map(move |tap| (i, tap))) {
            let row = (i / head[1] * 2 + tap / SIDE).wrapping_sub(pad[0]);
            let column = (i % head[1] * 2 + tap % SIDE).wrapping_sub(pad[1]);
            if row < plane[0] && column < plane[1] {
                want[row * plane[1] + column] += memory[32 + i].f64() * weights[tap].f64();
            }
        }
        let mut found = vec![T::of(0.5); size + 64];
        let filled = Filled {
            weights: &weights,
            head: memory[32..].as_ptr(),
            target: found[32..].as_mut_ptr(),
            next: [memory.as_ptr(); 2],
        };
        // SAFETY: the loops are for this CPU, and the planes are of these sizes.
        unsafe { (T::plane_loops().spread)(&spread, &filled) };
        let around = found[..32].iter().chain(&found[32 + size..]);
        assert!(around.into_iter().all(|x| x.f64() == 0.5));
        let found: Vec<f64> = found[32..32 + size].iter().map(|x| x.f64()).collect();
        assert_eq!(found, want, "{plane:?} with {pad:?}");
    }

    #[test]
    fn planes_agree_with_the_definition() {
        for high in [3, 4, 7, 8] {
            for wide in [3, 4, 7, 14, 15, 16, 17, 28, 31, 32, 33, 56, 65] {
                for pad in [[0, 0], [1, 1], [0, 2], [2, 1]] {
                    check::<f32>([high, wide], pad);
                    check::<f64>([high, wide], pad);
                }
            }
        }
    }
}
