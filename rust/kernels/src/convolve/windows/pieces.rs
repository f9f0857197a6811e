//! Windows of any kind, vector by vector of the result. Where positions of the result lie as those of the plane
//! do, vectors run over the ends of rows, and small planes fill them, too.

use super::{Plane, Shape};
use crate::blocks::raw::fetch_far;
use crate::convolve::apply::Apply;
use crate::linalg::lanes::Places;
use crate::math::real::Real;

/// Vectors of the result that are computed at once.
const AT_ONCE: usize = 4;

/// A vector of the result.
struct Piece {
    /// Where the first of its positions reads, without the tap.
    source: isize,
    target: usize,
    /// Which of its positions there are.
    places: u16,
}

/// The vectors of a plane of results, and what each tap of them reads.
pub(in crate::convolve) struct Pieces {
    /// Distance between what neighbours read, 1 or 2.
    stride: usize,
    taps: Vec<isize>,
    /// First those that are whole and read nothing but the plane, then the others.
    pieces: Vec<Piece>,
    whole: usize,
    /// For each [`AT_ONCE`] of the others, and those that are left one by one, for each tap: which numbers are
    /// read, `stride` vectors of them.
    reads: Vec<u16>,
}

impl Pieces {
    /// Those of a product of planes, whose windows have this shape, in vectors of so many lanes.
    pub(super) fn of(apply: &Apply, shape: &Shape, lanes: usize) -> Self {
        let grid = &apply.grid;
        let ([_, high, wide], [down, along]) = (grid.extents, shape.stride);
        let one_line = [down, along] == [1; 2] && wide == shape.wide && grid.target[1] == wide;
        let (lines, line) = if one_line {
            (1, high * wide)
        } else {
            (high, wide)
        };
        let step = |[y, x]: [isize; 2]| y * shape.wide as isize + x;
        let mut found = Pieces {
            stride: along,
            taps: shape.taps.iter().copied().map(step).collect(),
            pieces: Vec::new(),
            whole: 0,
            reads: Vec::new(),
        };
        let mut others = Vec::new();
        for y in 0..lines {
            for x in (0..line).step_by(lanes) {
                let n = lanes.min(line - x);
                let piece = Piece {
                    source: (y * down * shape.wide + x * along) as isize,
                    target: y * grid.target[1] + x,
                    places: (0..n).fold(0, |bits, i| bits | 1 << i),
                };
                let position = |i: usize| [y + (x + i) / wide, (x + i) % wide];
                found.add(piece, (n, lanes), position, shape, &mut others);
            }
        }
        found.whole = found.pieces.len();
        found.reads = found.grouped(others.len());
        found.pieces.extend(others);
        found
    }

    /// What so many pieces read, in the order in which it is used, from the order of the pieces.
    fn grouped(&self, pieces: usize) -> Vec<u16> {
        let (taps, stride) = (self.taps.len(), self.stride);
        let mut reads = Vec::with_capacity(self.reads.len());
        let mut first = 0;
        while first < pieces {
            let n = if first + AT_ONCE <= pieces {
                AT_ONCE
            } else {
                1
            };
            for tap in 0..taps {
                for piece in first..first + n {
                    reads.extend(&self.reads[(piece * taps + tap) * stride..][..stride]);
                }
            }
            first += n;
        }
        reads
    }

    /// Adds a piece of `n` positions to those that are whole, or to the others with what it reads.
    fn add(
        &mut self,
        piece: Piece,
        (n, lanes): (usize, usize),
        position: impl Fn(usize) -> [usize; 2],
        shape: &Shape,
        others: &mut Vec<Piece>,
    ) {
        let first = self.reads.len();
        let mut all = n == lanes;
        for &tap in &shape.taps {
            let mut reads: u32 = 0;
            for i in 0..n {
                if shape.inside(position(i), tap) {
                    reads |= 1 << (i * self.stride);
                } else {
                    all = false;
                }
            }
            let vectors = (0..self.stride).map(|v| (reads >> (v * lanes)) as u16);
            let one = u16::MAX >> (16 - lanes);
            self.reads.extend(vectors.map(|bits| bits & one));
        }
        // Whole vectors are read to their end.
        let furthest = self.taps.iter().copied().max().unwrap_or(0);
        let end = piece.source + furthest + (lanes * self.stride) as isize;
        if all && end <= (shape.high * shape.wide) as isize {
            self.reads.truncate(first);
            self.pieces.push(piece);
        } else {
            others.push(piece);
        }
    }

    /// As [`Windows::run`].
    ///
    /// # Safety
    /// As [`Windows::run`].
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

    /// As [`Windows::run`] for a stride of `S`.
    ///
    /// # Safety
    /// As [`Windows::run`].
    #[inline(always)]
    unsafe fn all<T: Real, V: Places<T>, const S: usize>(&self, plane: &Plane<'_, T>) {
        let (whole, others) = self.pieces.split_at(self.whole);
        let mut reads = self.reads.as_ptr();
        let (next, len) = plane.next;
        let some = len.div_ceil((self.pieces.len() / AT_ONCE).max(1));
        let mut at = 0;
        let mut fetch = || {
            fetch_far(next.wrapping_add(at), some.min(len - at));
            at += some.min(len - at);
        };
        // SAFETY: as the caller vouches; so much is read of each piece.
        unsafe {
            let (groups, rest) = whole.as_chunks::<AT_ONCE>();
            for group in groups {
                fetch();
                self.group::<T, V, S, AT_ONCE>(group, None, plane);
            }
            for piece in rest {
                self.group::<T, V, S, 1>(std::array::from_ref(piece), None, plane);
            }
            let (groups, rest) = others.as_chunks::<AT_ONCE>();
            for group in groups {
                fetch();
                self.group::<T, V, S, AT_ONCE>(group, Some(reads), plane);
                reads = reads.add(AT_ONCE * S * self.taps.len());
            }
            for piece in rest {
                self.group::<T, V, S, 1>(std::array::from_ref(piece), Some(reads), plane);
                reads = reads.add(S * self.taps.len());
            }
        }
    }

    /// Computes `A` pieces of a plane, that are whole or read these numbers.
    ///
    /// # Safety
    /// As [`Windows::run`].
    #[inline(always)]
    unsafe fn group<T: Real, V: Places<T>, const S: usize, const A: usize>(
        &self,
        pieces: &[Piece; A],
        reads: Option<*const u16>,
        plane: &Plane<'_, T>,
    ) {
        let from: [_; A] = std::array::from_fn(|j| plane.source.wrapping_offset(pieces[j].source));
        // SAFETY: as the caller vouches; whole pieces read nothing but the plane, and the others what they
        // name.
        unsafe {
            let mut sums = [V::zero(); A];
            for (k, (&tap, &w)) in self.taps.iter().zip(plane.weights).enumerate() {
                let w = V::splat(w);
                for (j, sum) in sums.iter_mut().enumerate() {
                    let vector = |v: usize| {
                        let at = from[j].wrapping_offset(tap).wrapping_add(v * V::N);
                        match reads {
                            Some(reads) => V::load_places(at, *reads.add((k * A + j) * S + v)),
                            None => V::load(at),
                        }
                    };
                    let first = vector(0);
                    let x = if S == 1 {
                        first
                    } else {
                        first.every_second(vector(1))
                    };
                    *sum = sum.fma(w, x);
                }
            }
            for (piece, sum) in pieces.iter().zip(sums) {
                plane.store(sum, piece.target, piece.places, reads.is_none());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::product;
    use super::*;

    fn pieces(extents: [usize; 2], window: (usize, usize, usize)) -> (usize, usize) {
        let apply = product(extents, window);
        let found = Pieces::of(&apply, &Shape::of(&apply), 16);
        (found.pieces.len(), found.whole)
    }

    #[test]
    fn pieces_run_over_the_ends_of_rows_where_they_can() {
        assert_eq!(pieces([14, 14], (3, 1, 1)), (13, 0));
        assert_eq!(pieces([64, 64], (3, 1, 1)), (256, 124));
        assert_eq!(pieces([14, 14], (3, 1, 0)), (12, 0));
        assert_eq!(pieces([14, 14], (3, 2, 1)), (7, 0));
    }

    #[test]
    fn whole_pieces_read_nothing_behind_the_plane() {
        // The last piece of the last row would read one number more, as it takes every second one.
        assert_eq!(pieces([33, 33], (3, 2, 0)), (16, 15));
    }
}
