//! Maxima of windows and their gradient for [`LANES`] planes at once: they are turned so that what stands at one place
//! of all of them is one vector, and a window is a few vectors, wherever it lies and however short its rows are.

use super::geometry::{Kind, Pool};
use super::in_blocks::{Lines, windows};
use super::reduce::Larger;
use crate::blocks::aligned::Aligned;
use crate::blocks::planes::Planes;
use crate::copy::transpose::transpose;
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

/// What is needed again for each set of planes.
#[derive(Default)]
pub(super) struct Room<R> {
    input: Aligned<R>,
    output: Aligned<R>,
    gradient: Aligned<R>,
    data_gradient: Aligned<R>,
    lines: Lines<R>,
}

fn turn<R: Real>(planes: &[R], turned: &mut Aligned<R>) {
    let places = planes.len() / LANES;
    turned.reserve(planes.len());
    transpose((planes, places), (places, LANES), (&mut turned[..], LANES));
}

fn turn_back<R: Real>(turned: &[R], planes: &mut [R]) {
    let places = planes.len() / LANES;
    transpose((turned, LANES), (LANES, places), (planes, places));
}

/// The maxima of all windows; `least` is what a window without elements gives.
pub(super) fn maxima<R: Real>(pool: &Pool, x: &[R], out: &mut [R], least: R, room: &mut Room<R>) {
    turn(x, &mut room.input);
    room.output.reserve(out.len());
    let results = &mut room.output[..out.len()];
    windows(
        pool,
        &room.input,
        results,
        (least, &Larger),
        &mut room.lines,
    );
    turn_back(results, out);
}

/// The gradient of all maxima, from the gradient `g` of the output `y`.
pub(super) fn route<R: Real>(pool: &Pool, [g, x, y]: [&[R]; 3], dx: &mut [R], room: &mut Room<R>) {
    turn(g, &mut room.gradient);
    turn(x, &mut room.input);
    turn(y, &mut room.output);
    room.data_gradient.reserve(dx.len());
    room.data_gradient[..dx.len()].fill(R::ZERO);
    to_the_first(pool, room);
    turn_back(&room.data_gradient, dx);
}

multiversion! {
    /// Adds the gradient of each maximum to the first element that has it.
    fn to_the_first<R: Real>(pool: &Pool, room: &mut Room<R>) {
        let [_, high, wide] = &pool.axes;
        let [y, g] = [&room.output, &room.gradient].map(|v| v.as_chunks::<LANES>().0);
        for h in 0..high.output {
            for w in 0..wide.output {
                let (at, columns) = (h * wide.output + w, wide.window(w));
                let mut left = g[at];
                for row in high.window(h) {
                    let place = (row * wide.input + columns.start) * LANES;
                    let (x, dx) = (&room.input[place..], &mut room.data_gradient[place..]);
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
