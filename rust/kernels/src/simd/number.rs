//! Arithmetic of element types as operators need it: integers wrap, division by zero of integers
//! gives zero, `mod` takes the sign of the divisor, comparison results are 0 or 1.

use ferromix_base::{Element, bf16, f16};

/// Types that kernels compute in. Halves are computed as `f32`, bools as bytes.
pub(crate) trait Number: From3 + PartialOrd {
    const ZERO: Self;
    const ONE: Self;
    /// What no element is less than.
    const LOWEST: Self;
    /// What no element is greater than.
    const HIGHEST: Self;
    /// A number of elements.
    fn count(n: usize) -> Self;
    fn plus(self, o: Self) -> Self;
    fn minus(self, o: Self) -> Self;
    fn times(self, o: Self) -> Self;
    fn over(self, o: Self) -> Self;
    /// Remainder with the sign of the divisor; zero for a zero divisor.
    fn modulo(self, o: Self) -> Self;
    fn magnitude(self) -> Self;
    fn opposite(self) -> Self;
    fn is_nan(self) -> bool;
    fn to_f64(self) -> f64;

    /// 1 for true.
    #[inline(always)]
    fn flag(b: bool) -> Self {
        if b { Self::ONE } else { Self::ZERO }
    }
    #[inline(always)]
    fn truth(self) -> bool {
        self != Self::ZERO
    }
    /// The larger one; NaN if either is.
    #[inline(always)]
    fn larger(self, o: Self) -> Self {
        let larger = if self > o { self } else { o };
        if self.is_nan() { self } else { larger }
    }
    /// The smaller one; NaN if either is.
    #[inline(always)]
    fn smaller(self, o: Self) -> Self {
        let smaller = if self < o { self } else { o };
        if self.is_nan() { self } else { smaller }
    }
    /// -1, 0 or 1; 0 for NaN.
    #[inline(always)]
    fn signum_or_zero(self) -> Self {
        let down = if self < Self::ZERO {
            Self::ONE.opposite()
        } else {
            Self::ZERO
        };
        if self > Self::ZERO { Self::ONE } else { down }
    }
}

macro_rules! floats {
    ($($t:ty),*) => { $(impl Number for $t {
        const ZERO: Self = 0.0;
        const ONE: Self = 1.0;
        const LOWEST: Self = <$t>::NEG_INFINITY;
        const HIGHEST: Self = <$t>::INFINITY;
        fn count(n: usize) -> Self { n as $t }
        #[inline(always)]
        fn plus(self, o: Self) -> Self { self + o }
        #[inline(always)]
        fn minus(self, o: Self) -> Self { self - o }
        #[inline(always)]
        fn times(self, o: Self) -> Self { self * o }
        #[inline(always)]
        fn over(self, o: Self) -> Self { self / o }
        #[inline]
        fn modulo(self, o: Self) -> Self {
            if o == 0.0 {
                return 0.0;
            }
            let r = self % o;
            if r != 0.0 && (r < 0.0) != (o < 0.0) { r + o } else { r }
        }
        #[inline(always)]
        fn magnitude(self) -> Self { self.abs() }
        #[inline(always)]
        fn opposite(self) -> Self { -self }
        #[inline(always)]
        fn is_nan(self) -> bool { <$t>::is_nan(self) }
        #[inline(always)]
        fn to_f64(self) -> f64 { f64::from(self) }
    })* };
}
floats!(f32, f64);

macro_rules! integers {
    ($($t:ty),*) => { $(impl Number for $t {
        const ZERO: Self = 0;
        const ONE: Self = 1;
        const LOWEST: Self = <$t>::MIN;
        const HIGHEST: Self = <$t>::MAX;
        fn count(n: usize) -> Self { n as $t }
        #[inline(always)]
        fn plus(self, o: Self) -> Self { self.wrapping_add(o) }
        #[inline(always)]
        fn minus(self, o: Self) -> Self { self.wrapping_sub(o) }
        #[inline(always)]
        fn times(self, o: Self) -> Self { self.wrapping_mul(o) }
        #[inline(always)]
        fn over(self, o: Self) -> Self { if o == 0 { 0 } else { self.wrapping_div(o) } }
        #[inline(always)]
        #[allow(unused_comparisons)]
        fn modulo(self, o: Self) -> Self {
            if o == 0 {
                return 0;
            }
            let r = self.wrapping_rem(o);
            if r != 0 && (r < 0) != (o < 0) { r + o } else { r }
        }
        #[inline(always)]
        #[allow(unused_comparisons)]
        fn magnitude(self) -> Self { if self < 0 { self.opposite() } else { self } }
        #[inline(always)]
        fn opposite(self) -> Self { self.wrapping_neg() }
        #[inline(always)]
        fn is_nan(self) -> bool { false }
        #[inline(always)]
        fn to_f64(self) -> f64 { self as f64 }
    })* };
}
integers!(u8, i8, i32, i64);

/// Conversion targets. A real number is truncated towards zero to an integer; NaN and what does
/// not fit give the least integer of 32 (64 for `i64`) bits, of which byte types keep the lowest
/// byte, as MXNet does on x86. Everything but zero is true.
pub(crate) trait From3: Element {
    fn from_f32(x: f32) -> Self;
    fn from_f64(x: f64) -> Self;
    fn from_i64(x: i64) -> Self;
}

macro_rules! from_bytes_and_words {
    ($($t:ty),*) => { $(impl From3 for $t {
        #[inline(always)]
        fn from_f32(x: f32) -> Self {
            (if x >= 2_147_483_648.0 || x.is_nan() { i32::MIN } else { x as i32 }) as $t
        }
        #[inline(always)]
        fn from_f64(x: f64) -> Self {
            let outside = x >= 2_147_483_648.0 || x <= -2_147_483_649.0 || x.is_nan();
            (if outside { i32::MIN } else { x as i32 }) as $t
        }
        #[inline(always)]
        fn from_i64(x: i64) -> Self { x as $t }
    })* };
}
from_bytes_and_words!(u8, i8, i32);

macro_rules! from_plain {
    ($($t:ty: $x:ident => $f32:expr, $f64:expr, $i64:expr);* $(;)?) => { $(impl From3 for $t {
        #[inline(always)]
        fn from_f32($x: f32) -> Self { $f32 }
        #[inline(always)]
        fn from_f64($x: f64) -> Self { $f64 }
        #[inline(always)]
        fn from_i64($x: i64) -> Self { $i64 }
    })* };
}
const PAST_I64: f64 = 9_223_372_036_854_775_808.0;
from_plain! {
    i64: x => if x >= PAST_I64 as f32 || x.is_nan() { i64::MIN } else { x as i64 },
        if x >= PAST_I64 || x.is_nan() { i64::MIN } else { x as i64 }, x;
    bool: x => x != 0.0, x != 0.0, x != 0;
    f32: x => x, x as f32, x as f32;
    f64: x => f64::from(x), x, x as f64;
    f16: x => f16::from_f32(x), f16::from_f32(to_odd(x)), f16::from_f32(to_odd(x as f64));
    bf16: x => bf16::from_f32(x), bf16::from_f32(to_odd(x)), bf16::from_f32(to_odd(x as f64));
}

/// A number from which halves round as from `x` itself: `x` rounded towards zero, with the last bit set
/// where something is lost, so that no tie comes of it (Boldo and Melquiond, "Emulation of FMA and correctly
/// rounded sums: proved algorithms using rounding to odd", 2008).
#[inline(always)]
pub(crate) fn to_odd(x: f64) -> f32 {
    let near = x as f32;
    let back = f64::from(near);
    let towards_zero = near.to_bits() - u32::from(back.abs() > x.abs());
    f32::from_bits(towards_zero | u32::from(back != x))
}

/// Conversion sources: each type goes through the widest of `f32`, `f64`, `i64` that holds it.
pub(crate) trait Convert: Element {
    fn convert<D: From3>(self) -> D;
}

macro_rules! sources {
    ($($t:ty: $x:ident => $from:ident($wide:expr));* $(;)?) => { $(impl Convert for $t {
        #[inline(always)]
        fn convert<D: From3>(self) -> D { let $x = self; D::$from($wide) }
    })* };
}
sources! {
    f32: x => from_f32(x);
    f64: x => from_f64(x);
    f16: x => from_f32(x.to_f32());
    bf16: x => from_f32(x.to_f32());
    u8: x => from_i64(i64::from(x));
    i8: x => from_i64(i64::from(x));
    i32: x => from_i64(i64::from(x));
    i64: x => from_i64(x);
    bool: x => from_i64(i64::from(x));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_round_once() {
        // Just above and below what lies between two halves, by less than float32 has.
        for (step, tiny) in [(2f64.powi(-11), 1e-12), (2f64.powi(-11), -1e-12)] {
            let up = 1.0 + 2.0 * step * f64::from(u8::from(tiny > 0.0));
            assert_eq!((1.0 + step + tiny).convert::<f16>().to_f64(), up);
            assert_eq!((-1.0 - step - tiny).convert::<f16>().to_f64(), -up);
            let (step, up) = (8.0 * step, 1.0 + 8.0 * (up - 1.0));
            assert_eq!((1.0 + step + tiny).convert::<bf16>().to_f64(), up);
        }
        // A tie goes to the even one; the largest, what is beyond it, and the least.
        assert_eq!((1.0 + 2f64.powi(-11)).convert::<f16>().to_f64(), 1.0);
        assert_eq!(65_519.999_999_999f64.convert::<f16>(), f16::MAX);
        assert_eq!(65_520f64.convert::<f16>(), f16::INFINITY);
        assert_eq!(1e300f64.convert::<bf16>(), bf16::INFINITY);
        assert_eq!((-1e-300f64).convert::<f16>().to_bits(), 0x8000);
        assert_eq!(2f64.powi(-25).convert::<f16>().to_bits(), 0);
        assert_eq!(
            (2f64.powi(-25) * (1.0 + 1e-12)).convert::<f16>().to_bits(),
            1
        );
        assert!(f64::NAN.convert::<f16>().is_nan());
        assert_eq!(f64::NEG_INFINITY.convert::<bf16>(), bf16::NEG_INFINITY);
    }

    #[test]
    fn remainders_take_the_sign_of_the_divisor() {
        assert_eq!(
            [-7i32.modulo(2), (-7i32).modulo(2), 7i32.modulo(-2)],
            [-1, 1, -1]
        );
        assert_eq!(
            (7u8.modulo(4), 7u8.modulo(0), i8::MIN.modulo(-1)),
            (3, 0, 0)
        );
        assert_eq!((-5.5f32).modulo(2.0), 0.5);
        assert_eq!((-5f64).modulo(f64::INFINITY), f64::INFINITY);
    }

    #[test]
    fn conversions_outside_the_range_are_defined() {
        assert_eq!(f32::NAN.convert::<i32>(), i32::MIN);
        assert_eq!((300f32.convert::<u8>(), (-1f64).convert::<u8>()), (44, 255));
        assert_eq!(
            (1e20f32.convert::<i64>(), 1e20f64.convert::<u8>()),
            (i64::MIN, 0)
        );
        assert_eq!((-3e9f64).convert::<i32>(), i32::MIN);
        assert_eq!((-2_147_483_648.5f64).convert::<i32>(), i32::MIN);
        assert!(f32::NAN.convert::<bool>() && !(-0.0f32).convert::<bool>());
    }
}
