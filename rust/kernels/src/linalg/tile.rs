//! Register tiles of matrix products: the innermost loops of convolutions. A tile is a few rows of
//! `C` by one or two vector registers of columns; `B` comes in panels of that width, `A` in panels
//! of the tile's rows. The scheme is that of Goto and van de Geijn,
//! "Anatomy of high-performance matrix multiplication" (ACM TOMS, 2008).

use crate::blocks::aligned::Aligned;
use crate::blocks::raw::fetch_lines;
use crate::linalg::lanes::Lanes;
#[cfg(target_arch = "x86_64")]
use crate::linalg::pairs;
use crate::linalg::plain::Plain;
use crate::math::real::Real;
use crate::simd::vector::{Level, level};
use std::cell::RefCell;

/// Most rows of a tile, on any CPU.
const MOST_ROWS: usize = 12;

/// Tiles of rows that a task takes at once, but for wide ones.
const TOGETHER: usize = 4;

/// Rows of `B` that the first-level cache is told of before they are multiplied. They come from the second-level one
/// meanwhile, also where another thread of the core keeps the first-level one busy.
pub(crate) const AHEAD: usize = 8;

/// Rows whose elements are next to each other, and the distance between rows.
type Rows<'a, T> = (&'a [T], usize);

/// `depth, a, b, c, distance between rows of c, what the sums begin with`. `b` has the distance between its
/// rows with it, and so has the `a` of a matrix `A` that is not packed; sums begin with zeros where there is
/// no address.
type Micro<T, A = *const T> = unsafe fn(usize, A, Lines<T>, *mut T, usize, Lines<T>);

/// A matrix as it lies: its first element and the distance between rows, whose elements are next
/// to each other.
pub(crate) type Lines<T> = (*const T, usize);

/// What sums begin with that are new, or added to what is at `c`.
fn begin<T>(fresh: bool, (c, c_stride): (*mut T, usize)) -> Lines<T> {
    if fresh {
        (std::ptr::null(), 0)
    } else {
        (c.cast_const(), c_stride)
    }
}

/// The tile loops for this CPU.
#[derive(Clone, Copy)]
pub(crate) struct Tiles<T: 'static> {
    /// Columns of a tile.
    pub(crate) width: usize,
    /// Most rows of a tile.
    pub(crate) most_rows: usize,
    /// Tiles of rows that a task takes at once.
    pub(crate) together: usize,
    panels: &'static [Micro<T>; MOST_ROWS],
    lines: &'static [Micro<T, Lines<T>>; MOST_ROWS],
}

/// Types that there are tiles for.
pub(crate) trait Tiled: Real {
    /// Tiles of two vectors of columns.
    fn tiles() -> Tiles<Self>;
    /// Tiles of one vector of columns.
    fn narrow_tiles() -> Tiles<Self>;
    /// Tiles of four vectors of columns, where there are registers for them.
    fn wide_tiles() -> Option<Tiles<Self>>;
    /// Tiles for a matrix of so many columns. The wider they are, the fewer numbers are read for each product, and
    /// the fewer tasks there are.
    fn tiles_for(columns: usize) -> Tiles<Self> {
        let many = |width: usize| columns.is_multiple_of(width) && columns >= FEWEST * width;
        match Self::wide_tiles() {
            Some(wide) if many(wide.width) => wide,
            _ => Self::tiles(),
        }
    }
    /// So many numbers of any value, or more: memory that this thread gave back, where it has some.
    fn borrow_room(size: usize) -> Aligned<Self>;
    /// Gives it back; what is large goes back to the system.
    fn return_room(room: Aligned<Self>);
}

/// Wide tiles that a matrix has across, at least.
const FEWEST: usize = 4;

/// Most numbers of a room, and rooms, that a thread keeps.
pub(crate) const ROOM: usize = 1 << 19;
const ROOMS: usize = 2;

impl<T: Tiled> Tiles<T> {
    /// A tile of `n` rows with `A` as a panel, element `(r, k)` at `k * n + r`, for `(depth, a, b)` and rows at
    /// `c` that are `c_stride` apart, with what the sums begin with.
    ///
    /// # Safety
    /// The columns of the tile can be read and written in `n` rows at `c`, and nobody else uses them
    /// meanwhile. What the sums begin with can be read.
    ///
    /// # Panics
    /// Slices that are too short, which is a fault of the caller.
    #[inline]
    pub(crate) unsafe fn panels_from(
        &self,
        n: usize,
        (depth, a, b): (usize, &[T], &[T]),
        (c, c_stride): (*mut T, usize),
        start: Lines<T>,
    ) {
        assert!(n >= 1 && a.len() >= depth * n && b.len() >= depth * self.width);
        // SAFETY: the table is for this CPU; the lengths were checked here and by the caller.
        unsafe {
            let b = (b.as_ptr(), self.width);
            self.panels[n - 1](depth, a.as_ptr(), b, c, c_stride, start);
        }
    }

    /// As [`Tiles::panels_from`], for rows of `A` that lie `a_stride` apart, and rows of `B` so far apart; the
    /// sums are `fresh`, or added to `c`.
    ///
    /// # Safety
    /// As [`Tiles::panels_from`].
    ///
    /// # Panics
    /// As [`Tiles::panels_from`].
    pub(crate) unsafe fn lines_at(
        &self,
        n: usize,
        operands: (usize, Rows<'_, T>, Rows<'_, T>),
        c: (*mut T, usize),
        fresh: bool,
    ) {
        // SAFETY: as the caller vouches.
        unsafe { self.lines_from(n, operands, c, begin(fresh, c)) };
    }

    /// As [`Tiles::lines_at`], with what the sums begin with.
    ///
    /// # Safety
    /// As [`Tiles::panels_from`]; what the sums begin with can be read.
    ///
    /// # Panics
    /// As [`Tiles::panels_from`].
    #[inline]
    pub(crate) unsafe fn lines_from(
        &self,
        n: usize,
        (depth, (a, a_stride), (b, b_stride)): (usize, Rows<'_, T>, Rows<'_, T>),
        (c, c_stride): (*mut T, usize),
        start: Lines<T>,
    ) {
        assert!(n >= 1 && a.len() >= (n - 1) * a_stride + depth);
        assert!(depth == 0 || b.len() >= (depth - 1) * b_stride + self.width);
        let (a, b) = ((a.as_ptr(), a_stride), (b.as_ptr(), b_stride));
        // SAFETY: the table is for this CPU; the lengths were checked here and by the caller.
        unsafe { self.lines[n - 1](depth, a, b, c, c_stride, start) };
    }
}

/// How a tile reads `A`.
trait Left<T>: Copy {
    /// Element `r` of `N` rows in column `k`.
    ///
    /// # Safety
    /// It can be read.
    unsafe fn at<const N: usize>(self, r: usize, k: usize) -> T;
}

impl<T: Copy> Left<T> for *const T {
    #[inline(always)]
    unsafe fn at<const N: usize>(self, r: usize, k: usize) -> T {
        // SAFETY: as the caller vouches.
        unsafe { *self.add(k * N + r) }
    }
}

impl<T: Copy> Left<T> for Lines<T> {
    #[inline(always)]
    unsafe fn at<const N: usize>(self, r: usize, k: usize) -> T {
        // SAFETY: as the caller vouches.
        unsafe { *self.0.add(r * self.1 + k) }
    }
}

/// # Safety
/// The CPU has the instructions of `V`; the memory is as [`Tiles::panels_from`] checks it.
#[inline(always)]
unsafe fn body<T: Real, V: Lanes<T>, A: Left<T>, const N: usize, const W: usize>(
    depth: usize,
    a: A,
    (b, b_stride): Lines<T>,
    c: *mut T,
    c_stride: usize,
    start: Lines<T>,
) {
    // SAFETY: the caller vouches for the CPU and the memory.
    unsafe {
        let mut acc = [[V::zero(); W]; N];
        if !start.0.is_null() {
            for (r, acc) in acc.iter_mut().enumerate() {
                let row = start.0.add(r * start.1);
                *acc = std::array::from_fn(|j| V::load(row.add(j * V::N)));
            }
        }
        for k in 0..depth {
            let b = b.add(k * b_stride);
            fetch_lines(b.wrapping_add(AHEAD * b_stride), W * V::N);
            let b: [V; W] = std::array::from_fn(|j| V::load(b.add(j * V::N)));
            for (r, acc) in acc.iter_mut().enumerate() {
                let x = V::splat(a.at::<N>(r, k));
                for (acc, &b) in acc.iter_mut().zip(&b) {
                    *acc = acc.fma(x, b);
                }
            }
        }
        for (r, acc) in acc.iter().enumerate() {
            let c = c.add(r * c_stride);
            for (j, acc) in acc.iter().enumerate() {
                acc.store(c.add(j * V::N));
            }
        }
    }
}

macro_rules! table {
    ($loop:ident, $t:ty, $v:ty, $a:ty, $w:literal) => {
        &[
            $loop::<$t, $v, $a, 1, $w>,
            $loop::<$t, $v, $a, 2, $w>,
            $loop::<$t, $v, $a, 3, $w>,
            $loop::<$t, $v, $a, 4, $w>,
            $loop::<$t, $v, $a, 5, $w>,
            $loop::<$t, $v, $a, 6, $w>,
            $loop::<$t, $v, $a, 7, $w>,
            $loop::<$t, $v, $a, 8, $w>,
            $loop::<$t, $v, $a, 9, $w>,
            $loop::<$t, $v, $a, 10, $w>,
            $loop::<$t, $v, $a, 11, $w>,
            $loop::<$t, $v, $a, 12, $w>,
        ]
    };
}

macro_rules! compiled_for {
    ($($name:ident: $features:literal),*) => {$(
        /// # Safety
        /// As [`body`].
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $name<T: Real, V: Lanes<T>, A: Left<T>, const N: usize, const W: usize>(
            depth: usize,
            a: A,
            b: Lines<T>,
            c: *mut T,
            c_stride: usize,
            start: Lines<T>,
        ) {
            // SAFETY: as the caller vouches.
            unsafe { body::<T, V, A, N, W>(depth, a, b, c, c_stride, start) }
        }
    )*};
}
compiled_for!(
    v4_pairs: "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma",
    v4: "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma",
    v3: "avx2,fma"
);

/// Tiles of pairs of bfloat16, where this CPU multiplies these; as wide as those of numbers.
pub(crate) fn pair_tiles() -> Option<Tiles<f32>> {
    #[cfg(target_arch = "x86_64")]
    if pairs::there() {
        use pairs::Pairs;
        return Some(Tiles {
            width: 2 * <Pairs as Lanes<f32>>::N,
            most_rows: MOST_ROWS,
            together: TOGETHER,
            panels: table!(v4_pairs, f32, Pairs, *const f32, 2),
            lines: table!(v4_pairs, f32, Pairs, Lines<f32>, 2),
        });
    }
    None
}

macro_rules! tiles {
    ($t:ty, $v4:ident, $v3:ident, $lanes:literal, $w:literal) => {
        match level() {
            #[cfg(target_arch = "x86_64")]
            Level::V4 => Tiles {
                width: $w * <std::arch::x86_64::$v4 as Lanes<$t>>::N,
                most_rows: 12,
                together: TOGETHER,
                panels: table!(v4, $t, std::arch::x86_64::$v4, *const $t, $w),
                lines: table!(v4, $t, std::arch::x86_64::$v4, Lines<$t>, $w),
            },
            #[cfg(target_arch = "x86_64")]
            Level::V3 => Tiles {
                width: $w * <std::arch::x86_64::$v3 as Lanes<$t>>::N,
                most_rows: 6,
                together: TOGETHER,
                panels: table!(v3, $t, std::arch::x86_64::$v3, *const $t, $w),
                lines: table!(v3, $t, std::arch::x86_64::$v3, Lines<$t>, $w),
            },
            Level::Base => Tiles {
                width: $w * $lanes,
                most_rows: 4,
                together: TOGETHER,
                panels: table!(body, $t, Plain<$t, $lanes>, *const $t, $w),
                lines: table!(body, $t, Plain<$t, $lanes>, Lines<$t>, $w),
            },
        }
    };
}

/// Those with registers for 6 rows of four vectors: the last ones of the tables are not asked for.
#[cfg(target_arch = "x86_64")]
macro_rules! wide_table {
    ($t:ty, $v4:ident, $a:ty) => {
        &[
            v4::<$t, $v4, $a, 1, 4>,
            v4::<$t, $v4, $a, 2, 4>,
            v4::<$t, $v4, $a, 3, 4>,
            v4::<$t, $v4, $a, 4, 4>,
            v4::<$t, $v4, $a, 5, 4>,
            v4::<$t, $v4, $a, 6, 4>,
            v4::<$t, $v4, $a, 6, 4>,
            v4::<$t, $v4, $a, 6, 4>,
            v4::<$t, $v4, $a, 6, 4>,
            v4::<$t, $v4, $a, 6, 4>,
            v4::<$t, $v4, $a, 6, 4>,
            v4::<$t, $v4, $a, 6, 4>,
        ]
    };
}

macro_rules! wide {
    ($t:ty, $v4:ident) => {
        match level() {
            #[cfg(target_arch = "x86_64")]
            Level::V4 => {
                use std::arch::x86_64::$v4;
                Some(Tiles {
                    width: 4 * <$v4 as Lanes<$t>>::N,
                    most_rows: 6,
                    together: 8,
                    panels: wide_table!($t, $v4, *const $t),
                    lines: wide_table!($t, $v4, Lines<$t>),
                })
            }
            _ => None,
        }
    };
}

thread_local! {
    static SINGLES: RefCell<Vec<Aligned<f32>>> = const { RefCell::new(Vec::new()) };
    static DOUBLES: RefCell<Vec<Aligned<f64>>> = const { RefCell::new(Vec::new()) };
}

macro_rules! tiled {
    ($($t:ty: $rooms:ident, $v4:ident, $v3:ident, $lanes:literal);*) => {$(
        impl Tiled for $t {
            fn tiles() -> Tiles<$t> {
                tiles!($t, $v4, $v3, $lanes, 2)
            }
            fn narrow_tiles() -> Tiles<$t> {
                tiles!($t, $v4, $v3, $lanes, 1)
            }
            fn wide_tiles() -> Option<Tiles<$t>> {
                wide!($t, $v4)
            }
            fn borrow_room(size: usize) -> Aligned<$t> {
                let kept = $rooms.with(|r| r.borrow_mut().pop());
                let mut room = kept.unwrap_or_default();
                room.reserve(size);
                room
            }
            fn return_room(room: Aligned<$t>) {
                $rooms.with(|r| {
                    let mut kept = r.borrow_mut();
                    if room.capacity() <= ROOM && kept.len() < ROOMS {
                        kept.push(room);
                    }
                });
            }
        }
    )*};
}
tiled!(f32: SINGLES, __m512, __m256, 4; f64: DOUBLES, __m512d, __m256d, 2);

/// Cuts `n` rows into as few tiles as possible, of nearly the same number of rows each; gives the
/// first row and the number of rows.
pub(crate) fn tile_rows(n: usize, most: usize) -> impl Iterator<Item = (usize, usize)> + Clone {
    let tiles = n.div_ceil(most).max(1);
    let (base, longer) = (n / tiles, n % tiles);
    (0..tiles)
        .map(move |i| (i * base + i.min(longer), base + usize::from(i < longer)))
        .filter(|&(_, rows)| rows > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_evenly() {
        let cut = |n| tile_rows(n, 12).collect::<Vec<_>>();
        assert_eq!(cut(0), []);
        assert_eq!(cut(20), [(0, 10), (10, 10)]);
        assert_eq!(cut(25), [(0, 9), (9, 8), (17, 8)]);
    }

    fn check<T: Tiled>(t: Tiles<T>) {
        let width = t.width;
        let number = |i: usize| T::of(((i * 29) % 17) as f64 - 8.0);
        for n in 1..=t.most_rows {
            for (depth, fresh) in [(0, false), (1, true), (7, false), (7, true)] {
                let a: Vec<T> = (0..depth * n).map(number).collect();
                let b: Vec<T> = (0..depth * width).map(|i| number(i + 5)).collect();
                let c_stride = width + 3;
                let start: Vec<T> = (0..n * c_stride).map(|i| number(i + 9)).collect();
                let mut c = start.clone();
                // SAFETY: there are `n` rows of more columns than those of the tile.
                unsafe {
                    let to = (c.as_mut_ptr(), c_stride);
                    t.panels_from(n, (depth, &a, &b), to, begin(fresh, to));
                }
                for (at, (&got, &old)) in c.iter().zip(&start).enumerate() {
                    let (r, j) = (at / c_stride, at % c_stride);
                    let inside = j < width;
                    let mut want = if fresh && inside { T::ZERO } else { old };
                    for k in 0..if inside { depth } else { 0 } {
                        want += a[k * n + r] * b[k * width + j];
                    }
                    assert_eq!(got, want);
                }
            }
        }
    }

    #[test]
    fn tiles_agree_with_the_definition() {
        check(f32::tiles());
        check(f32::narrow_tiles());
        check(f64::tiles());
        check(f64::narrow_tiles());
        f32::wide_tiles().into_iter().for_each(check);
        f64::wide_tiles().into_iter().for_each(check);
    }
}
