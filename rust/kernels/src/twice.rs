//! Compiles a loop twice, for the target's baseline and for AVX2, and picks at run time. The code
//! is the same, no operation is contracted or reordered, so the bits are the same too.

/// Whether the wide version may run.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn wide() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

/// Defines a generic function whose body exists in both versions.
macro_rules! twice {
    ($(#[$meta:meta])* $vis:vis fn $name:ident[$($g:tt)*]($($a:ident: $t:ty),* $(,)?)
        $(-> $r:ty)? [$($names:tt)*] $body:block) => {
        $(#[$meta])*
        $vis fn $name<$($g)*>($($a: $t),*) $(-> $r)? {
            #[inline(always)]
            fn body<$($g)*>($($a: $t),*) $(-> $r)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn wide<$($g)*>($($a: $t),*) $(-> $r)? {
                body::<$($names)*>($($a),*)
            }

            #[cfg(target_arch = "x86_64")]
            if $crate::twice::wide() {
                // SAFETY: the features were found just now.
                return unsafe { wide::<$($names)*>($($a),*) };
            }
            body::<$($names)*>($($a),*)
        }
    };
}
pub(crate) use twice;
