//! Images of 8-bit samples: JPEG and PNG decoded, and sizes changed as OpenCV does, whose results
//! users' data was prepared with.

mod augment;
mod decode;
mod draws;
mod jpeg;
mod resize;
mod taps;
mod window;

pub use augment::{Crop, Element as SampleElement, Recipe, Workspace};
pub use decode::{Color, ImageDecoder};
pub use draws::Draws;
pub use resize::{Interpolation, Sample, resize};
