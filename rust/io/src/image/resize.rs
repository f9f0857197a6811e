//! Images of another size, sample for sample as OpenCV 3.4 makes them.

use super::taps::{Cover, Taps, covers};
use ferromix_base::{Error, Result};

/// How samples between samples are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// The sample before.
    Nearest,
    /// The two samples around; without averaging where the image shrinks, unless it halves.
    Linear,
    /// Four samples around.
    Cubic,
    /// The mean of what a sample covers; where the image grows, two samples.
    Area,
    /// Eight samples around.
    Lanczos,
}

impl Interpolation {
    /// OpenCV's number of it. 5, linear with exact sums, is linear here.
    pub fn from_number(number: i64) -> Option<Self> {
        Some(match number {
            0 => Interpolation::Nearest,
            1 | 5 => Interpolation::Linear,
            2 => Interpolation::Cubic,
            3 => Interpolation::Area,
            4 => Interpolation::Lanczos,
            _ => return None,
        })
    }
}

/// A type of samples, and the arithmetic of its sums.
pub trait Sample: Copy + Default {
    /// A weight along a line.
    type Weight: Copy;
    /// A sum along a line.
    type Sum: Copy + Default;

    /// A weight from a fraction.
    fn weight(part: f32) -> Self::Weight;
    /// The sum with another sample.
    fn add(sum: Self::Sum, sample: Self, weight: Self::Weight) -> Self::Sum;
    /// A sample from sums of several lines.
    fn combine(sums: impl Iterator<Item = (Self::Sum, Self::Weight)>, pairs: bool) -> Self;
    /// The mean of samples with fractions that add up to one.
    fn mean(samples: impl Iterator<Item = (Self, f32)>) -> Self;
    /// The mean of four samples.
    fn mean_of_four(samples: [Self; 4]) -> Self;
}

/// The fraction bits of weights of bytes.
const BITS: u32 = 11;

impl Sample for u8 {
    type Weight = i32;
    type Sum = i32;

    fn weight(part: f32) -> i32 {
        (part * (1 << BITS) as f32).round_ties_even() as i32
    }

    fn add(sum: i32, sample: u8, weight: i32) -> i32 {
        sum + i32::from(sample) * weight
    }

    fn combine(sums: impl Iterator<Item = (i32, i32)>, pairs: bool) -> u8 {
        let found = if pairs {
            // Two lines are added with 16 bits each.
            let halves = sums.map(|(sum, weight)| (weight * (sum >> 4)) >> 16);
            (halves.sum::<i32>() + 2) >> 2
        } else {
            let whole: i32 = sums.map(|(sum, weight)| sum * weight).sum();
            (whole + (1 << (2 * BITS - 1))) >> (2 * BITS)
        };
        found.clamp(0, 255) as u8
    }

    fn mean(samples: impl Iterator<Item = (u8, f32)>) -> u8 {
        let sum: f32 = samples.map(|(sample, part)| f32::from(sample) * part).sum();
        sum.round_ties_even() as u8
    }

    fn mean_of_four(samples: [u8; 4]) -> u8 {
        ((samples.into_iter().map(u16::from).sum::<u16>() + 2) >> 2) as u8
    }
}

macro_rules! real_sample {
    ($type:ty) => {
        impl Sample for $type {
            type Weight = $type;
            type Sum = $type;

            fn weight(part: f32) -> $type {
                part.into()
            }

            fn add(sum: $type, sample: $type, weight: $type) -> $type {
                sum + sample * weight
            }

            fn combine(sums: impl Iterator<Item = ($type, $type)>, _: bool) -> $type {
                sums.map(|(sum, weight)| sum * weight).sum()
            }

            fn mean(samples: impl Iterator<Item = ($type, f32)>) -> $type {
                samples
                    .map(|(sample, part)| sample * <$type>::from(part))
                    .sum()
            }

            fn mean_of_four(samples: [$type; 4]) -> $type {
                samples.into_iter().sum::<$type>() * 0.25
            }
        }
    };
}

real_sample!(f32);
real_sample!(f64);

/// Fills `out`, an image of `to` rows and columns, from `image`, one of `from`; both have `channels`
/// samples a pixel, in C order.
///
/// # Errors
/// [`ferromix_base::ErrorKind::Value`] for images without pixels, or of other sizes than they say.
pub fn resize<T: Sample>(
    image: &[T],
    from: [usize; 2],
    out: &mut [T],
    to: [usize; 2],
    channels: usize,
    how: Interpolation,
) -> Result<()> {
    let size = |[rows, columns]: [usize; 2]| rows.checked_mul(columns)?.checked_mul(channels);
    let fits = size(from) == Some(image.len()) && size(to) == Some(out.len());
    if !fits || image.is_empty() || out.is_empty() {
        return Err(Error::value(format!(
            "an image of {from:?} rows and columns cannot become one of {to:?} with {channels} \
             channels: there are {} and {} samples",
            image.len(),
            out.len()
        )));
    }
    let shrinks = from[0] >= to[0] && from[1] >= to[1];
    let halves = from[0] == 2 * to[0] && from[1] == 2 * to[1];
    match how {
        Interpolation::Linear | Interpolation::Area if halves => halve(image, out, to, channels),
        Interpolation::Area if shrinks => average(image, from, out, to, channels),
        Interpolation::Nearest => pick(image, from, out, to, channels),
        _ => interpolate(image, from, out, to, channels, how),
    }
    Ok(())
}

fn pick<T: Sample>(image: &[T], from: [usize; 2], out: &mut [T], to: [usize; 2], channels: usize) {
    let [down, along] = Taps::pair(Interpolation::Nearest, from, to).map(|taps| taps.places);
    let lines = out.chunks_exact_mut(to[1] * channels);
    for (line, y) in lines.zip(down) {
        let source = &image[y * from[1] * channels..][..from[1] * channels];
        for (pixel, x) in line.chunks_exact_mut(channels).zip(&along) {
            pixel.copy_from_slice(&source[x * channels..][..channels]);
        }
    }
}

fn interpolate<T: Sample>(
    image: &[T],
    from: [usize; 2],
    out: &mut [T],
    to: [usize; 2],
    channels: usize,
    how: Interpolation,
) {
    let [down, along] = Taps::pair(how, from, to);
    let count = down.count;
    let weights = |taps: &Taps| taps.weights.iter().map(|&part| T::weight(part)).collect();
    let (down_weights, along_weights): (Vec<_>, Vec<_>) = (weights(&down), weights(&along));
    // As many lines of sums as one line of the result needs; which line of the image each is of.
    let length = to[1] * channels;
    let mut sums = vec![T::Sum::default(); count * length];
    let mut lines = vec![usize::MAX; count];
    for (y, line) in out.chunks_exact_mut(length).enumerate() {
        let places = &down.places[y * count..][..count];
        for &place in places {
            let slot = place % count;
            if lines[slot] != place {
                lines[slot] = place;
                let source = &image[place * from[1] * channels..][..from[1] * channels];
                let target = &mut sums[slot * length..][..length];
                add_along(source, target, channels, &along, &along_weights);
            }
        }
        let weights = &down_weights[y * count..][..count];
        for (i, sample) in line.iter_mut().enumerate() {
            let sum = |place: &usize| sums[place % count * length + i];
            let parts = places.iter().map(sum).zip(weights.iter().copied());
            *sample = T::combine(parts, count == 2);
        }
    }
}

fn add_along<T: Sample>(
    source: &[T],
    target: &mut [T::Sum],
    channels: usize,
    taps: &Taps,
    weights: &[T::Weight],
) {
    let count = taps.count;
    for (x, pixel) in target.chunks_exact_mut(channels).enumerate() {
        let (places, weights) = (&taps.places[x * count..], &weights[x * count..]);
        for (channel, sum) in pixel.iter_mut().enumerate() {
            let taps = places[..count].iter().zip(&weights[..count]);
            *sum = taps.fold(T::Sum::default(), |sum, (place, &weight)| {
                T::add(sum, source[place * channels + channel], weight)
            });
        }
    }
}

fn average<T: Sample>(
    image: &[T],
    from: [usize; 2],
    out: &mut [T],
    to: [usize; 2],
    channels: usize,
) {
    let [down, along] = [0, 1].map(|i| covers(from[i], to[i]));
    let lines = out.chunks_exact_mut(to[1] * channels);
    for (line, rows) in lines.zip(&down) {
        for (pixel, columns) in line.chunks_exact_mut(channels).zip(&along) {
            for (channel, sample) in pixel.iter_mut().enumerate() {
                let at = |y: usize, x: usize| image[(y * from[1] + x) * channels + channel];
                *sample = T::mean(pairs(rows, columns).map(|(y, x, part)| (at(y, x), part)));
            }
        }
    }
}

fn halve<T: Sample>(image: &[T], out: &mut [T], to: [usize; 2], channels: usize) {
    let length = to[1] * channels;
    for (line, rows) in out
        .chunks_exact_mut(length)
        .zip(image.chunks_exact(4 * length))
    {
        let (upper, lower) = rows.split_at(2 * length);
        let pairs = upper
            .chunks_exact(2 * channels)
            .zip(lower.chunks_exact(2 * channels));
        for (pixel, (upper, lower)) in line.chunks_exact_mut(channels).zip(pairs) {
            for (c, sample) in pixel.iter_mut().enumerate() {
                let four = [upper[c], upper[channels + c], lower[c], lower[channels + c]];
                *sample = T::mean_of_four(four);
            }
        }
    }
}

fn pairs<'a>(rows: &'a Cover, columns: &'a Cover) -> impl Iterator<Item = (usize, usize, f32)> {
    rows.iter()
        .flat_map(move |&(y, down)| columns.iter().map(move |&(x, along)| (y, x, down * along)))
}
