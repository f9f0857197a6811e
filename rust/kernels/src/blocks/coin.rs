//! Coins that decide which elements stay where others are dropped.

use crate::api::random::Stream;
use crate::math::real::Real;

/// Which elements stay: `word < threshold`, scaled by `factor`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coin {
    threshold: u64,
    factor: f64,
}

impl Coin {
    /// A coin that drops with probability `p`. With `p` = 1 everything is zero.
    pub(crate) fn new(p: f64) -> Self {
        let keep = 1.0 - p;
        Coin {
            threshold: (keep * 4_294_967_296.0) as u64,
            factor: if keep > 0.0 { 1.0 / keep } else { 0.0 },
        }
    }

    /// The factor that a random word stands for.
    pub(crate) fn toss<R: Real>(&self, word: u32) -> R {
        if u64::from(word) < self.threshold {
            R::of(self.factor)
        } else {
            R::ZERO
        }
    }

    /// The factors of elements `start..start + out.len()`; `start` is a multiple of four.
    pub(crate) fn fill<R: Real>(&self, stream: Stream, start: usize, out: &mut [R]) {
        for (i, four) in out.chunks_mut(4).enumerate() {
            let words = stream.block((start / 4 + i) as u64);
            four.iter_mut()
                .zip(words)
                .for_each(|(o, w)| *o = self.toss(w));
        }
    }
}
