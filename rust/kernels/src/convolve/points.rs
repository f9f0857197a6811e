//! The transforms of Winograd's convolution: filters, tiles of data and of results, for F(4x4, 3x3) with
//! the points 0, 1, -1, 2, -2 and infinity.

use crate::math::real::Real;
use crate::simd::vector::multiversion;

/// Results of a tile along each axis, and what they are made of.
pub(super) const OUT: usize = 4;
pub(super) const IN: usize = 6;
/// Products for a tile.
pub(super) const POINTS: usize = IN * IN;
/// Tiles that are turned at once.
pub(super) const LANES: usize = 16;

pub(super) type Lane<T> = [T; LANES];

/// A filter at the points: `G g G^T`.
pub(super) fn turn_filter<T: Real>(g: &[T; 9]) -> [T; POINTS] {
    let line = |a: T, b: T, c: T| -> [T; IN] {
        let (sixth, part) = (T::of(1.0 / 6.0), T::of(1.0 / 24.0));
        let (ends, wide) = (a + c, part * a + T::of(4.0) * part * c);
        let twice = T::of(2.0) * part * b;
        [
            T::of(0.25) * a,
            -sixth * (ends + b),
            -sixth * (ends - b),
            wide + twice,
            wide - twice,
            c,
        ]
    };
    let columns: [[T; IN]; 3] = std::array::from_fn(|j| line(g[j], g[3 + j], g[6 + j]));
    let mut out = [T::ZERO; POINTS];
    for i in 0..IN {
        let row = line(columns[0][i], columns[1][i], columns[2][i]);
        out[i * IN..(i + 1) * IN].copy_from_slice(&row);
    }
    out
}

/// `B^T d` of six numbers.
#[inline(always)]
fn data_line<T: Real>(d: [T; IN]) -> [T; IN] {
    let (two, four, five) = (T::of(2.0), T::of(4.0), T::of(5.0));
    let (even, odd) = (d[4] - four * d[2], d[3] - four * d[1]);
    let (near, far) = (d[4] - d[2], two * (d[3] - d[1]));
    [
        four * d[0] - five * d[2] + d[4],
        even + odd,
        even - odd,
        near + far,
        near - far,
        four * d[1] - five * d[3] + d[5],
    ]
}

/// `A^T m` of six numbers.
#[inline(always)]
fn result_line<T: Real>(m: [T; IN]) -> [T; OUT] {
    let (two, four, eight) = (T::of(2.0), T::of(4.0), T::of(8.0));
    let (sum, difference) = (m[1] + m[2], m[1] - m[2]);
    let (far, apart) = (m[3] + m[4], m[3] - m[4]);
    [
        m[0] + sum + far,
        difference + two * apart,
        sum + four * far,
        difference + eight * apart + m[5],
    ]
}

multiversion! {
    /// Tiles at the points: `B^T d B`, to places `apart`.
    pub(super) fn turn_data<T: Real>(d: &[Lane<T>; POINTS], out: &mut [T], apart: usize) {
        let mut half = [[T::ZERO; LANES]; POINTS];
        for k in 0..IN {
            for j in 0..LANES {
                let line = data_line(std::array::from_fn(|i| d[i * IN + k][j]));
                for i in 0..IN {
                    half[i * IN + k][j] = line[i];
                }
            }
        }
        for i in 0..IN {
            let mut lines = [[T::ZERO; LANES]; IN];
            for j in 0..LANES {
                let line = data_line(std::array::from_fn(|k| half[i * IN + k][j]));
                for k in 0..IN {
                    lines[k][j] = line[k];
                }
            }
            for (k, line) in lines.iter().enumerate() {
                out[(i * IN + k) * apart..][..LANES].copy_from_slice(line);
            }
        }
    }

    /// Adds the results of tiles, `A^T m A`, whose products are `apart`.
    pub(super) fn turn_back<T: Real>(m: &[T], apart: usize, out: &mut [Lane<T>; 16]) {
        let mut half = [[T::ZERO; LANES]; OUT * IN];
        for k in 0..IN {
            let column: [&[T]; IN] = std::array::from_fn(|i| &m[(i * IN + k) * apart..][..LANES]);
            for j in 0..LANES {
                let line = result_line(std::array::from_fn(|i| column[i][j]));
                for i in 0..OUT {
                    half[i * IN + k][j] = line[i];
                }
            }
        }
        for i in 0..OUT {
            for j in 0..LANES {
                let line = result_line(std::array::from_fn(|k| half[i * IN + k][j]));
                for k in 0..OUT {
                    out[i * OUT + k][j] += line[k];
                }
            }
        }
    }
}
