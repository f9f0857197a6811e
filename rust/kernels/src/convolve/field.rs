//! What a convolution reads: planes of numbers with a border of zeros, so that the inner loops
//! need no checks.

use super::gather::take_every;
use super::geometry::volume;
use crate::blocks::raw::Target;
use crate::math::real::Float;
use crate::par;
use crate::simd::vector::multiversion;

/// Numbers behind the last plane that a vector may read.
const SLACK: usize = 16;

/// Planes with a border. For strides of few filters, a plane is cut into lattices, of the elements
/// that are so far apart, and each lies as a plane of its own: then what a tap reads at neighbouring
/// positions are neighbours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    /// Number of planes: batch times channels.
    pub(crate) planes: usize,
    /// Extents without the border.
    pub(crate) inner: [usize; 3],
    /// Zeros in front.
    pub(crate) before: [usize; 3],
    /// Zeros behind.
    pub(crate) after: [usize; 3],
    /// Distances between neighbours in a lattice.
    pub(crate) stride: [usize; 3],
    /// Lattices along each axis: those that taps reach, the first ones.
    pub(crate) lattices: [usize; 3],
}

impl Field {
    /// Planes that are not cut, of so much, with these zeros in front and behind.
    pub(crate) fn whole(planes: usize, inner: [usize; 3], border: [[usize; 3]; 2]) -> Self {
        let [before, after] = border;
        Field {
            planes,
            inner,
            before,
            after,
            stride: [1; 3],
            lattices: [1; 3],
        }
    }

    /// Extents with the border.
    pub(crate) fn extents(&self) -> [usize; 3] {
        std::array::from_fn(|i| {
            let border = self.before[i].saturating_add(self.after[i]);
            border.saturating_add(self.inner[i])
        })
    }

    /// Extents of a lattice.
    fn lattice(&self) -> [usize; 3] {
        let extents = self.extents();
        std::array::from_fn(|i| extents[i].div_ceil(self.stride[i]))
    }

    /// Distances between neighbours of a lattice along each axis.
    pub(crate) fn steps(&self) -> [usize; 3] {
        let [_, high, wide] = self.lattice();
        [high.saturating_mul(wide), wide, 1]
    }

    /// Elements of a plane with its border.
    pub(crate) fn plane(&self) -> usize {
        volume(&self.lattice()).saturating_mul(volume(&self.lattices))
    }

    /// Which lattice an element is in along an axis, and where there.
    fn cut(&self, axis: usize, at: usize) -> (usize, usize) {
        // A division takes as long as copying half a row.
        match self.stride[axis] {
            1 => (0, at),
            2 => (at % 2, at / 2),
            n => (at % n, at / n),
        }
    }

    /// Where an element of a plane with its border stands.
    pub(crate) fn place(&self, at: [usize; 3]) -> usize {
        let (steps, [_, high, wide]) = (self.steps(), self.lattices);
        let [z, y, x] = [0, 1, 2].map(|i| self.cut(i, at[i]));
        ((z.0 * high + y.0) * wide + x.0) * volume(&self.lattice())
            + z.1 * steps[0]
            + y.1 * steps[1]
            + x.1
    }

    /// Which element of a plane with its border stands at a place: the reverse of [`Field::place`].
    pub(crate) fn position(&self, place: usize) -> [usize; 3] {
        let (steps, whole, [_, high, wide]) = (self.steps(), self.lattice(), self.lattices);
        let (number, place) = (place / volume(&whole), place % volume(&whole));
        let lattice = [number / wide / high, number / wide % high, number % wide];
        std::array::from_fn(|i| place / steps[i] % whole[i] * self.stride[i] + lattice[i])
    }

    /// Scratch elements: none without a border or lattices, since the tensor itself serves then.
    pub(crate) fn scratch(&self) -> usize {
        if self.before == [0; 3] && self.after == [0; 3] && self.stride == [1; 3] {
            0
        } else {
            self.planes
                .saturating_mul(self.plane())
                .saturating_add(SLACK)
        }
    }

    /// The planes of `x` with their border, in `scratch` if there is one.
    pub(crate) fn fill<'a, T: Float>(&self, x: &'a [T], scratch: &'a mut [T]) -> &'a [T] {
        if self.scratch() == 0 {
            return x;
        }
        let (plane, inner) = (self.plane(), volume(&self.inner));
        let target = Target::of_slice(scratch);
        par::for_ranges(self.planes, (32_768 / plane.max(1)).max(1), |planes| {
            for p in planes {
                // SAFETY: planes belong to one task each.
                let to = unsafe { target.slice(p * plane..(p + 1) * plane) };
                self.clear(to);
                self.fill_plane(&x[p * inner..(p + 1) * inner], to);
            }
        });
        scratch
    }

    /// Zeros in the border, and elsewhere any.
    fn clear<T: Float>(&self, plane: &mut [T]) {
        let [_, high, wide] = self.extents();
        let inner = self.inner[1] * wide;
        if self.stride != [1; 3] || inner == 0 {
            return plane.fill(T::zero());
        }
        for (z, slice) in plane.chunks_exact_mut(high * wide).enumerate() {
            if !(self.before[0]..self.before[0] + self.inner[0]).contains(&z) {
                slice.fill(T::zero());
                continue;
            }
            let (above, rest) = slice.split_at_mut(self.before[1] * wide);
            let (rows, below) = rest.split_at_mut(inner);
            above.fill(T::zero());
            below.fill(T::zero());
            for row in rows.chunks_exact_mut(wide) {
                row[..self.before[2]].fill(T::zero());
                row[self.before[2] + self.inner[2]..].fill(T::zero());
            }
        }
    }

    /// Puts a plane without border in place; the border stays as it is.
    pub(crate) fn fill_plane<T: Float>(&self, from: &[T], to: &mut [T]) {
        if self.stride == [1; 3] {
            fill_whole(self, from, to);
        } else {
            fill_lattices(self, from, to);
        }
    }

    /// The place of a row of a plane without border, from its number.
    fn row(&self, number: usize) -> [usize; 2] {
        let ([_, high, _], [front, top, _]) = (self.inner, self.before);
        // Most planes are flat, and a division takes as long as copying half a row.
        if number < high {
            [front, number + top]
        } else {
            [number / high + front, number % high + top]
        }
    }
}

multiversion! {
    /// As [`Field::fill_plane`], of a plane that is not cut.
    fn fill_whole<T: Float>(field: &Field, from: &[T], to: &mut [T]) {
        let steps = field.steps();
        for (i, row) in from.chunks_exact(field.inner[2].max(1)).enumerate() {
            let [z, y] = field.row(i);
            take_every(1, row, &mut to[z * steps[0] + y * steps[1] + field.before[2]..]);
        }
    }
}

multiversion! {
    /// As [`Field::fill_plane`], of one that is.
    fn fill_lattices<T: Float>(field: &Field, from: &[T], to: &mut [T]) {
        let (wide, left, across) = (field.inner[2], field.before[2], field.stride[2]);
        let (steps, lattice) = (field.steps(), volume(&field.lattice()));
        for (i, row) in from.chunks_exact(wide.max(1)).enumerate() {
            let [z, y] = field.row(i);
            let (z, y) = (field.cut(0, z), field.cut(1, y));
            if z.0 >= field.lattices[0] || y.0 >= field.lattices[1] {
                continue;
            }
            let first = (z.0 * field.lattices[1] + y.0) * field.lattices[2];
            let at = z.1 * steps[0] + y.1 * steps[1];
            for x in 0..across.min(wide) {
                let (number, place) = field.cut(2, x + left);
                if number < field.lattices[2] {
                    let to = &mut to[(first + number) * lattice + at + place..];
                    if across == 2 {
                        take_every(2, &row[x..], to);
                    } else {
                        take_every(across, &row[x..], to);
                    }
                }
            }
        }
    }
}

/// Positions of an output grid, counted over the batch, with the places they read and write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub(crate) batch: usize,
    pub(crate) extents: [usize; 3],
    /// Distance between what neighbours read, along each axis, and between samples.
    pub(crate) source: [usize; 3],
    pub(crate) source_sample: usize,
    /// The same for what they write.
    pub(crate) target: [usize; 3],
    pub(crate) target_sample: usize,
}

/// Neighbouring positions along the last axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// First position, counted from the start of the block.
    pub(crate) at: usize,
    pub(crate) len: usize,
    pub(crate) source: usize,
    pub(crate) target: usize,
}

impl Grid {
    /// Vectors of `lanes` positions, all of one line, that cover a line.
    pub(crate) fn vectors(&self, lanes: usize) -> usize {
        self.extents[2].div_ceil(lanes)
    }

    /// Vectors `start..start + n` of `lanes` positions each: one run per vector, of the positions
    /// that no vector before it covers. The last vector of a line ends with the line, where that
    /// is long enough.
    pub(crate) fn vector_runs(&self, start: usize, n: usize, lanes: usize, out: &mut Vec<Run>) {
        out.clear();
        let [deep, high, wide] = self.extents;
        let per_line = self.vectors(lanes);
        for i in 0..n {
            let (line, x) = ((start + i) / per_line, (start + i) % per_line * lanes);
            let (slice, y) = (line / high, line % high);
            let (sample, z) = (slice / deep, slice % deep);
            let len = lanes.min(wide - x);
            let place = |sample_step: usize, steps: [usize; 3]| {
                sample * sample_step + z * steps[0] + y * steps[1] + x * steps[2]
            };
            let late = if wide < lanes { 0 } else { lanes - len };
            out.push(Run {
                at: i * lanes + late,
                len,
                source: place(self.source_sample, self.source),
                target: place(self.target_sample, self.target),
            });
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.batch * volume(&self.extents)
    }

    /// The runs of positions `start..start + n`, broken at multiples of `panel` too.
    pub(crate) fn runs(&self, start: usize, n: usize, panel: usize, out: &mut Vec<Run>) {
        out.clear();
        let [_, high, wide] = self.extents;
        let mut at = 0;
        while at < n {
            let position = start + at;
            let (line, x) = (position / wide, position % wide);
            let (slice, y) = (line / high, line % high);
            let (sample, z) = (slice / self.extents[0], slice % self.extents[0]);
            let len = (wide - x).min(n - at).min(panel - at % panel);
            let place = |sample_step: usize, steps: [usize; 3]| {
                sample * sample_step + z * steps[0] + y * steps[1] + x * steps[2]
            };
            out.push(Run {
                at,
                len,
                source: place(self.source_sample, self.source),
                target: place(self.target_sample, self.target),
            });
            at += len;
        }
    }
}
