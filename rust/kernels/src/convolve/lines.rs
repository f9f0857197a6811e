//! Innermost loops over planes that lie in a line: sums over taps, and for each tap the sum over the
//! line.

use super::windows::spread::{Filled, Spread};
use super::windows::{Pair, Plane, Strips, Windows};
use crate::linalg::lanes::{Lanes, Places};
use crate::linalg::plain::Plain;
use crate::linalg::tile::Tiled;
use crate::math::real::Real;
use crate::simd::vector::{Level, level};

/// Vectors of the result that are computed at once.
pub(super) const AT_ONCE: usize = 4;
/// Most numbers of a vector.
pub(super) const LANES: usize = 16;

/// `taps, weights, source, result, vectors`: each result is the sum over taps.
type Product<T> = unsafe fn(&[usize], &[T], *const T, *mut T, usize);
/// `taps, source, head, vectors, sums`: the sums of each tap's numbers times `head`.
type Sums<T> = unsafe fn(&[usize], *const T, *const T, usize, &mut [T]);

/// As [`Windows::run`].
type Read<T> = unsafe fn(&Windows, &Plane<'_, T>);
/// As [`Strips::sums`].
type StripSums<T> = unsafe fn(&Strips, &Pair<T>, &mut [T]);
/// As [`Spread::run`].
type Fill<T> = unsafe fn(&Spread, &Filled<'_, T>);

/// The loops for this CPU.
pub(crate) struct Loops<T> {
    pub(super) lanes: usize,
    pub(super) windows: Read<T>,
    pub(super) product: Product<T>,
    pub(super) sums: Sums<T>,
    pub(super) strip_sums: StripSums<T>,
    pub(super) spread: Fill<T>,
}

/// Types that there are loops for.
pub(crate) trait Planewise: Tiled {
    /// The loops for this CPU.
    fn plane_loops() -> Loops<Self>;
}

/// # Safety
/// The CPU has the instructions of `V`; so many vectors can be read from each tap of `source` on, and
/// written to `out`, rounded up to `AT_ONCE`.
#[inline(always)]
unsafe fn product<T: Real, V: Lanes<T>>(
    taps: &[usize],
    weights: &[T],
    source: *const T,
    out: *mut T,
    vectors: usize,
) {
    for first in (0..vectors).step_by(AT_ONCE) {
        // SAFETY: the caller vouches for the CPU and the memory.
        unsafe {
            let from = source.add(first * V::N);
            let mut acc = [V::zero(); AT_ONCE];
            for (&tap, &w) in taps.iter().zip(weights) {
                let (from, w) = (from.add(tap), V::splat(w));
                for (j, acc) in acc.iter_mut().enumerate() {
                    *acc = acc.fma(w, V::load(from.add(j * V::N)));
                }
            }
            for (j, acc) in acc.into_iter().enumerate() {
                acc.store(out.add((first + j) * V::N));
            }
        }
    }
}

/// # Safety
/// As [`product`], of `head`, too.
#[inline(always)]
unsafe fn sums<T: Real, V: Lanes<T>>(
    taps: &[usize],
    source: *const T,
    head: *const T,
    vectors: usize,
    sums: &mut [T],
) {
    const TOGETHER: usize = 9;
    for (taps, sums) in taps.chunks(TOGETHER).zip(sums.chunks_mut(TOGETHER)) {
        // SAFETY: the caller vouches for the CPU and the memory.
        unsafe {
            let at: [*const T; TOGETHER] =
                std::array::from_fn(|k| source.add(*taps.get(k).unwrap_or(&taps[0])));
            let mut acc = [V::zero(); TOGETHER];
            for i in 0..vectors {
                let head = V::load(head.add(i * V::N));
                for (acc, at) in acc.iter_mut().zip(&at) {
                    *acc = acc.fma(head, V::load(at.add(i * V::N)));
                }
            }
            for (sum, acc) in sums.iter_mut().zip(acc) {
                let mut lanes = [T::ZERO; LANES];
                acc.store(lanes.as_mut_ptr());
                *sum = lanes[..V::N].iter().copied().sum();
            }
        }
    }
}

/// # Safety
/// As [`Windows::run`].
#[inline(always)]
unsafe fn windows<T: Real, V: Places<T>>(windows: &Windows, plane: &Plane<'_, T>) {
    // SAFETY: as the caller vouches.
    unsafe { windows.run::<T, V>(plane) }
}

/// # Safety
/// As [`Strips::sums`].
#[inline(always)]
unsafe fn strip_sums<T: Real, V: Places<T>>(strips: &Strips, pair: &Pair<T>, sums: &mut [T]) {
    // SAFETY: as the caller vouches.
    unsafe { strips.sums::<T, V>(pair, sums) }
}

/// # Safety
/// As [`Spread::run`].
#[inline(always)]
unsafe fn spread<T: Real, V: Places<T>>(spread: &Spread, plane: &Filled<'_, T>) {
    // SAFETY: as the caller vouches.
    unsafe { spread.run::<T, V>(plane) }
}

macro_rules! compiled_for {
    ($($name:ident: $features:literal),*) => {$(
        #[cfg(target_arch = "x86_64")]
        mod $name {
            use super::{Filled, Lanes, Pair, Places, Plane, Real, Spread, Strips, Windows};

            /// # Safety
            /// As the loop of this name outside.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn windows<T: Real, V: Places<T>>(
                windows: &Windows,
                plane: &Plane<'_, T>,
            ) {
                // SAFETY: as the caller vouches.
                unsafe { super::windows::<T, V>(windows, plane) }
            }

            /// # Safety
            /// As the loop of this name outside.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn strip_sums<T: Real, V: Places<T>>(
                strips: &Strips,
                pair: &Pair<T>,
                out: &mut [T],
            ) {
                // SAFETY: as the caller vouches.
                unsafe { super::strip_sums::<T, V>(strips, pair, out) }
            }

            /// # Safety
            /// As the loop of this name outside.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn spread<T: Real, V: Places<T>>(
                spread: &Spread,
                plane: &Filled<'_, T>,
            ) {
                // SAFETY: as the caller vouches.
                unsafe { super::spread::<T, V>(spread, plane) }
            }

            /// # Safety
            /// As the loop of this name outside.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn product<T: Real, V: Lanes<T>>(
                taps: &[usize],
                weights: &[T],
                source: *const T,
                out: *mut T,
                vectors: usize,
            ) {
                // SAFETY: as the caller vouches.
                unsafe { super::product::<T, V>(taps, weights, source, out, vectors) }
            }

            /// # Safety
            /// As the loop of this name outside.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn sums<T: Real, V: Lanes<T>>(
                taps: &[usize],
                source: *const T,
                head: *const T,
                vectors: usize,
                out: &mut [T],
            ) {
                // SAFETY: as the caller vouches.
                unsafe { super::sums::<T, V>(taps, source, head, vectors, out) }
            }
        }
    )*};
}
compiled_for!(v4: "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma", v3: "avx2,fma");

macro_rules! loops {
    ($t:ty, $v:ty, $($level:ident)::+) => {{
        use $($level)::+ as level;
        Loops {
            lanes: <$v as Lanes<$t>>::N,
            windows: level::windows::<$t, $v>,
            product: level::product::<$t, $v>,
            sums: level::sums::<$t, $v>,
            strip_sums: level::strip_sums::<$t, $v>,
            spread: level::spread::<$t, $v>,
        }
    }};
}

macro_rules! planewise {
    ($($t:ty: $v4:ident, $v3:ident, $lanes:literal);*) => {$(
        impl Planewise for $t {
            fn plane_loops() -> Loops<$t> {
                match level() {
                    #[cfg(target_arch = "x86_64")]
                    Level::V4 => loops!($t, std::arch::x86_64::$v4, self::v4),
                    #[cfg(target_arch = "x86_64")]
                    Level::V3 => loops!($t, std::arch::x86_64::$v3, self::v3),
                    Level::Base => loops!($t, Plain<$t, $lanes>, super::lines),
                }
            }
        }
    )*};
}
planewise!(f32: __m512, __m256, 4; f64: __m512d, __m256d, 2);
