//! The reduction of every window of a plane, in pieces of a known length: rows are often shorter than
//! what a loop over vectors is compiled for.

use super::geometry::Pool;
use crate::math::real::Real;
use crate::simd::vector::multiversion;

/// How two elements of a window become one.
pub(super) trait Fold {
    /// What a window without elements gives; `least` is the least finite number.
    fn start<R: Real>(least: R) -> R;
    fn fold<R: Real>(a: R, b: R) -> R;
}
pub(super) struct Larger;
pub(super) struct Plus;
impl Fold for Larger {
    #[inline(always)]
    fn start<R: Real>(least: R) -> R {
        least
    }
    #[inline(always)]
    fn fold<R: Real>(a: R, b: R) -> R {
        a.at_least(b)
    }
}
impl Fold for Plus {
    #[inline(always)]
    fn start<R: Real>(_: R) -> R {
        R::ZERO
    }
    #[inline(always)]
    fn fold<R: Real>(a: R, b: R) -> R {
        a + b
    }
}

/// Reduces every window of a plane, one by one where there is no `row`. What is done is a function of its own for planes of one window: in one with
/// the other, the compiler makes calls of the loops over pieces.
pub(super) fn reduce<R: Real, F: Fold>(
    pool: &Pool,
    x: &[R],
    row: &mut [R],
    out: &mut [R],
    fold: (R, &F),
) {
    if pool.is_global() {
        out[0] = reduce_all(x, F::start(fold.0), fold.1);
    } else if row.is_empty() {
        one_by_one::<R, F, 1>(pool, x, out, F::start(fold.0));
    } else {
        reduce_plane(pool, x, row, out, fold);
    }
}

/// Reduces every window of `LANES` planes side by side by itself, of as much of the input as it covers.
pub(super) fn one_by_one<R: Real, F: Fold, const LANES: usize>(
    pool: &Pool,
    x: &[R],
    out: &mut [R],
    start: R,
) {
    let [_, high, wide] = pool.axes;
    for (at, out) in out.chunks_exact_mut(LANES).enumerate() {
        let (line, columns) = (at / wide.output, wide.window(at % wide.output));
        out.fill(start);
        for row in pool.rows(line / high.output, line % high.output) {
            let covered = &x[(row + columns.start) * LANES..(row + columns.end) * LANES];
            for numbers in covered.chunks_exact(LANES) {
                let both = out.iter_mut().zip(numbers);
                both.for_each(|(out, &x)| *out = F::fold(*out, x));
            }
        }
    }
}

multiversion! {
    /// Reduces all numbers, in 16 lanes.
    fn reduce_all<R: Real, F: Fold>(x: &[R], start: R, _fold: &F) -> R {
        all::<R, F, 16>(x, start)
    }
}

multiversion! {
    /// Reduces every window of a plane: first across rows into `row`, which has the width of the input
    /// with its padding and what a window without elements gives on either side; then along that.
    fn reduce_plane<R: Real, F: Fold>(
        pool: &Pool,
        x: &[R],
        row: &mut [R],
        out: &mut [R],
        fold: (R, &F),
    ) {
        let start = F::start(fold.0);
        let [_, high, wide] = pool.axes;
        let mut rows = Vec::new();
        for (line, out) in out.chunks_exact_mut(wide.output).enumerate() {
            rows.clear();
            rows.extend(pool.rows(line / high.output, line % high.output));
            let inner = &mut row[wide.pad..][..wide.input];
            match wide.input {
                16.. => across::<R, F, 16>(x, &rows, start, inner),
                8.. => across::<R, F, 8>(x, &rows, start, inner),
                4.. => across::<R, F, 4>(x, &rows, start, inner),
                _ => across::<R, F, 1>(x, &rows, start, inner),
            }
            let row = &*row;
            match (wide.stride, wide.output) {
                (1, 16..) => along::<R, F, 16, 16>(row, wide.kernel, start, out),
                (1, 8..) => along::<R, F, 8, 8>(row, wide.kernel, start, out),
                (1, 4..) => along::<R, F, 4, 4>(row, wide.kernel, start, out),
                (2, 16..) => along::<R, F, 16, 31>(row, wide.kernel, start, out),
                (2, 8..) => along::<R, F, 8, 15>(row, wide.kernel, start, out),
                (2, 4..) => along::<R, F, 4, 7>(row, wide.kernel, start, out),
                (step, _) => {
                    for (w, out) in out.iter_mut().enumerate() {
                        let window = &row[w * step..][..wide.kernel];
                        *out = window.iter().fold(start, |a, &b| F::fold(a, b));
                    }
                }
            }
        }
    }
}

/// Reduces all numbers: `N` at a time, then in halves.
#[inline(always)]
fn all<R: Real, F: Fold, const N: usize>(x: &[R], start: R) -> R {
    let (pieces, rest) = x.as_chunks::<N>();
    let mut acc = [start; N];
    for piece in pieces {
        acc = std::array::from_fn(|i| F::fold(acc[i], piece[i]));
    }
    for (acc, &x) in acc.iter_mut().zip(rest) {
        *acc = F::fold(*acc, x);
    }
    let mut half = N / 2;
    while half > 0 {
        for i in 0..half {
            acc[i] = F::fold(acc[i], acc[i + half]);
        }
        half /= 2;
    }
    acc[0]
}

/// Where pieces of `N` begin that cover `n`, the last of which ends there.
#[inline(always)]
pub(super) fn pieces<const N: usize>(n: usize) -> impl Iterator<Item = usize> {
    let last = n.saturating_sub(N);
    (0..last).step_by(N).chain((n > 0).then_some(last))
}

/// Reduces the rows of `x` that begin at `rows` to one.
#[inline(always)]
fn across<R: Real, F: Fold, const N: usize>(x: &[R], rows: &[usize], start: R, to: &mut [R]) {
    for at in pieces::<N>(to.len()) {
        let mut acc = [start; N];
        for &row in rows {
            if let Some(from) = x[row + at..].first_chunk::<N>() {
                acc = std::array::from_fn(|i| F::fold(acc[i], from[i]));
            }
        }
        to[at..at + N].copy_from_slice(&acc);
    }
}

/// Reduces windows of `kernel` neighbours, of which `N` begin in the first one of `M` numbers.
#[inline(always)]
fn along<R: Real, F: Fold, const N: usize, const M: usize>(
    row: &[R],
    kernel: usize,
    start: R,
    to: &mut [R],
) {
    let step = (M - 1) / (N - 1);
    for at in pieces::<N>(to.len()) {
        let mut acc = [start; N];
        for tap in 0..kernel {
            if let Some(from) = row[at * step + tap..].first_chunk::<M>() {
                acc = std::array::from_fn(|i| F::fold(acc[i], from[i * step]));
            }
        }
        to[at..at + N].copy_from_slice(&acc);
    }
}
