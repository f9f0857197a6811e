//! The folds that reductions are made of.

use super::{Fold, lanes_of};
use crate::simd::number::Number;

macro_rules! folds {
    ($($name:ident: $start:ident, $x:ident => $lift:expr, ($a:ident, $b:ident) => $join:expr
        $(, quick $quick:expr)? $(, short $short:expr)?;)*) => {
        $(#[derive(Clone, Copy)]
        pub(crate) struct $name;
        impl<C: Number> Fold<C> for $name {
            const SKIPS_NAN: bool = folds!(@given $($quick)?);
            #[inline(always)]
            fn start(self) -> C { C::$start }
            #[inline(always)]
            fn lift(self, $x: C) -> C { $lift }
            #[inline(always)]
            fn join(self, $a: C, $b: C) -> C { $join }
            #[inline(always)]
            fn quick(self, $a: C, $b: C) -> C { folds!(@last $join $(, $quick)?) }
            $(#[inline(always)]
            fn in_short(self, block: &[f32]) -> Option<C> { short_sum(block, $short) })?
        })*
    };
    (@given) => { false };
    (@given $quick:expr) => { true };
    (@last $join:expr) => { $join };
    (@last $join:expr, $quick:expr) => { $quick };
}
folds! {
    Sum: ZERO, x => x, (a, b) => a.plus(b);
    Prod: ONE, x => x, (a, b) => a.times(b);
    Max: LOWEST, x => x, (a, b) => b.larger(a), quick if b > a { b } else { a };
    Min: HIGHEST, x => x, (a, b) => b.smaller(a), quick if b < a { b } else { a };
    Magnitudes: ZERO, x => x.magnitude(), (a, b) => a.plus(b), short f32::abs;
    Squares: ZERO, x => x.times(x), (a, b) => a.plus(b), short |x| x * x;
    NanSum: ZERO, x => if x.is_nan() { C::ZERO } else { x }, (a, b) => a.plus(b);
    NanProd: ONE, x => if x.is_nan() { C::ONE } else { x }, (a, b) => a.times(b);
}

/// The sum of what `term` makes of each element, unless it leaves the range where single precision
/// keeps its digits.
#[inline(always)]
fn short_sum<C: Number>(block: &[f32], term: impl Fn(f32) -> f32) -> Option<C> {
    let sum = lanes_of(block, 0.0, term, |a, b| a + b);
    (1e-20 < sum && sum < f32::INFINITY).then(|| C::from_f32(sum))
}
