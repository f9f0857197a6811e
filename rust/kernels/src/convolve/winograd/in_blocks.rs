//! Minimal filtering of images whose channels lie in blocks, of which each position is a line of the cache: nothing
//! is turned on either side.

use super::channels::bordered;
use super::{STEP, Winograd};
use crate::convolve::apply::summed::Summed;
use crate::convolve::blocked::BLOCK;
use crate::convolve::finish::{Addend, Finish};
use crate::convolve::transforms::Transformed;
use crate::math::real::{Float, Real};
use crate::simd::vector::multiversion;
use std::ops::Range;

impl Winograd {
    /// The same with a result in blocks, and of data in blocks where that is said.
    pub(in crate::convolve) fn in_blocks(self, data: bool) -> Self {
        Winograd {
            blocks: Some(data),
            ..self
        }
    }

    /// Writes the outputs of a tile to their places in blocks.
    ///
    /// # Safety
    /// Nobody else uses the places meanwhile.
    pub(super) unsafe fn to_memory<T: Summed<Real: Transformed>>(
        &self,
        sums: &[T::Real],
        place: usize,
        filters: Range<usize>,
        room: &mut [T::Real],
        finish: &Finish<'_, T>,
    ) {
        let n = filters.len();
        let apart = super::apart(self.held() * self.block());
        let lines = &mut room[..STEP * STEP * n];
        T::Real::transforms().output(n, (sums, apart), lines);
        let [rows, columns] = self.output;
        let [image, y, x] = self.place(place, self.grid()[1]);
        let (high, wide) = (STEP.min(rows - y), STEP.min(columns - x));
        for block in 0..n / BLOCK {
            let first = filters.start + block * BLOCK;
            let start = (image * self.filters + first) * rows * columns;
            for i in 0..high {
                let at = start + ((y + i) * columns + x) * BLOCK;
                let from = (&lines[i * STEP * n + block * BLOCK..], n);
                finish
                    .target
                    .fetch(at + wide * BLOCK..at + (wide + STEP) * BLOCK);
                // SAFETY: as the caller vouches.
                let to = unsafe { finish.target.slice(at..at + wide * BLOCK) };
                let other = match &finish.addend {
                    // SAFETY: as the caller vouches: nobody writes it.
                    Addend::Of(other) => Some(unsafe { other.slice(at..at + wide * BLOCK) }),
                    _ => None,
                };
                write(finish, first, from, other, to);
            }
        }
    }
}

multiversion! {
    /// Writes neighbours of a row, from lines that are so far apart, with what becomes of sums.
    fn write<T: Float>(
        finish: &Finish<'_, T>,
        filter: usize,
        from: (&[T::Real], usize),
        other: Option<&[T]>,
        to: &mut [T],
    ) {
        let mut shift = [T::Real::ZERO; BLOCK];
        if let Some(all) = finish.shift {
            shift.copy_from_slice(&all[filter..filter + BLOCK]);
        }
        let held = matches!(finish.addend, Addend::Held);
        match (other, held, finish.relu) {
            (Some(other), _, true) => lines(from, &shift, other, to, |v, x, _| relu(v + x)),
            (Some(other), _, false) => lines(from, &shift, other, to, |v, x, _| v + x),
            (None, true, true) => lines(from, &shift, &[], to, |v, _, o| relu(v + o)),
            (None, true, false) => lines(from, &shift, &[], to, |v, _, o| v + o),
            (None, false, true) => lines(from, &shift, &[], to, |v, _, _| relu(v)),
            (None, false, false) => lines(from, &shift, &[], to, |v, _, _| v),
        }
    }
}

#[inline(always)]
fn relu<R: Real>(x: R) -> R {
    if x <= R::ZERO { R::ZERO } else { x }
}

/// Writes what `op` makes of each shifted sum, of what is added to it, if there is such, and of what there was.
#[inline(always)]
fn lines<T: Float>(
    (from, apart): (&[T::Real], usize),
    shift: &[T::Real; BLOCK],
    other: &[T],
    to: &mut [T],
    op: impl Fn(T::Real, T::Real, T::Real) -> T::Real,
) {
    let nothing = [T::zero(); BLOCK];
    for (x, to) in to.chunks_exact_mut(BLOCK).enumerate() {
        let other = other.get(x * BLOCK..).and_then(<[T]>::first_chunk);
        let (Some(v), Some(to)) = (from[x * apart..].first_chunk(), to.first_chunk_mut()) else {
            return;
        };
        let (v, other): (&[T::Real; BLOCK], &[T; BLOCK]) = (v, other.unwrap_or(&nothing));
        let to: &mut [T; BLOCK] = to;
        *to = std::array::from_fn(|k| T::down(op(v[k] + shift[k], other[k].up(), to[k].up())));
    }
}

/// Copies images in blocks with a border, channels last.
pub(super) fn channels_last<T: Summed>(
    data: &[T],
    (c, [rows, columns]): (usize, [usize; 2]),
    border: ([usize; 2], [usize; 2]),
    field: &mut [T],
) {
    bordered((c, [rows, columns]), border, field, |image, y, to| {
        for block in 0..c / BLOCK {
            let at = ((image * c + block * BLOCK) * rows + y * BLOCK) * columns;
            let from = data[at..at + columns * BLOCK].chunks_exact(BLOCK);
            for (to, from) in to[block * BLOCK..].chunks_mut(c).zip(from) {
                to[..BLOCK].copy_from_slice(from);
            }
        }
    });
}
