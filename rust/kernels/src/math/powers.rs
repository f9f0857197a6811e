//! The loop of powers in single precision: all arguments quickly, then by C's rules where that may not
//! be what they say.

use crate::math::power;
#[cfg(target_arch = "x86_64")]
use crate::math::wide::{Registers, avx2::Avx2, avx512::Avx512};
use crate::simd::body::{Body, Run};
use crate::simd::vector::{Level, level, versions};

/// Elements that are looked through for odd arguments at once.
const BLOCK: usize = 1024;

/// One of the operands: a run, or a number.
#[derive(Clone, Copy)]
enum Side<'a> {
    Each(&'a [f32]),
    All(f32),
}

impl Side<'_> {
    /// The elements from `start` on, `n` of them.
    fn part(&self, start: usize, n: usize) -> Self {
        match self {
            Side::Each(x) => Side::Each(&x[start..start + n]),
            Side::All(x) => Side::All(*x),
        }
    }
}

/// `*d = f(a, b)` for each element; whether `f` said so of one.
#[inline(always)]
fn each(d: &mut [f32], a: Side<'_>, b: Side<'_>, f: impl Fn(f32, f32) -> (f32, bool)) -> bool {
    let mut any = false;
    let mut set = |d: &mut f32, a, b| {
        let (y, odd) = f(a, b);
        *d = y;
        any |= odd;
    };
    let d = d.iter_mut();
    match (a, b) {
        (Side::Each(a), Side::Each(b)) => {
            d.zip(a).zip(b).for_each(|((d, &a), &b)| set(d, a, b));
        }
        (Side::Each(a), Side::All(b)) => d.zip(a).for_each(|(d, &a)| set(d, a, b)),
        (Side::All(a), Side::Each(b)) => d.zip(b).for_each(|(d, &b)| set(d, a, b)),
        (Side::All(a), Side::All(b)) => d.for_each(|d| set(d, a, b)),
    }
    any
}

versions! {
    fn one_by_one[](d: &mut [f32], a: Side<'_>, b: Side<'_>) -> bool [] {
        each(d, a, b, power::quick)
    }
}

/// The quick results; whether one is not right.
fn quickly(d: &mut [f32], a: Side<'_>, b: Side<'_>) -> bool {
    match level() {
        // SAFETY: `level` found the instructions.
        #[cfg(target_arch = "x86_64")]
        Level::V4 => unsafe { v4(d, a, b) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::V3 => unsafe { v3(d, a, b) },
        Level::Base => one_by_one(d, a, b),
    }
}

/// As [`quickly`].
///
/// # Safety
/// The CPU has the level.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn v4(d: &mut [f32], a: Side<'_>, b: Side<'_>) -> bool {
    // SAFETY: as the caller vouches.
    unsafe { in_registers::<Avx512<4>, Avx512<1>>(d, [a, b]) }
}

/// As [`quickly`].
///
/// # Safety
/// The CPU has the level.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn v3(d: &mut [f32], a: Side<'_>, b: Side<'_>) -> bool {
    // SAFETY: as the caller vouches.
    unsafe { in_registers::<Avx2<2>, Avx2<1>>(d, [a, b]) }
}

/// # Safety
/// The CPU has the instructions of the registers.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn in_registers<Many: Registers, One: Registers>(d: &mut [f32], ab: [Side<'_>; 2]) -> bool {
    let (mut any, mut i) = (false, 0);
    while i < d.len() {
        let left = d.len() - i;
        // SAFETY: as the caller vouches.
        let (odd, n) = unsafe {
            if left >= Many::N {
                (step::<Many>(d, ab, i, Many::N), Many::N)
            } else {
                let n = left.min(One::N);
                (step::<One>(d, ab, i, n), n)
            }
        };
        any |= odd;
        i += n;
    }
    any
}

/// The quick results of `n` elements from `i` on.
///
/// # Safety
/// The CPU has the instructions of the registers.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn step<R: Registers>(d: &mut [f32], [a, b]: [Side<'_>; 2], i: usize, n: usize) -> bool {
    // SAFETY: the caller vouches for the CPU; the slices have the elements.
    unsafe {
        let load = |s| match s {
            Side::Each(x) => R::load(x[i..i + n].as_ptr(), n),
            Side::All(x) => R::splat(x),
        };
        let (y, odd) = power::quick(load(a), load(b));
        y.store(d[i..i + n].as_mut_ptr(), n);
        R::any(odd, n)
    }
}

versions! {
    fn by_rules[](d: &mut [f32], a: Side<'_>, b: Side<'_>) [] {
        each(d, a, b, |a, b| {
            let (y, odd) = power::quick(a, b);
            (if odd { power::by_rules(a, b) } else { y }, odd)
        });
    }
}

/// The loop of `a ** b`.
pub(crate) struct Powers;

impl Body<3> for Powers {
    unsafe fn run(&self, [d, a, b]: [Run; 3], n: usize) {
        // SAFETY: the caller vouches for `n` elements that overlap no other operand.
        let out = unsafe { std::slice::from_raw_parts_mut(d.ptr.cast::<f32>(), n) };
        // SAFETY: the caller vouches for `n` elements, or one where uniform.
        let side = |r: Run| unsafe {
            if r.uniform {
                Side::All(*r.ptr.cast())
            } else {
                Side::Each(std::slice::from_raw_parts(r.ptr.cast(), n))
            }
        };
        let (a, b) = (side(a), side(b));
        for (i, d) in out.chunks_mut(BLOCK).enumerate() {
            let (a, b) = (a.part(i * BLOCK, d.len()), b.part(i * BLOCK, d.len()));
            if quickly(d, a, b) {
                by_rules(d, a, b);
            }
        }
    }
}

/// The loop of `b * a ** (b - 1)`.
pub(crate) struct Slopes;

impl Body<3> for Slopes {
    unsafe fn run(&self, [d, a, b]: [Run; 3], n: usize) {
        let (mut powers, mut exponents) = ([0.0_f32; BLOCK], [0.0_f32; BLOCK]);
        let of_scratch = |scratch: &mut [f32; BLOCK], uniform| Run {
            ptr: scratch.as_mut_ptr().cast(),
            uniform,
        };
        let from = |r: Run, start: usize| {
            let skipped = if r.uniform {
                0
            } else {
                start * size_of::<f32>()
            };
            Run {
                ptr: r.ptr.wrapping_add(skipped),
                ..r
            }
        };
        for start in (0..n).step_by(BLOCK) {
            let count = BLOCK.min(n - start);
            // SAFETY: the caller vouches for `n` elements, or one where uniform.
            let factors = unsafe {
                let many = if b.uniform { 1 } else { count };
                std::slice::from_raw_parts(from(b, start).ptr.cast::<f32>(), many)
            };
            exponents
                .iter_mut()
                .zip(factors)
                .for_each(|(e, &b)| *e = b - 1.0);
            let (to, by) = (
                of_scratch(&mut powers, false),
                of_scratch(&mut exponents, b.uniform),
            );
            // SAFETY: as above; the results have memory of their own.
            unsafe { Powers.run([to, from(a, start), by], count) };
            // SAFETY: the caller vouches for `n` elements that overlap no other operand.
            let out =
                unsafe { std::slice::from_raw_parts_mut(d.ptr.cast::<f32>().add(start), count) };
            let each = out.iter_mut().zip(&powers);
            match factors {
                [b] => each.for_each(|(d, &p)| *d = b * p),
                _ => each.zip(factors).for_each(|((d, &p), &b)| *d = b * p),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Odd arguments among others, runs and numbers, in lengths that end within a block and a register.
    #[test]
    fn each_power_is_that_of_its_operands_alone() {
        let x: Vec<f32> = (0..777_u16)
            .map(|i| f32::from(i % 97) / 8.0 - 0.5)
            .collect();
        let y: Vec<f32> = (0..777_u16).map(|i| f32::from(i % 31) - 15.0).collect();
        let run = |x: &[f32], uniform| Run {
            ptr: x.as_ptr().cast_mut().cast(),
            uniform,
        };
        for n in [0, 1, 5, 16, 64, 70, 255, 256, 300, 777] {
            for (all_x, all_y) in [(false, false), (false, true), (true, false), (true, true)] {
                let mut out = vec![7.0_f32; n + 1];
                let d = Run {
                    ptr: out.as_mut_ptr().cast(),
                    uniform: false,
                };
                // SAFETY: all have `n` elements, and one.
                unsafe { Powers.run([d, run(&x, all_x), run(&y, all_y)], n) };
                for i in 0..n {
                    let (a, b) = (x[if all_x { 0 } else { i }], y[if all_y { 0 } else { i }]);
                    let (got, want) = (out[i], power::pow(a, b));
                    let same = got.to_bits() == want.to_bits();
                    assert!(
                        same || (got.is_nan() && want.is_nan()),
                        "{a} ** {b}: {got}, not {want}"
                    );
                }
                assert_eq!(out[n], 7.0);
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn levels_give_the_same_bits() {
        let x: Vec<f32> = (0..4099_u16).map(|i| f32::from(i) / 64.0 + 0.01).collect();
        let y: Vec<f32> = (0..4099_u16)
            .map(|i| f32::from(i % 131) / 9.0 - 7.0)
            .collect();
        let (x, y) = (Side::Each(&x), Side::Each(&y));
        type Quickly = unsafe fn(&mut [f32], Side<'_>, Side<'_>) -> bool;
        let all: [Quickly; 3] = [one_by_one, v3, v4];
        let count = match level() {
            Level::V4 => 3,
            Level::V3 => 2,
            Level::Base => 1,
        };
        let bits = all[..count].iter().map(|f| {
            let mut found = vec![0.0_f32; 4099];
            // SAFETY: the CPU has the level.
            assert!(!unsafe { f(&mut found, x, y) });
            found.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        });
        let bits: Vec<_> = bits.collect();
        assert!(bits.iter().all(|b| *b == bits[0]));
    }
}
