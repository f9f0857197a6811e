//! Products of pairs of bfloat16, two at once in each number of a register, added to sums of single
//! precision. Two elements that follow each other along the contracted axis are a *pair*: the 32 bits of
//! one number, the first element in the lower half. So panels of pairs are moved, and cut into tiles, as
//! panels of numbers are, and have half the depth.
//!
//! What the instruction promises: the product of the second elements is added first, then that of the
//! first ones, each sum rounded to the nearest; what is subnormal, given or found, counts as zero.

#[cfg(any(test, target_arch = "x86_64"))]
use crate::linalg::lanes::{Lanes, Places};
#[cfg(test)]
use crate::linalg::plain::Plain;
#[cfg(any(test, target_arch = "x86_64"))]
use crate::linalg::results::Results;
use ferromix_base::bf16;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Elements of a pair.
pub(crate) const PAIR: usize = 2;

/// Whether this CPU multiplies pairs.
pub(crate) fn there() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use crate::simd::vector::{Level, level};
        level() == Level::V4 && is_x86_feature_detected!("avx512bf16")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The bits of a pair as a number, which is moved and never computed with.
#[inline(always)]
pub(crate) fn pair(first: bf16, second: bf16) -> f32 {
    f32::from_bits(u32::from(first.to_bits()) | u32::from(second.to_bits()) << 16)
}

/// Sums of products of pairs, 16 to a register.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Pairs(__m512);

/// The same in plain numbers.
#[cfg(test)]
#[derive(Clone, Copy)]
pub(crate) struct PlainPairs(Plain<f32, 16>);

/// The methods of registers that pairs have in common with numbers.
#[cfg(any(test, target_arch = "x86_64"))]
macro_rules! as_numbers {
    ($t:ident: $of:ty) => {
        #[inline(always)]
        unsafe fn zero() -> Self {
            // SAFETY: as the caller vouches.
            $t(unsafe { <$of as Lanes<f32>>::zero() })
        }
        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            // SAFETY: as the caller vouches.
            $t(unsafe { <$of as Lanes<f32>>::splat(x) })
        }
        #[inline(always)]
        unsafe fn load(p: *const f32) -> Self {
            // SAFETY: as the caller vouches.
            $t(unsafe { <$of as Lanes<f32>>::load(p) })
        }
        #[inline(always)]
        unsafe fn store(self, p: *mut f32) {
            // SAFETY: as the caller vouches.
            unsafe { self.0.store(p) }
        }
        #[inline(always)]
        unsafe fn add(self, a: Self) -> Self {
            // SAFETY: as the caller vouches.
            $t(unsafe { Lanes::<f32>::add(self.0, a.0) })
        }
        #[inline(always)]
        unsafe fn mul(self, a: Self) -> Self {
            // SAFETY: as the caller vouches.
            $t(unsafe { Lanes::<f32>::mul(self.0, a.0) })
        }
        #[inline(always)]
        unsafe fn relu(self) -> Self {
            // SAFETY: as the caller vouches.
            $t(unsafe { Lanes::<f32>::relu(self.0) })
        }
    };
}

#[cfg(any(test, target_arch = "x86_64"))]
macro_rules! places_as_numbers {
    ($t:ident: $of:ty) => {
        #[inline(always)]
        unsafe fn load_places(p: *const f32, places: u16) -> Self {
            // SAFETY: as the caller vouches.
            $t(unsafe { <$of as Places<f32>>::load_places(p, places) })
        }
        #[inline(always)]
        unsafe fn store_places(self, p: *mut f32, places: u16) {
            // SAFETY: as the caller vouches.
            unsafe { self.0.store_places(p, places) }
        }
        #[inline(always)]
        unsafe fn every_second(self, next: Self) -> Self {
            // SAFETY: as the caller vouches.
            $t(unsafe { Places::<f32>::every_second(self.0, next.0) })
        }
        #[inline(always)]
        unsafe fn odd_ones(self, next: Self) -> Self {
            // SAFETY: as the caller vouches.
            $t(unsafe { Places::<f32>::odd_ones(self.0, next.0) })
        }
        #[inline(always)]
        unsafe fn in_turn(self, odd: Self) -> [Self; 2] {
            // SAFETY: as the caller vouches.
            unsafe { Places::<f32>::in_turn(self.0, odd.0) }.map($t)
        }
    };
}

// SAFETY: the methods are intrinsics; a CPU that multiplies pairs has all of them.
#[cfg(target_arch = "x86_64")]
unsafe impl Lanes<f32> for Pairs {
    const N: usize = 16;
    as_numbers!(Pairs: __m512);

    /// The products of pairs, added.
    #[inline(always)]
    unsafe fn fma(self, a: Self, b: Self) -> Self {
        // SAFETY: the caller vouches for the CPU; any bits are pairs.
        unsafe {
            let [a, b] = [a.0, b.0].map(|x| std::mem::transmute::<__m512, __m512bh>(x));
            Pairs(_mm512_dpbf16_ps(self.0, a, b))
        }
    }
    #[inline(always)]
    unsafe fn one(sum: f32, a: f32, b: f32) -> f32 {
        // SAFETY: the caller vouches for the CPU.
        unsafe {
            let [sum, a, b] = [sum, a, b].map(|x| <Self as Lanes<f32>>::splat(x));
            _mm512_cvtss_f32(sum.fma(a, b).0)
        }
    }
}

// SAFETY: as above.
#[cfg(target_arch = "x86_64")]
unsafe impl Places<f32> for Pairs {
    places_as_numbers!(Pairs: __m512);
}

#[cfg(any(test, target_arch = "x86_64"))]
macro_rules! results_as_numbers {
    ($t:ident: $of:ty) => {
        #[inline(always)]
        unsafe fn read(p: *const bf16) -> Self {
            // SAFETY: as the caller vouches.
            $t(unsafe { <$of as Results<bf16>>::read(p) })
        }
        #[inline(always)]
        unsafe fn write(self, p: *mut bf16) {
            // SAFETY: as the caller vouches.
            unsafe { Results::<bf16>::write(self.0, p) }
        }
        #[inline(always)]
        unsafe fn read_places(p: *const bf16, places: u16) -> Self {
            // SAFETY: as the caller vouches.
            $t(unsafe { <$of as Results<bf16>>::read_places(p, places) })
        }
        #[inline(always)]
        unsafe fn write_places(self, p: *mut bf16, places: u16) {
            // SAFETY: as the caller vouches.
            unsafe { Results::<bf16>::write_places(self.0, p, places) }
        }
    };
}

// SAFETY: as above.
#[cfg(target_arch = "x86_64")]
unsafe impl Results<bf16> for Pairs {
    results_as_numbers!(Pairs: __m512);
}

// SAFETY: no special instructions are needed.
#[cfg(test)]
unsafe impl Lanes<f32> for PlainPairs {
    const N: usize = 16;
    as_numbers!(PlainPairs: Plain<f32, 16>);

    #[inline(always)]
    unsafe fn fma(self, a: Self, b: Self) -> Self {
        let numbers = |x: Self| {
            let mut numbers = [0.0; 16];
            // SAFETY: as many numbers.
            unsafe { x.store(numbers.as_mut_ptr()) };
            numbers
        };
        let (sums, a, b) = (numbers(self), numbers(a), numbers(b));
        let sums: [f32; 16] = std::array::from_fn(|i| plain(sums[i], a[i], b[i]));
        // SAFETY: as many numbers.
        unsafe { Self::load(sums.as_ptr()) }
    }
}

// SAFETY: as above.
#[cfg(test)]
unsafe impl Places<f32> for PlainPairs {
    places_as_numbers!(PlainPairs: Plain<f32, 16>);
}

// SAFETY: as above.
#[cfg(test)]
unsafe impl Results<bf16> for PlainPairs {
    results_as_numbers!(PlainPairs: Plain<f32, 16>);
}

/// Zero in place of what is subnormal.
#[cfg(test)]
fn flushed(x: f32) -> f32 {
    if x.is_subnormal() {
        0_f32.copysign(x)
    } else {
        x
    }
}

/// What the instruction computes.
#[cfg(test)]
fn plain(sum: f32, a: f32, b: f32) -> f32 {
    let halves = |x: f32| [x.to_bits() << 16, x.to_bits() & 0xffff_0000].map(f32::from_bits);
    let ([a, c], [b, d]) = (halves(a).map(flushed), halves(b).map(flushed));
    // Exact but where it is too large or too small: 16 bits.
    let sum = flushed(c.mul_add(d, flushed(sum)));
    flushed(a.mul_add(b, sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(state: &mut u64) -> u32 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (*state >> 32) as u32
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
    unsafe fn instruction([sum, a, b]: [f32; 3]) -> f32 {
        let mut out = [0.0; 16];
        // SAFETY: the caller vouches for the CPU; as many numbers.
        unsafe {
            let [sum, a, b] = [sum, a, b].map(|x| Pairs::splat(x));
            sum.fma(a, b).store(out.as_mut_ptr());
        }
        out[0]
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn plain_pairs_have_the_bits_of_the_instruction() {
        if !there() {
            return;
        }
        let mut state = 1;
        for i in 0..200_000 {
            let mut three = [0; 3].map(|_: u32| bits(&mut state));
            if i % 2 == 0 {
                // Sums and products of about one size.
                let near = |x: u32| x & 0x8fff_8fff | 0x3000_3000;
                three = three.map(near);
            }
            let three = three.map(f32::from_bits);
            // SAFETY: the instructions are there.
            let found = unsafe { instruction(three) };
            let wanted = plain(three[0], three[1], three[2]);
            assert!(
                found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan(),
                "{three:x?}: {found:e}, {wanted:e}"
            );
        }
    }
}
