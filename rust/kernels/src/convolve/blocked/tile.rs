//! Register tiles of convolutions whose channels lie in blocks: rows are neighbouring positions, vectors go
//! along filters, and what is multiplied with them is read where it lies.

use crate::blocks::raw::fetch_far;
use crate::linalg::lanes::Lanes;
use crate::simd::vector::{Level, level};

/// Most rows of a tile, on any CPU.
const MOST_ROWS: usize = 14;

/// Numbers of a line of the cache.
pub(super) const LINE: usize = 16;

/// What becomes of the sums of a tile before they go to memory.
#[derive(Clone, Copy)]
pub(super) struct End {
    /// What is added to those of each filter; or null.
    pub(super) shift: *const f32,
    /// What is added to each, which lies as the result does; or null.
    pub(super) addend: *const f32,
    /// Whether what is negative becomes 0.
    pub(super) relu: bool,
}

/// A tile in memory.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    /// What the first row reads for a tap at place 0.
    pub(super) a: *const f32,
    /// The panel of weights, a row for each step of each tap.
    pub(super) b: *const f32,
    /// What the sums begin with, a row for each position; or null.
    pub(super) start: *const f32,
    /// Where unfinished sums go, a row for each position; or null.
    pub(super) sums: *mut f32,
    /// Else where the results of the first position go, and how far on those of the second vector are.
    pub(super) c: (*mut f32, usize),
    pub(super) end: End,
    /// What is multiplied next, of which the cache is told, so many lines of it for each tap.
    pub(super) ahead: (*const f32, usize),
}

/// Computes a tile from what stands at these places.
type Loop = unsafe fn(&[usize], &Tile);

/// The tiles for this CPU of one way to read the data, by rows.
#[derive(Clone, Copy)]
pub(super) struct Tiles {
    /// Filters of a tile.
    pub(super) width: usize,
    /// Most rows.
    pub(super) most_rows: usize,
    loops: &'static [Loop; MOST_ROWS],
}

impl Tiles {
    /// Computes a tile of `n` rows.
    ///
    /// # Safety
    /// What the tile names can be read and written, as far as these rows go, and nobody else uses what it
    /// writes meanwhile.
    #[inline]
    pub(super) unsafe fn run(&self, n: usize, taps: &[usize], tile: &Tile) {
        // SAFETY: the table is for this CPU; the rest as the caller vouches.
        unsafe { self.loops[n - 1](taps, tile) };
    }
}

/// `N` rows by `W` vectors. Rows read what is `STEP` apart, `INNER` neighbours for each tap.
///
/// # Safety
/// As [`Tiles::run`]; the CPU has the instructions of `V`.
#[inline(always)]
unsafe fn body<V, const N: usize, const W: usize, const STEP: usize, const INNER: usize>(
    taps: &[usize],
    tile: &Tile,
) where
    V: Lanes<f32>,
{
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
            let a = tile.a.add(tap);
            for _ in 0..lines {
                fetch_far(ahead, LINE);
                ahead = ahead.wrapping_add(LINE);
            }
            for k in 0..INNER {
                let w: [V; W] = std::array::from_fn(|j| V::load(b.add(j * V::N)));
                for (r, acc) in acc.iter_mut().enumerate() {
                    let x = V::splat(*a.add(r * STEP + k));
                    for (acc, &w) in acc.iter_mut().zip(&w) {
                        *acc = acc.fma(x, w);
                    }
                }
                b = b.add(W * V::N);
            }
        }
        finish::<V, N, W>(acc, tile);
    }
}

/// Writes the sums.
///
/// # Safety
/// As [`body`].
#[inline(always)]
unsafe fn finish<V: Lanes<f32>, const N: usize, const W: usize>(acc: [[V; W]; N], tile: &Tile) {
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
        let End {
            shift,
            addend,
            relu,
        } = tile.end;
        let shifts: [V; W] = match shift.is_null() {
            true => [V::zero(); W],
            false => std::array::from_fn(|j| V::load(shift.add(j * V::N))),
        };
        for (r, acc) in acc.iter().enumerate() {
            for (j, (&acc, &shift)) in acc.iter().zip(&shifts).enumerate() {
                let at = r * super::BLOCK + j * tile.c.1;
                let mut sum = acc.add(shift);
                if !addend.is_null() {
                    sum = sum.add(V::load(addend.add(at)));
                }
                if relu {
                    sum = sum.relu();
                }
                sum.store(tile.c.0.add(at));
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! compiled_for {
    ($($name:ident: $v:ident, $features:literal),*) => {$(
        /// # Safety
        /// As [`body`].
        #[target_feature(enable = $features)]
        unsafe fn $name<const N: usize, const W: usize, const STEP: usize, const INNER: usize>(
            taps: &[usize],
            tile: &Tile,
        ) {
            // SAFETY: as the caller vouches.
            unsafe { body::<std::arch::x86_64::$v, N, W, STEP, INNER>(taps, tile) }
        }
    )*};
}
#[cfg(target_arch = "x86_64")]
compiled_for!(
    v4: __m512, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma",
    v3: __m256, "avx2,fma"
);

#[cfg(target_arch = "x86_64")]
macro_rules! table {
    ($loop:ident, $w:literal, $step:literal, $inner:literal: $($n:literal)*) => {
        &[$($loop::<$n, $w, $step, $inner>),*]
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! tiles {
    ($step:literal, $inner:literal, $narrow:expr) => {
        match (level(), $narrow) {
            (Level::V4, false) => Some(Tiles {
                width: 32,
                most_rows: 14,
                loops: table!(v4, 2, $step, $inner: 1 2 3 4 5 6 7 8 9 10 11 12 13 14),
            }),
            (Level::V4, true) => Some(Tiles {
                width: 16,
                most_rows: 14,
                loops: table!(v4, 1, $step, $inner: 1 2 3 4 5 6 7 8 9 10 11 12 13 14),
            }),
            // More rows than there are registers for are not asked for.
            (Level::V3, _) => Some(Tiles {
                width: 16,
                most_rows: 6,
                loops: table!(v3, 2, $step, $inner: 1 2 3 4 5 6 6 6 6 6 6 6 6 6),
            }),
            (Level::Base, _) => None,
        }
    };
}

/// The tiles for rows that are `step` positions apart: of data in blocks, or of planes. Narrow ones are of one
/// block. None where there are no such.
#[cfg(target_arch = "x86_64")]
pub(super) fn tiles(blocked: bool, step: usize, narrow: bool) -> Option<Tiles> {
    match (blocked, step) {
        (true, 1) => tiles!(16, 16, narrow),
        (true, 2) => tiles!(32, 16, narrow),
        (false, 1) => tiles!(1, 1, narrow),
        (false, 2) => tiles!(2, 1, narrow),
        _ => None,
    }
}

/// There are none.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn tiles(_: bool, _: usize, _: bool) -> Option<Tiles> {
    None
}
