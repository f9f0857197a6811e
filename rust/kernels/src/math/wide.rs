//! Functions in single precision that are written once for a number and for registers.
//!
//! The compiler vectorises a loop over a long formula one register at a time. As every step waits for
//! the one before, such a loop fills the processor's scheduler with steps that wait. [`Registers`] take
//! each step for several registers in turn, so that there is always one that need not; and they look
//! up tables of 32 numbers without memory. All ways give the same bits.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "x86_64")]
mod mapped;
#[cfg(test)]
mod tests;

use crate::simd::body::{Body, unary};
#[cfg(target_arch = "x86_64")]
use crate::simd::vector::level;
use std::ops::{Add, BitOr, Div, Mul, Sub};

/// Adding this rounds to an integer, which then stands in the lowest bits of the sum.
pub(crate) const ROUNDER_32: f32 = 12_582_912.0;

/// The same for multiples of 1/32.
pub(crate) const ROUNDER_32NDS: f32 = ROUNDER_32 / 32.0;

/// Numbers to look up, in cache lines of their own, so that no load spans two.
#[repr(align(64))]
pub(crate) struct Table(pub [f32; 32]);

/// A number in single precision, or registers full of them.
pub(crate) trait Wide:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// The outcome of a comparison for each.
    type Mask: Copy + BitOr<Output = Self::Mask>;
    /// `x`, as many times as there are numbers in `self`.
    fn all(self, x: f32) -> Self;
    /// `self * a + b`, rounded once.
    fn fma(self, a: Self, b: Self) -> Self;
    /// `self * a - b`, rounded once.
    fn fms(self, a: Self, b: Self) -> Self;
    /// The smaller of `self` and `limit`; NaN stays.
    fn at_most(self, limit: f32) -> Self;
    /// The larger of `self` and `limit`; NaN stays.
    fn at_least(self, limit: f32) -> Self;
    /// Whether the magnitude is at least `limit`, or NaN.
    fn reaches(self, limit: f32) -> Self::Mask;
    fn magnitude(self) -> Self;
    /// The bits that `mask` has.
    fn masked(self, mask: u32) -> Self;
    /// The magnitude of `self`, the sign of `x`.
    fn signed_as(self, x: Self) -> Self;
    /// `yes` where the sign is set, `no` elsewhere.
    fn if_negative(self, yes: Self, no: Self) -> Self;
    /// The difference of the bits, taken for integers.
    fn bits_minus(self, other: Self) -> Self;
    /// The bits, taken for an integer with a sign.
    fn bits_as_number(self) -> Self;
    /// Whether the bits, taken for an integer without a sign, are at least `limit`.
    fn bits_reach(self, limit: u32) -> Self::Mask;
    /// The entry of which the five bits from `SHIFT` on are the number.
    fn entry<const SHIFT: u32>(self, table: &'static Table) -> Self;
    /// `(self + 1) 2^n` for `n` from -151 to 128, an integer to which [`ROUNDER_32`] has been added.
    fn ldexp(self, n: Self) -> Self;
    /// `self` times 2 to the integer below `n / 32`, which is from -126 to 127, for an integer `n` to
    /// which [`ROUNDER_32`] has been added, all divided by 32.
    fn scaled(self, n: Self) -> Self;
}

/// A function of one argument.
pub(crate) trait Function: 'static {
    /// Is to be `#[inline(always)]`.
    fn of<V: Wide>(x: V) -> V;
}

/// Some registers of an instruction set.
///
/// # Safety
/// Loads and stores touch no memory but what they are given.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe trait Registers: Wide {
    /// Numbers in all of them.
    const N: usize;
    /// The `n` numbers at `p`, of which there may be fewer than fit; zeros for the others.
    ///
    /// # Safety
    /// The CPU has the instructions; `n` numbers can be read at `p`.
    unsafe fn load(p: *const f32, n: usize) -> Self;
    /// `x` everywhere.
    ///
    /// # Safety
    /// The CPU has the instructions.
    unsafe fn splat(x: f32) -> Self;
    /// Stores the first `n` numbers to `p`, or all.
    ///
    /// # Safety
    /// As many numbers can be written at `p`.
    unsafe fn store(self, p: *mut f32, n: usize);
    /// Stores all to `p`, non-temporally.
    ///
    /// # Safety
    /// They can be written at `p`, which is aligned to a cache line.
    unsafe fn stream(self, p: *mut f32);
    /// Whether something is set for the first `n` numbers.
    fn any(mask: Self::Mask, n: usize) -> bool;
}

/// Boxes the loop of `F`.
pub(crate) fn mapped<F: Function>() -> Box<dyn Body<2>> {
    #[cfg(target_arch = "x86_64")]
    if let Some(found) = mapped::find::<F>(level()) {
        return found;
    }
    unary(F::of::<f32>)
}

/// `F` of each element of `x`.
pub(crate) fn map_slice<F: Function>(x: &[f32], y: &mut [f32]) {
    let n = x.len().min(y.len());
    // SAFETY: both have `n` elements, and the slices do not overlap.
    unsafe { each::<F>(y.as_mut_ptr(), x.as_ptr(), n) };
}

/// `F` of each element, in its place.
pub(crate) fn map_in_place<F: Function>(x: &mut [f32]) {
    let at = x.as_mut_ptr();
    // SAFETY: there are so many elements.
    unsafe { each::<F>(at, at, x.len()) };
}

/// # Safety
/// `n` numbers can be read at `from` and written at `to`, which is the same place or does not overlap.
unsafe fn each<F: Function>(to: *mut f32, from: *const f32, n: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some([plain, _]) = mapped::loops::<F>(level()) {
        // SAFETY: as the caller vouches; the CPU has the level.
        return unsafe { plain(to, from, n) };
    }
    for i in 0..n {
        // SAFETY: as the caller vouches.
        unsafe { to.add(i).write(F::of(from.add(i).read())) };
    }
}

impl Wide for f32 {
    type Mask = bool;
    #[inline(always)]
    fn all(self, x: f32) -> f32 {
        x
    }
    #[inline(always)]
    fn fma(self, a: f32, b: f32) -> f32 {
        self.mul_add(a, b)
    }
    #[inline(always)]
    fn fms(self, a: f32, b: f32) -> f32 {
        self.mul_add(a, -b)
    }
    #[inline(always)]
    fn at_most(self, limit: f32) -> f32 {
        if self > limit { limit } else { self }
    }
    #[inline(always)]
    fn at_least(self, limit: f32) -> f32 {
        if self < limit { limit } else { self }
    }
    #[inline(always)]
    fn magnitude(self) -> f32 {
        self.abs()
    }
    #[inline(always)]
    fn reaches(self, limit: f32) -> bool {
        (self.abs() >= limit) | self.is_nan()
    }
    #[inline(always)]
    fn masked(self, mask: u32) -> f32 {
        f32::from_bits(self.to_bits() & mask)
    }
    #[inline(always)]
    fn signed_as(self, x: f32) -> f32 {
        self.copysign(x)
    }
    #[inline(always)]
    fn if_negative(self, yes: f32, no: f32) -> f32 {
        if self.is_sign_negative() { yes } else { no }
    }
    #[inline(always)]
    fn bits_minus(self, other: f32) -> f32 {
        f32::from_bits(self.to_bits().wrapping_sub(other.to_bits()))
    }
    #[inline(always)]
    fn bits_as_number(self) -> f32 {
        self.to_bits() as i32 as f32
    }
    #[inline(always)]
    fn bits_reach(self, limit: u32) -> bool {
        self.to_bits() >= limit
    }
    #[inline(always)]
    fn entry<const SHIFT: u32>(self, table: &'static Table) -> f32 {
        table.0[(self.to_bits() >> SHIFT & 31) as usize]
    }
    #[inline(always)]
    fn ldexp(self, n: f32) -> f32 {
        // In two factors, so that the ends of the range come out as infinity and subnormals.
        let n = (n.to_bits() as i32).wrapping_sub(ROUNDER_32.to_bits() as i32);
        let half = n >> 1;
        let scale = power_of_two(half);
        scale.mul_add(self, scale) * power_of_two(n - half)
    }
    #[inline(always)]
    fn scaled(self, n: f32) -> f32 {
        // Of odd arguments it may be any number.
        let n = (n.to_bits() as i32).wrapping_sub(ROUNDER_32NDS.to_bits() as i32);
        self * power_of_two(n >> 5)
    }
}

/// `2^n` for `-126 <= n <= 127`.
#[inline(always)]
pub(crate) fn power_of_two(n: i32) -> f32 {
    f32::from_bits(((n + 127) << 23) as u32)
}
