//! Which part of an image becomes a sample.

use super::draws::Draws;
use super::window::Window;

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
    /// A square of a random size, brought to size.
    Square {
        /// The smallest and the largest side.
        side: [usize; 2],
        /// Whether it is anywhere, not in the middle.
        anywhere: bool,
    },
}

impl Crop {
    /// A part of an image, of `size` unless it is brought to that.
    pub(super) fn window(self, image: [usize; 2], size: [usize; 2], draws: &mut Draws) -> Window {
        let anywhere = |size: [usize; 2], draws: &mut Draws| Window {
            origin: [0, 1].map(|i| draws.upto(image[i] - size[i])),
            size,
        };
        let middle = |size: [usize; 2]| Window {
            origin: [0, 1].map(|i| (image[i] - size[i]) / 2),
            size,
        };
        match self {
            Crop::Centre => middle(size),
            Crop::Random => anywhere(size, draws),
            Crop::Square {
                side: [low, high],
                anywhere: random,
            } => {
                let most = image[0].min(image[1]);
                let (low, high) = (low.min(most).max(1), high.min(most).max(1));
                let side = low + draws.upto(high.saturating_sub(low));
                if random {
                    anywhere([side, side], draws)
                } else {
                    middle([side, side])
                }
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
                middle([image[0].min(image[1]); 2])
            }
        }
    }
}

/// The sizes that an image gets, one after the other, where it is smaller than what is to be cut out
/// of it; its ratio stays.
pub(super) fn enlarged(
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
