//! Numbers that stand for a register where there are no vector instructions.

use crate::linalg::lanes::{Lanes, Places};
use crate::math::real::Real;

/// Numbers without vector instructions of their own; the compiler finds some.
#[derive(Clone, Copy)]
pub(crate) struct Plain<T, const N: usize>([T; N]);

// SAFETY: no special instructions are needed.
unsafe impl<T: Real, const N: usize> Lanes<T> for Plain<T, N> {
    const N: usize = N;
    #[inline(always)]
    unsafe fn zero() -> Self {
        Plain([T::ZERO; N])
    }
    #[inline(always)]
    unsafe fn splat(x: T) -> Self {
        Plain([x; N])
    }
    #[inline(always)]
    unsafe fn load(p: *const T) -> Self {
        // SAFETY: the caller vouches for the memory.
        Plain(unsafe { p.cast::<[T; N]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut T) {
        // SAFETY: the caller vouches for the memory.
        unsafe { p.cast::<[T; N]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn fma(self, a: Self, b: Self) -> Self {
        Plain(std::array::from_fn(|i| a.0[i] * b.0[i] + self.0[i]))
    }
    #[inline(always)]
    unsafe fn add(self, a: Self) -> Self {
        Plain(std::array::from_fn(|i| self.0[i] + a.0[i]))
    }
    #[inline(always)]
    unsafe fn mul(self, a: Self) -> Self {
        Plain(std::array::from_fn(|i| self.0[i] * a.0[i]))
    }
    #[inline(always)]
    unsafe fn relu(self) -> Self {
        Plain(self.0.map(|x| if x <= T::ZERO { T::ZERO } else { x }))
    }
}

// SAFETY: no special instructions are needed.
unsafe impl<T: Real, const N: usize> Places<T> for Plain<T, N> {
    #[inline(always)]
    unsafe fn load_places(p: *const T, places: u16) -> Self {
        let number = |i: usize| {
            if places >> i & 1 == 0 {
                return T::ZERO;
            }
            // SAFETY: the caller vouches for the memory.
            unsafe { *p.wrapping_add(i) }
        };
        Plain(std::array::from_fn(number))
    }
    #[inline(always)]
    unsafe fn store_places(self, p: *mut T, places: u16) {
        for (i, x) in self.0.into_iter().enumerate() {
            if places >> i & 1 > 0 {
                // SAFETY: the caller vouches for the memory.
                unsafe { *p.wrapping_add(i) = x };
            }
        }
    }
    #[inline(always)]
    unsafe fn every_second(self, next: Self) -> Self {
        Plain(std::array::from_fn(|i| self.of_both(&next, 2 * i)))
    }
    #[inline(always)]
    unsafe fn odd_ones(self, next: Self) -> Self {
        Plain(std::array::from_fn(|i| self.of_both(&next, 2 * i + 1)))
    }
    #[inline(always)]
    unsafe fn in_turn(self, odd: Self) -> [Self; 2] {
        let number = |i: usize| {
            if i.is_multiple_of(2) {
                self.0[i / 2]
            } else {
                odd.0[i / 2]
            }
        };
        [0, N].map(|first| Plain(std::array::from_fn(|i| number(first + i))))
    }
}

impl<T: Copy, const N: usize> Plain<T, N> {
    /// A number of this and the next, as one follows the other.
    fn of_both(&self, next: &Self, i: usize) -> T {
        if i < N { self.0[i] } else { next.0[i - N] }
    }
}
