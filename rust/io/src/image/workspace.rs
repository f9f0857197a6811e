//! The memory that an image is changed in, and changes of the whole image.

use super::draws::Draws;
use super::resize::Interpolation;
use super::window::{Scratch, Window, resize_window};
use ferromix_base::{Error, Result};

/// The most pixels that an image may get.
const MOST_PIXELS: usize = 1 << 28;

/// Memory that serves again and again.
#[derive(Default)]
pub struct Workspace {
    /// The decoded image.
    pub image: Vec<u8>,
    pub(super) part: Vec<u8>,
    pub(super) scratch: Scratch,
}

impl Workspace {
    /// Resizes the whole image, unless it has that size, by a number of OpenCV's.
    pub(super) fn stage(
        &mut self,
        [from, to]: [[usize; 2]; 2],
        channels: usize,
        interpolation: i64,
        draws: &mut Draws,
    ) -> Result<()> {
        if from == to {
            return Ok(());
        }
        let how = method(interpolation, [from, to], draws)?;
        self.resize([from, to], channels, how)
    }

    /// Resizes the whole image.
    pub(super) fn resize(
        &mut self,
        [from, to]: [[usize; 2]; 2],
        channels: usize,
        how: Interpolation,
    ) -> Result<()> {
        possible(to.map(|extent| extent as f32))?;
        let all = Window {
            origin: [0; 2],
            size: to,
        };
        self.part.resize(to[0] * to[1] * channels, 0);
        let (part, scratch) = (&mut self.part, &mut self.scratch);
        resize_window(&self.image, [from, to], all, channels, how, part, scratch)?;
        std::mem::swap(&mut self.image, &mut self.part);
        Ok(())
    }

    /// Puts pixels of a value around the image: above, below, left and right. Its new extents.
    pub(super) fn surround(
        &mut self,
        [rows, columns]: [usize; 2],
        channels: usize,
        [above, below, left, right]: [usize; 4],
        fill: u8,
    ) -> Result<[usize; 2]> {
        let extents = [above + rows + below, left + columns + right];
        possible(extents.map(|extent| extent as f32))?;
        let width = extents[1] * channels;
        self.part.clear();
        self.part.resize(extents[0] * width, fill);
        for (y, line) in self.image.chunks_exact(columns * channels).enumerate() {
            let start = (y + above) * width + left * channels;
            self.part[start..start + line.len()].copy_from_slice(line);
        }
        std::mem::swap(&mut self.image, &mut self.part);
        Ok(extents)
    }
}

/// The extents of an image whose shorter edge is brought to `edge`.
pub(super) fn shorter_edge([rows, columns]: [usize; 2], edge: Option<usize>) -> [usize; 2] {
    match edge {
        None => [rows, columns],
        Some(edge) if rows > columns => [edge * rows / columns, edge],
        Some(edge) => [edge, edge * columns / rows],
    }
}

/// How to interpolate: a number of OpenCV's, 9 for one by the sizes, 10 for any.
pub(super) fn method(
    interpolation: i64,
    [from, to]: [[usize; 2]; 2],
    draws: &mut Draws,
) -> Result<Interpolation> {
    let number = match interpolation {
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

/// The extents that an image gets, in whole pixels.
///
/// # Errors
/// No pixel, or too many.
pub(super) fn possible([rows, columns]: [f32; 2]) -> Result<[usize; 2]> {
    let pixels = rows.floor() * columns.floor();
    if rows >= 1.0 && columns >= 1.0 && pixels <= MOST_PIXELS as f32 {
        return Ok([rows as usize, columns as usize]);
    }
    Err(Error::value(format!(
        "the image would get {rows} x {columns} pixels, but must have 1 to {MOST_PIXELS}; give \
         another size, scale, ratio or padding"
    )))
}
