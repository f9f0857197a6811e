//! From a decoded image with objects to the sample and the label of a batch, as MXNet's augmenter for
//! detection goes: shorter edge, colours, mirror, padding, crop, size, mean and deviation.

use super::boxes::{Boxes, Emit, Frame, Overlap};
use super::draws::Draws;
use super::hls;
use super::normal::{Element, Normal};
use super::window::{Window, copy_window};
use super::workspace::{Workspace, shorter_edge};
use ferromix_base::{Error, Result};

/// Numbers in front of a label: channels, rows and columns of the image, and the label's length.
pub const LABEL_HEAD: usize = 4;
/// A scale of padding below this is none.
const LEAST_PADDING: f32 = 1.05;

/// One way to find the part of an image that is taken.
#[derive(Clone, Debug)]
pub struct Sampler {
    /// The least and the largest root of the part's area, in parts of the image's.
    pub scale: [f32; 2],
    /// The least and the largest ratio of width to height.
    pub aspect: [f32; 2],
    /// What the part must have of an object.
    pub overlap: Overlap,
    /// How often it is tried.
    pub trials: usize,
}

/// How the image is brought to the size of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Whatever its ratio becomes.
    Force,
    /// Into it, with its ratio, if it is larger.
    Shrink,
    /// As large as it goes into it, with its ratio.
    Fit,
}

/// What becomes of images with objects.
#[derive(Clone, Debug)]
pub struct Detection {
    /// Channels, height and width of a sample.
    pub shape: [usize; 3],
    /// The shorter edge before all else.
    pub resize: Option<usize>,
    /// By how much hue, lightness and saturation in 8 bits may differ, and how probably they do.
    pub shifts: [(i32, f32); 3],
    /// By how much the factor of samples may differ from 1, and how probably it does.
    pub contrast: (f32, f32),
    /// How probably the image is mirrored.
    pub mirror: f32,
    /// How probably it is put into a larger one, and by how much that is larger at most.
    pub pad: (f32, f32),
    /// The value of pixels that are no image's.
    pub fill: u8,
    /// How probably a part of it is taken.
    pub crop: f32,
    /// By which of these, in any order.
    pub samplers: Vec<Sampler>,
    /// Which objects stay then.
    pub emit: Emit,
    /// How it is brought to size.
    pub fit: Fit,
    /// OpenCV's number, 9 for one by the sizes, 10 for any.
    pub interpolation: i64,
    /// Subtracted, one a channel, or one a sample of the shape.
    pub mean: Vec<f32>,
    /// Divided by, one a channel.
    pub deviation: [f32; 3],
    /// Multiplied with.
    pub scale: f32,
    /// The value behind a label.
    pub label_fill: f32,
}

impl Detection {
    /// Fills `out`, in the order of channels, rows and columns, from the image in `space`, which has
    /// `extents` rows and columns, and `label` from the one of the record. Where the image does not
    /// reach, its bytes are 0.
    ///
    /// # Errors
    /// A label that is none, or does not fit, and an image that would have no pixels, or too many.
    pub fn apply<T: Element>(
        &self,
        space: &mut Workspace,
        extents: [usize; 2],
        draws: &mut Draws,
        given: &[f32],
        (out, label): (&mut [T], &mut [f32]),
    ) -> Result<()> {
        let mut boxes = Boxes::read(given)?;
        let [channels, height, width] = self.shape;
        let resized = shorter_edge(extents, self.resize);
        space.stage([extents, resized], channels, self.interpolation, draws)?;
        self.color(&mut space.image, draws);
        let mut extents = resized;
        if chosen(self.mirror, draws) {
            boxes.mirror();
            for line in space.image.chunks_exact_mut(extents[1] * channels) {
                mirror(line, channels);
            }
        }
        if self.pad.1 > 1.0 && chosen(self.pad.0, draws) {
            extents = self.surround(space, extents, &mut boxes, draws)?;
        }
        if !self.samplers.is_empty() && chosen(self.crop, draws) {
            extents = self.take(space, extents, &mut boxes, draws);
        }
        let fitted = self.fitted(extents);
        space.stage([extents, fitted], channels, self.interpolation, draws)?;
        let length = fitted[1] * channels;
        space.part.clear();
        space.part.resize(height * width * channels, 0);
        let lines = space.part.chunks_exact_mut(width * channels);
        for (line, source) in lines.zip(space.image.chunks_exact(length)) {
            line[..length].copy_from_slice(source);
        }
        let normal = Normal {
            mean: &self.mean,
            factor: self.deviation.map(|by| self.scale / by),
            light: [0.0; 3],
            mirrored: false,
        };
        normal.write(&space.part, self.shape, out);
        self.write(&boxes, fitted, label)
    }

    fn color(&self, image: &mut [u8], draws: &mut Draws) {
        let mut drawn = |most: f32, probability: f32| {
            let by = draws.between(-most, most);
            if chosen(probability, draws) { by } else { 0.0 }
        };
        let shifts = self.shifts.map(|(most, p)| drawn(most as f32, p) as i32);
        let contrast = drawn(self.contrast.0, self.contrast.1);
        if self.shape[0] == 3 && shifts != [0; 3] {
            hls::shift(image, shifts);
        }
        if contrast.abs() > 1e-3 {
            let factor = contrast + 1.0;
            for sample in image {
                *sample = (f32::from(*sample) * factor).round_ties_even() as u8;
            }
        }
    }

    /// Puts the image somewhere into a larger one.
    fn surround(
        &self,
        space: &mut Workspace,
        extents: [usize; 2],
        boxes: &mut Boxes,
        draws: &mut Draws,
    ) -> Result<[usize; 2]> {
        let scale = draws.between(1.0, self.pad.1);
        if scale < LEAST_PADDING {
            return Ok(extents);
        }
        let [x, y] = [0; 2].map(|_| draws.between(0.0, scale - 1.0));
        boxes.project(&Frame {
            x: -x,
            y: -y,
            width: scale,
            height: scale,
        });
        let [rows, columns] = extents.map(|extent| extent as f32);
        let sides = [
            y * rows,
            (scale - y - 1.0) * rows,
            x * columns,
            (scale - x - 1.0) * columns,
        ];
        let sides = sides.map(|side| side as usize);
        space.surround(extents, self.shape[0], sides, self.fill)
    }

    /// Takes the part of the first sampler that finds one.
    fn take(
        &self,
        space: &mut Workspace,
        extents: [usize; 2],
        boxes: &mut Boxes,
        draws: &mut Draws,
    ) -> [usize; 2] {
        let mut order: Vec<&Sampler> = self.samplers.iter().collect();
        for last in (1..order.len()).rev() {
            order.swap(last, draws.upto(last));
        }
        let tries = order
            .into_iter()
            .flat_map(|sampler| std::iter::repeat_n(sampler, sampler.trials));
        let [rows, columns] = extents.map(|extent| extent as f32);
        for sampler in tries {
            let frame = sampler.draw(columns / rows, draws);
            let window = Window {
                origin: [(frame.y * rows) as usize, (frame.x * columns) as usize],
                size: [
                    (frame.height * rows) as usize,
                    (frame.width * columns) as usize,
                ],
            };
            if !window.size.contains(&0) && boxes.crop(&frame, &sampler.overlap, self.emit) {
                let channels = self.shape[0];
                let pixels = window.size[0] * window.size[1];
                space.part.resize(pixels * channels, 0);
                copy_window(&space.image, extents[1], window, channels, &mut space.part);
                std::mem::swap(&mut space.image, &mut space.part);
                return window.size;
            }
        }
        extents
    }

    fn fitted(&self, extents: [usize; 2]) -> [usize; 2] {
        let size = [self.shape[1], self.shape[2]];
        let fits = extents[0] <= size[0] && extents[1] <= size[1];
        if self.fit == Fit::Force {
            return size;
        }
        if self.fit == Fit::Shrink && fits {
            return extents;
        }
        let [high, wide] = [0, 1].map(|i| size[i] as f32 / extents[i] as f32);
        extents.map(|extent| ((high.min(wide) * extent as f32) as usize).max(1))
    }

    fn write(&self, boxes: &Boxes, [rows, columns]: [usize; 2], label: &mut [f32]) -> Result<()> {
        let (room, length) = (label.len() - LABEL_HEAD, boxes.len());
        if length > room {
            return Err(Error::io(format!(
                "its label has {length} numbers, but label_pad_width is {room}"
            )));
        }
        let head = [self.shape[0], rows, columns, length].map(|number| number as f32);
        label.fill(self.label_fill);
        for (to, from) in label.iter_mut().zip(head.into_iter().chain(boxes.write())) {
            *to = from;
        }
        Ok(())
    }
}

impl Sampler {
    fn draw(&self, image: f32, draws: &mut Draws) -> Frame {
        let scale = draws
            .between(self.scale[0], self.scale[1])
            .max(f32::MIN_POSITIVE);
        let low = (self.aspect[0] / image).max(scale * scale);
        let high = (self.aspect[1] / image).min(1.0);
        let ratio = draws.between(low, high).sqrt();
        let (width, height) = ((scale * ratio).min(1.0), (scale / ratio).min(1.0));
        Frame {
            x: draws.between(0.0, 1.0 - width),
            y: draws.between(0.0, 1.0 - height),
            width,
            height,
        }
    }
}

/// Nothing is drawn for what is never chosen.
fn chosen(probability: f32, draws: &mut Draws) -> bool {
    probability > 0.0 && draws.between(0.0, 1.0) < probability
}

fn mirror(line: &mut [u8], channels: usize) {
    line.reverse();
    line.chunks_exact_mut(channels).for_each(<[u8]>::reverse);
}
