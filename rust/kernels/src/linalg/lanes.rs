//! The few explicit vector operations that matrix tiles are built of.

#[cfg(target_arch = "x86_64")]
use crate::linalg::masks::{double_words, first_ones, store_first, store_first_doubles, words};
use crate::math::real::Real;

/// A register of numbers of type `T`.
///
/// # Safety
/// The methods may be called only on a CPU that has the instructions of the type.
pub(crate) unsafe trait Lanes<T>: Copy {
    /// Numbers in a register.
    const N: usize;
    /// All zero.
    ///
    /// # Safety
    /// The CPU has the instructions.
    unsafe fn zero() -> Self;
    /// The same number everywhere.
    ///
    /// # Safety
    /// The CPU has the instructions.
    unsafe fn splat(x: T) -> Self;
    /// The numbers at `p`.
    ///
    /// # Safety
    /// The CPU has the instructions; `N` numbers can be read at `p`.
    unsafe fn load(p: *const T) -> Self;
    /// Stores to `p`.
    ///
    /// # Safety
    /// The CPU has the instructions; `N` numbers can be written at `p`.
    unsafe fn store(self, p: *mut T);
    /// `self + a * b`, rounded once where the CPU can.
    ///
    /// # Safety
    /// The CPU has the instructions.
    unsafe fn fma(self, a: Self, b: Self) -> Self;
    /// As [`Lanes::fma`], of single numbers, for what is left of a row.
    ///
    /// # Safety
    /// The CPU has the instructions.
    #[inline(always)]
    unsafe fn one(sum: T, a: T, b: T) -> T
    where
        T: Real,
    {
        sum + a * b
    }
    /// `self + a`.
    ///
    /// # Safety
    /// The CPU has the instructions.
    unsafe fn add(self, a: Self) -> Self;
    /// `self * a`.
    ///
    /// # Safety
    /// The CPU has the instructions.
    unsafe fn mul(self, a: Self) -> Self;
    /// Zero in place of what is not positive; what is no number stays.
    ///
    /// # Safety
    /// The CPU has the instructions.
    unsafe fn relu(self) -> Self;
}

macro_rules! lanes_x86 {
    ($($v:ident, $t:ty, $n:literal: $zero:ident, $splat:ident, $load:ident, $store:ident, $fma:ident, $add:ident, $mul:ident, $max:ident;)*) => {$(
        // SAFETY: the methods are the intrinsics of the type.
        #[cfg(target_arch = "x86_64")]
        unsafe impl Lanes<$t> for std::arch::x86_64::$v {
            const N: usize = $n;
            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: the caller vouches for the CPU.
                unsafe { std::arch::x86_64::$zero() }
            }
            #[inline(always)]
            unsafe fn splat(x: $t) -> Self {
                // SAFETY: the caller vouches for the CPU.
                unsafe { std::arch::x86_64::$splat(x) }
            }
            #[inline(always)]
            unsafe fn load(p: *const $t) -> Self {
                // SAFETY: the caller vouches for the CPU and the memory.
                unsafe { std::arch::x86_64::$load(p) }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $t) {
                // SAFETY: the caller vouches for the CPU and the memory.
                unsafe { std::arch::x86_64::$store(p, self) }
            }
            #[inline(always)]
            unsafe fn fma(self, a: Self, b: Self) -> Self {
                // SAFETY: the caller vouches for the CPU.
                unsafe { std::arch::x86_64::$fma(a, b, self) }
            }
            #[inline(always)]
            unsafe fn add(self, a: Self) -> Self {
                // SAFETY: the caller vouches for the CPU.
                unsafe { std::arch::x86_64::$add(self, a) }
            }
            #[inline(always)]
            unsafe fn mul(self, a: Self) -> Self {
                // SAFETY: the caller vouches for the CPU.
                unsafe { std::arch::x86_64::$mul(self, a) }
            }
            #[inline(always)]
            unsafe fn relu(self) -> Self {
                // Of a pair with a number that is none, and of zeros, the maximum is the second one, so
                // that a negative zero is left, which the sum makes positive.
                // SAFETY: the caller vouches for the CPU.
                unsafe {
                    let zero = Self::zero();
                    std::arch::x86_64::$max(zero, self).add(zero)
                }
            }
        }
    )*};
}
lanes_x86! {
    __m512, f32, 16: _mm512_setzero_ps, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_fmadd_ps, _mm512_add_ps, _mm512_mul_ps, _mm512_max_ps;
    __m512d, f64, 8: _mm512_setzero_pd, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_fmadd_pd, _mm512_add_pd, _mm512_mul_pd, _mm512_max_pd;
    __m256, f32, 8: _mm256_setzero_ps, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_fmadd_ps, _mm256_add_ps, _mm256_mul_ps, _mm256_max_ps;
    __m256d, f64, 4: _mm256_setzero_pd, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_fmadd_pd, _mm256_add_pd, _mm256_mul_pd, _mm256_max_pd;
}

/// Registers of which some places are read or written, and every second number of two of them. Bit `i` of
/// `places` is that of number `i`.
///
/// # Safety
/// As [`Lanes`].
pub(crate) unsafe trait Places<T>: Lanes<T> {
    /// The numbers at these places from `p` on, and zero elsewhere, where nothing is read.
    ///
    /// # Safety
    /// The CPU has the instructions; these numbers can be read.
    unsafe fn load_places(p: *const T, places: u16) -> Self;
    /// Stores to these places from `p` on alone.
    ///
    /// # Safety
    /// The CPU has the instructions; these numbers can be written.
    unsafe fn store_places(self, p: *mut T, places: u16);
    /// The numbers 0, 2, 4 ... of both, as one follows the other.
    ///
    /// # Safety
    /// The CPU has the instructions.
    unsafe fn every_second(self, next: Self) -> Self;
    /// The numbers 1, 3, 5 ... of both.
    ///
    /// # Safety
    /// The CPU has the instructions.
    unsafe fn odd_ones(self, next: Self) -> Self;
    /// The numbers of both in turn: the reverse of the two.
    ///
    /// # Safety
    /// The CPU has the instructions.
    unsafe fn in_turn(self, odd: Self) -> [Self; 2];
}

/// Methods of [`Places`] for a type of register, of which the first argument of each names what is given.
macro_rules! places_x86 {
    ($($v:ident, $t:ty: |$lp:ident, $lb:ident| $load:expr, |$s:ident, $sp:ident, $sb:ident| $store:expr,
       |$a:ident, $b:ident| $second:expr, |$c:ident, $d:ident| $odd:expr,
       |$e:ident, $f:ident| $turn:expr;)*) => {$(
        // SAFETY: the methods are intrinsics of the type.
        #[cfg(target_arch = "x86_64")]
        unsafe impl Places<$t> for std::arch::x86_64::$v {
            #[inline(always)]
            unsafe fn load_places($lp: *const $t, $lb: u16) -> Self {
                use std::arch::x86_64::*;
                // SAFETY: the caller vouches for the CPU and the memory.
                unsafe { $load }
            }
            #[inline(always)]
            unsafe fn store_places(self, $sp: *mut $t, $sb: u16) {
                use std::arch::x86_64::*;
                let $s = self;
                // SAFETY: the caller vouches for the CPU and the memory.
                unsafe { $store }
            }
            #[inline(always)]
            unsafe fn every_second(self, $b: Self) -> Self {
                use std::arch::x86_64::*;
                let $a = self;
                // SAFETY: the caller vouches for the CPU.
                unsafe { $second }
            }
            #[inline(always)]
            unsafe fn odd_ones(self, $d: Self) -> Self {
                use std::arch::x86_64::*;
                let $c = self;
                // SAFETY: the caller vouches for the CPU.
                unsafe { $odd }
            }
            #[inline(always)]
            unsafe fn in_turn(self, $f: Self) -> [Self; 2] {
                use std::arch::x86_64::*;
                let $e = self;
                // SAFETY: the caller vouches for the CPU.
                unsafe { $turn }
            }
        }
    )*};
}
places_x86! {
    __m512, f32:
        |p, places| _mm512_maskz_loadu_ps(places, p),
        |x, p, places| _mm512_mask_storeu_ps(p, places, x),
        |a, b| {
            let at = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            _mm512_permutex2var_ps(a, at, b)
        },
        |a, b| {
            let at = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
            _mm512_permutex2var_ps(a, at, b)
        },
        |a, b| {
            let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            let high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
            [_mm512_permutex2var_ps(a, low, b), _mm512_permutex2var_ps(a, high, b)]
        };
    __m512d, f64:
        |p, places| _mm512_maskz_loadu_pd(places as u8, p),
        |x, p, places| _mm512_mask_storeu_pd(p, places as u8, x),
        |a, b| _mm512_permutex2var_pd(a, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), b),
        |a, b| _mm512_permutex2var_pd(a, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), b),
        |a, b| {
            let low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
            let high = _mm512_add_epi64(low, _mm512_set1_epi64(4));
            [_mm512_permutex2var_pd(a, low, b), _mm512_permutex2var_pd(a, high, b)]
        };
    __m256, f32:
        |p, places| _mm256_maskload_ps(p, words(places)),
        |x, p, places| match first_ones(places) {
            Some(n) => store_first(x, p, n),
            None => _mm256_maskstore_ps(p, words(places), x),
        },
        |a, b| {
            let pairs = _mm256_castps_pd(_mm256_shuffle_ps::<0x88>(a, b));
            _mm256_castpd_ps(_mm256_permute4x64_pd::<0xD8>(pairs))
        },
        |a, b| {
            let pairs = _mm256_castps_pd(_mm256_shuffle_ps::<0xDD>(a, b));
            _mm256_castpd_ps(_mm256_permute4x64_pd::<0xD8>(pairs))
        },
        |a, b| {
            let (low, high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
            [
                _mm256_permute2f128_ps::<0x20>(low, high),
                _mm256_permute2f128_ps::<0x31>(low, high),
            ]
        };
    __m256d, f64:
        |p, places| _mm256_maskload_pd(p, double_words(places)),
        |x, p, places| match first_ones(places) {
            Some(n) => store_first_doubles(x, p, n),
            None => _mm256_maskstore_pd(p, double_words(places), x),
        },
        |a, b| _mm256_permute4x64_pd::<0xD8>(_mm256_unpacklo_pd(a, b)),
        |a, b| _mm256_permute4x64_pd::<0xD8>(_mm256_unpackhi_pd(a, b)),
        |a, b| {
            let (low, high) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
            [
                _mm256_permute2f128_pd::<0x20>(low, high),
                _mm256_permute2f128_pd::<0x31>(low, high),
            ]
        };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::plain::Plain;
    #[cfg(target_arch = "x86_64")]
    use crate::simd::vector::{Level, level};

    /// Reads, writes and takes every second number, of sixteen and eight or fewer places.
    unsafe fn check<T: Real, V: Places<T>>() {
        let numbers: Vec<T> = (0..2 * V::N).map(|i| T::of(i as f64 + 1.0)).collect();
        let first = (0..=16).map(|n| ((1_u32 << n) - 1) as u16);
        for places in first.chain([0b1010, 0b0110_0101, 0b1100_0011_0101_1001]) {
            let has = |i: usize| places >> i & 1 > 0;
            let (mut out, mut kept) = (vec![T::ZERO; V::N], numbers.clone());
            // SAFETY: the caller vouches for the CPU; the slices are long enough.
            unsafe {
                V::load_places(numbers.as_ptr(), places).store(out.as_mut_ptr());
                let later = V::load(numbers[V::N..].as_ptr());
                later.store_places(kept.as_mut_ptr(), places);
            }
            for i in 0..V::N {
                assert_eq!(out[i], if has(i) { numbers[i] } else { T::ZERO });
                assert_eq!(kept[i], numbers[if has(i) { V::N + i } else { i }]);
            }
            assert_eq!(kept[V::N..], numbers[V::N..]);
        }
        for first in [0, 1] {
            let mut out = vec![T::ZERO; V::N];
            // SAFETY: as above.
            unsafe {
                let [a, b] = [0, V::N].map(|i| V::load(numbers[i..].as_ptr()));
                let some = if first == 0 {
                    a.every_second(b)
                } else {
                    a.odd_ones(b)
                };
                some.store(out.as_mut_ptr());
            }
            let want: Vec<T> = numbers[first..].iter().copied().step_by(2).collect();
            assert_eq!(out, want);
        }
        let mut out = vec![T::ZERO; 2 * V::N];
        // SAFETY: as above.
        unsafe {
            let [a, b] = [0, V::N].map(|i| V::load(numbers[i..].as_ptr()));
            let both = a.every_second(b).in_turn(a.odd_ones(b));
            both[0].store(out.as_mut_ptr());
            both[1].store(out[V::N..].as_mut_ptr());
        }
        assert_eq!(out, numbers);
    }

    #[test]
    fn places_alone_are_read_and_written() {
        // SAFETY: plain numbers need no instructions, and the others are those that were found.
        unsafe {
            check::<f32, Plain<f32, 4>>();
            check::<f64, Plain<f64, 2>>();
            #[cfg(target_arch = "x86_64")]
            if level() != Level::Base {
                check::<f32, std::arch::x86_64::__m256>();
                check::<f64, std::arch::x86_64::__m256d>();
            }
            #[cfg(target_arch = "x86_64")]
            if level() == Level::V4 {
                check::<f32, std::arch::x86_64::__m512>();
                check::<f64, std::arch::x86_64::__m512d>();
            }
        }
    }
}
