//! Random numbers of one image: they follow from a seed, an epoch and the image's number alone, so
//! that batches are the same for any number of threads.

/// A sequence of random numbers (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014).
pub struct Draws(u64);

impl Draws {
    /// The sequence for an image of an epoch.
    pub fn new(seed: u64, epoch: u64, number: u64) -> Self {
        let mut draws = Draws(seed);
        for part in [epoch, number] {
            draws.0 = draws.bits() ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93);
        }
        draws
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in [low, high), or `low` where there is none.
    pub fn between(&mut self, low: f32, high: f32) -> f32 {
        let part = (self.bits() >> 40) as f32 / (1 << 24) as f32;
        low + (high - low) * part
    }

    /// A whole number from 0 to `most`.
    pub fn upto(&mut self, most: usize) -> usize {
        // Of 64 bits; the remainder favours small numbers by less than one in 2^32.
        (self.bits() % (most as u64 + 1)) as usize
    }

    /// True for half of all.
    pub fn coin(&mut self) -> bool {
        self.bits() >> 63 == 1
    }

    /// Normally distributed with mean 0 and deviation 1 (Box and Muller, 1958).
    pub fn normal(&mut self) -> f32 {
        let radius = (-2.0 * (1.0 - self.between(0.0, 1.0)).ln()).sqrt();
        radius * (std::f32::consts::TAU * self.between(0.0, 1.0)).cos()
    }
}
