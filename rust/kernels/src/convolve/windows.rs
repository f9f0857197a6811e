//! Sums over the windows of a plane that is read where it lies: each tap reads those places of a vector that
//! are in the plane, and zero elsewhere, so that there is no border to copy it into. Windows of 3 by 3 go in
//! strips, from row to row, where rows fill vectors well; others vector by vector.

mod pieces;
pub(super) mod spread;
mod strips;

use super::apply::Apply;
use crate::linalg::lanes::Places;
use crate::math::real::Real;
use pieces::Pieces;
pub(super) use strips::Strips;
pub(super) use strips::sums::Pair;

/// How a plane of results is computed.
pub(super) enum Windows {
    Strips(Strips),
    Pieces(Pieces),
}

/// What a plane is computed from, and what becomes of its sums.
pub(super) struct Plane<'a, T> {
    /// In the order of the taps.
    pub(super) weights: &'a [T],
    pub(super) source: *const T,
    /// So many numbers that are read next, of which the cache is told meanwhile.
    pub(super) next: (*const T, usize),
    /// So many that are written next.
    pub(super) after: (*const T, usize),
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
        if !(1..=2).contains(&shape.stride[1]) {
            return None;
        }
        let strips = Strips::of(&shape, [high, wide], lanes);
        if let Some(strips) = strips.filter(|s| s.fill(lanes) && grid.target[1] == wide) {
            return Some(Windows::Strips(strips));
        }
        Some(Windows::Pieces(Pieces::of(apply, &shape, lanes)))
    }

    /// The strips of a product of planes, however little they fill vectors; nothing for other windows.
    pub(super) fn strips(apply: &Apply, lanes: usize) -> Option<Strips> {
        let [_, high, wide] = apply.grid.extents;
        // Kernels of one element may have all of a plane in one row.
        if apply.taps.len() < 2 || high * wide == 0 {
            return None;
        }
        Strips::of(&Shape::of(apply), [high, wide], lanes)
    }

    /// Whether a result may lie where its plane does.
    pub(super) fn may_cover<T>(&self) -> bool {
        match self {
            Windows::Strips(strips) => strips.may_cover::<T>(),
            Windows::Pieces(_) => false,
        }
    }

    /// Computes a plane.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`, of which these are the vectors; source, target and addend are
    /// planes of the product that these are of, there is a weight for each tap, and nobody else uses the
    /// target meanwhile, which is not the source, unless it may be.
    #[inline(always)]
    pub(super) unsafe fn run<T: Real, V: Places<T>>(&self, plane: &Plane<'_, T>) {
        // SAFETY: as the caller vouches.
        unsafe {
            match self {
                Windows::Strips(strips) => strips.run::<T, V>(plane),
                Windows::Pieces(pieces) => pieces.run::<T, V>(plane),
            }
        }
    }
}

impl<T: Real> Plane<'_, T> {
    /// Writes a vector of sums, of which those at `places`, or all of a `whole` one, go to `at`.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`; target and addend have these numbers.
    #[inline(always)]
    unsafe fn store<V: Places<T>>(&self, sum: V, at: usize, places: u16, whole: bool) {
        // SAFETY: as the caller vouches.
        unsafe {
            let mut sum = sum.add(V::splat(self.shift));
            if !self.addend.is_null() {
                sum = sum.add(V::load_places(self.addend.add(at), places));
            }
            if self.relu {
                sum = sum.relu();
            }
            let to = self.target.add(at);
            if whole {
                sum.store(to);
            } else {
                sum.store_places(to, places);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::geometry::Geometry;
    use super::super::plan;
    use super::*;

    /// The product of planes of these extents.
    pub(super) fn product(
        extents: [usize; 2],
        (kernel, stride, pad): (usize, usize, usize),
    ) -> Apply {
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
        plan::forward(&g)
    }

    #[test]
    fn other_planes_are_copied() {
        assert!(Windows::of(&product([14, 14], (3, 3, 1)), 16).is_none());
        assert!(Windows::of(&product([14, 14], (1, 2, 0)), 16).is_none());
    }
}
