//! Points between the pixels of a plane: which pixels are around, how much each counts, and how that
//! changes as the point moves. A point is a pair of coordinates, and all of it a product of what either
//! says, so that reads, scatters and gradients of every sampling operator come from [`Line`].

use crate::math::real::Real;
use crate::simd::vector::versions;
use ferromix_base::{Error, Result};

/// What lies beyond the first and the last pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rim {
    /// Zeros.
    Zeros,
    /// The pixels at the rim again, as far as `from` and `n + past` (without that one where `open`),
    /// and nothing farther out.
    Clamp { from: f64, past: f64, open: bool },
}

impl Rim {
    /// That of regions that are aligned: a pixel on either side.
    pub(crate) const PIXEL: Rim = Rim::Clamp {
        from: -1.0,
        past: 0.0,
        open: false,
    };
    /// Half a pixel on either side.
    pub(crate) const HALF: Rim = Rim::Clamp {
        from: -0.5,
        past: -0.5,
        open: false,
    };
    /// Nothing before the first pixel, and nothing a pixel behind the last one.
    pub(crate) const INSIDE: Rim = Rim::Clamp {
        from: 0.0,
        past: 0.0,
        open: true,
    };
}

/// The two pixels around a coordinate: their places, their weights, and what these change by as the
/// coordinate grows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<R> {
    pub(crate) at: [u32; 2],
    pub(crate) weight: [R; 2],
    pub(crate) slope: [R; 2],
}

impl<R: Real> Line<R> {
    /// The pixels around `x` of `n`; none where all of them lie beyond the rim.
    #[inline(always)]
    pub(crate) fn new(x: R, n: usize, rim: Rim) -> Option<Self> {
        match rim {
            Rim::Zeros => Self::among_zeros(x, n),
            Rim::Clamp { from, past, open } => {
                let end = R::of(n as f64 + past);
                let within = x >= R::of(from) && if open { x < end } else { x <= end };
                (within && n > 0).then(|| Self::clamped(x, n))
            }
        }
    }

    /// Of no number nothing follows but that the result is none.
    #[inline(always)]
    fn among_zeros(x: R, n: usize) -> Option<Self> {
        let none = x.partial_cmp(&x).is_none();
        let within = x > R::of(-1.0) && x < R::of(n as f64);
        if n == 0 || !(within || none) {
            return None;
        }
        let first = if none { R::ZERO } else { x.floor() };
        let rest = x - first;
        let first = first.f64() as i64;
        let has = [first >= 0, first + 1 < n as i64];
        let only = |i: usize, value: R| if has[i] { value } else { R::ZERO };
        Some(Line {
            at: [first.max(0) as u32, (first + 1).min(n as i64 - 1) as u32],
            weight: [only(0, R::ONE - rest), only(1, rest)],
            slope: [only(0, -R::ONE), only(1, R::ONE)],
        })
    }

    #[inline(always)]
    fn clamped(x: R, n: usize) -> Self {
        let last = (n - 1) as u32;
        if x <= R::ZERO || x >= R::of(f64::from(last)) {
            let at = if x <= R::ZERO { 0 } else { last };
            // From the first pixel on the value changes.
            let next = if x == R::ZERO && last > 0 { 1 } else { at };
            let slope = if next == at { R::ZERO } else { R::ONE };
            return Line {
                at: [at, next],
                weight: [R::ONE, R::ZERO],
                slope: [-slope, slope],
            };
        }
        let first = x.floor();
        let rest = x - first;
        let at = first.f64() as u32;
        Line {
            at: [at, at + 1],
            weight: [R::ONE - rest, rest],
            slope: [-R::ONE, R::ONE],
        }
    }
}

/// The four pixels around a point, by their places in the plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taps<R> {
    pub(crate) at: [u32; 4],
    pub(crate) weight: [R; 4],
}

impl<R: Real> Taps<R> {
    /// A point that reads nothing.
    pub(crate) const NONE: Self = Taps {
        at: [0; 4],
        weight: [R::ZERO; 4],
    };

    /// What the plane has at the point. Pixels without weight are not looked at, so that what is no
    /// number there stays out of it.
    #[inline(always)]
    pub(crate) fn read(&self, plane: &[R]) -> R {
        let part = |k: usize| {
            let (weight, value) = (self.weight[k], plane[self.at[k] as usize]);
            if weight == R::ZERO {
                R::ZERO
            } else {
                weight * value
            }
        };
        (part(0) + part(1)) + (part(2) + part(3))
    }

    /// Adds shares of `value` to the pixels.
    #[inline(always)]
    pub(crate) fn scatter(&self, value: R, plane: &mut [R]) {
        for (&at, &weight) in self.at.iter().zip(&self.weight) {
            plane[at as usize] += weight * value;
        }
    }
}

/// The taps of many points in columns, of which the compiler takes several points at once.
pub(crate) struct TapColumns<R> {
    at: [Vec<u32>; 4],
    weight: [Vec<R>; 4],
    /// The last pixel that is looked at.
    last: u32,
}

impl<R: Real> TapColumns<R> {
    /// Room for so many points.
    pub(crate) fn with_capacity(points: usize) -> Self {
        TapColumns {
            at: std::array::from_fn(|_| Vec::with_capacity(points)),
            weight: std::array::from_fn(|_| Vec::with_capacity(points)),
            last: 0,
        }
    }

    pub(crate) fn push(&mut self, taps: &Taps<R>) {
        for k in 0..4 {
            self.at[k].push(taps.at[k]);
            self.weight[k].push(taps.weight[k]);
            self.last = self.last.max(taps.at[k]);
        }
    }

    /// [`Taps::read`] of all points.
    pub(crate) fn read(&self, plane: &[R], out: &mut [R]) {
        assert!((self.last as usize) < plane.len());
        // SAFETY: no tap lies behind the last one, which is in the plane.
        unsafe { read_columns(&self.at, &self.weight, plane, out) };
    }
}

versions! {
    /// # Safety
    /// All taps are in the plane.
    unsafe fn read_columns[R: Real](
        at: &[Vec<u32>; 4],
        weight: &[Vec<R>; 4],
        plane: &[R],
        out: &mut [R]
    ) [R] {
        let n = out.len();
        let at = [&at[0][..n], &at[1][..n], &at[2][..n], &at[3][..n]];
        let weight = [&weight[0][..n], &weight[1][..n], &weight[2][..n], &weight[3][..n]];
        for (i, out) in out.iter_mut().enumerate() {
            let part = |k: usize| {
                // SAFETY: as the caller vouches.
                let value = unsafe { *plane.get_unchecked(at[k][i] as usize) };
                let weight = weight[k][i];
                if weight == R::ZERO { R::ZERO } else { weight * value }
            };
            *out = (part(0) + part(1)) + (part(2) + part(3));
        }
    }
}

/// A point of a plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point<R> {
    pub(crate) value: Taps<R>,
    /// How the weights change with either coordinate.
    pub(crate) by: [[R; 4]; 2],
}

impl<R: Real> Point<R> {
    /// A point that reads nothing wherever it moves.
    pub(crate) const NONE: Self = Point {
        value: Taps::NONE,
        by: [[R::ZERO; 4]; 2],
    };

    /// The point at `(y, x)` of a plane of so many rows and columns.
    #[inline(always)]
    pub(crate) fn new([y, x]: [R; 2], [rows, columns]: [usize; 2], rim: Rim) -> Self {
        let (Some(y), Some(x)) = (Line::new(y, rows, rim), Line::new(x, columns, rim)) else {
            return Self::NONE;
        };
        let product = |a: [R; 2], b: [R; 2]| [a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]];
        let at = |i: usize, j: usize| y.at[i] * columns as u32 + x.at[j];
        Point {
            value: Taps {
                at: [at(0, 0), at(0, 1), at(1, 0), at(1, 1)],
                weight: product(y.weight, x.weight),
            },
            by: [product(y.slope, x.weight), product(y.weight, x.slope)],
        }
    }

    /// How what the plane has at the point changes with either coordinate.
    #[inline(always)]
    pub(crate) fn slopes(&self, plane: &[R]) -> [R; 2] {
        let values = self.value.at.map(|at| plane[at as usize]);
        self.by.map(|by| {
            let part = |k: usize| {
                if by[k] == R::ZERO {
                    R::ZERO
                } else {
                    by[k] * values[k]
                }
            };
            (part(0) + part(1)) + (part(2) + part(3))
        })
    }
}

/// Checks that places in a plane fit into 32 bits.
///
/// # Errors
/// More pixels.
pub(crate) fn check_plane(name: &str, plane: [usize; 2]) -> Result<()> {
    match plane[0].checked_mul(plane[1]) {
        Some(pixels) if u32::try_from(pixels).is_ok() => Ok(()),
        _ => Err(Error::value(format!(
            "{name}: planes of {} by {} pixels are too large; at most {} pixels",
            plane[0],
            plane[1],
            u32::MAX
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLANE: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

    fn at(y: f64, x: f64, rim: Rim) -> f64 {
        Point::new([y, x], [2, 3], rim).value.read(&PLANE)
    }

    #[test]
    fn points_on_and_between_pixels() {
        for rim in [Rim::Zeros, Rim::PIXEL, Rim::HALF, Rim::INSIDE] {
            assert_eq!(at(0.0, 0.0, rim), 1.0);
            assert_eq!(at(1.0, 2.0, rim), 32.0);
            assert_eq!(at(0.5, 1.0, rim), 9.0);
            assert_eq!(at(0.0, 0.25, rim), 1.25);
        }
    }

    #[test]
    fn what_lies_beyond_the_rim() {
        assert_eq!(at(-0.25, 0.0, Rim::Zeros), 0.75);
        assert_eq!(at(-0.25, 0.0, Rim::PIXEL), 1.0);
        assert_eq!(at(-0.25, 0.0, Rim::HALF), 1.0);
        assert_eq!(at(-0.25, 0.0, Rim::INSIDE), 0.0);
        assert_eq!(at(1.75, 2.0, Rim::Zeros), 8.0);
        assert_eq!(at(2.0, 2.0, Rim::PIXEL), 32.0);
        assert_eq!(at(1.75, 2.0, Rim::HALF), 0.0);
        assert_eq!(at(1.75, 2.0, Rim::INSIDE), 32.0);
        assert_eq!(at(2.0, 2.0, Rim::INSIDE), 0.0);
        for far in [f64::INFINITY, -1e300, 1e300] {
            assert_eq!(at(far, 0.0, Rim::Zeros), 0.0);
            assert_eq!(at(0.0, far, Rim::PIXEL), 0.0);
        }
        assert!(at(f64::NAN, 0.0, Rim::Zeros).is_nan());
        assert_eq!(at(f64::NAN, 0.0, Rim::PIXEL), 0.0);
    }

    #[test]
    fn slopes_are_those_of_the_values() {
        let step = 1e-6;
        for rim in [Rim::Zeros, Rim::PIXEL, Rim::HALF, Rim::INSIDE] {
            for (y, x) in [(0.3, 1.6), (-0.4, 0.2), (1.4, 1.1), (0.2, 2.3), (0.9, -0.3)] {
                let [by_y, by_x] = Point::new([y, x], [2, 3], rim).slopes(&PLANE);
                let want_y = (at(y + step, x, rim) - at(y - step, x, rim)) / (2.0 * step);
                let want_x = (at(y, x + step, rim) - at(y, x - step, rim)) / (2.0 * step);
                assert!(
                    (by_y - want_y).abs() < 1e-7,
                    "{rim:?} {y} {x} {by_y} {want_y}"
                );
                assert!(
                    (by_x - want_x).abs() < 1e-7,
                    "{rim:?} {y} {x} {by_x} {want_x}"
                );
            }
        }
    }

    #[test]
    fn a_plane_of_one_pixel_and_of_none() {
        let one = Point::new([0.0, 0.0], [1, 1], Rim::PIXEL);
        assert_eq!(one.value.read(&[7.0]), 7.0);
        assert_eq!(one.slopes(&[7.0]), [0.0, 0.0]);
        assert!(Line::new(0.0, 0, Rim::PIXEL).is_none());
        assert!(Line::new(0.0, 0, Rim::Zeros).is_none());
    }
}
