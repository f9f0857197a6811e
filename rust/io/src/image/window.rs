//! A part of an image as it would be in another size: only what is asked for is computed.

use super::resize::{Interpolation, Sample, resize};
use super::taps::Taps;
use ferromix_base::Result;

/// Where a part of an image is, in rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// The first row and column.
    pub(super) origin: [usize; 2],
    /// Rows and columns.
    pub(super) size: [usize; 2],
}

/// Memory that serves again and again.
#[derive(Default)]
pub(super) struct Scratch {
    whole: Vec<u8>,
    lines: Vec<i32>,
}

/// Fills `out` with the part of `image` that `window` says, where the image has `from` rows and columns
/// and would have `to`; the samples are those of [`resize`].
///
/// # Errors
/// As [`resize`].
pub(super) fn resize_window(
    image: &[u8],
    [from, to]: [[usize; 2]; 2],
    window: Window,
    channels: usize,
    how: Interpolation,
    out: &mut [u8],
    scratch: &mut Scratch,
) -> Result<()> {
    let halves = from[0] == 2 * to[0] && from[1] == 2 * to[1];
    if from == to {
        copy_window(image, from[1], window, channels, out);
        return Ok(());
    }
    if how == Interpolation::Linear && !halves {
        linear(image, [from, to], window, channels, out, &mut scratch.lines);
        return Ok(());
    }
    scratch.whole.resize(to[0] * to[1] * channels, 0);
    resize(image, from, &mut scratch.whole, to, channels, how)?;
    copy_window(&scratch.whole, to[1], window, channels, out);
    Ok(())
}

/// Fills `out` with a part of an image of `width` columns.
pub(super) fn copy_window(
    image: &[u8],
    width: usize,
    window: Window,
    channels: usize,
    out: &mut [u8],
) {
    let length = window.size[1] * channels;
    for (y, line) in out.chunks_exact_mut(length.max(1)).enumerate() {
        let start = ((window.origin[0] + y) * width + window.origin[1]) * channels;
        line.copy_from_slice(&image[start..start + length]);
    }
}

/// The general way of [`resize`] for two taps, line by line; both lines of sums are kept while they are
/// of use.
fn linear(
    image: &[u8],
    [from, to]: [[usize; 2]; 2],
    window: Window,
    channels: usize,
    out: &mut [u8],
    lines: &mut Vec<i32>,
) {
    let [down, along] = Taps::pair(Interpolation::Linear, from, to);
    let weigh =
        |taps: &Taps, i: usize| [taps.weights[2 * i], taps.weights[2 * i + 1]].map(u8::weight);
    let columns: Vec<([usize; 2], [i32; 2])> = (window.origin[1]
        ..window.origin[1] + window.size[1])
        .map(|x| {
            let places = [along.places[2 * x], along.places[2 * x + 1]];
            (places.map(|place| place * channels), weigh(&along, x))
        })
        .collect();
    let length = window.size[1] * channels;
    lines.clear();
    lines.resize(2 * length, 0);
    let mut held = [usize::MAX; 2];
    for (y, line) in out.chunks_exact_mut(length.max(1)).enumerate() {
        let y = window.origin[0] + y;
        let places = [down.places[2 * y], down.places[2 * y + 1]];
        for place in places {
            if held[place % 2] != place {
                held[place % 2] = place;
                let source = &image[place * from[1] * channels..][..from[1] * channels];
                let target = &mut lines[place % 2 * length..][..length];
                match channels {
                    1 => sum_along::<1>(source, target, &columns),
                    _ => sum_along::<3>(source, target, &columns),
                }
            }
        }
        let (even, odd) = lines.split_at(length);
        let [first, second] = places.map(|place| if place % 2 == 0 { even } else { odd });
        let [upper, lower] = weigh(&down, y);
        for ((sample, &a), &b) in line.iter_mut().zip(first).zip(second) {
            let halves = ((upper * (a >> 4)) >> 16) + ((lower * (b >> 4)) >> 16);
            *sample = ((halves + 2) >> 2).clamp(0, 255) as u8;
        }
    }
}

fn sum_along<const CHANNELS: usize>(
    source: &[u8],
    target: &mut [i32],
    columns: &[([usize; 2], [i32; 2])],
) {
    for (pixel, (places, weights)) in target.chunks_exact_mut(CHANNELS).zip(columns) {
        let (left, right) = (&source[places[0]..], &source[places[1]..]);
        let (left, right) = (&left[..CHANNELS], &right[..CHANNELS]);
        for channel in 0..CHANNELS {
            pixel[channel] =
                i32::from(left[channel]) * weights[0] + i32::from(right[channel]) * weights[1];
        }
    }
}
