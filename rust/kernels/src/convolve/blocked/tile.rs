//! Register tiles of convolutions whose channels lie in blocks: rows are neighbouring positions, vectors go
//! along filters, and what is multiplied with them is read where it lies, by words.

use crate::blocks::raw::{fetch_far, fetch_lines};
use crate::linalg::results::Results;
use crate::linalg::tile::AHEAD;
#[cfg(target_arch = "x86_64")]
use crate::linalg::{pairs, pairs::Pairs};
use crate::math::real::Float;
#[cfg(target_arch = "x86_64")]
use crate::simd::vector::{Level, level};
use ferromix_base::bf16;

/// Most rows of a tile, on any CPU.
const MOST_ROWS: usize = 14;

/// Words of a line of the cache.
pub(super) const LINE: usize = 16;

/// What becomes of the sums of a tile before they go to memory.
#[derive(Clone, Copy)]
pub(super) struct End<T> {
    /// What those of each filter are multiplied by; or null.
    pub(super) factor: *const f32,
    /// What is added to them then; or null.
    pub(super) shift: *const f32,
    /// What is added to each, which lies as the result does; or null.
    pub(super) addend: *const T,
    /// Whether what is negative becomes 0.
    pub(super) relu: bool,
}

/// A tile in memory.
#[derive(Clone, Copy)]
pub(super) struct Tile<T> {
    /// What the first row reads for a tap at place 0, which may be outside, and the words that each tap reads, where that is not known
    /// before.
    pub(super) a: (*const f32, usize),
    /// The panel of weights, a row for each step of each tap.
    pub(super) b: *const f32,
    /// What the sums begin with, a row for each position; or null.
    pub(super) start: *const f32,
    /// Where unfinished sums go, a row for each position; or null.
    pub(super) sums: *mut f32,
    /// Else where the results of the first position go, and how far on those of the second vector are.
    pub(super) c: (*mut T, usize),
    pub(super) end: End<T>,
    /// What is multiplied next, of which the cache is told, so many lines of it for each tap.
    pub(super) ahead: (*const f32, usize),
}

/// Computes a tile from what stands at these places.
type Loop<T> = unsafe fn(&[usize], &Tile<T>);

/// The tiles for this CPU of one way to read the data, by rows.
#[derive(Clone, Copy)]
pub(crate) struct Tiles<T: 'static> {
    /// Filters of a tile.
    pub(super) width: usize,
    /// Most rows.
    pub(super) most_rows: usize,
    loops: &'static [Loop<T>; MOST_ROWS],
}

impl<T: Float> Tiles<T> {
    /// Computes a tile of `n` rows.
    ///
    /// # Safety
    /// What the tile names can be read and written, as far as these rows go, and nobody else uses what it
    /// writes meanwhile.
    #[inline]
    pub(super) unsafe fn run(&self, n: usize, taps: &[usize], tile: &Tile<T>) {
        // SAFETY: the table is for this CPU; the rest as the caller vouches.
        unsafe { self.loops[n - 1](taps, tile) };
    }
}

/// `N` rows by `W` vectors. Rows read what is `STEP` words apart, `INNER` neighbours for each tap, or as many as
/// the tile says where that is 0.
///
/// # Safety
/// As [`Tiles::run`]; the CPU has the instructions of `V`.
#[inline(always)]
unsafe fn body<T, V, const N: usize, const W: usize, const STEP: usize, const INNER: usize>(
    taps: &[usize],
    tile: &Tile<T>,
) where
    T: Float<Real = f32>,
    V: Results<T>,
{
    let inner = if INNER > 0 { INNER } else { tile.a.1 };
    // SAFETY: as the caller vouches.
    unsafe {
        let mut acc = [[V::zero(); W]; N];
        if !tile.start.is_null() {
            for (r, acc) in acc.iter_mut().enumerate() {
                let row = tile.start.add(r * W * V::N);
                *acc = std::array::from_fn(|j| V::load(row.add(j * V::N)));
            }
        }
        let (mut b, (mut ahead, lines)) = (tile.b, tile.ahead);
        for &tap in taps {
            let a = tile.a.0.wrapping_add(tap);
            for _ in 0..lines {
                fetch_far(ahead, LINE);
                ahead = ahead.wrapping_add(LINE);
            }
            for k in 0..inner {
                let w: [V; W] = std::array::from_fn(|j| V::load(b.add(j * V::N)));
                fetch_lines(b.wrapping_add(AHEAD * W * V::N), W * V::N);
                for (r, acc) in acc.iter_mut().enumerate() {
                    let x = V::splat(a.add(r * STEP + k).read_unaligned());
                    for (acc, &w) in acc.iter_mut().zip(&w) {
                        *acc = acc.fma(x, w);
                    }
                }
                b = b.add(W * V::N);
            }
        }
        finish::<T, V, N, W>(acc, tile);
    }
}

/// Writes the sums.
///
/// # Safety
/// As [`body`].
#[inline(always)]
unsafe fn finish<T, V, const N: usize, const W: usize>(acc: [[V; W]; N], tile: &Tile<T>)
where
    T: Float<Real = f32>,
    V: Results<T>,
{
    // SAFETY: as the caller vouches.
    unsafe {
        if !tile.sums.is_null() {
            for (r, acc) in acc.iter().enumerate() {
                for (j, acc) in acc.iter().enumerate() {
                    acc.store(tile.sums.add((r * W + j) * V::N));
                }
            }
            return;
        }
        let End { addend, relu, .. } = tile.end;
        let of_filters = |from: *const f32, other: f32| -> [V; W] {
            match from.is_null() {
                true => [V::splat(other); W],
                false => std::array::from_fn(|j| V::load(from.add(j * V::N))),
            }
        };
        let shifts = of_filters(tile.end.shift, 0.0);
        let factors = of_filters(tile.end.factor, 1.0);
        let scaled = !tile.end.factor.is_null();
        for (r, acc) in acc.iter().enumerate() {
            for (j, &(mut sum)) in acc.iter().enumerate() {
                let at = r * super::BLOCK + j * tile.c.1;
                if scaled {
                    sum = sum.mul(factors[j]);
                }
                sum = sum.add(shifts[j]);
                if !addend.is_null() {
                    sum = sum.add(V::read(addend.add(at)));
                }
                if relu {
                    sum = sum.relu();
                }
                sum.write(tile.c.0.add(at));
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! compiled_for {
    ($($name:ident: $v:ty, $t:ty, $features:literal),*) => {$(
        /// # Safety
        /// As [`body`].
        #[target_feature(enable = $features)]
        unsafe fn $name<const N: usize, const W: usize, const STEP: usize, const INNER: usize>(
            taps: &[usize],
            tile: &Tile<$t>,
        ) {
            // SAFETY: as the caller vouches.
            unsafe { body::<$t, $v, N, W, STEP, INNER>(taps, tile) }
        }
    )*};
}
#[cfg(target_arch = "x86_64")]
compiled_for!(
    v4: std::arch::x86_64::__m512, f32, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma",
    v3: std::arch::x86_64::__m256, f32, "avx2,fma",
    in_pairs: Pairs, bf16, "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma"
);

/// The last loops are of as many rows as there are registers for: more are not asked for.
#[cfg(target_arch = "x86_64")]
macro_rules! table {
    ($loop:ident, $width:literal, $w:literal, $step:literal, $inner:literal: $($n:literal)*) => {
        Some(Tiles {
            width: $width,
            most_rows: const { [$($n),*][MOST_ROWS - 1] },
            loops: &[$($loop::<$n, $w, $step, $inner>),*],
        })
    };
}

/// Those with registers for 24 to 28 vectors of sums. The more of them are in a row, the fewer numbers are read for each.
#[cfg(target_arch = "x86_64")]
macro_rules! large {
    ($loop:ident, $step:literal, $inner:literal, $blocks:expr) => {
        match $blocks {
            1 => table!($loop, 16, 1, $step, $inner: 1 2 3 4 5 6 7 8 9 10 11 12 13 14),
            2 => table!($loop, 32, 2, $step, $inner: 1 2 3 4 5 6 7 8 9 10 11 12 13 14),
            4 => table!($loop, 64, 4, $step, $inner: 1 2 3 4 5 6 6 6 6 6 6 6 6 6),
            _ => None,
        }
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! numbers {
    ($step:literal, $inner:literal, $blocks:expr) => {
        match level() {
            Level::V4 => large!(v4, $step, $inner, $blocks),
            Level::V3 if $blocks < 4 => {
                table!(v3, 16, 2, $step, $inner: 1 2 3 4 5 6 6 6 6 6 6 6 6 6)
            }
            _ => None,
        }
    };
}

/// The tiles for rows that are so many words apart, of which each tap reads neighbours: `inner` of them, or as many
/// as the tile says. They are of so many blocks of filters, one, two or four, or of one where there are no registers
/// for two. None where there are no such.
#[cfg(target_arch = "x86_64")]
pub(super) fn tiles(step: usize, inner: usize, blocks: usize) -> Option<Tiles<f32>> {
    match (step, inner) {
        (16, 16) => numbers!(16, 16, blocks),
        (32, 16) => numbers!(32, 16, blocks),
        (1, 1) => numbers!(1, 1, blocks),
        (2, 1) => numbers!(2, 1, blocks),
        _ => None,
    }
}

/// The same of bfloat16, whose words are pairs.
#[cfg(target_arch = "x86_64")]
pub(super) fn pair_tiles(step: usize, inner: usize, blocks: usize) -> Option<Tiles<bf16>> {
    match (step, inner) {
        _ if !pairs::there() => None,
        (8, 8) => large!(in_pairs, 8, 8, blocks),
        (16, 8) => large!(in_pairs, 16, 8, blocks),
        (2, _) => large!(in_pairs, 2, 0, blocks),
        (4, _) => large!(in_pairs, 4, 0, blocks),
        _ => None,
    }
}

/// There are none.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn tiles(_: usize, _: usize, _: usize) -> Option<Tiles<f32>> {
    None
}

/// There are none.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn pair_tiles(_: usize, _: usize, _: usize) -> Option<Tiles<bf16>> {
    None
}
