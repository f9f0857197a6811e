//! Random changes of an image's colours.

use super::draws::Draws;
use super::hls;

/// How far colours change at most.
#[derive(Clone, Debug, Default)]
pub struct Colors {
    /// By how much hue, lightness and saturation in 8 bits may differ.
    pub shifts: [i32; 3],
    /// By how much the factors of brightness, contrast and saturation may differ from 1.
    pub factors: [f32; 3],
    /// The deviation of noise along the principal colours.
    pub noise: f32,
}

const GRAY: [f32; 3] = [0.299, 0.587, 0.114];

fn gray(pixel: &[u8]) -> f32 {
    let parts = pixel.iter().zip(GRAY);
    parts.map(|(&p, part)| f32::from(p) * part).sum()
}

impl Colors {
    /// Changes an image of red, green and blue.
    pub(super) fn apply(&self, image: &mut [u8], draws: &mut Draws) {
        let [brightness, contrast, saturation] = self.factors;
        alter(image, brightness, draws, |_| 0.0);
        let pixels = (image.len() / 3).max(1) as f32;
        if contrast > 0.0 {
            let mean = image.chunks_exact(3).map(gray).sum::<f32>() / pixels;
            alter(image, contrast, draws, |_| mean);
        }
        alter(image, saturation, draws, gray);
        if self.shifts != [0; 3] {
            let [hue, lightness, saturation] = self.shifts.map(|most| {
                // Towards 0, so that the least and the largest never come.
                draws.between(-(most as f32), most as f32) as i32
            });
            hls::shift(image, [hue, lightness, saturation]);
        }
        if self.noise > 0.0 {
            self.add_noise(image, draws);
        }
    }

    fn add_noise(&self, image: &mut [u8], draws: &mut Draws) {
        let strengths = [0; 3].map(|_| draws.normal() * self.noise);
        let shift = [0, 1, 2].map(|channel| -> f32 {
            let parts = (0..3).map(|i| VECTORS[channel][i] * VALUES[i] * strengths[i]);
            parts.sum()
        });
        for pixel in image.chunks_exact_mut(3) {
            for (p, shift) in pixel.iter_mut().zip(shift) {
                *p = (f32::from(*p) + shift).round() as u8;
            }
        }
    }
}

/// Brings samples nearer to what `about` says of their pixel, or farther from it.
fn alter(image: &mut [u8], most: f32, draws: &mut Draws, about: impl Fn(&[u8]) -> f32) {
    if most <= 0.0 {
        return;
    }
    let factor = 1.0 + draws.between(-most, most);
    for pixel in image.chunks_exact_mut(3) {
        let rest = about(pixel) * (1.0 - factor);
        pixel
            .iter_mut()
            .for_each(|p| *p = (f32::from(*p) * factor + rest).round() as u8);
    }
}

/// The principal colours of ImageNet and their strengths (Krizhevsky et al., 2012).
const VALUES: [f32; 3] = [55.46, 4.794, 1.148];
const VECTORS: [[f32; 3]; 3] = [
    [-0.5675, 0.7192, 0.4009],
    [-0.5808, -0.0045, -0.8140],
    [-0.5836, -0.6948, 0.4203],
];
