//! Registers of sums that go to memory as results, which may have fewer bits.

use crate::linalg::lanes::{Lanes, Places};
use crate::linalg::plain::Plain;
use crate::math::real::{Float, Real};
use ferromix_base::bf16;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Registers of numbers that elements of type `T` are computed in.
///
/// # Safety
/// As [`Places`].
pub(crate) unsafe trait Results<T: Float>: Places<T::Real> {
    /// The elements at `p`.
    ///
    /// # Safety
    /// As [`crate::linalg::lanes::Lanes::load`].
    unsafe fn read(p: *const T) -> Self;
    /// Stores to `p`, rounded once.
    ///
    /// # Safety
    /// As [`crate::linalg::lanes::Lanes::store`].
    unsafe fn write(self, p: *mut T);
    /// As [`Places::load_places`].
    ///
    /// # Safety
    /// As there.
    unsafe fn read_places(p: *const T, places: u16) -> Self;
    /// As [`Places::store_places`], rounded once.
    ///
    /// # Safety
    /// As there.
    unsafe fn write_places(self, p: *mut T, places: u16);
}

// SAFETY: the methods are those of the registers.
unsafe impl<R: Real, V: Places<R>> Results<R> for V {
    #[inline(always)]
    unsafe fn read(p: *const R) -> Self {
        // SAFETY: as the caller vouches.
        unsafe { V::load(p) }
    }
    #[inline(always)]
    unsafe fn write(self, p: *mut R) {
        // SAFETY: as the caller vouches.
        unsafe { self.store(p) }
    }
    #[inline(always)]
    unsafe fn read_places(p: *const R, places: u16) -> Self {
        // SAFETY: as the caller vouches.
        unsafe { V::load_places(p, places) }
    }
    #[inline(always)]
    unsafe fn write_places(self, p: *mut R, places: u16) {
        // SAFETY: as the caller vouches.
        unsafe { self.store_places(p, places) }
    }
}

// SAFETY: the methods are intrinsics; those that write need a CPU that multiplies pairs.
#[cfg(target_arch = "x86_64")]
unsafe impl Results<bf16> for __m512 {
    #[inline(always)]
    unsafe fn read(p: *const bf16) -> Self {
        // SAFETY: the caller vouches for the CPU and the memory.
        unsafe { widened(_mm256_loadu_si256(p.cast())) }
    }
    #[inline(always)]
    unsafe fn write(self, p: *mut bf16) {
        // SAFETY: the caller vouches for the CPU and the memory.
        unsafe { _mm256_storeu_si256(p.cast(), narrowed(self)) }
    }
    #[inline(always)]
    unsafe fn read_places(p: *const bf16, places: u16) -> Self {
        // SAFETY: the caller vouches for the CPU and the memory.
        unsafe { widened(_mm256_maskz_loadu_epi16(places, p.cast())) }
    }
    #[inline(always)]
    unsafe fn write_places(self, p: *mut bf16, places: u16) {
        // SAFETY: the caller vouches for the CPU and the memory.
        unsafe { _mm256_mask_storeu_epi16(p.cast(), places, narrowed(self)) }
    }
}

/// # Safety
/// The CPU has AVX-512.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn widened(x: __m256i) -> __m512 {
    // SAFETY: as the caller vouches.
    unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(x))) }
}

/// # Safety
/// The CPU multiplies pairs of bfloat16.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn narrowed(x: __m512) -> __m256i {
    // SAFETY: as the caller vouches; the same bits.
    unsafe { std::mem::transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(x)) }
}

// SAFETY: no special instructions are needed.
unsafe impl<const N: usize> Results<bf16> for Plain<f32, N> {
    #[inline(always)]
    unsafe fn read(p: *const bf16) -> Self {
        // SAFETY: as the caller vouches.
        unsafe { Self::read_places(p, u16::MAX) }
    }
    #[inline(always)]
    unsafe fn write(self, p: *mut bf16) {
        // SAFETY: as the caller vouches.
        unsafe { self.write_places(p, u16::MAX) }
    }
    #[inline(always)]
    unsafe fn read_places(p: *const bf16, places: u16) -> Self {
        let mut numbers = [0.0; N];
        for (i, number) in numbers.iter_mut().enumerate() {
            if places >> i & 1 > 0 {
                // SAFETY: as the caller vouches.
                *number = unsafe { *p.wrapping_add(i) }.to_f32();
            }
        }
        // SAFETY: as many numbers.
        unsafe { Self::load(numbers.as_ptr()) }
    }
    #[inline(always)]
    unsafe fn write_places(self, p: *mut bf16, places: u16) {
        let mut numbers = [0.0; N];
        // SAFETY: as many numbers.
        unsafe { self.store(numbers.as_mut_ptr()) };
        for (i, &number) in numbers.iter().enumerate() {
            if places >> i & 1 > 0 {
                // SAFETY: as the caller vouches.
                unsafe { *p.wrapping_add(i) = bf16::from_f32(number) };
            }
        }
    }
}
