//! Vector instructions: which ones this CPU has, and plain loops compiled for each level.

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

/// The level of this CPU, or a lower one that `FERROMIX_ISA` names.
fn find() -> (Level, u8) {
    #[cfg(target_arch = "x86_64")]
    {
        let most = std::env::var("FERROMIX_ISA").unwrap_or_default();
        let (base, avx2) = (most == "base", most == "avx2");
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && !avx2
            && !base
        {
            return (Level::V4, 3);
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && !base {
            return (Level::V3, 2);
        }
    }
    (Level::Base, 1)
}

/// Whether this CPU is one of Intel's.
pub(crate) fn is_intel() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        static FOUND: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        let name = || {
            let found = std::arch::x86_64::__cpuid(0);
            [found.ebx, found.edx, found.ecx].map(u32::to_le_bytes)
        };
        *FOUND.get_or_init(|| name().as_flattened() == b"GenuineIntel")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
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

            match $crate::simd::vector::level() {
                // SAFETY: `level` found these features on this CPU.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::vector::Level::V4 => unsafe { v4($($a),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::vector::Level::V3 => unsafe { v3($($a),*) },
                $crate::simd::vector::Level::Base => body($($a),*),
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
            $crate::simd::vector::versions! {
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

            match $crate::simd::vector::level() {
                // SAFETY: `level` found these features on this CPU.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::vector::Level::V4 => unsafe { v4::<$($names)*>($($a),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::vector::Level::V3 => unsafe { v3::<$($names)*>($($a),*) },
                $crate::simd::vector::Level::Base => body::<$($names)*>($($a),*),
            }
        }
    };
}
pub(crate) use versions;
