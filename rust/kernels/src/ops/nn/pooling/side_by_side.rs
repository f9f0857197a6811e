//! Maxima of windows and their gradient for [`LANES`] planes at once: they are turned so that what stands at one place
//! of all of them is one vector, and a window is a few vectors, wherever it lies and however short its rows are.

use super::geometry::{Kind, Pool};
use super::in_blocks::{Lines, windows};
use super::reduce::Larger;
use crate::blocks::planes::Planes;
use crate::copy::transpose::transpose;
use crate::linalg::tile::Tiled;
use crate::math::real::Real;
use crate::simd::vector::multiversion;

/// Planes side by side.
pub(super) const LANES: usize = crate::convolve::blocked::BLOCK;

/// Most numbers of a plane: what is turned stays in the second-level cache.
const LARGEST: usize = 1 << 12;

/// The planes, to be taken side by side where they are small and have more windows than one.
pub(super) fn planes(pool: &Pool) -> Planes {
    let [deep, ..] = pool.axes;
    let flat = deep.input == 1 && deep.output == 1 && deep.kernel == 1;
    let places = pool.input_plane().max(pool.output_plane());
    let pays = flat && !pool.is_global() && places <= LARGEST;
    Planes {
        together: if pays && pool.kind == Kind::Max {
            LANES
        } else {
            1
        },
        ..pool.planes
    }
}

/// Turns planes, so that the numbers at one place of all are neighbours.
fn turn<R: Real>(planes: &[R], turned: &mut [R]) {
    let places = planes.len() / LANES;
    transpose((planes, places), (places, LANES), (turned, LANES));
}

fn turn_back<R: Real>(turned: &[R], planes: &mut [R]) {
    let places = planes.len() / LANES;
    transpose((turned, LANES), (LANES, places), (planes, places));
}

/// The first `N` parts of the memory, of so many numbers each.
fn parts<R: Real, const N: usize>(memory: &mut [R], sizes: [usize; N]) -> [&mut [R]; N] {
    let mut rest = memory;
    sizes.map(|n| rest.split_off_mut(..n).unwrap_or_default())
}

/// The maxima of all windows; `least` is what a window without elements gives.
pub(super) fn maxima<R: Tiled>(
    pool: &Pool,
    x: &[R],
    out: &mut [R],
    least: R,
    lines: &mut Lines<R>,
) {
    let mut memory = R::borrow_room(x.len() + out.len());
    let [input, output] = parts(&mut memory, [x.len(), out.len()]);
    turn(x, input);
    windows(pool, input, output, (least, &Larger), lines);
    turn_back(output, out);
    R::return_room(memory);
}

/// The gradient of all maxima, from the gradient `g` of the output `y`.
pub(super) fn route<R: Tiled>(pool: &Pool, [g, x, y]: [&[R]; 3], dx: &mut [R]) {
    let mut memory = R::borrow_room(2 * (x.len() + y.len()));
    let [gradient, input, output, data_gradient] =
        parts(&mut memory, [g, x, y, dx].map(<[R]>::len));
    turn(g, gradient);
    turn(x, input);
    turn(y, output);
    data_gradient.fill(R::ZERO);
    to_the_first(pool, [gradient, input, output], data_gradient);
    turn_back(data_gradient, dx);
    R::return_room(memory);
}

multiversion! {
    /// Adds the gradient of each maximum to the first element that has it.
    fn to_the_first<R: Real>(pool: &Pool, args: [&[R]; 3], dx: &mut [R]) {
        let [_, high, wide] = &pool.axes;
        let [g, x, y] = args;
        let [g, y] = [g, y].map(|v| v.as_chunks::<LANES>().0);
        for h in 0..high.output {
            for w in 0..wide.output {
                let (at, columns) = (h * wide.output + w, wide.window(w));
                let mut left = g[at];
                for row in high.window(h) {
                    let place = (row * wide.input + columns.start) * LANES;
                    let (x, dx) = (&x[place..], &mut dx[place..]);
                    match columns.len() {
                        2 => along::<R, 2>(x, dx, &y[at], &mut left),
                        3 => along::<R, 3>(x, dx, &y[at], &mut left),
                        n => {
                            for column in 0..n {
                                let (x, dx) = (&x[column * LANES..], &mut dx[column * LANES..]);
                                along::<R, 1>(x, dx, &y[at], &mut left);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Adds what is left of the gradient of the maxima `y` to those of `K` neighbours that have them; it is zero then.
#[inline(always)]
fn along<R: Real, const K: usize>(x: &[R], dx: &mut [R], y: &[R; LANES], left: &mut [R; LANES]) {
    let (x, dx) = (&x[..K * LANES], &mut dx[..K * LANES]);
    for column in 0..K {
        let x: [R; LANES] = std::array::from_fn(|i| x[column * LANES + i]);
        let here: [R; LANES] =
            std::array::from_fn(|i| if x[i] == y[i] { left[i] } else { R::ZERO });
        *left = std::array::from_fn(|i| if x[i] == y[i] { R::ZERO } else { left[i] });
        for i in 0..LANES {
            dx[column * LANES + i] += here[i];
        }
    }
}
