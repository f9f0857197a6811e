//! The gradient of maxima, for windows that are few numbers apart: which number of each window is its first
//! maximum is found for many windows at once, without a choice for each, and what each number of a window gets
//! is added up row by row.

use super::geometry::{Axis, Pool};
use super::reduce::pieces;
use crate::math::real::Real;
use crate::simd::vector::multiversion;

/// Most numbers of a window.
const WINDOW: usize = 64;
/// The fewest windows of a row.
const LEAST: usize = 4;

/// What is needed again for each plane.
pub(super) struct Room<R> {
    /// The plane with numbers on either side of each row that are no maximum.
    x: Vec<R>,
    /// For each number of a window, what it gets in each window of a row, with zeros on either side.
    parts: Vec<R>,
    rows: Vec<usize>,
}

/// Whether this is the way: few numbers of a window, few apart.
pub(super) fn pays(pool: &Pool) -> bool {
    let window: usize = pool.axes.iter().map(|axis| axis.kernel).product();
    let wide = pool.axes[2];
    window <= WINDOW && wide.stride <= 2 && wide.output >= LEAST && pool.input_plane() > 0
}

impl<R: Real> Room<R> {
    pub(super) fn new(pool: &Pool) -> Self {
        let [deep, high, wide] = pool.axes;
        let rows = deep.kernel * high.kernel;
        Room {
            x: vec![R::of(f64::NAN); deep.input * high.input * wide.reached()],
            parts: vec![R::ZERO; rows * wide.kernel * apart(&wide)],
            rows: Vec::with_capacity(rows),
        }
    }
}

/// Windows of a row that a number of a window is in with the same one of its neighbours, beside the first.
fn beside(wide: &Axis) -> usize {
    (wide.kernel - 1) / wide.stride
}

/// Numbers of a row of parts.
fn apart(wide: &Axis) -> usize {
    wide.output + 2 * beside(wide)
}

multiversion! {
    /// Adds the gradient of each maximum to the first element that has it.
    pub(super) fn route<R: Real>(pool: &Pool, g: &[R], x: &[R], y: &[R], dx: &mut [R], room: &mut Room<R>) {
        let [_, high, wide] = pool.axes;
        let width = wide.reached();
        for (to, from) in room.x.chunks_exact_mut(width).zip(x.chunks_exact(wide.input)) {
            copy(from, &mut to[wide.pad..][..wide.input]);
        }
        for (line, (g, y)) in g.chunks_exact(wide.output).zip(y.chunks_exact(wide.output)).enumerate() {
            room.rows.clear();
            room.rows.extend(pool.rows(line / high.output, line % high.output).map(|at| at / wide.input));
            match (wide.stride, wide.output) {
                (1, 16..) => find::<R, 16, 16>(&wide, g, y, room),
                (1, 8..) => find::<R, 8, 8>(&wide, g, y, room),
                (1, _) => find::<R, 4, 4>(&wide, g, y, room),
                (_, 16..) => find::<R, 16, 31>(&wide, g, y, room),
                (_, 8..) => find::<R, 8, 15>(&wide, g, y, room),
                _ => find::<R, 4, 7>(&wide, g, y, room),
            }
            let parts = room.parts.chunks_exact(wide.kernel * apart(&wide));
            for (&row, parts) in room.rows.iter().zip(parts) {
                let dx = &mut dx[row * wide.input..][..wide.input];
                (0..wide.stride).for_each(|phase| add(&wide, phase, parts, dx));
            }
        }
    }
}

/// Copies a row in pieces of known lengths.
#[inline(always)]
fn copy<R: Real>(from: &[R], to: &mut [R]) {
    match from.len() {
        16.. => copy_pieces::<R, 16>(from, to),
        4.. => copy_pieces::<R, 4>(from, to),
        _ => to.copy_from_slice(from),
    }
}

#[inline(always)]
fn copy_pieces<R: Real, const N: usize>(from: &[R], to: &mut [R]) {
    for at in pieces::<N>(from.len()) {
        if let (Some(from), Some(to)) = (from[at..].first_chunk::<N>(), to[at..].first_chunk_mut())
        {
            *to = *from;
        }
    }
}

/// Finds the first maximum of each window of a row, `N` windows at a time, which begin in the first of `M`
/// numbers, and sets down what its numbers get.
#[inline(always)]
fn find<R: Real, const N: usize, const M: usize>(
    wide: &Axis,
    g: &[R],
    y: &[R],
    room: &mut Room<R>,
) {
    let step = (M - 1) / (N - 1);
    let (width, apart, before) = (wide.reached(), apart(wide), beside(wide));
    for at in pieces::<N>(wide.output) {
        let (Some(g), Some(y)) = (g[at..].first_chunk::<N>(), y[at..].first_chunk::<N>()) else {
            return;
        };
        // Numbers of a window are counted backwards, so that the first one is the last that is found.
        let mut first = [u32::MAX; N];
        for (r, row) in room.rows.iter().enumerate().rev() {
            for tap in (0..wide.kernel).rev() {
                let number = (r * wide.kernel + tap) as u32;
                if let Some(x) = room.x[row * width + at * step + tap..].first_chunk::<M>() {
                    let one = |i: usize| {
                        if x[i * step] == y[i] {
                            number
                        } else {
                            first[i]
                        }
                    };
                    first = std::array::from_fn(one);
                }
            }
        }
        for number in 0..room.rows.len() * wide.kernel {
            let one = |i: usize| {
                if first[i] == number as u32 {
                    g[i]
                } else {
                    R::ZERO
                }
            };
            let part: [R; N] = std::array::from_fn(one);
            room.parts[number * apart + before + at..][..N].copy_from_slice(&part);
        }
    }
}

/// Adds to every `stride`th number of a row what it gets as one number or the other of the windows that it is
/// in.
#[inline(always)]
fn add<R: Real>(wide: &Axis, phase: usize, parts: &[R], dx: &mut [R]) {
    let (step, before) = (wide.stride, beside(wide));
    let first = wide.pad.saturating_sub(phase).div_ceil(step);
    let end = (wide.input + wide.pad).saturating_sub(phase).div_ceil(step);
    let end = end.min(wide.output + before);
    if first >= end || phase >= wide.kernel {
        return;
    }
    let dx = &mut dx[first * step + phase - wide.pad..];
    let ahead = (phase..wide.kernel).step_by(step).enumerate();
    let from = ahead.map(|(i, tap)| tap * apart(wide) + before - i + first);
    let sums = |at: usize| from.clone().map(move |start| &parts[start + at..]);
    let mut at = 0;
    while at + 16 <= end - first {
        add_piece::<R, 16>(sums(at), step, &mut dx[at * step..]);
        at += 16;
    }
    while at + 4 <= end - first {
        add_piece::<R, 4>(sums(at), step, &mut dx[at * step..]);
        at += 4;
    }
    while at < end - first {
        add_piece::<R, 1>(sums(at), step, &mut dx[at * step..]);
        at += 1;
    }
}

/// Adds the first `N` numbers of each part.
#[inline(always)]
fn add_piece<'a, R: Real, const N: usize>(
    parts: impl Iterator<Item = &'a [R]>,
    step: usize,
    dx: &mut [R],
) {
    let mut sum = [R::ZERO; N];
    for part in parts {
        if let Some(part) = part.first_chunk::<N>() {
            sum = std::array::from_fn(|i| sum[i] + part[i]);
        }
    }
    if step == 1 {
        dx[..N].iter_mut().zip(sum).for_each(|(d, s)| *d += s);
    } else {
        dx.iter_mut()
            .step_by(step)
            .zip(sum)
            .for_each(|(d, s)| *d += s);
    }
}
