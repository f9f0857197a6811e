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
use crate::math::bounds::bounds32;
use ferromix_base::{DType, Error, Result};

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
