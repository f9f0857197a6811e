//! Loops over single blocks, and the trees that join their results.

use super::{Fold, GROUP};
use crate::simd::body::{LONG_ROW, PIECE};
use crate::simd::number::Number;
use crate::simd::vector::versions;

/// Joins the halves of `x`.
#[inline(always)]
fn halve<C: Copy, const N: usize, const M: usize>(x: [C; N], join: impl Fn(C, C) -> C) -> [C; M] {
    std::array::from_fn(|i| join(x[i], x[i + M]))
}

/// Adds chunks of L elements to so many lanes; what is left over.
#[inline(always)]
fn add_chunks<'a, S: Copy, C: Copy, const L: usize>(
    x: &'a [S],
    lanes: &mut [C; L],
    lift: impl Fn(S) -> C,
    join: impl Fn(C, C) -> C,
) -> &'a [S] {
    let chunks = x.chunks_exact(L);
    let rest = chunks.remainder();
    for chunk in chunks {
        for i in 0..L {
            lanes[i] = join(lanes[i], lift(chunk[i]));
        }
    }
    rest
}

/// Folds a block: by 256 bytes of lanes, so many that none waits for its last addition, and so few that
/// they stay in registers; then by 16, then one by one. Part of loops that are compiled for each level.
#[inline(always)]
pub(crate) fn lanes_of<S: Copy, C: Copy>(
    x: &[S],
    start: C,
    lift: impl Fn(S) -> C,
    join: impl Fn(C, C) -> C,
) -> C {
    let (rest, mut sixteen): (_, [C; 16]) = if x.len() < 256 / size_of::<C>().max(4) {
        // No lane but would start and end as it is.
        (x, [start; 16])
    } else if size_of::<C>() > 4 {
        let mut lanes = [start; 32];
        let rest = add_chunks(x, &mut lanes, &lift, &join);
        (rest, halve(lanes, &join))
    } else {
        let mut lanes = [start; 64];
        let rest = add_chunks(x, &mut lanes, &lift, &join);
        (rest, halve(halve::<C, 64, 32>(lanes, &join), &join))
    };
    let rest = add_chunks(rest, &mut sixteen, &lift, &join);
    let eight: [C; 8] = halve(sixteen, &join);
    let four: [C; 4] = halve(eight, &join);
    let [a, b] = halve(four, &join);
    rest.iter().fold(join(a, b), |a, &x| join(a, lift(x)))
}

/// Whether there is NaN, or an infinity. Times zero, all other numbers are zero.
#[inline(always)]
fn is_strange<S: Copy, C: Number>(x: &[S], lift: impl Fn(S) -> C) -> bool {
    let zero = |x| lift(x).times(C::ZERO);
    let (mut lanes, mut sixteen) = ([C::ZERO; 32], [C::ZERO; 16]);
    let rest = add_chunks(x, &mut lanes, zero, |a, b| a.plus(b));
    let rest = add_chunks(rest, &mut sixteen, zero, |a, b| a.plus(b));
    let any = |any, &x: &C| any | (x != C::ZERO);
    let found = sixteen.iter().fold(lanes.iter().fold(false, any), any);
    rest.iter()
        .fold(found, |any, &x| any | (zero(x) != C::ZERO))
}

/// Folds a block, whose elements `up` converts.
#[inline(always)]
fn fold_block<S: Copy, C: Number, F: Fold<C>>(x: &[S], up: impl Fn(S) -> C + Copy, f: F) -> C {
    let lift = |x| f.lift(up(x));
    let quick = lanes_of(x, f.start(), lift, |a, b| f.quick(a, b));
    // Integers have neither.
    if F::SKIPS_NAN && C::ZERO.over(C::ZERO).is_nan() && is_strange(x, lift) {
        return exactly(x, up, f);
    }
    quick
}

/// Joins one after the other.
#[cold]
#[inline(never)]
fn exactly<S: Copy, C: Number, F: Fold<C>>(x: &[S], up: impl Fn(S) -> C, f: F) -> C {
    x.iter().fold(f.start(), |a, &x| f.join(a, f.lift(up(x))))
}

versions! {
    /// Folds one block.
    pub(crate) fn block[C: Number, F: Fold<C>](x: &[C], f: F) -> C [C, F] {
        fold_block(x, |x| x, f)
    }
}

/// [`block`] inside of loops that are compiled for each level.
#[inline(always)]
pub(crate) fn inner_block<C: Number, F: Fold<C>>(x: &[C], f: F) -> C {
    fold_block(x, |x| x, f)
}

/// Rows of `n` elements, at most a block, that are `step` elements apart. Whoever makes them vouches
/// that they are there, unchanged, for as long as they are read.
#[derive(Clone, Copy)]
pub(crate) struct Rows<S> {
    pub(crate) first: *const S,
    pub(crate) step: isize,
    pub(crate) n: usize,
}

impl<S> Rows<S> {
    #[inline(always)]
    pub(crate) fn get<'a>(&self, i: usize) -> &'a [S] {
        let place = self.first.wrapping_offset(i as isize * self.step);
        // SAFETY: as the maker of the rows vouches.
        unsafe { std::slice::from_raw_parts(place, self.n) }
    }
}

versions! {
    /// Folds each row to an element.
    pub(super) fn each_row[C: Number, F: Fold<C>](rows: Rows<C>, out: &mut [C], f: F) [C, F] {
        for (i, out) in out.iter_mut().enumerate() {
            *out = fold_block(rows.get(i), |x| x, f);
        }
    }
}

versions! {
    /// The same for rows of another precision.
    pub(super) fn each_short_row[C: Number, F: Fold<C>](
        rows: Rows<f32>, out: &mut [C], f: F,
    ) [C, F] {
        for (i, out) in out.iter_mut().enumerate() {
            let row = rows.get(i);
            *out = match f.in_short(row) {
                Some(quick) => quick,
                None => fold_block(row, |x| C::from_f32(x), f),
            };
        }
    }
}

/// Joins the GROUP rows at `rows` in pairs, and the result to `acc`.
#[inline(always)]
fn add_group<C: Number, F: Fold<C>>(acc: &mut [C], rows: [&[C]; GROUP], f: F) {
    let n = acc.len();
    let rows = rows.map(|row| &row[..n]);
    let sum = |so_far: C, x: [C; GROUP]| {
        let x = x.map(|x| f.lift(x));
        let [a, b, c, d] = std::array::from_fn(|j| f.join(x[2 * j], x[2 * j + 1]));
        f.join(so_far, f.join(f.join(a, b), f.join(c, d)))
    };
    let mut done = 0;
    if (PIECE..LONG_ROW).contains(&n) {
        // In pieces: of these the compiler need not find out whether rows overlap.
        let pieces = rows.map(|row| row.as_chunks::<PIECE>().0);
        let (out, _) = acc.as_chunks_mut::<PIECE>();
        done = out.len() * PIECE;
        for (i, out) in out.iter_mut().enumerate() {
            let x = pieces.map(|row| row[i]);
            *out = std::array::from_fn(|j| sum(out[j], x.map(|row| row[j])));
        }
    }
    for i in done..n {
        acc[i] = sum(acc[i], rows.map(|row| row[i]));
    }
}

versions! {
    /// Joins `count` rows to `acc`, in groups as long as there are enough. `row(i)` is row `i`, which
    /// stays until the group is over.
    pub(super) fn add_rows['a, C: Number, R: FnMut(usize) -> &'a [C], F: Fold<C>](
        acc: &mut [C], count: usize, row: R, f: F,
    ) [C, R, F] {
        let mut row = row;
        let whole = count / GROUP * GROUP;
        for first in (0..whole).step_by(GROUP) {
            add_group(acc, std::array::from_fn(|i| row(first + i)), f);
        }
        for i in whole..count {
            for (a, &x) in acc.iter_mut().zip(row(i)) {
                *a = f.join(*a, f.lift(x));
            }
        }
    }
}

versions! {
    pub(super) fn merge[C: Number, F: Fold<C>](acc: &mut [C], other: &[C], f: F) [C, F] {
        for (a, &x) in acc.iter_mut().zip(other) {
            *a = f.join(*a, x);
        }
    }
}

/// Partial results of consecutive blocks, joined like the digits of a binary counter.
pub(super) struct Tree<C> {
    levels: Vec<(usize, Vec<C>)>,
}

impl<C: Number> Tree<C> {
    pub(super) const fn new() -> Self {
        Tree { levels: Vec::new() }
    }

    pub(super) fn push<F: Fold<C>>(&mut self, mut part: Vec<C>, f: F) {
        let mut height = 0;
        while let Some((_, mut left)) = self.levels.pop_if(|top| top.0 == height) {
            merge(&mut left, &part, f);
            part = left;
            height += 1;
        }
        self.levels.push((height, part));
    }

    pub(super) fn finish<F: Fold<C>>(mut self, f: F) -> Option<Vec<C>> {
        let mut part = self.levels.pop()?.1;
        while let Some((_, mut left)) = self.levels.pop() {
            merge(&mut left, &part, f);
            part = left;
        }
        Some(part)
    }
}

/// The same for single values, without allocation: level `i` of 64 holds 2^i blocks.
pub(super) struct Ladder<C> {
    levels: [C; 64],
    blocks: u64,
}

impl<C: Number> Ladder<C> {
    pub(super) fn new() -> Self {
        Ladder {
            levels: [C::ZERO; 64],
            blocks: 0,
        }
    }

    pub(super) fn push<F: Fold<C>>(&mut self, mut part: C, f: F) {
        let height = self.blocks.trailing_ones() as usize;
        for &left in &self.levels[..height] {
            part = f.join(left, part);
        }
        self.levels[height] = part;
        self.blocks += 1;
    }

    pub(super) fn finish<F: Fold<C>>(&self, f: F) -> C {
        let mut set = (0..64).filter(|i| self.blocks >> i & 1 == 1);
        let Some(first) = set.next() else {
            return f.start();
        };
        set.fold(self.levels[first], |part, i| f.join(self.levels[i], part))
    }
}
