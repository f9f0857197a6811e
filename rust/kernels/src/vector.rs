//! Vector instructions: which ones this CPU has, plain loops compiled for each level, and the few
//! explicit vector operations that matrix tiles are built of.

use std::sync::atomic::{AtomicU8, Ordering};

/// The levels of vector instructions that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Whatever the target guarantees.
    Base,
    /// AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    V3,
    /// AVX-512 F, BW, DQ, VL.
    #[cfg(target_arch = "x86_64")]
    V4,
}

/// What [`level`] found, in numbers; 0 before it looked.
static FOUND: AtomicU8 = AtomicU8::new(0);

/// The level of this CPU.
#[inline]
pub(crate) fn level() -> Level {
    // Relaxed: a number alone, the same whoever finds it.
    match FOUND.load(Ordering::Relaxed) {
        0 => look(),
        #[cfg(target_arch = "x86_64")]
        2 => Level::V3,
        #[cfg(target_arch = "x86_64")]
        3 => Level::V4,
        _ => Level::Base,
    }
}

#[cold]
fn look() -> Level {
    let (level, number) = find();
    // Relaxed: as in `level`.
    FOUND.store(number, Ordering::Relaxed);
    level
}

fn find() -> (Level, u8) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
        {
            return (Level::V4, 3);
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return (Level::V3, 2);
        }
    }
    (Level::Base, 1)
}

/// Compiles functions once per [`Level`] and calls the copy for this CPU. The bodies are plain
/// loops which the compiler vectorises.
macro_rules! multiversion {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident<$($g:ident: $bound:ident),*>(
        $($a:ident: $t:ty),* $(,)?
    ) $(-> $r:ty)? $body:block)*) => {$(
        $(#[$meta])*
        $vis fn $name<$($g: $bound),*>($($a: $t),*) $(-> $r)? {
            #[inline(always)]
            fn body<$($g: $bound),*>($($a: $t),*) $(-> $r)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            fn v4<$($g: $bound),*>($($a: $t),*) $(-> $r)? { body($($a),*) }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn v3<$($g: $bound),*>($($a: $t),*) $(-> $r)? { body($($a),*) }

            match $crate::vector::level() {
                // SAFETY: `level` found these features on this CPU.
                #[cfg(target_arch = "x86_64")]
                $crate::vector::Level::V4 => unsafe { v4($($a),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::vector::Level::V3 => unsafe { v3($($a),*) },
                $crate::vector::Level::Base => body($($a),*),
            }
        }
    )*};
}
pub(crate) use multiversion;

/// As [`multiversion`], for one function whose generics have bounds of any form; their names are
/// repeated before the body. No operation is contracted or reordered, so all copies give the same
/// bits.
macro_rules! versions {
    ($(#[$meta:meta])* $vis:vis unsafe fn $name:ident[$($g:tt)*]($($a:ident: $t:ty),* $(,)?)
        $(-> $r:ty)? [$($names:tt)*] $body:block) => {
        $(#[$meta])*
        $vis unsafe fn $name<$($g)*>($($a: $t),*) $(-> $r)? {
            $crate::vector::versions! {
                fn inside[$($g)*]($($a: $t),*) $(-> $r)? [$($names)*] $body
            }
            inside::<$($names)*>($($a),*)
        }
    };
    ($(#[$meta:meta])* $vis:vis fn $name:ident[$($g:tt)*]($($a:ident: $t:ty),* $(,)?)
        $(-> $r:ty)? [$($names:tt)*] $body:block) => {
        $(#[$meta])*
        $vis fn $name<$($g)*>($($a: $t),*) $(-> $r)? {
            #[inline(always)]
            fn body<$($g)*>($($a: $t),*) $(-> $r)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            fn v4<$($g)*>($($a: $t),*) $(-> $r)? { body::<$($names)*>($($a),*) }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn v3<$($g)*>($($a: $t),*) $(-> $r)? { body::<$($names)*>($($a),*) }

            match $crate::vector::level() {
                // SAFETY: `level` found these features on this CPU.
                #[cfg(target_arch = "x86_64")]
                $crate::vector::Level::V4 => unsafe { v4::<$($names)*>($($a),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::vector::Level::V3 => unsafe { v3::<$($names)*>($($a),*) },
                $crate::vector::Level::Base => body::<$($names)*>($($a),*),
            }
        }
    };
}
pub(crate) use versions;

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
}

macro_rules! lanes_x86 {
    ($($v:ident, $t:ty, $n:literal: $zero:ident, $splat:ident, $load:ident, $store:ident, $fma:ident;)*) => {$(
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
        }
    )*};
}
lanes_x86! {
    __m512, f32, 16: _mm512_setzero_ps, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_fmadd_ps;
    __m512d, f64, 8: _mm512_setzero_pd, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_fmadd_pd;
    __m256, f32, 8: _mm256_setzero_ps, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_fmadd_ps;
    __m256d, f64, 4: _mm256_setzero_pd, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_fmadd_pd;
}

/// Numbers without vector instructions of their own; the compiler finds some.
#[derive(Clone, Copy)]
pub(crate) struct Plain<T, const N: usize>([T; N]);

// SAFETY: no special instructions are needed.
unsafe impl<T: crate::real::Real, const N: usize> Lanes<T> for Plain<T, N> {
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
}
