//! What the loops over the planes of a channel are made of: sums in lanes, and results written over what
//! they are computed from. Parts of functions that are compiled for each level.

use crate::blocks::sums::joined;
use crate::fold::Rows;
use crate::math::real::Real;

/// Lanes of a sum: a block's fit into registers, of two sums, too.
pub(super) const LANES: usize = 32;
/// Elements that are computed at once, and at the end of a plane.
const STEP: usize = 32;
const SHORT: usize = 8;

/// Zeros, and ones behind them: which of the last elements of a plane were not counted yet.
static LEFT: [u32; 2 * LANES] = {
    let mut ones = [0; 2 * LANES];
    let mut i = LANES;
    while i < 2 * LANES {
        ones[i] = 1;
        i += 1;
    }
    ones
};

/// Adds up rows: `add` adds elements of each input to the lanes of each sum, and `none` are some that
/// add nothing.
#[inline(always)]
pub(super) fn fold<R: Real, const N: usize, const M: usize>(
    rows: [Rows<R>; N],
    count: usize,
    none: [R; N],
    add: impl Fn(&mut [[R; LANES]; M], [[R; LANES]; N]),
) -> [f64; M] {
    let mut lanes = [[R::ZERO; LANES]; M];
    for i in 0..count {
        let row = rows.map(|r| r.get(i));
        let n = row[0].len();
        let whole = n / LANES * LANES;
        for at in (0..whole).step_by(LANES) {
            add(&mut lanes, row.map(|x| chunk(x, at)));
        }
        let mut x = [[R::ZERO; LANES]; N];
        if n == whole {
            continue;
        }
        // One call for each way, so that each has its elements in registers.
        if whole > 0 {
            for (x, (row, none)) in x.iter_mut().zip(row.iter().zip(none)) {
                *x = last(row, n - whole, none);
            }
            add(&mut lanes, x);
        } else {
            for (x, (row, none)) in x.iter_mut().zip(row.iter().zip(none)) {
                *x = [none; LANES];
                x[..n].copy_from_slice(row);
            }
            add(&mut lanes, x);
        }
    }
    lanes.map(|lanes| joined(lanes).f64())
}

#[inline(always)]
fn chunk<T: Copy>(x: &[T], at: usize) -> [T; LANES] {
    let part = &x[at..at + LANES];
    // SAFETY: a slice of this length.
    unsafe { part.as_ptr().cast::<[T; LANES]>().read() }
}

/// The last lanes of a row, of which `left` count and the others are `none`.
#[inline(always)]
fn last<R: Real>(row: &[R], left: usize, none: R) -> [R; LANES] {
    let (counts, x) = (chunk(&LEFT, left), chunk(row, row.len() - LANES));
    let mut y = [none; LANES];
    for i in 0..LANES {
        y[i] = if counts[i] == 0 { none } else { x[i] };
    }
    y
}

/// Computes rows from the last to the first, each from its beginning to its end.
///
/// # Safety
/// As many elements as the rows have, so far apart, are at `to`, and nobody else uses them meanwhile; they
/// may be those of a row, element for element.
#[inline(always)]
pub(super) unsafe fn map<R: Real, const N: usize, const ADD: bool>(
    from: [Rows<R>; N],
    to: *mut R,
    count: usize,
    f: impl Fn([R; N]) -> R,
) {
    let (n, whole) = (from[0].n, from[0].n / STEP * STEP);
    let short = whole + (n - whole) / SHORT * SHORT;
    for i in (0..count).rev() {
        let x = from.map(|rows| rows.first.wrapping_offset(i as isize * rows.step));
        let y = to.wrapping_offset(i as isize * from[0].step);
        // SAFETY: all elements are before `n`; otherwise as the caller vouches.
        unsafe {
            for at in (0..whole).step_by(STEP) {
                step::<R, N, STEP, ADD>(x.map(|x| x.add(at)), y.add(at), &f);
            }
            for at in (whole..short).step_by(SHORT) {
                step::<R, N, SHORT, ADD>(x.map(|x| x.add(at)), y.add(at), &f);
            }
            for at in short..n {
                step::<R, N, 1, ADD>(x.map(|x| x.add(at)), y.add(at), &f);
            }
        }
    }
}

/// Computes `W` elements, all of which are read before one is written.
///
/// # Safety
/// So many are at each address, and nobody else uses those at `y` meanwhile.
#[inline(always)]
unsafe fn step<R: Real, const N: usize, const W: usize, const ADD: bool>(
    x: [*const R; N],
    y: *mut R,
    f: &impl Fn([R; N]) -> R,
) {
    // SAFETY: as the caller vouches.
    let x = x.map(|x| unsafe { x.cast::<[R; W]>().read() });
    let mut out = [R::ZERO; W];
    if ADD {
        // SAFETY: as the caller vouches.
        out = unsafe { y.cast::<[R; W]>().read() };
    }
    for (i, out) in out.iter_mut().enumerate() {
        let mut one = [R::ZERO; N];
        for (one, x) in one.iter_mut().zip(&x) {
            *one = x[i];
        }
        let value = f(one);
        *out = if ADD { *out + value } else { value };
    }
    // SAFETY: as the caller vouches.
    unsafe { y.cast::<[R; W]>().write(out) };
}
