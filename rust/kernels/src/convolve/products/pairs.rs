//! Products of pairs of bfloat16 in convolutions: two taps that follow each other make a step, and the
//! elements that they read at a position stand side by side in the panels.

use crate::convolve::apply::Apply;
use crate::convolve::direct::TileLoops;
use crate::convolve::field::Run;
#[cfg(target_arch = "x86_64")]
use crate::linalg::pairs;
use crate::linalg::pairs::{PAIR, pair};
use crate::linalg::tile::{Tiled, tile_rows};
use ferromix_base::bf16;
#[cfg(target_arch = "x86_64")]
use smallvec::SmallVec;
use std::ops::Range;

/// The tiles of pairs, where this CPU has them.
pub(in crate::convolve) fn tile_loops() -> Option<TileLoops<bf16>> {
    #[cfg(target_arch = "x86_64")]
    if pairs::there() {
        return Some(x86::LOOPS);
    }
    None
}

impl Apply {
    /// As [`Apply::pack`], in pairs.
    pub(in crate::convolve) fn pack_pairs(&self, weights: &[bf16], packed: &mut [f32]) {
        let depth = self.taps.len().div_ceil(PAIR);
        let parts: Vec<_> = tile_rows(self.rows, f32::tiles().most_rows).collect();
        self.pack_tiles(&parts, (depth, packed), |(group, first, n), out| {
            let from = &weights[group * self.weight_group + first * self.weight_row..];
            for r in 0..n {
                let row = &from[r * self.weight_row..][..self.taps.len()];
                let column = out[r..].iter_mut().step_by(n);
                for (out, two) in column.zip(row.chunks(PAIR)) {
                    *out = pair(two[0], two.get(1).copied().unwrap_or(bf16::ZERO));
                }
            }
        });
    }

    /// As [`Apply::gather_panels`], in pairs.
    pub(in crate::convolve) fn gather_pairs(
        &self,
        (source, taps): (&[bf16], &[usize]),
        runs: &[Run],
        panels: Range<usize>,
        gathered: &mut [f32],
    ) {
        let width = f32::tiles().width;
        let apart = self.apart::<bf16>(width);
        let furthest = taps.iter().copied().max().unwrap_or(0);
        let (steps, step) = (taps.len().div_ceil(PAIR), self.grid.source[2]);
        for p in panels {
            let low = runs.partition_point(|r| r.at < p * width);
            let high = runs.partition_point(|r| r.at < (p + 1) * width);
            let (own, out) = (
                &runs[low..high],
                &mut gathered[p * apart..][..steps * width],
            );
            for run in own {
                assert!(run.len > 0 && run.at + run.len <= (p + 1) * width);
                assert!(run.source + furthest + (run.len - 1) * step < source.len());
            }
            #[cfg(target_arch = "x86_64")]
            if step <= 2 && width == x86::WIDTH && pairs::there() {
                let span = |run: &Run| x86::Span::new(source, run, p * width, step);
                let spans: SmallVec<[x86::Span; 4]> = own.iter().map(span).collect();
                // SAFETY: the CPU has the instructions; what taps read was checked, and there is a row for each pair.
                unsafe {
                    if step == 1 {
                        x86::gather::<1>(&spans, taps, out);
                    } else {
                        x86::gather::<2>(&spans, taps, out);
                    }
                }
                continue;
            }
            for run in own {
                let (at, from) = (run.at - p * width, &source[run.source..]);
                for (two, row) in taps.chunks(PAIR).zip(out.chunks_exact_mut(width)) {
                    for (j, out) in row[at..at + run.len].iter_mut().enumerate() {
                        let read = |tap: &usize| from[tap + j * step];
                        *out = pair(read(&two[0]), two.get(1).map_or(bf16::ZERO, read));
                    }
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use crate::convolve::direct::TileLoops;
    use crate::convolve::field::Run;
    use crate::convolve::tiles::{self, Factors, Tile};
    use crate::linalg::pairs::{PAIR, Pairs};
    use ferromix_base::bf16;
    use std::arch::x86_64::*;

    /// Positions of a panel.
    pub(super) const WIDTH: usize = 32;

    /// # Safety
    /// As [`tiles::product`]; the CPU multiplies pairs.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")]
    unsafe fn tile<const N: usize, const W: usize>(factors: &Factors<f32>, tile: &Tile<'_, bf16>) {
        // SAFETY: as the caller vouches.
        unsafe { tiles::product::<bf16, Pairs, N, W>(factors, tile) }
    }

    macro_rules! table {
        ($w:literal: $($n:literal)*) => { &[$(tile::<$n, $w>),*] };
    }

    pub(super) const LOOPS: TileLoops<bf16> = [
        table!(2: 1 2 3 4 5 6 7 8 9 10 11 12),
        table!(1: 1 2 3 4 5 6 7 8 9 10 11 12),
    ];

    /// For each place of a register the word that comes there: of two registers, numbered through.
    const fn words(first: u16, interleaved: bool) -> [u16; 32] {
        let mut words = [0; 32];
        let mut i = 0;
        while i < 32 {
            let at = i as u16;
            words[i] = match interleaved {
                true => first + at / 2 + at % 2 * 32,
                false => 2 * at,
            };
            i += 1;
        }
        words
    }

    /// Halves of two registers in turn, and every second word of two.
    const LOW: [u16; 32] = words(0, true);
    const HIGH: [u16; 32] = words(16, true);
    const EVEN: [u16; 32] = words(0, false);

    /// Some neighbouring positions of a panel.
    pub(super) struct Span {
        /// Where the first position of the panel would read.
        from: *const bf16,
        /// The words from there on that these positions read: 64 of them, a bit for each.
        words: u64,
    }

    impl Span {
        /// A run in the panel that begins with a position; neighbours are `step` apart, one or two.
        pub(super) fn new(source: &[bf16], run: &Run, first: usize, step: usize) -> Self {
            let at = run.at - first;
            let all = if step == 1 { u64::MAX } else { u64::MAX / 3 };
            let words = (all & u64::MAX >> (64 - ((run.len - 1) * step + 1))) << (at * step);
            let from = source.as_ptr().wrapping_add(run.source);
            Span {
                from: from.wrapping_sub(at * step),
                words,
            }
        }
    }

    /// Puts what pairs of taps read at positions, `STEP` apart, side by side in a row for each pair.
    ///
    /// # Safety
    /// The CPU multiplies pairs; all taps can be read at these positions, and there is a row for each pair.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(super) unsafe fn gather<const STEP: usize>(
        spans: &[Span],
        taps: &[usize],
        out: &mut [f32],
    ) {
        // SAFETY: the tables are as long; only words of positions are read, which are there, as the caller vouches.
        unsafe {
            let [low, high, even] =
                [LOW, HIGH, EVEN].map(|w| _mm512_loadu_si512(w.as_ptr().cast()));
            let line = |tap: &usize| {
                let (mut x, mut y) = (_mm512_setzero_si512(), _mm512_setzero_si512());
                for span in spans {
                    let from = span.from.wrapping_add(*tap).cast();
                    x = _mm512_mask_loadu_epi16(x, span.words as u32, from);
                    if STEP > 1 {
                        let words = (span.words >> 32) as u32;
                        y = _mm512_mask_loadu_epi16(y, words, from.wrapping_add(32));
                    }
                }
                if STEP > 1 {
                    x = _mm512_permutex2var_epi16(x, even, y);
                }
                x
            };
            for (two, row) in taps.chunks(PAIR).zip(out.chunks_exact_mut(WIDTH)) {
                let a = line(&two[0]);
                let b = two.get(1).map_or(_mm512_setzero_si512(), line);
                let to = row.as_mut_ptr();
                _mm512_storeu_si512(to.cast(), _mm512_permutex2var_epi16(a, low, b));
                _mm512_storeu_si512(to.add(16).cast(), _mm512_permutex2var_epi16(a, high, b));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convolve::direct::TileLoops;
    use crate::convolve::tiles::{Factors, Loop, Tile, product};
    use crate::linalg::ends::{End, Part};
    use crate::linalg::pairs::PlainPairs;

    const WIDTH: usize = 32;

    fn halves(count: usize, seed: u32) -> Vec<bf16> {
        let mut state = seed;
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            bf16::from_f32((state >> 16) as f32 / 16_384.0 - 2.0)
        };
        (0..count).map(next).collect()
    }

    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let halves = halves(2 * count, seed);
        halves.chunks(2).map(|two| pair(two[0], two[1])).collect()
    }

    /// What a tile of `n` rows writes, or leaves as unfinished sums.
    fn written(tile: Loop<bf16>, n: usize, ended: bool) -> (Vec<u16>, Vec<u32>) {
        let depth = 9;
        let (a, b) = (numbers(depth * n, 1), numbers(depth * WIDTH, 2));
        let start: Vec<f32> = halves(n * WIDTH, 3).iter().map(|x| x.to_f32()).collect();
        let (mut c, addend) = (halves(n * 40, 4), halves(n * 40, 5));
        let (factor, shift) = (vec![0.7; n], vec![0.1; n]);
        let mut sums = vec![0.0_f32; n * WIDTH];
        let parts = [
            Part {
                at: 1,
                places: 0x0fff_fff7,
            },
            Part {
                at: 5,
                places: 0xf000_0000,
            },
        ];
        let unfinished = if ended {
            std::ptr::null_mut()
        } else {
            sums.as_mut_ptr()
        };
        let end = End {
            factor: factor.as_ptr(),
            shift: shift.as_ptr(),
            addend: addend.as_ptr(),
            relu: true,
        };
        let factors = Factors::of((depth, n), &a, (b.as_ptr().cast_mut(), WIDTH));
        let into = Tile {
            start: (start.as_ptr(), WIDTH),
            sums: (unfinished, WIDTH),
            c: (c.as_mut_ptr(), 40),
            parts: &parts,
            end: ended.then_some(end),
            next: (std::ptr::null(), 0),
        };
        // SAFETY: there is room for all rows, and the parts are within them.
        unsafe { tile(&factors, &into) };
        let bits = c.iter().map(|x| x.to_bits()).collect();
        (bits, sums.iter().map(|x| x.to_bits()).collect())
    }

    #[test]
    fn tiles_have_the_bits_of_plain_ones() {
        let Some(loops): Option<TileLoops<bf16>> = tile_loops() else {
            return;
        };
        let plain: [(usize, Loop<bf16>); 3] = [
            (1, product::<bf16, PlainPairs, 1, 2>),
            (5, product::<bf16, PlainPairs, 5, 2>),
            (12, product::<bf16, PlainPairs, 12, 2>),
        ];
        for (n, plain) in plain {
            for ended in [true, false] {
                assert_eq!(written(loops[0][n - 1], n, ended), written(plain, n, ended));
            }
        }
    }
}
