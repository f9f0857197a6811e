//! The numbers of methods that reject: an element has as many attempts as it takes, each with four
//! numbers of its own, so that no element depends on how long another took.

use crate::api::random::Stream;
use crate::draws::standard::{BLOCK, Drawn, fraction64};
use crate::draws::words::fill_words;
use crate::simd::vector::multiversion;

/// Numbers of an attempt.
pub(crate) const NUMBERS: usize = 4;
/// The first attempt at the second of two draws for an element.
pub(crate) const SECOND: u64 = 1 << 14;

/// Attempt `attempt` at element `element` in single or double precision: numbers in (0, 1) of 32 or
/// 53 bits.
///
/// The attempt stands above 48 bits of the block's number, the element below. In double precision
/// it has two blocks.
#[inline]
pub(crate) fn attempt<R: Drawn>(stream: Stream, element: usize, attempt: u64) -> [f64; NUMBERS] {
    let first = (attempt * R::WORDS as u64) << 48 | element as u64;
    let four = stream.block(first);
    if R::WORDS == 1 {
        return four.map(single);
    }
    let more = stream.block(first | 1 << 48);
    [
        double(four[0], four[1]),
        double(four[2], four[3]),
        double(more[0], more[1]),
        double(more[2], more[3]),
    ]
}

#[inline(always)]
fn single(word: u32) -> f64 {
    (f64::from(word) + 0.5) * (1.0 / (1_u64 << 32) as f64)
}

#[inline(always)]
fn double(high: u32, low: u32) -> f64 {
    fraction64(high, low) + 0.5 / (1_u64 << 53) as f64
}

/// The numbers of the first attempts at up to [`BLOCK`] elements.
pub(crate) struct First {
    /// The first numbers of all elements, then the second ones.
    pub numbers: [[f64; BLOCK]; NUMBERS],
}

impl First {
    pub(crate) fn new() -> Self {
        First {
            numbers: [[0.0; BLOCK]; NUMBERS],
        }
    }

    /// Those of `n` elements from `at` on.
    pub(crate) fn fill<R: Drawn>(&mut self, stream: Stream, at: usize, n: usize) {
        let mut words = [0; 4 * BLOCK];
        for half in 0..R::WORDS {
            fill_words(stream, (half as u64) << 48 | at as u64, &mut words[..4 * n]);
            if R::WORDS == 1 {
                singles(&words[..4 * n], &mut self.numbers);
            } else {
                doubles(&words[..4 * n], half, &mut self.numbers);
            }
        }
    }

    /// Those of one element.
    pub(crate) fn of(&self, i: usize) -> [f64; NUMBERS] {
        std::array::from_fn(|k| self.numbers[k][i])
    }
}

multiversion! {
    fn singles<>(words: &[u32], numbers: &mut [[f64; BLOCK]; NUMBERS]) {
        let [a, b, c, d] = numbers;
        for (i, four) in words.as_chunks::<4>().0.iter().enumerate().take(BLOCK) {
            a[i] = single(four[0]);
            b[i] = single(four[1]);
            c[i] = single(four[2]);
            d[i] = single(four[3]);
        }
    }

    fn doubles<>(words: &[u32], half: usize, numbers: &mut [[f64; BLOCK]; NUMBERS]) {
        let [a, b, c, d] = numbers;
        let [a, b] = if half == 0 { [a, b] } else { [c, d] };
        for (i, four) in words.as_chunks::<4>().0.iter().enumerate().take(BLOCK) {
            a[i] = double(four[0], four[1]);
            b[i] = double(four[2], four[3]);
        }
    }
}
