//! JPEG by one of two libraries: zune-jpeg, which is Rust alone, or libjpeg-turbo, which is in C and
//! assembler and has to be built, where the feature `turbojpeg` asks for it.

#[cfg(feature = "turbojpeg")]
pub(super) use turbo::Jpeg;
#[cfg(not(feature = "turbojpeg"))]
pub(super) use zune::Jpeg;

#[cfg(not(feature = "turbojpeg"))]
mod zune {
    use super::super::decode::{Color, damaged};
    use ferromix_base::Result;
    use zune_jpeg::JpegDecoder;
    use zune_jpeg::zune_core::bytestream::ZCursor;
    use zune_jpeg::zune_core::colorspace::ColorSpace;
    use zune_jpeg::zune_core::options::DecoderOptions;

    /// An image of which the head was read.
    pub(in super::super) struct Jpeg<'a>(Box<JpegDecoder<ZCursor<&'a [u8]>>>);

    impl<'a> Jpeg<'a> {
        /// Reads the head: the decoder, and height and width.
        pub(in super::super) fn open(
            name: &str,
            bytes: &'a [u8],
            color: Color,
        ) -> Result<(Self, (usize, usize))> {
            let space = match color {
                Color::Gray => ColorSpace::Luma,
                Color::Rgb => ColorSpace::RGB,
            };
            let options = DecoderOptions::new_fast()
                .set_max_width(u16::MAX.into())
                .set_max_height(u16::MAX.into())
                .jpeg_set_out_colorspace(space);
            let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
            let failed = |reason| damaged(name, format_args!("{reason:?}"));
            decoder.decode_headers().map_err(failed)?;
            let info = decoder
                .info()
                .ok_or_else(|| damaged(name, "there is no head"))?;
            let extents = (info.height.into(), info.width.into());
            Ok((Jpeg(Box::new(decoder)), extents))
        }

        /// Decodes into memory of exactly its size.
        pub(in super::super) fn decode_into(mut self, name: &str, out: &mut [u8]) -> Result<()> {
            self.0
                .decode_into(out)
                .map_err(|reason| damaged(name, format_args!("{reason:?}")))
        }
    }
}

#[cfg(feature = "turbojpeg")]
mod turbo {
    use super::super::decode::{Color, damaged};
    use ferromix_base::Result;
    use turbojpeg::{Decompressor, Image, PixelFormat};

    /// Passes over a progressive image; real ones have about ten, and each costs a pass.
    const MOST_SCANS: u32 = 500;

    /// An image of which the head was read.
    pub(in super::super) struct Jpeg<'a> {
        decoder: Decompressor,
        bytes: &'a [u8],
        extents: (usize, usize),
        color: Color,
    }

    impl<'a> Jpeg<'a> {
        /// Reads the head: the decoder, and height and width.
        pub(in super::super) fn open(
            name: &str,
            bytes: &'a [u8],
            color: Color,
        ) -> Result<(Self, (usize, usize))> {
            let failed = |reason| damaged(name, reason);
            let mut decoder = Decompressor::new().map_err(failed)?;
            decoder.set_scan_limit(MOST_SCANS).map_err(failed)?;
            let head = decoder.read_header(bytes).map_err(failed)?;
            let extents = (head.height, head.width);
            let opened = Jpeg {
                decoder,
                bytes,
                extents,
                color,
            };
            Ok((opened, extents))
        }

        /// Decodes into memory of exactly its size.
        pub(in super::super) fn decode_into(mut self, name: &str, out: &mut [u8]) -> Result<()> {
            let (height, width) = self.extents;
            let image = Image {
                pixels: out,
                width,
                pitch: width * self.color.channels(),
                height,
                format: match self.color {
                    Color::Gray => PixelFormat::GRAY,
                    Color::Rgb => PixelFormat::RGB,
                },
            };
            self.decoder
                .decompress(self.bytes, image)
                .map_err(|reason| damaged(name, reason))
        }
    }
}
