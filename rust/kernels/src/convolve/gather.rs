//! Gathering what the taps of a convolution read. The loop over taps is the inner one, so that the
//! length of a run is looked at once; a run is moved in two vectors that may overlap.

use super::apply::Apply;
use super::apply::summed::Summed;
use super::direct::Direct;
use super::field::Run;
use crate::math::real::{Float, Real};
use crate::simd::vector::{is_intel, multiversion};
use std::ops::Range;

/// The width of the narrowest panels.
const PIECE: usize = 4;

impl Apply {
    /// How many of the first panels the first tile reads where they lie: whole ones of neighbours, where taps
    /// are as far apart as planes. Intel's CPUs are faster where all are gathered before.
    pub(super) fn lying(&self, runs: &[Run], width: usize) -> usize {
        if self.taps.are_single() && !is_intel() {
            self.whole_lines(runs, width)
        } else {
            0
        }
    }

    /// Gathers what taps read at the positions of `runs`, for some panels.
    pub(super) fn gather_panels<T: Direct + Summed>(
        &self,
        (source, taps): (&[T], &[usize]),
        runs: &[Run],
        panels: Range<usize>,
        gathered: &mut [T],
    ) {
        let width = T::tiles().width;
        let apart = self.apart::<T>(width);
        let mut first = panels.start;
        if first == 0 {
            first = self.whole_lines(runs, width);
        }
        if first > panels.start {
            let place = (apart, width);
            gather_line(source, taps, runs[0].source, first, place, gathered);
        }
        for p in first..panels.end {
            let low = runs.partition_point(|r| r.at < p * width);
            let high = runs.partition_point(|r| r.at < (p + 1) * width);
            let to = &mut gathered[p * apart..][..taps.len() * width];
            let (runs, place) = (&runs[low..high], (p * width, width));
            gather(source, taps, runs, self.grid.source[2], place, to);
        }
    }

    /// How many of the first panels are whole and read neighbours.
    fn whole_lines(&self, runs: &[Run], width: usize) -> usize {
        let Some(first) = runs.first().filter(|_| self.grid.source[2] == 1) else {
            return 0;
        };
        let lie = |(p, run): &(usize, &Run)| {
            run.len == width && run.at == p * width && run.source == first.source + p * width
        };
        runs.iter().enumerate().take_while(lie).count()
    }
}

multiversion! {
    /// Gathers what `taps` read at the positions of `runs`: one row of numbers per tap, `place.1` apart,
    /// that begins with position `place.0`. What a tap reads at neighbouring positions is
    /// `step` apart in `x`.
    pub(super) fn gather<T: Real>(
        x: &[T],
        taps: &[usize],
        runs: &[Run],
        step: usize,
        place: (usize, usize),
        out: &mut [T],
    ) {
        let (first, width) = place;
        let furthest = taps.iter().copied().max().unwrap_or(0);
        for run in runs {
            let (at, len) = (run.at - first, run.len);
            let end = run.source + furthest + len * step;
            match (step, len) {
                (1, 16..) => pairs::<T, 16>(x, taps, run.source, len, (at, width), out),
                (1, 8..) => pairs::<T, 8>(x, taps, run.source, len, (at, width), out),
                (1, 4..) => pairs::<T, 4>(x, taps, run.source, len, (at, width), out),
                (2, 8..16) if end <= x.len() => {
                    every_other::<T, 8, 16>(x, taps, run.source, len, (at, width), out);
                }
                (2, 16..) if end <= x.len() => {
                    every_other::<T, 16, 32>(x, taps, run.source, len, (at, width), out);
                }
                _ => {
                    for (&tap, row) in taps.iter().zip(out.chunks_exact_mut(width)) {
                        let from = x[run.source + tap..].iter().step_by(step);
                        row[at..at + len].iter_mut().zip(from).for_each(|(o, &v)| *o = v);
                    }
                }
            }
        }
    }
}

multiversion! {
    /// Gathers what `taps` read at neighbouring positions from `source` on, for whole panels: of each tap
    /// all of them, as they are neighbours in memory. Panels are `place.1` wide and `place.0` apart.
    fn gather_line<T: Real>(
        x: &[T],
        taps: &[usize],
        source: usize,
        panels: usize,
        place: (usize, usize),
        out: &mut [T],
    ) {
        let (apart, width) = place;
        match width {
            32 => lines::<T, 32>(x, taps, source, panels, apart, out),
            16 => lines::<T, 16>(x, taps, source, panels, apart, out),
            8 => lines::<T, 8>(x, taps, source, panels, apart, out),
            _ => {
                debug_assert_eq!(width, PIECE);
                lines::<T, PIECE>(x, taps, source, panels, apart, out);
            }
        }
    }
}

/// As [`gather_line`] for panels of `N`, which are moved without a call.
#[inline(always)]
fn lines<T: Real, const N: usize>(
    x: &[T],
    taps: &[usize],
    source: usize,
    panels: usize,
    apart: usize,
    out: &mut [T],
) {
    for (k, &tap) in taps.iter().enumerate() {
        let line = &x[source + tap..][..panels * N];
        for (panel, line) in line.as_chunks::<N>().0.iter().enumerate() {
            if let Some(to) = out[panel * apart + k * N..].first_chunk_mut() {
                *to = *line;
            }
        }
    }
}

/// Moves runs of `N` to `2 N` neighbours.
#[inline(always)]
fn pairs<T: Real, const N: usize>(
    x: &[T],
    taps: &[usize],
    source: usize,
    len: usize,
    (at, width): (usize, usize),
    out: &mut [T],
) {
    for (&tap, row) in taps.iter().zip(out.chunks_exact_mut(width)) {
        ends::<T, N>(&x[source + tap..][..len], &mut row[at..][..len]);
    }
}

/// Copies a row of `N` to `2 N` numbers.
#[inline(always)]
fn ends<T: Float, const N: usize>(from: &[T], to: &mut [T]) {
    if let (Some(&low), Some(&high)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) {
        if let Some(to) = to.first_chunk_mut() {
            *to = low;
        }
        if let Some(to) = to.last_chunk_mut() {
            *to = high;
        }
    }
}

/// As [`pairs`] for every other one of `M = 2 N` to `4 N` numbers.
#[inline(always)]
fn every_other<T: Float, const N: usize, const M: usize>(
    x: &[T],
    taps: &[usize],
    source: usize,
    len: usize,
    (at, width): (usize, usize),
    out: &mut [T],
) {
    for (&tap, row) in taps.iter().zip(out.chunks_exact_mut(width)) {
        let from = &x[source + tap..][..2 * len];
        let to = &mut row[at..][..len];
        let ends = (from.first_chunk::<M>(), from.last_chunk::<M>());
        if let (Some(low), Some(high)) = ends {
            let low: [T; N] = std::array::from_fn(|i| low[2 * i]);
            let high: [T; N] = std::array::from_fn(|i| high[2 * i]);
            if let Some(to) = to.first_chunk_mut() {
                *to = low;
            }
            if let Some(to) = to.last_chunk_mut() {
                *to = high;
            }
        }
    }
}

/// Copies every `step`th number of a row, from the first on.
#[inline(always)]
pub(crate) fn take_every<T: Float>(step: usize, row: &[T], to: &mut [T]) {
    let n = row.len().div_ceil(step);
    let to = &mut to[..n];
    match (step, n) {
        // Short rows without a call.
        (1, 16..=32) => ends::<T, 16>(row, to),
        (1, 8..16) => ends::<T, 8>(row, to),
        (1, 4..8) => ends::<T, 4>(row, to),
        (1, _) => to.copy_from_slice(row),
        (2, 16..) => halve::<T, 16>(row, to),
        (2, 8..) => halve::<T, 8>(row, to),
        (2, 4..) => halve::<T, 4>(row, to),
        _ => {
            let every = row.iter().step_by(step);
            to.iter_mut().zip(every).for_each(|(o, &v)| *o = v);
        }
    }
}

/// Copies every second number of a row, for `N` results or more, in pieces of which the last one ends with
/// the row.
#[inline(always)]
fn halve<T: Float, const N: usize>(row: &[T], to: &mut [T]) {
    let n = to.len();
    let mut piece = |at: usize| {
        let from = &row[2 * at..][..2 * N - 1];
        if let (Some(low), Some(high), Some(to)) = (
            from.first_chunk::<N>(),
            from.last_chunk::<N>(),
            to[at..].first_chunk_mut::<N>(),
        ) {
            *to = std::array::from_fn(|i| {
                if 2 * i < N {
                    low[2 * i]
                } else {
                    high[2 * i + 1 - N]
                }
            });
        }
    };
    let mut at = 0;
    while at + N <= n {
        piece(at);
        at += N;
    }
    if at < n {
        piece(n - N);
    }
}
