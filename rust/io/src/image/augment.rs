//! From a decoded image to the sample of a batch, as MXNet's default augmenter goes: shorter edge,
//! warp, padding, crop, colours, mirror, mean and scale.

use super::color::Colors;
use super::crop::{Crop, enlarged};
use super::draws::Draws;
use super::normal::{Element, Normal};
use super::warp::Warp;
use super::window::resize_window;
use super::workspace::{Workspace, method, shorter_edge};
use ferromix_base::Result;

/// What becomes of images.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Channels, height and width of a sample.
    pub shape: [usize; 3],
    /// The shorter edge before all else.
    pub resize: Option<usize>,
    /// How the image is warped then.
    pub warp: Option<Warp>,
    /// Pixels added at each side.
    pub pad: usize,
    /// The value of pixels that are no image's.
    pub fill: u8,
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
    /// Of the bytes.
    pub colors: Colors,
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
        let number = self.interpolation;
        let (mut extents, mut resized) = (extents, shorter_edge(extents, self.resize));
        if let Some(warp) = &self.warp {
            space.stage([extents, resized], channels, number, draws)?;
            resized = warp.apply(space, resized, channels, (number, self.fill), draws)?;
            extents = resized;
        }
        if self.pad > 0 {
            space.stage([extents, resized], channels, number, draws)?;
            resized = space.surround(resized, channels, [self.pad; 4], self.fill)?;
            extents = resized;
        }
        let (mut how, whole) = (method(number, [extents, resized], draws)?, resized);
        for (i, larger) in enlarged(whole, [height, width], self.crop).enumerate() {
            // The last size is made of the part alone; the sizes before need the whole image.
            if extents != resized {
                space.resize([extents, resized], channels, how)?;
            }
            if i == 0 {
                // As in MXNet, by the size of the sample, and the same for both edges.
                how = method(number, [whole, [height, width]], draws)?;
            }
            (extents, resized) = (resized, larger);
        }
        let window = self.crop.window(resized, [height, width], draws);
        let Workspace {
            image,
            part,
            scratch,
        } = space;
        part.resize(window.size[0] * window.size[1] * channels, 0);
        let sizes = [extents, resized];
        resize_window(image, sizes, window, channels, how, part, scratch)?;
        if window.size != [height, width] {
            let how = method(number, [window.size, [height, width]], draws)?;
            let mut fit = vec![0; height * width * channels];
            super::resize::resize(part, window.size, &mut fit, [height, width], channels, how)?;
            *part = fit;
        }
        if channels == 3 {
            self.colors.apply(part, draws);
        }
        self.normal(draws).write(part, self.shape, out);
        Ok(())
    }

    fn normal(&self, draws: &mut Draws) -> Normal<'_> {
        let contrast = 1.0 + draws.between(-self.contrast, self.contrast);
        let light = draws.between(-self.illumination, self.illumination) * self.scale;
        Normal {
            mean: &self.mean,
            factor: self.deviation.map(|by| self.scale * contrast / by),
            light: self.deviation.map(|by| light / by),
            mirrored: self.mirror.0 != (self.mirror.1 && draws.coin()),
        }
    }
}
