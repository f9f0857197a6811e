//! Places of AVX2's registers, of which some are read or written.

use std::arch::x86_64::*;

/// How many places there are, if these are the first ones: storing by a mask takes AMD's processors some
/// twenty cycles without AVX-512, and these are what nearly always is stored.
#[inline(always)]
pub(super) fn first_ones(places: u16) -> Option<u32> {
    (places & places.wrapping_add(1) == 0).then(|| places.trailing_ones())
}

/// Stores the first numbers, at most seven of them, or all.
///
/// # Safety
/// The CPU has AVX2; so many numbers can be written.
#[inline(always)]
pub(super) unsafe fn store_first(x: __m256, mut p: *mut f32, n: u32) {
    // SAFETY: as the caller vouches.
    unsafe {
        if n >= 8 {
            return _mm256_storeu_ps(p, x);
        }
        let mut left = _mm256_castps256_ps128(x);
        if n & 4 != 0 {
            _mm_storeu_ps(p, left);
            (left, p) = (_mm256_extractf128_ps::<1>(x), p.add(4));
        }
        if n & 2 != 0 {
            _mm_store_sd(p.cast(), _mm_castps_pd(left));
            (left, p) = (_mm_movehl_ps(left, left), p.add(2));
        }
        if n & 1 != 0 {
            _mm_store_ss(p, left);
        }
    }
}

/// As [`store_first`], at most three, or all.
///
/// # Safety
/// As [`store_first`].
#[inline(always)]
pub(super) unsafe fn store_first_doubles(x: __m256d, mut p: *mut f64, n: u32) {
    // SAFETY: as the caller vouches.
    unsafe {
        if n >= 4 {
            return _mm256_storeu_pd(p, x);
        }
        let mut left = _mm256_castpd256_pd128(x);
        if n & 2 != 0 {
            _mm_storeu_pd(p, left);
            (left, p) = (_mm256_extractf128_pd::<1>(x), p.add(2));
        }
        if n & 1 != 0 {
            _mm_store_sd(p, left);
        }
    }
}

/// All bits of the words whose bit is set.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
pub(super) unsafe fn words(places: u16) -> __m256i {
    // SAFETY: the caller vouches for the CPU.
    unsafe {
        let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        _mm256_cmpeq_epi32(
            _mm256_and_si256(_mm256_set1_epi32(i32::from(places)), bits),
            bits,
        )
    }
}

/// As [`words`], of twice the size.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
pub(super) unsafe fn double_words(places: u16) -> __m256i {
    // SAFETY: the caller vouches for the CPU.
    unsafe {
        let bits = _mm256_setr_epi64x(1, 2, 4, 8);
        _mm256_cmpeq_epi64(
            _mm256_and_si256(_mm256_set1_epi64x(i64::from(places)), bits),
            bits,
        )
    }
}
