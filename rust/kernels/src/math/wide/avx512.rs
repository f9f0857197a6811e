//! Registers of AVX-512, some of which take each step together.

use super::{ROUNDER_32, ROUNDER_32NDS, Registers, Table, Wide};
use std::arch::x86_64::*;
use std::ops::{Add, BitOr, Div, Mul, Sub};

/// Numbers in a register.
const LANES: usize = 16;

/// `W` registers. There are such values only in functions compiled for AVX-512, on a CPU that has it:
/// only [`Registers::load`] and [`Registers::splat`] make them of anything else.
#[derive(Clone, Copy)]
pub(crate) struct Avx512<const W: usize>([__m512; W]);

/// The outcomes of comparisons, a bit for each number.
#[derive(Clone, Copy)]
pub(crate) struct Masks<const W: usize>([__mmask16; W]);

// SAFETY: `N` is what the registers hold; loads and stores touch what their masks let them.
unsafe impl<const W: usize> Registers for Avx512<W> {
    const N: usize = W * LANES;
    #[inline(always)]
    unsafe fn load(p: *const f32, n: usize) -> Self {
        // SAFETY: the caller vouches for the CPU and for as many numbers as the masks let be read.
        unsafe {
            let mut x = [_mm512_setzero_ps(); W];
            for (i, x) in x.iter_mut().enumerate() {
                *x = _mm512_maskz_loadu_ps(part::<W>(i, n), p.wrapping_add(i * LANES));
            }
            Avx512(x)
        }
    }
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        // SAFETY: the caller vouches for the CPU.
        Avx512([unsafe { _mm512_set1_ps(x) }; W])
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32, n: usize) {
        for (i, x) in self.0.into_iter().enumerate() {
            // SAFETY: a value exists, so that the CPU has AVX-512; the caller vouches for the memory.
            unsafe { _mm512_mask_storeu_ps(p.wrapping_add(i * LANES), part::<W>(i, n), x) };
        }
    }
    #[inline(always)]
    unsafe fn stream(self, p: *mut f32) {
        for (i, x) in self.0.into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { _mm512_stream_ps(p.add(i * LANES), x) };
        }
    }
    #[inline(always)]
    fn any(mask: Masks<W>, n: usize) -> bool {
        let mut any = 0;
        for (i, m) in mask.0.into_iter().enumerate() {
            any |= m & part::<W>(i, n);
        }
        any != 0
    }
}

/// Which numbers of the register `i` of `W` are among the first `n`.
#[inline(always)]
fn part<const W: usize>(i: usize, n: usize) -> __mmask16 {
    if n >= W * LANES {
        !0
    } else {
        ((1_u32 << n.saturating_sub(i * LANES).min(LANES)) - 1) as __mmask16
    }
}

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

/// The same registers, of which none is used before all are there: the compiler would take the steps of
/// one register after another instead of those of all in turn.
///
/// # Safety
/// The CPU has AVX-512.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn in_turn<const W: usize>(mut x: [__m512; W]) -> [__m512; W] {
    if let [a, b, c, d] = x.as_mut_slice() {
        // SAFETY: there are no instructions.
        unsafe {
            std::arch::asm!(
                "/* {0} {1} {2} {3} */",
                inout(zmm_reg) * a,
                inout(zmm_reg) * b,
                inout(zmm_reg) * c,
                inout(zmm_reg) * d,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
    }
    x
}

/// A value for each register, made of those of `$a` and the others.
macro_rules! each {
    ($a:ident = $of:expr $(, $b:ident = $others:expr)* => $f:expr) => {{
        let mut out = $of.0;
        for i in 0..W {
            let $a = out[i];
            $(let $b = $others.0[i];)*
            // SAFETY: a value exists, so that the CPU has AVX-512.
            out[i] = unsafe { $f };
        }
        Avx512(out)
    }};
}

/// As [`each`], of a comparison.
macro_rules! compare {
    ($a:ident = $of:expr => $f:expr) => {{
        let mut out = [0; W];
        for i in 0..W {
            let $a = $of.0[i];
            // SAFETY: a value exists, so that the CPU has AVX-512.
            out[i] = unsafe { $f };
        }
        Masks(out)
    }};
}

macro_rules! operators {
    ($($Trait:ident, $name:ident: $f:ident;)*) => {$(
        impl<const W: usize> $Trait for Avx512<W> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                let y = each!(a = self, b = other => $f(a, b));
                // SAFETY: a value exists, so that the CPU has AVX-512.
                Avx512(unsafe { in_turn(y.0) })
            }
        }
    )*};
}
operators! {
    Add, add: _mm512_add_ps;
    Sub, sub: _mm512_sub_ps;
    Mul, mul: _mm512_mul_ps;
    Div, div: _mm512_div_ps;
}

impl<const W: usize> Wide for Avx512<W> {
    type Mask = Masks<W>;
    #[inline(always)]
    fn all(self, x: f32) -> Self {
        // SAFETY: a value exists, so that the CPU has AVX-512.
        unsafe { Self::splat(x) }
    }
    #[inline(always)]
    fn fma(self, a: Self, b: Self) -> Self {
        let y = each!(x = self, a = a, b = b => _mm512_fmadd_ps(x, a, b));
        // SAFETY: a value exists, so that the CPU has AVX-512.
        Avx512(unsafe { in_turn(y.0) })
    }
    #[inline(always)]
    fn fms(self, a: Self, b: Self) -> Self {
        each!(x = self, a = a, b = b => _mm512_fmsub_ps(x, a, b))
    }
    #[inline(always)]
    fn at_most(self, limit: f32) -> Self {
        // Of a number and NaN the instruction gives its second operand.
        each!(x = self => _mm512_min_ps(_mm512_set1_ps(limit), x))
    }
    #[inline(always)]
    fn at_least(self, limit: f32) -> Self {
        each!(x = self => _mm512_max_ps(_mm512_set1_ps(limit), x))
    }
    #[inline(always)]
    fn magnitude(self) -> Self {
        each!(x = self => _mm512_abs_ps(x))
    }
    #[inline(always)]
    fn reaches(self, limit: f32) -> Masks<W> {
        compare!(x = self =>
            _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(_mm512_abs_ps(x), _mm512_set1_ps(limit)))
    }
    #[inline(always)]
    fn masked(self, mask: u32) -> Self {
        each!(x = self => _mm512_castsi512_ps(
            _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(mask as i32))))
    }
    #[inline(always)]
    fn signed_as(self, x: Self) -> Self {
        // Of each bit: the second where the first is set, else the third.
        const CHOOSE: i32 = 0xca;
        each!(y = self, x = x => _mm512_castsi512_ps(_mm512_ternarylogic_epi32::<CHOOSE>(
            _mm512_set1_epi32(i32::MIN), _mm512_castps_si512(x), _mm512_castps_si512(y))))
    }
    #[inline(always)]
    fn if_negative(self, yes: Self, no: Self) -> Self {
        each!(s = self, yes = yes, no = no => _mm512_mask_blend_ps(
            _mm512_movepi32_mask(_mm512_castps_si512(s)), no, yes))
    }
    #[inline(always)]
    fn bits_minus(self, other: Self) -> Self {
        each!(a = self, b = other => _mm512_castsi512_ps(
            _mm512_sub_epi32(_mm512_castps_si512(a), _mm512_castps_si512(b))))
    }
    #[inline(always)]
    fn bits_as_number(self) -> Self {
        each!(x = self => _mm512_cvtepi32_ps(_mm512_castps_si512(x)))
    }
    #[inline(always)]
    fn bits_reach(self, limit: u32) -> Masks<W> {
        compare!(x = self =>
            _mm512_cmpge_epu32_mask(_mm512_castps_si512(x), _mm512_set1_epi32(limit as i32)))
    }
    #[inline(always)]
    fn entry<const SHIFT: u32>(self, table: &'static Table) -> Self {
        // The instruction takes five bits of each index.
        each!(x = self => _mm512_permutex2var_ps(
            _mm512_loadu_ps(table.0.as_ptr()),
            _mm512_srli_epi32::<SHIFT>(_mm512_castps_si512(x)),
            _mm512_loadu_ps(table.0[LANES..].as_ptr())))
    }
    #[inline(always)]
    fn ldexp(self, n: Self) -> Self {
        let n = n - self.all(ROUNDER_32);
        each!(x = self + self.all(1.0), n = n => _mm512_scalef_ps(x, n))
    }
    #[inline(always)]
    fn scaled(self, n: Self) -> Self {
        let n = n - self.all(ROUNDER_32NDS);
        each!(x = self, n = n => _mm512_scalef_ps(x, n))
    }
}
