//! Sums over the windows of a plane that is read where it lies: each tap reads those places of a vector that
//! are in the plane, and zero elsewhere, so that there is no border to copy it into. Where positions of the
//! result lie as those of the plane do, vectors run over the ends of rows, and small planes fill them, too.

use super::apply::Apply;
use crate::blocks::raw::fetch_far;
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
pub(super) struct Windows {
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

/// What a plane is computed from, and what becomes of its sums.
pub(super) struct Plane<'a, T> {
    /// In the order of the taps.
    pub(super) weights: &'a [T],
    pub(super) source: *const T,
    /// So many numbers that are read next, of which the cache is told meanwhile.
    pub(super) next: (*const T, usize),
    pub(super) shift: T,
    /// What is added, which lies as the target does; or null.
    pub(super) addend: *const T,
    /// Whether what is negative becomes 0.
    pub(super) relu: bool,
    pub(super) target: *mut T,
}

/// The shape of windows along both axes.
struct Shape {
    high: usize,
    wide: usize,
    stride: [usize; 2],
    taps: Vec<[isize; 2]>,
}

impl Shape {
    fn of(apply: &Apply) -> Self {
        let field = &apply.field;
        let tap = |&place: &usize| {
            let at = field.position(place);
            [1, 2].map(|i| at[i] as isize - field.before[i] as isize)
        };
        let apart = |i: usize| field.stride[i] * (apply.grid.source[i] / field.steps()[i].max(1));
        Shape {
            high: field.inner[1],
            wide: field.inner[2],
            stride: [apart(1), apart(2)],
            taps: apply.taps.iter().map(tap).collect(),
        }
    }

    /// Whether the position `(y, x)` of the result reads an element of the plane.
    fn inside(&self, [y, x]: [usize; 2], [dy, dx]: [isize; 2]) -> bool {
        let y = (y * self.stride[0]) as isize + dy;
        let x = (x * self.stride[1]) as isize + dx;
        (0..self.high as isize).contains(&y) && (0..self.wide as isize).contains(&x)
    }
}

impl Windows {
    /// Those of a product of planes, in vectors of so many lanes; nothing where neighbours are written apart,
    /// or where what they read is further apart than every second number.
    pub(super) fn of(apply: &Apply, lanes: usize) -> Option<Self> {
        let grid = &apply.grid;
        let [_, high, wide] = grid.extents;
        // Kernels of one element may have all of a plane in one row.
        if apply.taps.len() < 2 || grid.target[2] != 1 || high * wide == 0 {
            return None;
        }
        let shape = Shape::of(apply);
        let [down, along] = shape.stride;
        if !(1..=2).contains(&along) {
            return None;
        }
        let one_line = [down, along] == [1; 2] && wide == shape.wide && grid.target[1] == wide;
        let (lines, line) = if one_line {
            (1, high * wide)
        } else {
            (high, wide)
        };
        let step = |[y, x]: [isize; 2]| y * shape.wide as isize + x;
        let mut found = Windows {
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
                found.add(piece, (n, lanes), position, &shape, &mut others);
            }
        }
        found.whole = found.pieces.len();
        found.reads = found.grouped(others.len());
        found.pieces.extend(others);
        Some(found)
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

    /// Computes a plane.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`, of which these are the vectors; source, target and addend are
    /// planes of the product that these are of, there is a weight for each tap, and nobody else uses the
    /// target meanwhile, which is not the source.
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
                let mut sum = sum.add(V::splat(plane.shift));
                if !plane.addend.is_null() {
                    let at = plane.addend.add(piece.target);
                    sum = sum.add(V::load_places(at, piece.places));
                }
                if plane.relu {
                    sum = sum.relu();
                }
                let to = plane.target.add(piece.target);
                match reads {
                    Some(_) => sum.store_places(to, piece.places),
                    None => sum.store(to),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::geometry::Geometry;
    use super::super::plan;
    use super::*;

    fn windows(
        extents: [usize; 2],
        (kernel, stride, pad): (usize, usize, usize),
    ) -> Option<Windows> {
        let out = extents.map(|e| (e + 2 * pad - kernel) / stride + 1);
        let g = Geometry {
            batch: 1,
            groups: 2,
            channels: 1,
            filters: 1,
            input: [1, extents[0], extents[1]],
            output: [1, out[0], out[1]],
            kernel: [1, kernel, kernel],
            stride: [1, stride, stride],
            dilate: [1; 3],
            pad: [0, pad, pad],
        };
        Windows::of(&plan::forward(&g), 16)
    }

    #[test]
    fn pieces_run_over_the_ends_of_rows_where_they_can() {
        let pieces = |extents, window| {
            let found = windows(extents, window);
            found.map(|w| (w.pieces.len(), w.whole))
        };
        assert_eq!(pieces([14, 14], (3, 1, 1)), Some((13, 0)));
        assert_eq!(pieces([64, 64], (3, 1, 1)), Some((256, 124)));
        assert_eq!(pieces([14, 14], (3, 1, 0)), Some((12, 0)));
        assert_eq!(pieces([14, 14], (3, 2, 1)), Some((7, 0)));
        assert_eq!(pieces([14, 14], (3, 3, 1)), None);
        assert_eq!(pieces([14, 14], (1, 2, 0)), None);
    }

    #[test]
    fn whole_pieces_read_nothing_behind_the_plane() {
        // The last piece of the last row would read one number more, as it takes every second one.
        let found = windows([33, 33], (3, 2, 0)).map(|w| (w.pieces.len(), w.whole));
        assert_eq!(found, Some((16, 15)));
    }
}
