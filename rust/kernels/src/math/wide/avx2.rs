//! Registers of AVX2, some of which take each step together.

use super::{ROUNDER_32, ROUNDER_32NDS, Registers, Table, Wide};
use std::arch::x86_64::*;
use std::ops::{Add, BitOr, Div, Mul, Sub};

/// Numbers in a register.
const LANES: usize = 8;

/// `W` registers. There are such values only in functions compiled for AVX2 and FMA, on a CPU that has
/// them: only [`Registers::load`] and [`Registers::splat`] make them of anything else.
#[derive(Clone, Copy)]
pub(crate) struct Avx2<const W: usize>([__m256; W]);

/// The outcomes of comparisons, a bit for each number.
#[derive(Clone, Copy)]
pub(crate) struct Masks<const W: usize>([i32; W]);

impl<const W: usize> BitOr for Masks<W> {
    type Output = Self;
    #[inline(always)]
    fn bitor(mut self, other: Self) -> Self {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a |= b;
        }
        self
    }
}

// SAFETY: `N` is what the registers hold; where fewer numbers count, a copy of them is read or written.
unsafe impl<const W: usize> Registers for Avx2<W> {
    const N: usize = W * LANES;
    #[inline(always)]
    unsafe fn load(p: *const f32, n: usize) -> Self {
        let mut scratch = [[0.0_f32; LANES]; W];
        // SAFETY: the caller vouches for the CPU and for `n` numbers; the scratch has as many as fit.
        unsafe {
            let mut from = p;
            if n < Self::N {
                std::ptr::copy_nonoverlapping(p, scratch.as_mut_ptr().cast(), n);
                from = scratch.as_ptr().cast();
            }
            let mut x = [_mm256_setzero_ps(); W];
            for (i, x) in x.iter_mut().enumerate() {
                *x = _mm256_loadu_ps(from.add(i * LANES));
            }
            Avx2(x)
        }
    }
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        // SAFETY: the caller vouches for the CPU.
        Avx2([unsafe { _mm256_set1_ps(x) }; W])
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32, n: usize) {
        let mut scratch = [[0.0_f32; LANES]; W];
        let whole = n >= Self::N;
        let to = if whole {
            p
        } else {
            scratch.as_mut_ptr().cast()
        };
        // SAFETY: a value exists, so that the CPU has AVX2; the caller vouches for `n` numbers.
        unsafe {
            for (i, x) in self.0.into_iter().enumerate() {
                _mm256_storeu_ps(to.add(i * LANES), x);
            }
            if !whole {
                std::ptr::copy_nonoverlapping(scratch.as_ptr().cast(), p, n);
            }
        }
    }
    #[inline(always)]
    unsafe fn stream(self, p: *mut f32) {
        for (i, x) in self.0.into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { _mm256_stream_ps(p.add(i * LANES), x) };
        }
    }
    #[inline(always)]
    fn any(mask: Masks<W>, n: usize) -> bool {
        let counted = |i: usize| (1 << n.saturating_sub(i * LANES).min(LANES)) - 1;
        mask.0
            .into_iter()
            .enumerate()
            .fold(0, |any, (i, m)| any | m & counted(i))
            != 0
    }
}

/// A value for each register, made of those of `$a` and the others.
macro_rules! each {
    ($a:ident = $of:expr $(, $b:ident = $others:expr)* => $f:expr) => {{
        let mut out = $of.0;
        for i in 0..W {
            let $a = out[i];
            $(let $b = $others.0[i];)*
            // SAFETY: a value exists, so that the CPU has AVX2 and FMA.
            out[i] = unsafe { $f };
        }
        Avx2(out)
    }};
}

/// As [`each`], of a comparison.
macro_rules! compare {
    ($a:ident = $of:expr => $f:expr) => {{
        let mut out = [0; W];
        for i in 0..W {
            let $a = $of.0[i];
            // SAFETY: a value exists, so that the CPU has AVX2.
            out[i] = unsafe { _mm256_movemask_ps($f) };
        }
        Masks(out)
    }};
}

macro_rules! operators {
    ($($Trait:ident, $name:ident: $f:ident;)*) => {$(
        impl<const W: usize> $Trait for Avx2<W> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                each!(a = self, b = other => $f(a, b))
            }
        }
    )*};
}
operators! {
    Add, add: _mm256_add_ps;
    Sub, sub: _mm256_sub_ps;
    Mul, mul: _mm256_mul_ps;
    Div, div: _mm256_div_ps;
}

/// `2^n` for an integer `n` in each, from -126 to 127.
///
/// # Safety
/// The CPU has AVX2.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn power_of_two(n: __m256i) -> __m256 {
    _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_add_epi32(
        n,
        _mm256_set1_epi32(127),
    )))
}

/// Of 32 numbers those that the lowest five bits of `index` name.
///
/// # Safety
/// The CPU has AVX2.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn look_up(table: &Table, index: __m256i) -> __m256 {
    // An instruction looks up eight, by three bits; another one chooses by a sign.
    let eight = |k: usize| {
        // SAFETY: the table has four times eight numbers.
        let part = unsafe { _mm256_loadu_ps(table.0.as_ptr().add(8 * k)) };
        _mm256_permutevar8x32_ps(part, index)
    };
    let third = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(index));
    let fourth = _mm256_castsi256_ps(_mm256_slli_epi32::<27>(index));
    let low = _mm256_blendv_ps(eight(0), eight(1), third);
    let high = _mm256_blendv_ps(eight(2), eight(3), third);
    _mm256_blendv_ps(low, high, fourth)
}

impl<const W: usize> Wide for Avx2<W> {
    type Mask = Masks<W>;
    #[inline(always)]
    fn all(self, x: f32) -> Self {
        // SAFETY: a value exists, so that the CPU has AVX2.
        unsafe { Self::splat(x) }
    }
    #[inline(always)]
    fn fma(self, a: Self, b: Self) -> Self {
        each!(x = self, a = a, b = b => _mm256_fmadd_ps(x, a, b))
    }
    #[inline(always)]
    fn fms(self, a: Self, b: Self) -> Self {
        each!(x = self, a = a, b = b => _mm256_fmsub_ps(x, a, b))
    }
    #[inline(always)]
    fn at_most(self, limit: f32) -> Self {
        // Of a number and NaN the instruction gives its second operand.
        each!(x = self => _mm256_min_ps(_mm256_set1_ps(limit), x))
    }
    #[inline(always)]
    fn at_least(self, limit: f32) -> Self {
        each!(x = self => _mm256_max_ps(_mm256_set1_ps(limit), x))
    }
    #[inline(always)]
    fn magnitude(self) -> Self {
        each!(x = self => _mm256_andnot_ps(_mm256_set1_ps(-0.0), x))
    }
    #[inline(always)]
    fn reaches(self, limit: f32) -> Masks<W> {
        let size = self.magnitude();
        compare!(x = size => _mm256_cmp_ps::<_CMP_NLT_UQ>(x, _mm256_set1_ps(limit)))
    }
    #[inline(always)]
    fn masked(self, mask: u32) -> Self {
        each!(x = self => _mm256_and_ps(x, _mm256_set1_ps(f32::from_bits(mask))))
    }
    #[inline(always)]
    fn signed_as(self, x: Self) -> Self {
        let size = self.magnitude();
        each!(y = size, x = x => _mm256_or_ps(y, _mm256_and_ps(_mm256_set1_ps(-0.0), x)))
    }
    #[inline(always)]
    fn if_negative(self, yes: Self, no: Self) -> Self {
        each!(s = self, yes = yes, no = no => _mm256_blendv_ps(no, yes, s))
    }
    #[inline(always)]
    fn bits_minus(self, other: Self) -> Self {
        each!(a = self, b = other => _mm256_castsi256_ps(
            _mm256_sub_epi32(_mm256_castps_si256(a), _mm256_castps_si256(b))))
    }
    #[inline(always)]
    fn bits_as_number(self) -> Self {
        each!(x = self => _mm256_cvtepi32_ps(_mm256_castps_si256(x)))
    }
    #[inline(always)]
    fn bits_reach(self, limit: u32) -> Masks<W> {
        // The larger of two numbers without sign is `x`, if it is not below the limit.
        compare!(x = self => {
            let x = _mm256_castps_si256(x);
            let larger = _mm256_max_epu32(x, _mm256_set1_epi32(limit as i32));
            _mm256_castsi256_ps(_mm256_cmpeq_epi32(x, larger))
        })
    }
    #[inline(always)]
    fn entry<const SHIFT: u32>(self, table: &'static Table) -> Self {
        each!(x = self => {
            let shift = _mm_cvtsi32_si128(SHIFT as i32);
            look_up(table, _mm256_srl_epi32(_mm256_castps_si256(x), shift))
        })
    }
    #[inline(always)]
    fn ldexp(self, n: Self) -> Self {
        each!(x = self, n = n => {
            let rounder = _mm256_set1_epi32(ROUNDER_32.to_bits() as i32);
            let n = _mm256_sub_epi32(_mm256_castps_si256(n), rounder);
            let half = _mm256_srai_epi32::<1>(n);
            let scale = power_of_two(half);
            _mm256_mul_ps(_mm256_fmadd_ps(scale, x, scale), power_of_two(_mm256_sub_epi32(n, half)))
        })
    }
    #[inline(always)]
    fn scaled(self, n: Self) -> Self {
        each!(x = self, n = n => {
            let rounder = _mm256_set1_epi32(ROUNDER_32NDS.to_bits() as i32);
            let n = _mm256_sub_epi32(_mm256_castps_si256(n), rounder);
            _mm256_mul_ps(x, power_of_two(_mm256_srai_epi32::<5>(n)))
        })
    }
}
