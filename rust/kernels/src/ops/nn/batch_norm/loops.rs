//! What the loops over the planes of a channel are made of: sums in lanes, and results written over what
//! they are computed from. Parts of functions that are compiled for each level.

use crate::blocks::raw::fetch_far;
use crate::blocks::sums::joined;
use crate::fold::Rows;
use crate::math::real::Real;
use std::mem::MaybeUninit;

/// Elements of a block, at most.
pub(super) const BLOCK: usize = 2048;
/// Lanes of a sum: a block's fit into registers, of two sums, too.
pub(super) const LANES: usize = 32;
/// Elements that are computed at once, and of shorter rows.
const STEP: usize = 32;
const SHORT: usize = 8;

/// Adds up rows: `add` adds elements of each input to the lanes of each sum, and `none` are some that
/// add nothing. The ends of rows, which are shorter than the lanes, are put side by side and come last.
/// Unless `ahead` is 0, the second-level cache fetches what lies so many elements behind.
///
/// # Panics
/// Panics if the rows have more elements than a block.
#[inline(always)]
pub(super) fn fold<R: Real, const N: usize, const M: usize>(
    rows: [Rows<R>; N],
    count: usize,
    none: [R; N],
    ahead: usize,
    add: impl Fn(&mut [[R; LANES]; M], [[R; LANES]; N]),
) -> [f64; M] {
    let (n, whole) = (rows[0].n, rows[0].n / LANES * LANES);
    assert!(n * count <= BLOCK && rows.iter().all(|rows| rows.n == n));
    let left = (n - whole) * count;
    let mut ends = [const { Ends::<R>::uninit() }; N];
    if left > 0 {
        for (i, ends) in ends.iter_mut().enumerate() {
            // SAFETY: a block at most, as asserted.
            unsafe { side_by_side(rows[i], count, none[i], ends) };
        }
    }
    let mut lanes = [[R::ZERO; LANES]; M];
    for i in 0..count {
        let row = rows.map(|r| r.get(i));
        for at in (0..whole).step_by(LANES) {
            if ahead > 0 {
                for x in row {
                    fetch_far(x.as_ptr().wrapping_add(at + ahead), LANES);
                }
            }
            add(&mut lanes, row.map(|x| chunk(x, at)));
        }
    }
    for at in (0..left).step_by(LANES) {
        // SAFETY: `side_by_side` wrote `left` elements from there on, and lanes behind them.
        let x = std::array::from_fn(|i| unsafe {
            ends[i]
                .as_ptr()
                .cast::<R>()
                .add(LANES + at)
                .cast::<[R; LANES]>()
                .read()
        });
        add(&mut lanes, x);
    }
    lanes.map(|lanes| joined(lanes).f64())
}

/// Room for the ends of a block's rows, which begin after as many elements as there are lanes.
type Ends<R> = MaybeUninit<[R; LANES + BLOCK + LANES]>;

/// Puts the ends of rows one after the other, and lanes that add nothing behind them.
///
/// # Safety
/// The rows have no more elements than a block.
#[inline(always)]
unsafe fn side_by_side<R: Real>(rows: Rows<R>, count: usize, none: R, ends: &mut Ends<R>) {
    let left = rows.n % LANES;
    // SAFETY: as the caller vouches; there is room for a block, and for lanes before and behind it.
    unsafe {
        let room = ends.as_mut_ptr().cast::<R>();
        let nothing = room.add(LANES + left * count).cast::<[R; LANES]>();
        nothing.write([none; LANES]);
        for i in (0..count).rev() {
            let row = rows.get(i);
            if rows.n > left {
                // With what is before it in the row, where the ends of rows before go next.
                let lanes = room.add(left * (i + 1)).cast::<[R; LANES]>();
                lanes.write(chunk(row, rows.n - LANES));
            } else {
                let end = room.add(LANES + left * i);
                end.copy_from_nonoverlapping(row.as_ptr(), left);
            }
        }
    }
}

#[inline(always)]
fn chunk<T: Copy>(x: &[T], at: usize) -> [T; LANES] {
    let part = &x[at..at + LANES];
    // SAFETY: a slice of this length.
    unsafe { part.as_ptr().cast::<[T; LANES]>().read() }
}

/// Computes rows from the last to the first, each from its beginning to its end. Unless `ahead` is 0, the
/// second-level cache fetches what lies so many elements behind.
///
/// # Safety
/// As many elements as the rows have, so far apart, are at `to`, and nobody else uses them meanwhile; they
/// may be those of a row, element for element.
#[inline(always)]
pub(super) unsafe fn map<R: Real, const N: usize, const ADD: bool>(
    from: [Rows<R>; N],
    to: *mut R,
    count: usize,
    ahead: usize,
    f: impl Fn([R; N]) -> R,
) {
    let (n, whole) = (from[0].n, from[0].n / STEP * STEP);
    for i in (0..count).rev() {
        let x = from.map(|rows| rows.first.wrapping_offset(i as isize * rows.step));
        let y = to.wrapping_offset(i as isize * from[0].step);
        // SAFETY: all elements are before `n`; otherwise as the caller vouches.
        unsafe {
            if whole == 0 {
                short::<R, N, ADD>(x, y, n, &f);
                continue;
            }
            // The last ones, some of which are computed twice, are read before any is written.
            let last = n - STEP;
            let mut end = [R::ZERO; STEP];
            if n > whole {
                end = step::<R, N, STEP, ADD>(x.map(|x| x.add(last)), y.add(last), &f);
            }
            for at in (0..whole).step_by(STEP) {
                if ahead > 0 {
                    for x in x {
                        fetch_far(x.wrapping_add(at + ahead), STEP);
                    }
                }
                let some = step::<R, N, STEP, ADD>(x.map(|x| x.add(at)), y.add(at), &f);
                y.add(at).cast::<[R; STEP]>().write(some);
            }
            if n > whole {
                y.add(last).cast::<[R; STEP]>().write(end);
            }
        }
    }
}

/// Computes a row of less than `STEP` elements.
///
/// # Safety
/// As of [`map`], for one row.
#[inline(always)]
unsafe fn short<R: Real, const N: usize, const ADD: bool>(
    x: [*const R; N],
    y: *mut R,
    n: usize,
    f: &impl Fn([R; N]) -> R,
) {
    let whole = n / SHORT * SHORT;
    // SAFETY: all elements are before `n`; otherwise as the caller vouches.
    unsafe {
        for at in (0..whole).step_by(SHORT) {
            let some = step::<R, N, SHORT, ADD>(x.map(|x| x.add(at)), y.add(at), f);
            y.add(at).cast::<[R; SHORT]>().write(some);
        }
        for at in whole..n {
            let [one] = step::<R, N, 1, ADD>(x.map(|x| x.add(at)), y.add(at), f);
            y.add(at).write(one);
        }
    }
}

/// What `W` elements are to be.
///
/// # Safety
/// So many are at each address, also at `y` with `ADD`, and nobody writes them meanwhile.
#[inline(always)]
unsafe fn step<R: Real, const N: usize, const W: usize, const ADD: bool>(
    x: [*const R; N],
    y: *const R,
    f: &impl Fn([R; N]) -> R,
) -> [R; W] {
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
    out
}
