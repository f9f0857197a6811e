//! Many blocks of random words at once, in vector registers.

use crate::api::random::Stream;
use crate::simd::vector::multiversion;

/// Blocks that are computed side by side.
const LANES: usize = 16;

multiversion! {
    /// Sets `out` to the words of the blocks from `first` on, four for each; the last block may be cut.
    pub(crate) fn fill_words<>(stream: Stream, first: u64, out: &mut [u32]) {
        for (i, chunk) in out.chunks_mut(4 * LANES).enumerate() {
            let words = lanes(stream, first.wrapping_add((i * LANES) as u64));
            if let Ok(whole) = <&mut [u32; 4 * LANES]>::try_from(&mut *chunk) {
                for (lane, four) in whole.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                    *four = std::array::from_fn(|w| words[w][lane]);
                }
            } else {
                for (j, word) in chunk.iter_mut().enumerate() {
                    *word = words[j % 4][j / 4];
                }
            }
        }
    }
}

/// The words of [`LANES`] blocks: the first words of all, then the second ones.
#[inline(always)]
fn lanes(stream: Stream, first: u64) -> [[u32; LANES]; 4] {
    let index: [u64; LANES] = std::array::from_fn(|lane| first.wrapping_add(lane as u64));
    let [mut a, mut b] = [index.map(|i| i as u32), index.map(|i| (i >> 32) as u32)];
    let mut c = [stream.number as u32; LANES];
    let mut d = [(stream.number >> 32) as u32; LANES];
    let mut key = [stream.seed as u32, (stream.seed >> 32) as u32];
    for _ in 0..10 {
        for lane in 0..LANES {
            let x = u64::from(a[lane]) * 0xD251_1F53;
            let y = u64::from(c[lane]) * 0xCD9E_8D57;
            a[lane] = (y >> 32) as u32 ^ b[lane] ^ key[0];
            b[lane] = y as u32;
            c[lane] = (x >> 32) as u32 ^ d[lane] ^ key[1];
            d[lane] = x as u32;
        }
        key = [
            key[0].wrapping_add(0x9E37_79B9),
            key[1].wrapping_add(0xBB67_AE85),
        ];
    }
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_blocks_are_those_of_the_cipher() {
        let stream = Stream {
            seed: 0x0123_4567_89ab_cdef,
            number: (7 << 48) | 5,
        };
        for (first, count) in [(0, 0), (3, 1), (0xffff_fff8, 70), (u64::MAX - 2, 257)] {
            let mut found = vec![0; count];
            fill_words(stream, first, &mut found);
            let expected: Vec<u32> = (0..count as u64)
                .map(|i| stream.block(first.wrapping_add(i / 4))[i as usize % 4])
                .collect();
            assert_eq!(found, expected);
        }
    }
}
