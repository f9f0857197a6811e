//! Decoding of JPEG and PNG, straight into memory of the caller's.

use super::jpeg::Jpeg;
use ferromix_base::{Error, Result};
use png::{BitDepth, ColorType, Transformations};
use std::io::Cursor;

/// The most pixels of an image.
const MOST_PIXELS: usize = 1 << 30;
/// The most samples that a byte of a file can stand for: deflate reaches 1,032, and a JPEG that has a
/// bit for each block of 64 samples, with colours at a sixteenth of the pixels, 1,400.
const MOST_EXPANSION: usize = 2048;
/// What files smaller than this may expand to in any case.
const SMALL: usize = 1 << 16;
/// Bytes of 256 colours.
const MOST_PALETTE: usize = 768;
/// How much of red, green and blue is in gray, of 32,768: libpng's for OpenCV.
const GRAY: [u32; 3] = [9797, 19234, 3737];

/// What samples a decoded image has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// One a pixel.
    Gray,
    /// Red, green and blue.
    Rgb,
}

impl Color {
    /// How many samples a pixel has.
    pub fn channels(self) -> usize {
        match self {
            Color::Gray => 1,
            Color::Rgb => 3,
        }
    }
}

enum Format<'a> {
    Jpeg(Jpeg<'a>),
    Png(Box<png::Reader<Cursor<&'a [u8]>>>),
}

/// An image of which the head was read.
///
/// Alpha is left out, palettes are looked up, 16 bits become the upper 8, and the orientation that a
/// camera wrote is not looked at, all as in OpenCV.
pub struct ImageDecoder<'a> {
    name: &'a str,
    format: Format<'a>,
    extents: (usize, usize),
    color: Color,
}

impl<'a> ImageDecoder<'a> {
    /// Reads the head of an image; errors call it `name`.
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Io`] for what is no JPEG and no PNG, damaged, or too large to be
    /// true.
    pub fn new(name: &'a str, bytes: &'a [u8], color: Color) -> Result<Self> {
        let (format, extents) = if bytes.starts_with(&[0xff, 0xd8]) {
            let (decoder, extents) = Jpeg::open(name, bytes, color)?;
            (Format::Jpeg(decoder), extents)
        } else if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
            png(name, bytes)?
        } else if bytes.is_empty() {
            return Err(Error::io(format!("{name}: an image cannot be empty")));
        } else {
            let start: Vec<_> = bytes.iter().take(8).map(|b| format!("{b:02x}")).collect();
            return Err(Error::io(format!(
                "{name}: not an image that can be decoded: expected JPEG or PNG, found bytes {}",
                start.join(" ")
            )));
        };
        let (height, width) = extents;
        let pixels = height.saturating_mul(width);
        let most = bytes.len().saturating_mul(MOST_EXPANSION).max(SMALL);
        if pixels == 0 || pixels > MOST_PIXELS || pixels > most {
            return Err(Error::io(format!(
                "{name}: {} bytes cannot hold an image of {height} x {width} pixels",
                bytes.len()
            )));
        }
        Ok(ImageDecoder {
            name,
            format,
            extents,
            color,
        })
    }

    /// Height, width and channels.
    pub fn shape(&self) -> [usize; 3] {
        [self.extents.0, self.extents.1, self.color.channels()]
    }

    /// Decodes into memory of `shape()` in C order.
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Io`] for a damaged image, and memory of another size.
    pub fn decode_into(self, out: &mut [u8]) -> Result<()> {
        let (name, color) = (self.name, self.color);
        let needed = self.shape().iter().product::<usize>();
        if out.len() != needed {
            let found = out.len();
            return Err(Error::io(format!(
                "{name}: decoding needs memory of {needed} bytes, got {found}"
            )));
        }
        match self.format {
            Format::Jpeg(decoder) => decoder.decode_into(name, out),
            Format::Png(reader) => read_png(name, *reader, color, out),
        }
    }
}

pub(super) fn damaged(name: &str, reason: impl std::fmt::Display) -> Error {
    Error::io(format!("{name}: the image cannot be decoded: {reason}"))
}

fn png<'a>(name: &str, bytes: &'a [u8]) -> Result<(Format<'a>, (usize, usize))> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let reader = decoder
        .read_info()
        .map_err(|reason| damaged(name, reason))?;
    let info = reader.info();
    if info.color_type == ColorType::Indexed {
        // The library does not look, and would read beyond.
        let length = info.palette.as_ref().map_or(0, |palette| palette.len());
        if length == 0 || length % 3 != 0 || length > MOST_PALETTE {
            return Err(damaged(
                name,
                format_args!("{length} bytes are not a palette of 1 to 256 colours"),
            ));
        }
    }
    let extents = (info.height as usize, info.width as usize);
    Ok((Format::Png(Box::new(reader)), extents))
}

fn read_png(
    name: &str,
    mut reader: png::Reader<Cursor<&[u8]>>,
    color: Color,
    out: &mut [u8],
) -> Result<()> {
    let (kind, depth) = reader.output_color_type();
    let found = match kind {
        ColorType::Grayscale => 1,
        ColorType::GrayscaleAlpha => 2,
        ColorType::Rgb => 3,
        ColorType::Rgba => 4,
        ColorType::Indexed => 0,
    };
    if found == 0 || depth != BitDepth::Eight {
        let kind = format_args!("its pixels come as {kind:?} of {depth:?}");
        return Err(damaged(name, kind));
    }
    if found == color.channels() {
        return match reader.next_frame(out) {
            Ok(_) => Ok(()),
            Err(reason) => Err(damaged(name, reason)),
        };
    }
    let size = out.len() / color.channels() * found;
    let mut pixels = Vec::new();
    if pixels.try_reserve_exact(size).is_err() {
        return Err(Error::memory(format!(
            "{name}: decoding needs {size} bytes more"
        )));
    }
    pixels.resize(size, 0);
    reader
        .next_frame(&mut pixels)
        .map_err(|reason| damaged(name, reason))?;
    let pixels = pixels.chunks_exact(found);
    match color {
        Color::Gray => {
            for (to, from) in out.iter_mut().zip(pixels) {
                *to = if found < 3 { from[0] } else { gray(from) };
            }
        }
        Color::Rgb => {
            for (to, from) in out.chunks_exact_mut(3).zip(pixels) {
                match found {
                    1 | 2 => to.fill(from[0]),
                    _ => to.copy_from_slice(&from[..3]),
                }
            }
        }
    }
    Ok(())
}

fn gray(pixel: &[u8]) -> u8 {
    let sum: u32 = pixel
        .iter()
        .zip(GRAY)
        .map(|(&p, part)| u32::from(p) * part)
        .sum();
    (sum >> 15) as u8
}
