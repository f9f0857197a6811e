//! Innermost loops that read a convolution's field where it lies. In the product, a vector holds
//! neighbouring positions, which every tap reads at its own distance; in the sums of the weights'
//! gradient, a vector holds filters, and the numbers that taps read are broadcast. Nothing is
//! gathered, and the tile stays in registers over all taps or positions of a block.

use super::field::Run;
use super::lines::Planewise;
use super::tiles::{self, Loop};
use crate::linalg::ends::End;
use crate::linalg::lanes::{Lanes, Places};
use crate::linalg::plain::Plain;
use crate::math::real::Real;
use crate::simd::vector::{Level, level};

/// Most rows of a tile, on any CPU.
const MOST_ROWS: usize = 12;

/// Tiles of products whose columns are gathered, by the number of rows: for panels, and for the first vectors
/// of panels.
pub(crate) type TileLoops<T> = [&'static [Loop<T>; MOST_ROWS]; 2];

/// `taps, a, b of both vectors, places of both in memory`.
type ProductLoop<T> = unsafe fn(&[usize], *const T, [*const T; 2], Tile<'_, T>);
/// `runs, taps, distance between positions, x, b, sums`.
type SumsLoop<T> = unsafe fn(&[Run], &[usize], usize, *const T, *const T, Sums<T>);

/// The loops for this CPU.
pub(crate) struct Loops<T: Real + 'static> {
    /// Numbers in a vector.
    pub(crate) lanes: usize,
    product: &'static [ProductLoop<T>; MOST_ROWS],
    pub(crate) tiles: TileLoops<T>,
    /// For tiles of one and of two vectors.
    sums: [&'static [SumsLoop<T>; MOST_ROWS]; 2],
}

/// Types that there are loops for.
pub(crate) trait Direct: Planewise {
    /// The loops for this CPU.
    fn loops() -> Loops<Self>;
}

/// Where taps read, from the place of a position.
#[derive(Clone, Copy)]
pub(crate) struct Taps<'a> {
    places: &'a [usize],
    furthest: usize,
}

impl<'a> Taps<'a> {
    pub(crate) fn new(places: &'a [usize]) -> Self {
        let furthest = places.iter().copied().max().unwrap_or(0);
        Taps { places, furthest }
    }
}

/// A tile of the result, in memory.
#[derive(Clone, Copy)]
pub(crate) struct Tile<'a, T: Real> {
    /// Where rows begin.
    pub(crate) c: *mut T,
    /// Where both vectors are in a row.
    pub(crate) at: [usize; 2],
    /// Distance between rows.
    pub(crate) stride: usize,
    /// Whether the tile is overwritten; otherwise it is added to.
    pub(crate) fresh: bool,
    /// What becomes of the sums, if this is the end of them.
    pub(crate) end: Option<&'a End<T>>,
}

/// Where a tile of sums goes, with the distance between its rows.
#[derive(Clone, Copy)]
pub(crate) struct Sums<T> {
    pub(crate) to: *mut T,
    pub(crate) stride: usize,
    /// Whether what is there is overwritten; otherwise it is added to.
    pub(crate) fresh: bool,
}

impl<T: Direct> Loops<T> {
    /// A tile of `n` rows by two vectors: row `r` is the sum over `taps` of `a[k * n + r]` times
    /// the vectors at `starts` plus the tap in `x`.
    ///
    /// # Safety
    /// The vectors of the tile can be read and written, and nobody else uses them meanwhile. What its end
    /// names can be read.
    ///
    /// # Panics
    /// Slices that are too short, which is a fault of the caller.
    pub(crate) unsafe fn product(
        &self,
        n: usize,
        (x, starts, taps): (&[T], [usize; 2], Taps<'_>),
        a: &[T],
        tile: Tile<'_, T>,
    ) {
        let last = starts[0].max(starts[1]) + taps.furthest + self.lanes;
        let taps = taps.places;
        assert!(n >= 1 && last <= x.len() && a.len() >= n * taps.len());
        let b = starts.map(|s| x[s..].as_ptr());
        // SAFETY: the table is for this CPU; the lengths were checked here and by the caller.
        unsafe { self.product[n - 1](taps, a.as_ptr(), b, tile) };
    }

    /// A tile of one row per tap, and of `vectors` vectors: the sum over the positions of
    /// `runs` of what the tap reads in `x` times the row of `b` of the position.
    ///
    /// # Safety
    /// The rows of the tile can be read and written, and nobody else uses them meanwhile.
    ///
    /// # Panics
    /// As [`Loops::product`].
    pub(crate) unsafe fn sums(
        &self,
        vectors: usize,
        (x, taps, step): (&[T], Taps<'_>, usize),
        (b, runs): (&[T], &[Run]),
        sums: Sums<T>,
    ) {
        let width = vectors * self.lanes;
        let (furthest, taps) = (taps.furthest, taps.places);
        for run in runs {
            assert!(run.len == 0 || run.source + furthest + (run.len - 1) * step < x.len());
            assert!((run.at + run.len) * width <= b.len());
        }
        assert!(!taps.is_empty());
        let table = self.sums[vectors - 1];
        let (x, b) = (x.as_ptr(), b.as_ptr());
        // SAFETY: the table is for this CPU; the lengths were checked here and by the caller.
        unsafe { table[taps.len() - 1](runs, taps, step, x, b, sums) };
    }
}

/// # Safety
/// The CPU has the instructions of `V`; the memory is as [`Loops::product`] checks it.
#[inline(always)]
unsafe fn product<T: Real, V: Places<T>, const N: usize>(
    taps: &[usize],
    a: *const T,
    b: [*const T; 2],
    tile: Tile<'_, T>,
) {
    // SAFETY: the caller vouches for the CPU and the memory.
    unsafe {
        let mut acc = [[V::zero(); 2]; N];
        if !tile.fresh {
            for (r, acc) in acc.iter_mut().enumerate() {
                let c = tile.c.add(r * tile.stride);
                *acc = [V::load(c.add(tile.at[0])), V::load(c.add(tile.at[1]))];
            }
        }
        multiply(taps, a, b, &mut acc);
        finish(acc, &tile);
    }
}

/// Adds the products of all taps. Apart from what becomes of the sums: the compiler keeps them in memory
/// otherwise, for many rows.
///
/// # Safety
/// As [`product`].
#[inline(always)]
unsafe fn multiply<T: Real, V: Lanes<T>, const N: usize>(
    taps: &[usize],
    a: *const T,
    b: [*const T; 2],
    acc: &mut [[V; 2]; N],
) {
    for (k, &tap) in taps.iter().enumerate() {
        // SAFETY: as the caller vouches.
        unsafe {
            let b = [V::load(b[0].add(tap)), V::load(b[1].add(tap))];
            let a = a.add(k * N);
            for (r, acc) in acc.iter_mut().enumerate() {
                let x = V::splat(*a.add(r));
                *acc = [acc[0].fma(x, b[0]), acc[1].fma(x, b[1])];
            }
        }
    }
}

/// Writes the sums.
///
/// # Safety
/// As [`product`].
#[inline(always)]
unsafe fn finish<T: Real, V: Places<T>, const N: usize>(mut acc: [[V; 2]; N], tile: &Tile<'_, T>) {
    // SAFETY: as the caller vouches.
    unsafe {
        if let Some(end) = tile.end {
            for (r, acc) in acc.iter_mut().enumerate() {
                *acc = end.of(*acc, r, tile.at, tile.stride);
            }
        }
        for (r, acc) in acc.iter().enumerate() {
            let c = tile.c.add(r * tile.stride);
            acc[0].store(c.add(tile.at[0]));
            acc[1].store(c.add(tile.at[1]));
        }
    }
}

/// # Safety
/// The CPU has the instructions of `V`; there are `N` taps; the memory is as [`Loops::sums`]
/// checks it.
#[inline(always)]
unsafe fn sums<T: Real, V: Lanes<T>, const N: usize, const W: usize>(
    runs: &[Run],
    taps: &[usize],
    step: usize,
    x: *const T,
    b: *const T,
    sums: Sums<T>,
) {
    // SAFETY: the caller vouches for the CPU and the memory.
    unsafe {
        let mut acc = [[V::zero(); W]; N];
        for run in runs {
            let x: [*const T; N] = std::array::from_fn(|r| x.add(run.source + taps[r]));
            let b = b.add(run.at * W * V::N);
            for k in 0..run.len {
                let b = b.add(k * W * V::N);
                let b: [V; W] = std::array::from_fn(|j| V::load(b.add(j * V::N)));
                for (acc, x) in acc.iter_mut().zip(&x) {
                    let x = V::splat(*x.add(k * step));
                    for (acc, &b) in acc.iter_mut().zip(&b) {
                        *acc = acc.fma(x, b);
                    }
                }
            }
        }
        for (r, acc) in acc.iter().enumerate() {
            for (j, &acc) in acc.iter().enumerate() {
                let to = sums.to.add(r * sums.stride + j * V::N);
                let sum = if sums.fresh {
                    acc
                } else {
                    V::load(to).add(acc)
                };
                sum.store(to);
            }
        }
    }
}

/// The loops compiled for one level of vector instructions.
macro_rules! compiled_for {
    ($($name:ident: $features:literal),*) => {$(
        #[cfg(target_arch = "x86_64")]
        mod $name {
            use super::super::tiles::Factors;
            use super::{Lanes, Places, Real, Run, Sums, Tile, tiles};

            /// # Safety
            /// As the loop of this name outside.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn tile<T: Real, V: Places<T>, const N: usize, const W: usize>(
                factors: &Factors<T>,
                tile: &tiles::Tile<'_, T>,
            ) {
                // SAFETY: as the caller vouches.
                unsafe { tiles::product::<T, V, N, W>(factors, tile) }
            }

            /// # Safety
            /// As the loop of this name outside.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn product<T: Real, V: Places<T>, const N: usize>(
                taps: &[usize],
                a: *const T,
                b: [*const T; 2],
                tile: Tile<'_, T>,
            ) {
                // SAFETY: as the caller vouches.
                unsafe { super::product::<T, V, N>(taps, a, b, tile) }
            }

            /// # Safety
            /// As the loop of this name outside.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn sums<T: Real, V: Lanes<T>, const N: usize, const W: usize>(
                runs: &[Run],
                taps: &[usize],
                step: usize,
                x: *const T,
                b: *const T,
                sums: Sums<T>,
            ) {
                // SAFETY: as the caller vouches.
                unsafe { super::sums::<T, V, N, W>(runs, taps, step, x, b, sums) }
            }
        }
    )*};
}
compiled_for!(v4: "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma", v3: "avx2,fma");

macro_rules! table {
    ($loop:path, $t:ty, $v:ty $(, $w:literal)?) => {
        table!(@ [1 2 3 4 5 6 7 8 9 10 11 12] $loop, $t, $v $(, $w)?)
    };
    (@ [$($n:literal)*] $loop:path, $t:ty, $v:ty) => {
        &[$({ use $loop as f; f::<$t, $v, $n> }),*]
    };
    (@ [$($n:literal)*] $loop:path, $t:ty, $v:ty, $w:literal) => {
        &[$({ use $loop as f; f::<$t, $v, $n, $w> }),*]
    };
}

macro_rules! loops {
    ($t:ty, $v:ty, $product:path, $tile:path, $sums:path) => {
        Loops {
            lanes: <$v as Lanes<$t>>::N,
            product: table!($product, $t, $v),
            tiles: [table!($tile, $t, $v, 2), table!($tile, $t, $v, 1)],
            sums: [table!($sums, $t, $v, 1), table!($sums, $t, $v, 2)],
        }
    };
}

macro_rules! direct {
    ($($t:ty: $v4:ident, $v3:ident, $lanes:literal);*) => {$(
        impl Direct for $t {
            fn loops() -> Loops<$t> {
                match level() {
                    #[cfg(target_arch = "x86_64")]
                    Level::V4 => loops!($t, std::arch::x86_64::$v4, self::v4::product, self::v4::tile, self::v4::sums),
                    #[cfg(target_arch = "x86_64")]
                    Level::V3 => loops!($t, std::arch::x86_64::$v3, self::v3::product, self::v3::tile, self::v3::sums),
                    Level::Base => loops!($t, Plain<$t, $lanes>, self::product, tiles::product, self::sums),
                }
            }
        }
    )*};
}
direct!(f32: __m512, __m256, 4; f64: __m512d, __m256d, 2);
