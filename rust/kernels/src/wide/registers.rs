//! Registers of AVX-512, some of which take each step together.

use super::{Function, ROUNDER_32, ROUNDER_32NDS, Wide};
use crate::body::{Body, Run};
use std::arch::x86_64::*;
use std::marker::PhantomData;
use std::ops::{Add, BitOr, Mul, Sub};

/// Numbers in a register.
pub(crate) const LANES: usize = 16;
/// The registers that loops take at once: a step of four takes as long as each waits for its own.
pub(crate) const AT_ONCE: usize = 4;

/// `W` registers. There are such values only in functions compiled for AVX-512, on a CPU that has it:
/// only [`Registers::load`] and [`Registers::splat`] make them of anything else.
#[derive(Clone, Copy)]
pub(crate) struct Registers<const W: usize>([__m512; W]);

/// The outcomes of comparisons, a bit for each number.
#[derive(Clone, Copy)]
pub(crate) struct Masks<const W: usize>([__mmask16; W]);

impl<const W: usize> Registers<W> {
    /// The `n` numbers at `p`, of which there may be fewer than fit; zeros for the others.
    ///
    /// # Safety
    /// The CPU has AVX-512; `n` numbers can be read at `p`.
    #[inline(always)]
    pub(crate) unsafe fn load(p: *const f32, n: usize) -> Self {
        // SAFETY: the caller vouches for the CPU and for as many numbers as the masks let be read.
        unsafe {
            let mut x = [_mm512_setzero_ps(); W];
            for (i, x) in x.iter_mut().enumerate() {
                *x = _mm512_maskz_loadu_ps(part::<W>(i, n), p.wrapping_add(i * LANES));
            }
            Registers(x)
        }
    }

    /// `x` everywhere.
    ///
    /// # Safety
    /// The CPU has AVX-512.
    #[inline(always)]
    pub(crate) unsafe fn splat(x: f32) -> Self {
        // SAFETY: the caller vouches for the CPU.
        Registers([unsafe { _mm512_set1_ps(x) }; W])
    }

    /// Stores the first `n` numbers to `p`.
    ///
    /// # Safety
    /// `n` numbers can be written at `p`.
    #[inline(always)]
    pub(crate) unsafe fn store(self, p: *mut f32, n: usize) {
        for (i, x) in self.0.into_iter().enumerate() {
            // SAFETY: a value exists, so that the CPU has AVX-512; the caller vouches for the memory.
            unsafe { _mm512_mask_storeu_ps(p.wrapping_add(i * LANES), part::<W>(i, n), x) };
        }
    }
}

impl<const W: usize> Registers<W> {
    /// Stores all to `p` past the caches, and fetches as much from `ahead`.
    ///
    /// # Safety
    /// The registers can be written at `p`, which is aligned to them.
    #[inline(always)]
    unsafe fn stream(self, p: *mut f32, ahead: *const f32) {
        for (i, x) in self.0.into_iter().enumerate() {
            // SAFETY: a value exists, so that the CPU has AVX-512; the caller vouches for the memory.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(ahead.wrapping_add(i * LANES).cast());
                _mm512_stream_ps(p.add(i * LANES), x);
            }
        }
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

impl<const W: usize> Masks<W> {
    /// Whether a bit of the first `n` is set.
    #[inline(always)]
    pub(crate) fn any(self, n: usize) -> bool {
        let mut any = 0;
        for (i, m) in self.0.into_iter().enumerate() {
            any |= m & part::<W>(i, n);
        }
        any != 0
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
        Registers(out)
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
        impl<const W: usize> $Trait for Registers<W> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                let y = each!(a = self, b = other => $f(a, b));
                // SAFETY: a value exists, so that the CPU has AVX-512.
                Registers(unsafe { in_turn(y.0) })
            }
        }
    )*};
}
operators! {
    Add, add: _mm512_add_ps;
    Sub, sub: _mm512_sub_ps;
    Mul, mul: _mm512_mul_ps;
}

impl<const W: usize> Wide for Registers<W> {
    type Mask = Masks<W>;
    #[inline(always)]
    fn all(self, x: f32) -> Self {
        // SAFETY: a value exists, so that the CPU has AVX-512.
        unsafe { Registers::splat(x) }
    }
    #[inline(always)]
    fn fma(self, a: Self, b: Self) -> Self {
        let y = each!(x = self, a = a, b = b => _mm512_fmadd_ps(x, a, b));
        // SAFETY: a value exists, so that the CPU has AVX-512.
        Registers(unsafe { in_turn(y.0) })
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
    fn entry<const SHIFT: u32>(self, table: &'static [f32; 32]) -> Self {
        // The instruction takes five bits of each index.
        each!(x = self => _mm512_permutex2var_ps(
            _mm512_loadu_ps(table.as_ptr()),
            _mm512_srli_epi32::<SHIFT>(_mm512_castps_si512(x)),
            _mm512_loadu_ps(table[LANES..].as_ptr())))
    }
    #[inline(always)]
    fn raised(self, n: Self) -> Self {
        let n = n - self.all(ROUNDER_32);
        each!(x = self + self.all(1.0), n = n => _mm512_scalef_ps(x, n))
    }
    #[inline(always)]
    fn scaled(self, n: Self) -> Self {
        let n = n - self.all(ROUNDER_32NDS);
        each!(x = self, n = n => _mm512_scalef_ps(x, n))
    }
}

/// The loop of `F`.
struct Mapped<F>(PhantomData<fn() -> F>);

/// Boxes the loop of `F`.
///
/// # Safety
/// The CPU has AVX-512.
pub(super) unsafe fn mapped<F: Function>() -> Box<dyn Body<2>> {
    Box::new(Mapped::<F>(PhantomData))
}

impl<F: Function> Body<2> for Mapped<F> {
    unsafe fn run(&self, [d, s]: [Run; 2], n: usize) {
        let (d, from) = (d.ptr.cast::<f32>(), s.ptr.cast::<f32>());
        if s.uniform {
            // SAFETY: the caller vouches for `n` elements and for one.
            unsafe { std::slice::from_raw_parts_mut(d, n).fill(F::of(*from)) };
        } else {
            // SAFETY: the caller vouches for the elements, whoever made this for the CPU.
            unsafe { map::<F, false>(d, from, n) };
        }
    }

    fn goes_past(&self) -> bool {
        true
    }

    unsafe fn run_past(&self, [d, s]: [Run; 2], n: usize) {
        if s.uniform {
            // SAFETY: as the caller vouches.
            return unsafe { self.run([d, s], n) };
        }
        let (d, s) = (d.ptr.cast::<f32>(), s.ptr.cast::<f32>());
        let head = d.align_offset(size_of::<__m512>()).min(n);
        // SAFETY: as in `run`; after the head, the output is aligned to registers.
        unsafe {
            map::<F, false>(d, s, head);
            map::<F, true>(d.add(head), s.add(head), n - head);
        }
    }
}

/// How far ahead of a loop that writes past the caches its input is fetched.
const AHEAD: usize = 2048;

/// Computes `n` numbers; past the caches, as long as they fill registers, if `PAST`.
///
/// # Safety
/// The CPU has AVX-512; `n` numbers can be read at `s` and written at `d`, which then is aligned to
/// registers.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn map<F: Function, const PAST: bool>(d: *mut f32, s: *const f32, n: usize) {
    const STEP: usize = AT_ONCE * LANES;
    let mut i = 0;
    while n - i >= STEP {
        // SAFETY: as the caller vouches; all are read before the first is written.
        unsafe {
            let y = F::of(Registers::<AT_ONCE>::load(s.add(i), STEP));
            if PAST {
                y.stream(d.add(i), s.wrapping_add(i + AHEAD));
            } else {
                y.store(d.add(i), STEP);
            }
        }
        i += STEP;
    }
    while i < n {
        let left = (n - i).min(LANES);
        // SAFETY: as above.
        unsafe { F::of(Registers::<1>::load(s.add(i), left)).store(d.add(i), left) };
        i += left;
    }
}
