//! Random tensors from counter-based numbers ([`Stream`]): each element depends on the seed, the
//! number of the run and its position alone.
//!
//! Which words of which block an element takes:
//!
//! | type | uniform | normal |
//! |---|---|---|
//! | `float32`, `float16`, `bfloat16` | element i: the upper 24 (f16: 11, bf16: 8) bits of word i mod 4 of block i div 4 | elements i, i+1 (i even): words i mod 4, i mod 4 + 1 of block i div 4 |
//! | `float64` | element i: 53 bits, words 2 (i mod 2) (upper 32) and the next (21) of block i div 2 | elements i, i+1 (i even): all words of block i div 2 |
//!
//! Normal numbers come in pairs by the method of Box and Muller, "A note on the generation of
//! random normal deviates" (1958): the first word gives the radius, the second the angle; the even
//! element takes the cosine, the odd one the sine.

use crate::api::check::{FLOATS, arity, unsupported};
use crate::api::random::Stream;
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::copy::fill::fill;
use ferromix_base::{DType, Error, Result};
use half::{bf16, f16};

/// Elements of a task: a multiple of any block.
const GRAIN: usize = 1 << 13;

struct Sample {
    normal: bool,
    /// Lower bound, or mean.
    low: f64,
    /// Upper bound, or standard deviation.
    high: f64,
}

impl Kernel for Sample {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let (out, req) = (&mut call.outputs[0], call.reqs[0]);
        let random = call
            .random
            .ok_or_else(|| Error::internal("a random operator was run without random numbers"))?;
        match (self.normal, out.dtype()) {
            (false, DType::F64) => self.uniform64(random, out, req),
            (false, _) => self.uniform32(random, out, req),
            (true, DType::F64) => self.normal64(random, out, req),
            (true, _) => self.normal32(random, out, req),
        }
    }
}

/// A fraction of `bits` bits in [0, 1).
fn fraction(word: u32, bits: u32) -> f32 {
    (word >> (32 - bits)) as f32 / (1u32 << bits) as f32
}

/// A fraction of 53 bits in [0, 1).
fn fraction64(high: u32, low: u32) -> f64 {
    let bits = (u64::from(high) << 21) | u64::from(low >> 11);
    bits as f64 / (1u64 << 53) as f64
}

/// 32 bits in (0, 1], whose logarithm is finite.
fn positive(word: u32) -> f32 {
    ((f64::from(word) + 1.0) / (1u64 << 32) as f64) as f32
}

/// The least and the greatest number of a type that lie in `low <= x < high`: what is rounded to
/// the type afterwards stays in the interval. Where none lies there, twice the one nearest to `low`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bounds<T> {
    least: T,
    greatest: T,
}

impl<T: PartialOrd + Copy> Bounds<T> {
    /// `round` goes to the nearest number of the type, `up` and `down` to its neighbours.
    fn new(low: f64, high: f64, round: impl Fn(f64) -> f64, step: Steps, to: fn(f64) -> T) -> Self {
        let (first, last) = (round(low), round(high));
        let least = if first < low { (step.up)(first) } else { first };
        let greatest = if last >= high {
            (step.down)(last)
        } else {
            last
        };
        let (least, greatest) = if least > greatest {
            (first, first)
        } else {
            (least, greatest)
        };
        Bounds {
            least: to(least),
            greatest: to(greatest),
        }
    }

    fn clamp(self, x: T) -> T {
        if x < self.least {
            self.least
        } else if x > self.greatest {
            self.greatest
        } else {
            x
        }
    }
}

/// To the neighbours of a number of a type.
#[derive(Clone, Copy)]
struct Steps {
    up: fn(f64) -> f64,
    down: fn(f64) -> f64,
}

fn half_up(x: f64) -> f64 {
    half_step(x, true)
}

fn half_down(x: f64) -> f64 {
    half_step(x, false)
}

fn half_step(x: f64, up: bool) -> f64 {
    step16(f16::from_f64(x).to_bits(), up, |bits| {
        f16::from_bits(bits).to_f64()
    })
}

fn brain_up(x: f64) -> f64 {
    brain_step(x, true)
}

fn brain_down(x: f64) -> f64 {
    brain_step(x, false)
}

fn brain_step(x: f64, up: bool) -> f64 {
    step16(bf16::from_f64(x).to_bits(), up, |bits| {
        bf16::from_bits(bits).to_f64()
    })
}

/// The next number of a type of sign and magnitude, in 16 bits.
fn step16(bits: u16, up: bool, value: impl Fn(u16) -> f64) -> f64 {
    const SIGN: u16 = 1 << 15;
    value(match (bits & !SIGN, bits & SIGN != 0) {
        (0, _) => 1 | if up { 0 } else { SIGN },
        (_, negative) if negative == up => bits - 1,
        _ => bits + 1,
    })
}

fn bounds32(low: f64, high: f64, dtype: DType) -> Bounds<f32> {
    let to = |x: f64| x as f32;
    match dtype {
        DType::F16 => {
            let (up, down) = (half_up as _, half_down as _);
            let round = |x| f16::from_f64(x).to_f64();
            Bounds::new(low, high, round, Steps { up, down }, to)
        }
        DType::BF16 => {
            let (up, down) = (brain_up as _, brain_down as _);
            let round = |x| bf16::from_f64(x).to_f64();
            Bounds::new(low, high, round, Steps { up, down }, to)
        }
        _ => {
            let up = |x: f64| f64::from((x as f32).next_up());
            let down = |x: f64| f64::from((x as f32).next_down());
            Bounds::new(low, high, |x| f64::from(x as f32), Steps { up, down }, to)
        }
    }
}

impl Sample {
    fn uniform32(&self, random: Stream, out: &mut View, req: Req) -> Result<()> {
        let (low, high) = (self.low as f32, self.high as f32);
        let bounds = bounds32(self.low, self.high, out.dtype());
        let bits = match out.dtype() {
            DType::F16 => 11,
            DType::BF16 => 8,
            _ => 24,
        };
        fill(out, req, GRAIN, |at, out: &mut [f32]| {
            for (i, four) in out.chunks_mut(4).enumerate() {
                let words = random.block((at / 4 + i) as u64);
                for (x, word) in four.iter_mut().zip(words) {
                    // Rounding may leave the interval.
                    *x = bounds.clamp(low + fraction(word, bits) * (high - low));
                }
            }
        })
    }

    fn uniform64(&self, random: Stream, out: &mut View, req: Req) -> Result<()> {
        let (low, high) = (self.low, self.high);
        fill(out, req, GRAIN, |at, out: &mut [f64]| {
            for (i, two) in out.chunks_mut(2).enumerate() {
                let [a, b, c, d] = random.block((at / 2 + i) as u64);
                for (x, (upper, lower)) in two.iter_mut().zip([(a, b), (c, d)]) {
                    let value = low + fraction64(upper, lower) * (high - low);
                    *x = if value < high || low == high {
                        value
                    } else {
                        high.next_down()
                    };
                }
            }
        })
    }

    fn normal32(&self, random: Stream, out: &mut View, req: Req) -> Result<()> {
        let (mean, deviation) = (self.low as f32, self.high as f32);
        fill(out, req, GRAIN, |at, out: &mut [f32]| {
            for (i, four) in out.chunks_mut(4).enumerate() {
                let [a, b, c, d] = random.block((at / 4 + i) as u64);
                for (pair, (first, second)) in four.chunks_mut(2).zip([(a, b), (c, d)]) {
                    let radius = (-2.0 * positive(first).ln()).sqrt() * deviation;
                    let (sine, cosine) = (fraction(second, 24) * std::f32::consts::TAU).sin_cos();
                    for (x, wave) in pair.iter_mut().zip([cosine, sine]) {
                        *x = mean + radius * wave;
                    }
                }
            }
        })
    }

    fn normal64(&self, random: Stream, out: &mut View, req: Req) -> Result<()> {
        let (mean, deviation) = (self.low, self.high);
        fill(out, req, GRAIN, |at, out: &mut [f64]| {
            for (i, pair) in out.chunks_mut(2).enumerate() {
                let [a, b, c, d] = random.block((at / 2 + i) as u64);
                let radius = (-2.0 * (1.0 - fraction64(a, b)).ln()).sqrt() * deviation;
                let (sine, cosine) = (fraction64(c, d) * std::f64::consts::TAU).sin_cos();
                for (x, wave) in pair.iter_mut().zip([cosine, sine]) {
                    *x = mean + radius * wave;
                }
            }
        })
    }
}

fn prepare(
    name: &str,
    normal: bool,
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let ([], [out]) = arity(name, i, o)?;
    if !out.dtype.is_float() {
        return Err(unsupported(name, out.dtype, &FLOATS));
    }
    let names = if normal {
        ["loc", "scale"]
    } else {
        ["low", "high"]
    };
    let [low, high] = names.map(|n| attrs.float(n).map_err(|e| e.within(name)));
    let (low, high) = (low?, high?);
    if normal && high < 0.0 {
        return Err(Error::value(format!(
            "{name}: scale must not be negative, got {high}"
        )));
    }
    if !normal && low > high {
        return Err(Error::value(format!(
            "{name}: low {low} is above high {high}"
        )));
    }
    Ok(Box::new(Sample { normal, low, high }))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("_random_uniform", |a, i, o| {
        prepare("_random_uniform", false, a, i, o)
    })
    .random(),
    Row::new("_random_normal", |a, i, o| {
        prepare("_random_normal", true, a, i, o)
    })
    .random(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_the_outermost_numbers_of_the_interval() {
        let cases = [
            (DType::F32, 0.0, 1.0, 0.0, 1.0 - 2f32.powi(-24)),
            (DType::F16, 0.0, 1.0, 0.0, 1.0 - 2f32.powi(-11)),
            (DType::BF16, 0.0, 1.0, 0.0, 1.0 - 2f32.powi(-8)),
            (DType::BF16, -1.0, 0.0, -1.0, -f32::from_bits(1 << 16)),
            // 2.1 lies between 2.099609375 and 2.1015625, 2.9 between 2.8984375 and 2.900390625.
            (DType::F16, 2.1, 2.9, 2.101_562_5, 2.898_437_5),
            // Beyond the largest number of the type.
            (DType::F16, 0.0, 1e9, 0.0, 65504.0),
            // No number of the type lies within, or nothing does.
            (DType::BF16, 2.0001, 2.0002, 2.0, 2.0),
            (DType::F32, 3.0, 3.0, 3.0, 3.0),
        ];
        for (dtype, low, high, least, greatest) in cases {
            let found = bounds32(low, high, dtype);
            assert_eq!(found, Bounds { least, greatest }, "{dtype} {low} {high}");
        }
    }
}
