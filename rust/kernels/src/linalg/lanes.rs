//! The few explicit vector operations that matrix tiles are built of.

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
    /// `self + a`.
    ///
    /// # Safety
    /// The CPU has the instructions.
    unsafe fn add(self, a: Self) -> Self;
    /// Zero in place of what is not positive; what is no number stays.
    ///
    /// # Safety
    /// The CPU has the instructions.
    unsafe fn relu(self) -> Self;
}

macro_rules! lanes_x86 {
    ($($v:ident, $t:ty, $n:literal: $zero:ident, $splat:ident, $load:ident, $store:ident, $fma:ident, $add:ident, $max:ident;)*) => {$(
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
    __m512, f32, 16: _mm512_setzero_ps, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_fmadd_ps, _mm512_add_ps, _mm512_max_ps;
    __m512d, f64, 8: _mm512_setzero_pd, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_fmadd_pd, _mm512_add_pd, _mm512_max_pd;
    __m256, f32, 8: _mm256_setzero_ps, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_fmadd_ps, _mm256_add_ps, _mm256_max_ps;
    __m256d, f64, 4: _mm256_setzero_pd, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_fmadd_pd, _mm256_add_pd, _mm256_max_pd;
}

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
    unsafe fn relu(self) -> Self {
        Plain(self.0.map(|x| if x <= T::ZERO { T::ZERO } else { x }))
    }
}
