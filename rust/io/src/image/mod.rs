//! Images of 8-bit samples: JPEG and PNG decoded, and sizes changed as OpenCV does, whose results
//! users' data was prepared with.

mod decode;
mod resize;
mod taps;

pub use decode::{Color, ImageDecoder};
pub use resize::{Interpolation, Sample, resize};
