//! The gradient of maxima, for windows one or two numbers apart, without a choice for each window: which number
//! of each window is its first maximum is found for many windows at once, and each element of the input then adds
//! up what it gets from the windows that it is in, in their order.

use super::geometry::{Axis, Pool};
use super::reduce::pieces;
use crate::math::real::Real;
use crate::simd::vector::versions;
use std::ops::Range;

/// Most numbers of a window.
const WINDOW: usize = 64;

/// What is needed again for each plane. Rows are of [`width`] numbers; what no plane writes is NaN.
pub(super) struct Room<R> {
    /// The last rows of the input that windows cover: those of each phase of the stride beside each other.
    x: Vec<R>,
    /// For each window the number of its first maximum within it, or NaN.
    first: Vec<R>,
    /// The gradient of each window.
    g: Vec<R>,
    /// The numbers 0, 1, 2 ... of a window.
    numbers: Vec<R>,
}

/// A loop that gives the gradient of each maximum to the first element that has it: of the gradient, the input and the
/// output of a plane it makes all of the input's gradient.
pub(super) type Route<R> = fn(&Pool, &[R], &[R], &[R], &mut [R], &mut Room<R>);

/// The loop for this pool, if it has one: for `N` windows of a row at a time, which begin in `M` numbers.
pub(super) fn way<R: Real>(pool: &Pool) -> Option<Route<R>> {
    let [deep, high, wide] = pool.axes;
    let flat = deep.input == 1 && deep.output == 1 && deep.kernel == 1;
    if !flat || high.kernel * wide.kernel > WINDOW {
        return None;
    }
    match (wide.stride, wide.output.min(wide.input / wide.stride)) {
        (1, 16..) => Some(route::<R, 16, 16>),
        (1, 8..) => Some(route::<R, 8, 8>),
        (1, 4..) => Some(route::<R, 4, 4>),
        (2, 16..) => Some(route::<R, 16, 32>),
        (2, 8..) => Some(route::<R, 8, 16>),
        (2, 4..) => Some(route::<R, 4, 8>),
        _ => None,
    }
}

/// How many windows before the last one an element is in with the same phase.
fn beside(wide: &Axis) -> usize {
    (wide.kernel - 1) / wide.stride
}

/// Numbers of a row: windows, or elements of a phase, and as many as an element looks back before them.
fn width(wide: &Axis) -> usize {
    beside(wide)
        + wide
            .output
            .max((wide.pad + wide.input).div_ceil(wide.stride))
}

impl<R: Real> Room<R> {
    pub(super) fn new(pool: &Pool) -> Self {
        let [_, high, wide] = pool.axes;
        let (width, none) = (width(&wide), R::of(f64::NAN));
        Room {
            x: vec![none; high.kernel * wide.stride * width],
            first: vec![none; high.output * width],
            g: vec![none; high.output * width],
            numbers: (0..high.kernel * wide.kernel)
                .map(|i| R::of(i as f64))
                .collect(),
        }
    }
}

fn route<R: Real, const N: usize, const M: usize>(
    pool: &Pool,
    g: &[R],
    x: &[R],
    y: &[R],
    dx: &mut [R],
    room: &mut Room<R>,
) {
    find::<R, N, M>(pool, g, x, y, room);
    collect::<R, N, M>(pool, dx, room);
}

versions! {
    /// Finds the first maximum of each window of a plane.
    fn find[R: Real, const N: usize, const M: usize](
        pool: &Pool,
        g: &[R],
        x: &[R],
        y: &[R],
        room: &mut Room<R>,
    ) [R, N, M] {
        let [_, high, wide] = &pool.axes;
        let (step, width) = (M / N, width(wide));
        let mut ready = 0;
        for (h, (g, y)) in g.chunks_exact(wide.output).zip(y.chunks_exact(wide.output)).enumerate() {
            let rows = high.window(h);
            for row in ready..rows.end {
                let to = &mut room.x[row % high.kernel * step * width..][..step * width];
                split::<R, N, M>(&x[row * wide.input..][..wide.input], wide.pad, to);
            }
            ready = ready.max(rows.end);
            for at in pieces::<N>(wide.output) {
                let (Some(g), Some(y)) = (g[at..].first_chunk::<N>(), y[at..].first_chunk::<N>()) else {
                    return;
                };
                let first = first_of::<R, N>((high, wide, step), (h, at), rows.clone(), y, room);
                let place = h * width + beside(wide) + at;
                room.first[place..][..N].copy_from_slice(&first);
                room.g[place..][..N].copy_from_slice(g);
            }
        }
    }
}

/// A row of the input with its padding before it, by phases of the stride.
#[inline(always)]
fn split<R: Real, const N: usize, const M: usize>(from: &[R], pad: usize, to: &mut [R]) {
    let (step, width) = (M / N, to.len() / (M / N));
    for at in pieces::<M>(from.len()) {
        let Some(x) = from[at..].first_chunk::<M>() else {
            return;
        };
        for offset in 0..step {
            let (phase, place) = ((at + pad + offset) % step, (at + pad + offset) / step);
            let own: [R; N] = std::array::from_fn(|i| x[step * i + offset]);
            to[phase * width + place..][..N].copy_from_slice(&own);
        }
    }
}

/// The numbers of the first maxima `y` of the windows from `(h, at)` on. What is in a window is looked at from its end,
/// so that the first maximum is the last that is found.
#[inline(always)]
fn first_of<R: Real, const N: usize>(
    (high, wide, step): (&Axis, &Axis, usize),
    (h, at): (usize, usize),
    rows: Range<usize>,
    y: &[R; N],
    room: &Room<R>,
) -> [R; N] {
    let (y, width) = (*y, width(wide));
    let mut first = [R::of(f64::NAN); N];
    for row in rows.rev() {
        let x = &room.x[row % high.kernel * step * width..][..step * width];
        let numbers = &room.numbers[(row + high.pad - h * high.stride) * wide.kernel..];
        for (tap, &number) in numbers[..wide.kernel].iter().enumerate().rev() {
            if let Some(x) = x[tap % step * width + tap / step + at..].first_chunk::<N>() {
                first = std::array::from_fn(|i| if x[i] == y[i] { number } else { first[i] });
            }
        }
    }
    first
}

versions! {
    /// Adds up what each element of the input gets.
    fn collect[R: Real, const N: usize, const M: usize](
        pool: &Pool,
        dx: &mut [R],
        room: &Room<R>,
    ) [R, N, M] {
        let [_, high, wide] = &pool.axes;
        let step = M / N;
        for (row, dx) in dx.chunks_exact_mut(wide.input).enumerate() {
            let row = row + high.pad;
            let start = (row + 1).saturating_sub(high.kernel).div_ceil(high.stride);
            let lines = start..(row / high.stride + 1).min(high.output);
            for at in pieces::<M>(wide.input) {
                let Some(dx) = dx[at..].first_chunk_mut::<M>() else {
                    return;
                };
                let at = at + wide.pad;
                let even = sums_of::<R, N>((high, wide, step), (row, at), lines.clone(), room);
                if step == 1 {
                    dx[..N].copy_from_slice(&even);
                    continue;
                }
                let odd = sums_of::<R, N>((high, wide, step), (row, at + 1), lines.clone(), room);
                for (pair, (even, odd)) in dx.as_chunks_mut().0.iter_mut().zip(even.into_iter().zip(odd)) {
                    *pair = [even, odd];
                }
            }
        }
    }
}

/// What the windows of these lines give to the elements of one phase from the place `(row, at)` of the padded input on.
#[inline(always)]
fn sums_of<R: Real, const N: usize>(
    (high, wide, step): (&Axis, &Axis, usize),
    (row, at): (usize, usize),
    lines: Range<usize>,
    room: &Room<R>,
) -> [R; N] {
    let mut sums = [R::ZERO; N];
    let phase = at % step;
    if phase >= wide.kernel {
        return sums;
    }
    for h in lines {
        let numbers = &room.numbers[(row - h * high.stride) * wide.kernel + phase..];
        let place = h * width(wide) + beside(wide) + at / step;
        for back in (0..=(wide.kernel - 1 - phase) / step).rev() {
            let (number, from) = (numbers[back * step], place - back);
            if let (Some(&first), Some(&g)) = (
                room.first[from..].first_chunk::<N>(),
                room.g[from..].first_chunk::<N>(),
            ) {
                let with: [R; N] = std::array::from_fn(|i| sums[i] + g[i]);
                let choice = |i: usize| if first[i] == number { with[i] } else { sums[i] };
                sums = std::array::from_fn(choice);
            }
        }
    }
    sums
}
