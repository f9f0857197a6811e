//! Halves to numbers of single precision and back, by vectors.

use crate::simd::vector::multiversion;
use ferromix_base::{bf16, f16};
use half::slice::HalfFloatSliceExt;

/// To single precision.
pub(crate) fn lift_ieee(from: &[f16], to: &mut [f32]) {
    let n = from.len().min(to.len());
    from[..n].convert_to_f32_slice(&mut to[..n]);
}

/// From single precision, rounded to the nearest.
pub(crate) fn lower_ieee(from: &[f32], to: &mut [f16]) {
    let n = from.len().min(to.len());
    to[..n].convert_from_f32_slice(&from[..n]);
}

/// To single precision.
#[inline(always)]
pub(crate) fn up_brain(x: bf16) -> f32 {
    f32::from_bits(u32::from(x.to_bits()) << 16)
}

/// From single precision, rounded to the nearest, of two the even one. Without branches, so that loops become
/// vectors.
#[inline(always)]
pub(crate) fn down_brain(x: f32) -> bf16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    let quiet = bits >> 16 | 0x40;
    bf16::from_bits(if x.is_nan() { quiet } else { rounded } as u16)
}

multiversion! {
    /// To single precision.
    pub(crate) fn lift_brain<>(from: &[bf16], to: &mut [f32]) {
        to.iter_mut().zip(from).for_each(|(to, &from)| *to = up_brain(from));
    }

    /// As [`down_brain`].
    pub(crate) fn lower_brain<>(from: &[f32], to: &mut [bf16]) {
        to.iter_mut().zip(from).for_each(|(to, &from)| *to = down_brain(from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_halves_are_themselves_and_rounding_is_that_of_one_by_one() {
        let halves: Vec<bf16> = (0..=u16::MAX).map(bf16::from_bits).collect();
        let (mut wide, mut back) = (vec![0.0; halves.len()], vec![bf16::ZERO; halves.len()]);
        lift_brain(&halves, &mut wide);
        lower_brain(&wide, &mut back);
        for ((x, y), z) in halves.iter().zip(&wide).zip(&back) {
            assert!(x.to_f32() == *y || x.is_nan() && y.is_nan());
            assert!(x.to_bits() == z.to_bits() || x.is_nan() && z.is_nan());
        }
        let numbers: Vec<f32> = (0..1_u32 << 17)
            .map(|i| f32::from_bits(i.wrapping_mul(0x9e37_79b1) ^ (i & 1) << 15))
            .collect();
        let mut found = vec![bf16::ZERO; numbers.len()];
        lower_brain(&numbers, &mut found);
        for (x, found) in numbers.iter().zip(found) {
            assert_eq!(bf16::from_f32(*x).to_bits(), found.to_bits(), "{x:e}");
        }
    }
}
