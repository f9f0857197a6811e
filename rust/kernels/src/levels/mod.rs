//! Whole numbers of eight bits, or 32, that stand for real ones of a range: conversions, and products of
//! rows. Of a range, the larger magnitude counts.

pub(crate) mod byte_tiles;

use crate::api::{Attrs, View};
use crate::blocks::staged::Staged;
use crate::simd::vector::multiversion;
use ferromix_base::{DType, Element, Result};

/// Whole numbers that stand for real ones.
pub(crate) trait Whole: Element + Ord {
    /// What stands for the larger magnitude of the range.
    const LEVELS: f32;
    /// The largest number.
    const MOST: f32;
    /// The nearest one, of two the even one; 0 for NaN.
    fn nearest(x: f32) -> Self;
    fn real(self) -> f32;
    /// As a number of 16 bits; only of one of eight.
    fn wide(self) -> i16;
    /// The number that has the lower bits of `x`.
    fn bits(x: i16) -> Self;
}

/// A number of eight bits, the nearest to `x` between `low` and `high`, as the last bits; 0 for NaN.
#[inline(always)]
fn nearest_byte(x: f32, low: f32, high: f32) -> u32 {
    /// Floats of this size are whole numbers, so that the sum is rounded to one, which is in its last bits.
    const WHOLE: f32 = (3 << 22) as f32;
    let x = if x.is_nan() { 0.0 } else { x.clamp(low, high) };
    (x + WHOLE).to_bits()
}

macro_rules! whole {
    ($($t:ty: $levels:literal, $most:literal, $x:ident => $nearest:expr;)*) => {$(
        impl Whole for $t {
            const LEVELS: f32 = $levels;
            const MOST: f32 = $most;
            #[inline(always)]
            fn nearest($x: f32) -> Self { $nearest as $t }
            #[inline(always)]
            fn real(self) -> f32 { self as f32 }
            #[inline(always)]
            fn wide(self) -> i16 { self as i16 }
            #[inline(always)]
            fn bits(x: i16) -> Self { x as $t }
        }
    )*};
}
whole! {
    i8: 127.5, 127.0, x => nearest_byte(x, -128.0, 127.0);
    u8: 255.5, 255.0, x => nearest_byte(x, 0.0, 255.0);
    i32: 2_147_483_648.0, 2_147_483_648.0, x => x.round_ties_even();
}

/// Evaluates an expression with a type name bound to `i8` or `u8`.
macro_rules! by_byte {
    ($operator:expr, $dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            ferromix_base::DType::I8 => {
                type $t = i8;
                $body
            }
            ferromix_base::DType::U8 => {
                type $t = u8;
                $body
            }
            other => Err($crate::math::real::unsupported(
                $operator,
                other,
                "int8, uint8",
            )),
        }
    };
}
pub(crate) use by_byte;

/// The levels of a type, and its largest number.
pub(crate) fn levels(dtype: DType) -> (f32, f32) {
    match dtype {
        DType::I8 => (i8::LEVELS, i8::MOST),
        DType::U8 => (u8::LEVELS, u8::MOST),
        _ => (i32::LEVELS, i32::MOST),
    }
}

/// A range, from two tensors of one number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) low: f32,
    pub(crate) high: f32,
}

impl Range {
    /// Reads both ends.
    ///
    /// # Errors
    /// Tensors of another type, or without a number.
    pub(crate) fn of(low: &View, high: &View) -> Result<Self> {
        let number = |view: &View| -> Result<f32> {
            let numbers = view.read::<f32>()?;
            Ok(numbers.first().copied().unwrap_or(0.0))
        };
        Ok(Range {
            low: number(low)?,
            high: number(high)?,
        })
    }

    /// The same magnitude on both sides.
    pub(crate) fn even(most: f32) -> Self {
        Range {
            low: -most,
            high: most,
        }
    }

    /// The larger magnitude.
    pub(crate) fn most(self) -> f32 {
        self.low.abs().max(self.high.abs())
    }

    /// Writes the ends to the two outputs behind the first one.
    ///
    /// # Errors
    /// Outputs of another type.
    pub(crate) fn put(self, staged: &mut [Option<Staged>]) -> Result<()> {
        for (staged, x) in staged.iter_mut().skip(1).zip([self.low, self.high]) {
            if let Some(staged) = staged {
                staged.view.write::<f32>()?.fill(x);
            }
        }
        Ok(())
    }
}

/// The range that attributes say, if both ends do.
///
/// # Errors
/// An attribute that is no number.
pub(crate) fn calibrated(attrs: &Attrs) -> Result<Option<Range>> {
    if !attrs.has("min_calib_range") || !attrs.has("max_calib_range") {
        return Ok(None);
    }
    Ok(Some(Range {
        low: attrs.float("min_calib_range")? as f32,
        high: attrs.float("max_calib_range")? as f32,
    }))
}

/// Numbers that are converted by a task.
pub(crate) const GRAIN: usize = 32_768;

multiversion! {
    /// Products of real numbers and a factor.
    pub(crate) fn scaled<T: Whole>(data: &[f32], factor: f32, out: &mut [T]) {
        for (out, x) in out.iter_mut().zip(data) {
            *out = T::nearest(x * factor);
        }
    }

    /// Products of sums and a factor.
    pub(crate) fn rescaled<T: Whole>(data: &[i32], factor: f32, out: &mut [T]) {
        for (out, &x) in out.iter_mut().zip(data) {
            *out = T::nearest(x as f32 * factor);
        }
    }

    /// The largest magnitude of a sum.
    pub(crate) fn most_of<>(data: &[i32]) -> u32 {
        data.iter().fold(0, |most, x| most.max(x.unsigned_abs()))
    }

    /// The least and the greatest number.
    pub(crate) fn bounds<>(data: &[f32]) -> (f32, f32) {
        const LANES: usize = 16;
        let first = data.first().copied().unwrap_or(0.0);
        let (mut low, mut high) = ([first; LANES], [first; LANES]);
        let mut fold = |chunk: &[f32]| {
            for ((low, high), &x) in low.iter_mut().zip(&mut high).zip(chunk) {
                *low = if x < *low { x } else { *low };
                *high = if x > *high { x } else { *high };
            }
        };
        data.chunks(LANES).for_each(&mut fold);
        let least = low.iter().fold(first, |a, &b| a.min(b));
        (least, high.iter().fold(first, |a, &b| a.max(b)))
    }
}
