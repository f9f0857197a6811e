//! Counter-based random numbers: Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random
//! numbers: as easy as 1, 2, 3" (SC 2011). A number depends on (seed, stream, index) alone, so any
//! split of the work over threads gives the same ones.

/// The random numbers of one run of one operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The user's seed: the key of the cipher.
    pub seed: u64,
    /// The number of the run since seeding: the upper half of the counter.
    pub number: u64,
}

impl Stream {
    /// Four random words of block `index`.
    pub fn block(&self, index: u64) -> [u32; 4] {
        let counter = [
            index as u32,
            (index >> 32) as u32,
            self.number as u32,
            (self.number >> 32) as u32,
        ];
        philox4x32_10(counter, [self.seed as u32, (self.seed >> 32) as u32])
    }
}

/// The Philox4x32 cipher with ten rounds.
pub fn philox4x32_10(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let a = u64::from(counter[0]) * 0xD251_1F53;
        let b = u64::from(counter[2]) * 0xCD9E_8D57;
        counter = [
            (b >> 32) as u32 ^ counter[1] ^ key[0],
            b as u32,
            (a >> 32) as u32 ^ counter[3] ^ key[1],
            a as u32,
        ];
        key = [
            key[0].wrapping_add(0x9E37_79B9),
            key[1].wrapping_add(0xBB67_AE85),
        ];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::philox4x32_10;

    /// The known-answer vectors that the authors publish with Random123 (kat_vectors).
    #[test]
    fn matches_the_published_vectors() {
        assert_eq!(
            philox4x32_10([0; 4], [0; 2]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            philox4x32_10([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox4x32_10(
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0]
            ),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }
}
