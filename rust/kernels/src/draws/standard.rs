//! Draws without parameters, of which an element takes its own words of a block.
//!
//! | type | fraction, exponential | normal |
//! |---|---|---|
//! | `float32`, `float16`, `bfloat16` | element i: word i mod 4 of block i div 4; fractions take the upper 24 (f16: 11, bf16: 8) bits | elements i, i+1 (i even): words i mod 4, i mod 4 + 1 of block i div 4 |
//! | `float64` | element i: 53 bits, words 2 (i mod 2) (upper 32) and the next (21) of block i div 2 | elements i, i+1 (i even): all words of block i div 2 |
//!
//! Normal numbers come in pairs by the method of Box and Muller, "A note on the generation of
//! random normal deviates" (1958): the first word gives the radius, the second the angle; the even
//! element takes the cosine, the odd one the sine.

use crate::api::random::Stream;
use crate::draws::words::fill_words;
use crate::math::Math;
use crate::math::real::Real;
use crate::simd::vector::multiversion;
use ferromix_base::DType;

/// Elements that are drawn together; a multiple of those of a block.
pub(crate) const BLOCK: usize = 512;

/// A distribution without parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standard {
    /// Even in [0, 1).
    Fraction,
    /// Of mean 0 and deviation 1.
    Normal,
    /// Of mean 1.
    Exponential,
}

impl Standard {
    /// The draws of the elements from `at`, a multiple of [`BLOCK`], for numbers of `dtype`.
    pub(crate) fn fill<R: Drawn>(
        self,
        stream: Stream,
        at: usize,
        dtype: DType,
        out: &mut [R; BLOCK],
        n: usize,
    ) {
        let n = n.next_multiple_of(4).min(BLOCK);
        let mut words = [0; 2 * BLOCK];
        let words = &mut words[..n * R::WORDS];
        fill_words(stream, (at * R::WORDS / 4) as u64, words);
        let out = &mut out[..n];
        match self {
            Standard::Fraction => R::fractions(words, bits_of(dtype), out),
            Standard::Normal => R::normals(words, out),
            Standard::Exponential => R::exponentials(words, out),
        }
    }
}

/// Bits of a fraction in single precision.
fn bits_of(dtype: DType) -> u32 {
    match dtype {
        DType::F16 => 11,
        DType::BF16 => 8,
        _ => 24,
    }
}

/// The types that draws are computed in.
pub(crate) trait Drawn: Real {
    /// Words of an element.
    const WORDS: usize;
    fn fractions(words: &[u32], bits: u32, out: &mut [Self]);
    fn normals(words: &[u32], out: &mut [Self]);
    fn exponentials(words: &[u32], out: &mut [Self]);
}

/// A fraction of `bits` bits in [0, 1).
#[inline(always)]
fn fraction(word: u32, bits: u32) -> f32 {
    // As a signed number, which vector instructions convert.
    (word >> (32 - bits)) as i32 as f32 * (1.0 / (1_u32 << bits) as f32)
}

/// 32 bits in (0, 1], whose logarithm is finite.
#[inline(always)]
fn positive(word: u32) -> f32 {
    ((f64::from(word) + 1.0) * (1.0 / (1_u64 << 32) as f64)) as f32
}

/// A fraction of 53 bits in [0, 1).
#[inline(always)]
pub(crate) fn fraction64(high: u32, low: u32) -> f64 {
    // In two exact parts, each of which vector instructions convert.
    let (high, low) = (f64::from(high), f64::from(low >> 11));
    (high * (1_u64 << 21) as f64 + low) * (1.0 / (1_u64 << 53) as f64)
}

multiversion! {
    fn fractions_32<>(words: &[u32], bits: u32, out: &mut [f32]) {
        for (x, word) in out.iter_mut().zip(words) {
            *x = fraction(*word, bits);
        }
    }

    fn normals_32<>(words: &[u32], out: &mut [f32]) {
        for (pair, word) in out.as_chunks_mut::<2>().0.iter_mut().zip(words.as_chunks::<2>().0) {
            let radius = (-2.0 * Math::ln(positive(word[0]))).sqrt();
            let angle = fraction(word[1], 24) * std::f32::consts::TAU;
            *pair = [radius * Math::cos(angle), radius * Math::sin(angle)];
        }
    }

    fn exponentials_32<>(words: &[u32], out: &mut [f32]) {
        for (x, word) in out.iter_mut().zip(words) {
            *x = -Math::ln(positive(*word));
        }
    }

    fn fractions_64<>(words: &[u32], out: &mut [f64]) {
        for (x, word) in out.iter_mut().zip(words.as_chunks::<2>().0) {
            *x = fraction64(word[0], word[1]);
        }
    }

    fn normals_64<>(words: &[u32], out: &mut [f64]) {
        for (pair, word) in out.as_chunks_mut::<2>().0.iter_mut().zip(words.as_chunks::<4>().0) {
            let radius = (-2.0 * Math::ln(1.0 - fraction64(word[0], word[1]))).sqrt();
            let angle = fraction64(word[2], word[3]) * std::f64::consts::TAU;
            *pair = [radius * Math::cos(angle), radius * Math::sin(angle)];
        }
    }

    fn exponentials_64<>(words: &[u32], out: &mut [f64]) {
        for (x, word) in out.iter_mut().zip(words.as_chunks::<2>().0) {
            *x = -Math::ln(1.0 - fraction64(word[0], word[1]));
        }
    }
}

impl Drawn for f32 {
    const WORDS: usize = 1;
    fn fractions(words: &[u32], bits: u32, out: &mut [f32]) {
        fractions_32(words, bits, out);
    }
    fn normals(words: &[u32], out: &mut [f32]) {
        normals_32(words, out);
    }
    fn exponentials(words: &[u32], out: &mut [f32]) {
        exponentials_32(words, out);
    }
}

impl Drawn for f64 {
    const WORDS: usize = 2;
    fn fractions(words: &[u32], _: u32, out: &mut [f64]) {
        fractions_64(words, out);
    }
    fn normals(words: &[u32], out: &mut [f64]) {
        normals_64(words, out);
    }
    fn exponentials(words: &[u32], out: &mut [f64]) {
        exponentials_64(words, out);
    }
}
