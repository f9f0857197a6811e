//! Images of 8-bit samples: JPEG and PNG decoded, and sizes changed as OpenCV does, whose results
//! users' data was prepared with.

mod augment;
mod boxes;
mod color;
mod crop;
mod decode;
mod detect;
mod draws;
mod hls;
mod jpeg;
mod normal;
mod resize;
mod taps;
mod warp;
mod window;
mod workspace;

pub use augment::Recipe;
pub use boxes::{Emit, Overlap};
pub use color::Colors;
pub use crop::Crop;
pub use decode::{Color, ImageDecoder};
pub use detect::{Detection, Fit, LABEL_HEAD, Sampler};
pub use draws::Draws;
pub use normal::Element as SampleElement;
pub use resize::{Interpolation, Sample, resize};
pub use warp::Warp;
pub use workspace::Workspace;
