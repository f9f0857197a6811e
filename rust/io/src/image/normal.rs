//! From the bytes of an image to the values of a sample.

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

/// What becomes of a byte: `(byte - mean) * factor + light`.
pub(super) struct Normal<'a> {
    /// One a channel, or one a place of the image, before it is mirrored.
    pub(super) mean: &'a [f32],
    /// One a channel.
    pub(super) factor: [f32; 3],
    /// One a channel.
    pub(super) light: [f32; 3],
    /// Whether left and right change places.
    pub(super) mirrored: bool,
}

impl Normal<'_> {
    /// Fills `out`, in the order of channels, rows and columns, from an image of that shape.
    pub(super) fn write<T: Element>(&self, image: &[u8], shape: [usize; 3], out: &mut [T]) {
        let [channels, height, width] = shape;
        for channel in 0..channels {
            let (factor, light) = (self.factor[channel], self.light[channel]);
            for y in 0..height {
                let source = &image[y * width * channels..][..width * channels];
                let start = (channel * height + y) * width;
                let target = &mut out[start..start + width];
                let bytes = source.iter().skip(channel).step_by(channels);
                let mut put = |to: usize, from: usize, byte: u8| {
                    target[to] = if T::NORMAL {
                        let whole = self.mean.len() > 3;
                        let mean = self.mean[if whole { start + from } else { channel }];
                        T::from_value((f32::from(byte) - mean) * factor + light)
                    } else {
                        T::from_byte(byte)
                    };
                };
                if self.mirrored {
                    bytes
                        .enumerate()
                        .for_each(|(x, &byte)| put(width - 1 - x, x, byte));
                } else {
                    bytes.enumerate().for_each(|(x, &byte)| put(x, x, byte));
                }
            }
        }
    }
}
