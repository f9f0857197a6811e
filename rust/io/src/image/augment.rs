//! From a decoded image to the sample of a batch, as MXNet's default augmenter goes: shorter edge,
//! padding, crop, colours, mirror, mean and scale.

use super::draws::Draws;
use super::resize::Interpolation;
use super::window::{Scratch, Window, resize_window};
use ferromix_base::{Error, Result};

/// Which part of an image is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Crop {
    /// The middle.
    Centre,
    /// Any.
    Random,
    /// Any of a random area (as parts of the image's) and aspect, brought to size.
    Resized {
        /// The least and the largest area.
        area: [f32; 2],
        /// The least and the largest ratio of width to height.
        aspect: [f32; 2],
    },
    /// Any square of a random size, brought to size.
    Square {
        /// The smallest and the largest side.
        side: [usize; 2],
    },
}

/// What becomes of images.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Channels, height and width of a sample.
    pub shape: [usize; 3],
    /// The shorter edge before all else.
    pub resize: Option<usize>,
    /// Pixels added at each side, and their value.
    pub pad: (usize, u8),
    /// The part taken.
    pub crop: Crop,
    /// OpenCV's number, 9 for one by the sizes, 10 for any.
    pub interpolation: i64,
    /// Mirrored always; half of the images.
    pub mirror: (bool, bool),
    /// Subtracted, one a channel, or one a sample of the shape.
    pub mean: Vec<f32>,
    /// Divided by, one a channel.
    pub deviation: [f32; 3],
    /// Multiplied with.
    pub scale: f32,
    /// The most by which contrast differs from 1, and illumination from 0.
    pub contrast: f32,
    /// See `contrast`.
    pub illumination: f32,
    /// The most by which brightness, contrast and saturation of the bytes differ from 1.
    pub colors: [f32; 3],
    /// The deviation of noise along the principal colours.
    pub noise: f32,
}

/// An element of a sample.
pub trait Element: Copy {
    /// Whether mean, scale and the like apply; otherwise bytes are taken as they are.
    const NORMAL: bool;
    /// From the computed value.
    fn from_value(value: f32) -> Self;
    /// From a byte.
    fn from_byte(byte: u8) -> Self;
}

impl Element for f32 {
    const NORMAL: bool = true;
    fn from_value(value: f32) -> f32 {
        value
    }
    fn from_byte(byte: u8) -> f32 {
        byte.into()
    }
}

impl Element for u8 {
    const NORMAL: bool = false;
    fn from_value(value: f32) -> u8 {
        value as u8
    }
    fn from_byte(byte: u8) -> u8 {
        byte
    }
}

impl Element for i8 {
    const NORMAL: bool = false;
    fn from_value(value: f32) -> i8 {
        value as i8
    }
    fn from_byte(byte: u8) -> i8 {
        byte.min(127) as i8
    }
}

/// Memory that serves again and again.
#[derive(Default)]
pub struct Workspace {
    /// The decoded image.
    pub image: Vec<u8>,
    part: Vec<u8>,
    scratch: Scratch,
}

impl Recipe {
    /// Fills `out`, in the order of channels, rows and columns, from the image in `space`, which has
    /// `extents` rows and columns.
    ///
    /// # Errors
    /// A result of no pixels.
    pub fn apply<T: Element>(
        &self,
        space: &mut Workspace,
        extents: [usize; 2],
        draws: &mut Draws,
        out: &mut [T],
    ) -> Result<()> {
        let [channels, height, width] = self.shape;
        let (mut extents, mut resized) = (extents, self.resized(extents));
        if self.pad.0 > 0 {
            self.stage(space, [extents, resized], draws)?;
            surround(&space.image, resized, self.pad, channels, &mut space.part);
            std::mem::swap(&mut space.image, &mut space.part);
            resized = resized.map(|extent| extent + 2 * self.pad.0);
            extents = resized;
        }
        for larger in enlarged(resized, [height, width], self.crop) {
            // The last size is made of the part alone; the sizes before need the whole image.
            self.stage(space, [extents, resized], draws)?;
            (extents, resized) = (resized, larger);
        }
        let image = &space.image;
        let window = self.window(resized, draws);
        let how = self.method(extents, resized, draws)?;
        space
            .part
            .resize(window.size[0] * window.size[1] * channels, 0);
        let (part, scratch) = (&mut space.part, &mut space.scratch);
        resize_window(
            image,
            [extents, resized],
            window,
            channels,
            how,
            part,
            scratch,
        )?;
        if window.size != [height, width] {
            let how = self.method(window.size, [height, width], draws)?;
            let mut fit = vec![0; height * width * channels];
            super::resize::resize(part, window.size, &mut fit, [height, width], channels, how)?;
            *part = fit;
        }
        self.color(part, draws);
        self.write(part, draws, out);
        Ok(())
    }

    /// Resizes the whole image.
    fn stage(
        &self,
        space: &mut Workspace,
        [from, to]: [[usize; 2]; 2],
        draws: &mut Draws,
    ) -> Result<()> {
        if from == to {
            return Ok(());
        }
        let channels = self.shape[0];
        let all = Window {
            origin: [0; 2],
            size: to,
        };
        let how = self.method(from, to, draws)?;
        space.part.resize(to[0] * to[1] * channels, 0);
        let (part, scratch) = (&mut space.part, &mut space.scratch);
        resize_window(&space.image, [from, to], all, channels, how, part, scratch)?;
        std::mem::swap(&mut space.image, &mut space.part);
        Ok(())
    }

    fn resized(&self, [rows, columns]: [usize; 2]) -> [usize; 2] {
        match self.resize {
            None => [rows, columns],
            Some(edge) if rows > columns => [edge * rows / columns, edge],
            Some(edge) => [edge, edge * columns / rows],
        }
    }

    fn method(&self, from: [usize; 2], to: [usize; 2], draws: &mut Draws) -> Result<Interpolation> {
        let number = match self.interpolation {
            9 if to[0] > from[0] && to[1] > from[1] => 2,
            9 if to[0] < from[0] && to[1] < from[1] => 3,
            9 => 1,
            10 => draws.upto(4) as i64,
            number => number,
        };
        Interpolation::from_number(number).ok_or_else(|| {
            Error::value(format!(
                "there is no way to interpolate with the number {number}"
            ))
        })
    }

    fn window(&self, image: [usize; 2], draws: &mut Draws) -> Window {
        let size = [self.shape[1], self.shape[2]];
        let anywhere = |size: [usize; 2], draws: &mut Draws| Window {
            origin: [0, 1].map(|i| draws.upto(image[i] - size[i])),
            size,
        };
        match self.crop {
            Crop::Centre => Window {
                origin: [0, 1].map(|i| (image[i] - size[i]) / 2),
                size,
            },
            Crop::Random => anywhere(size, draws),
            Crop::Square { side: [low, high] } => {
                let most = image[0].min(image[1]);
                let (low, high) = (low.min(most).max(1), high.min(most).max(1));
                let side = low + draws.upto(high.saturating_sub(low));
                anywhere([side, side], draws)
            }
            Crop::Resized { area, aspect } => {
                let whole = (image[0] * image[1]) as f32;
                for _ in 0..10 {
                    let area = whole * draws.between(area[0], area[1]);
                    let ratio = draws.between(aspect[0].ln(), aspect[1].ln()).exp();
                    let columns = (area * ratio).sqrt().round() as usize;
                    let rows = (area / ratio).sqrt().round() as usize;
                    if (1..=image[0]).contains(&rows) && (1..=image[1]).contains(&columns) {
                        return anywhere([rows, columns], draws);
                    }
                }
                let side = image[0].min(image[1]);
                Window {
                    origin: image.map(|extent| (extent - side) / 2),
                    size: [side, side],
                }
            }
        }
    }

    /// Changes the bytes' brightness, contrast and saturation, and adds noise.
    fn color(&self, part: &mut [u8], draws: &mut Draws) {
        let [brightness, contrast, saturation] = self.colors;
        if self.shape[0] != 3 || self.colors == [0.0; 3] && self.noise == 0.0 {
            return;
        }
        const GRAY: [f32; 3] = [0.299, 0.587, 0.114];
        let gray = |pixel: &[u8]| -> f32 {
            pixel
                .iter()
                .zip(GRAY)
                .map(|(&p, part)| f32::from(p) * part)
                .sum()
        };
        let mut alter = |part: &mut [u8], most: f32, about: &dyn Fn(&[u8]) -> f32| {
            if most > 0.0 {
                let factor = 1.0 + draws.between(-most, most);
                for pixel in part.chunks_exact_mut(3) {
                    let rest = about(pixel) * (1.0 - factor);
                    pixel
                        .iter_mut()
                        .for_each(|p| *p = (f32::from(*p) * factor + rest).round() as u8);
                }
            }
        };
        alter(part, brightness, &|_| 0.0);
        let pixels = (part.len() / 3).max(1) as f32;
        let mean = part.chunks_exact(3).map(gray).sum::<f32>() / pixels;
        alter(part, contrast, &|_| mean);
        alter(part, saturation, &gray);
        if self.noise > 0.0 {
            let strengths = [0; 3].map(|_| draws.normal() * self.noise);
            let shift = [0, 1, 2].map(|channel| -> f32 {
                let parts = (0..3).map(|i| VECTORS[channel][i] * VALUES[i] * strengths[i]);
                parts.sum()
            });
            for pixel in part.chunks_exact_mut(3) {
                for (p, shift) in pixel.iter_mut().zip(shift) {
                    *p = (f32::from(*p) + shift).round() as u8;
                }
            }
        }
    }

    fn write<T: Element>(&self, part: &[u8], draws: &mut Draws, out: &mut [T]) {
        let [channels, height, width] = self.shape;
        let contrast = 1.0 + draws.between(-self.contrast, self.contrast);
        let light = draws.between(-self.illumination, self.illumination) * self.scale;
        let mirrored = self.mirror.0 != (self.mirror.1 && draws.coin());
        let plane = height * width;
        for channel in 0..channels {
            let over = self.scale * contrast / self.deviation[channel];
            let light = light / self.deviation[channel];
            for y in 0..height {
                let source = &part[y * width * channels..][..width * channels];
                let start = channel * plane + y * width;
                let target = &mut out[start..start + width];
                let bytes = source.iter().skip(channel).step_by(channels);
                let mut put = |x: usize, byte: u8| {
                    target[x] = if T::NORMAL {
                        let at = if self.mean.len() > 3 {
                            start + x
                        } else {
                            channel
                        };
                        T::from_value((f32::from(byte) - self.mean[at]) * over + light)
                    } else {
                        T::from_byte(byte)
                    };
                };
                if mirrored {
                    bytes
                        .enumerate()
                        .for_each(|(x, &byte)| put(width - 1 - x, byte));
                } else {
                    bytes.enumerate().for_each(|(x, &byte)| put(x, byte));
                }
            }
        }
    }
}

/// The principal colours of ImageNet and their strengths (Krizhevsky et al., 2012).
const VALUES: [f32; 3] = [55.46, 4.794, 1.148];
const VECTORS: [[f32; 3]; 3] = [
    [-0.5675, 0.7192, 0.4009],
    [-0.5808, -0.0045, -0.8140],
    [-0.5836, -0.6948, 0.4203],
];

/// The sizes that an image gets, one after the other, where it is smaller than what is to be cut out
/// of it; its ratio stays.
fn enlarged(
    mut image: [usize; 2],
    size: [usize; 2],
    crop: Crop,
) -> impl Iterator<Item = [usize; 2]> {
    let wanted = !matches!(crop, Crop::Resized { .. } | Crop::Square { .. });
    [0, 1].into_iter().filter_map(move |i| {
        let small = wanted && image[i] < size[i];
        if small {
            image[1 - i] = image[1 - i] * size[i] / image[i];
            image[i] = size[i];
        }
        small.then_some(image)
    })
}

fn surround(
    image: &[u8],
    [rows, columns]: [usize; 2],
    (pad, fill): (usize, u8),
    channels: usize,
    out: &mut Vec<u8>,
) {
    let width = (columns + 2 * pad) * channels;
    out.clear();
    out.resize((rows + 2 * pad) * width, fill);
    for (y, line) in image.chunks_exact(columns * channels).enumerate() {
        let start = (y + pad) * width + pad * channels;
        out[start..start + line.len()].copy_from_slice(line);
    }
}
