//! Images turned, slanted, scaled and stretched about their middle, sample for sample as OpenCV 3.4
//! has it: places in 32nds of a pixel, weights in 32,768ths.

use super::draws::Draws;
use super::resize::Interpolation;
use super::taps::{cubic, lanczos};
use super::workspace::{Workspace, method, possible};
use ferromix_base::Result;
use std::sync::OnceLock;

/// In how many places a pixel is divided, each way.
const PLACES: usize = 32;
/// The fraction bits of places while they are added up.
const BITS: i64 = 10;
/// What the weights of a sample add up to.
const WHOLE: i32 = 1 << 15;

/// What is drawn for an image.
#[derive(Clone, Debug)]
pub struct Warp {
    /// Degrees to turn by, if these are the same for all.
    pub rotate: Option<i32>,
    /// The most degrees to turn by, to either side.
    pub angle: i32,
    /// The most by which rows are moved, in parts of their height, to either side.
    pub shear: f32,
    /// The least and the largest scale.
    pub scale: [f32; 2],
    /// The least and the largest ratio of width to height, in parts of the image's.
    pub aspect: [f32; 2],
    /// The least and the largest width and height of the result.
    pub limits: [f32; 2],
}

/// Where in an image each place of another one is: `row * y + column * x + origin`.
struct Inverse {
    column: [f64; 2],
    row: [f64; 2],
    origin: [f64; 2],
}

impl Warp {
    /// Warps the image in `space`; its new extents.
    pub(super) fn apply(
        &self,
        space: &mut Workspace,
        from: [usize; 2],
        channels: usize,
        (interpolation, fill): (i64, u8),
        draws: &mut Draws,
    ) -> Result<[usize; 2]> {
        let (to, inverse) = self.draw(from, draws)?;
        let how = method(interpolation, [from, to], draws)?;
        space.part.resize(to[0] * to[1] * channels, 0);
        let (image, out) = (&space.image[..], &mut space.part[..]);
        let warp = match (how, channels) {
            (Interpolation::Nearest, 1) => warp::<1, 1>,
            (Interpolation::Nearest, _) => warp::<1, 3>,
            (Interpolation::Linear | Interpolation::Area, 1) => warp::<2, 1>,
            (Interpolation::Linear | Interpolation::Area, _) => warp::<2, 3>,
            (Interpolation::Cubic, 1) => warp::<4, 1>,
            (Interpolation::Cubic, _) => warp::<4, 3>,
            (Interpolation::Lanczos, 1) => warp::<8, 1>,
            (Interpolation::Lanczos, _) => warp::<8, 3>,
        };
        warp(image, out, [from, to], &inverse, fill);
        std::mem::swap(&mut space.image, &mut space.part);
        Ok(to)
    }

    fn draw(
        &self,
        [rows, columns]: [usize; 2],
        draws: &mut Draws,
    ) -> Result<([usize; 2], Inverse)> {
        let shear = draws.between(-self.shear, self.shear);
        let most = self.angle.max(0);
        let drawn = draws.upto(2 * most as usize) as i32 - most;
        let angle = f64::from(self.rotate.unwrap_or(drawn)).to_radians();
        let (cos, sin) = (angle.cos() as f32, angle.sin() as f32);
        let scale = draws.between(self.scale[0], self.scale[1]);
        let ratio = draws.between(self.aspect[0], self.aspect[1]);
        let high = 2.0 * scale / (1.0 + ratio);
        let wide = ratio * high;
        let [rows, columns] = [rows, columns].map(|extent| extent as f32);
        let [least, largest] = self.limits;
        let size = [rows, columns].map(|extent| (scale * extent).min(largest).max(least));
        // Columns and rows of the result by those of the image.
        let (xx, xy) = (
            high * cos - shear * sin * wide,
            high * sin + shear * cos * wide,
        );
        let (yx, yy) = (-sin * wide, cos * wide);
        let x = (size[1] - (xx * columns + xy * rows)) / 2.0;
        let y = (size[0] - (yx * columns + yy * rows)) / 2.0;
        let inverse = Inverse::of([xx, xy, x].map(f64::from), [yx, yy, y].map(f64::from));
        Ok((possible(size)?, inverse))
    }
}

impl Inverse {
    /// Nothing of the image is seen where it has no inverse.
    fn of([xx, xy, x]: [f64; 3], [yx, yy, y]: [f64; 3]) -> Self {
        let whole = xx * yy - xy * yx;
        let part = if whole == 0.0 { 0.0 } else { 1.0 / whole };
        let (column, row) = ([yy * part, -yx * part], [-xy * part, xx * part]);
        let origin = [0, 1].map(|i| -column[i] * x - row[i] * y);
        Inverse {
            column,
            row,
            origin,
        }
    }
}

/// Fills `out` with what the image has where each pixel comes from.
fn warp<const COUNT: usize, const CHANNELS: usize>(
    image: &[u8],
    out: &mut [u8],
    [from, to]: [[usize; 2]; 2],
    inverse: &Inverse,
    fill: u8,
) {
    let weights = weights(COUNT);
    let one = f64::from(1 << BITS);
    let fixed = |place: f64| (place * one).round_ties_even() as i64;
    // To the nearest pixel, or to the nearest of its places.
    let (shift, half) = if COUNT == 1 {
        (BITS, 1 << (BITS - 1))
    } else {
        (BITS - 5, 1 << (BITS - 6))
    };
    let columns: Vec<[i64; 2]> = (0..to[1])
        .map(|x| inverse.column.map(|part| fixed(part * x as f64)))
        .collect();
    let source = Source::<CHANNELS> { image, from, fill };
    for (y, line) in out.chunks_exact_mut(to[1] * CHANNELS).enumerate() {
        let start = [0, 1].map(|i| fixed(inverse.row[i] * y as f64 + inverse.origin[i]) + half);
        for (pixel, column) in line.chunks_exact_mut(CHANNELS).zip(&columns) {
            let [x, y] = [0, 1].map(|i| (start[i] + column[i]) >> shift);
            let found = if COUNT == 1 {
                source.at(y, x)
            } else {
                let before = COUNT as i64 / 2 - 1;
                let part = ((y & 31) * PLACES as i64 + (x & 31)) as usize * COUNT * COUNT;
                let weights = &weights[part..part + COUNT * COUNT];
                source.blend::<COUNT>([(y >> 5) - before, (x >> 5) - before], weights)
            };
            pixel.copy_from_slice(&found);
        }
    }
}

/// An image, and what is around it.
struct Source<'a, const CHANNELS: usize> {
    image: &'a [u8],
    from: [usize; 2],
    fill: u8,
}

impl<const CHANNELS: usize> Source<'_, CHANNELS> {
    fn at(&self, y: i64, x: i64) -> [u8; CHANNELS] {
        let [rows, columns] = self.from;
        let inside = (0..rows as i64).contains(&y) && (0..columns as i64).contains(&x);
        let mut pixel = [self.fill; CHANNELS];
        if inside {
            let start = (y as usize * columns + x as usize) * CHANNELS;
            pixel.copy_from_slice(&self.image[start..start + CHANNELS]);
        }
        pixel
    }

    /// The sum of `COUNT` rows and columns of pixels from the first, as their weights say.
    fn blend<const COUNT: usize>(&self, [y, x]: [i64; 2], weights: &[i16]) -> [u8; CHANNELS] {
        let [rows, columns] = self.from;
        let within = |at: i64, extent: usize| (0..=extent as i64 - COUNT as i64).contains(&at);
        let mut sums = [WHOLE / 2; CHANNELS];
        let mut add = |weight: i16, pixel: &[u8]| {
            for (sum, &sample) in sums.iter_mut().zip(pixel) {
                *sum += i32::from(weight) * i32::from(sample);
            }
        };
        if within(y, rows) && within(x, columns) {
            for (j, weights) in weights.chunks_exact(COUNT).enumerate() {
                let start = ((y as usize + j) * columns + x as usize) * CHANNELS;
                let line = &self.image[start..start + COUNT * CHANNELS];
                for (&weight, pixel) in weights.iter().zip(line.chunks_exact(CHANNELS)) {
                    add(weight, pixel);
                }
            }
        } else {
            for (i, &weight) in weights.iter().enumerate() {
                let (down, along) = (i / COUNT, i % COUNT);
                add(weight, &self.at(y + down as i64, x + along as i64));
            }
        }
        sums.map(|sum| (sum / WHOLE).clamp(0, 255) as u8)
    }
}

/// For each place in a pixel, rows first, the weights of `count` rows and columns of pixels.
fn weights(count: usize) -> &'static [i16] {
    static LINEAR: OnceLock<Vec<i16>> = OnceLock::new();
    static CUBIC: OnceLock<Vec<i16>> = OnceLock::new();
    static LANCZOS: OnceLock<Vec<i16>> = OnceLock::new();
    match count {
        2 => LINEAR.get_or_init(|| table(|part| [1.0 - part, part])),
        4 => CUBIC.get_or_init(|| table(cubic)),
        8 => LANCZOS.get_or_init(|| table(lanczos)),
        _ => &[],
    }
}

fn table<const COUNT: usize>(line: impl Fn(f32) -> [f32; COUNT]) -> Vec<i16> {
    let lines: Vec<_> = (0..PLACES)
        .map(|place| line(place as f32 / PLACES as f32))
        .collect();
    let mut table = Vec::with_capacity(PLACES * PLACES * COUNT * COUNT);
    for down in &lines {
        for along in &lines {
            let first = table.len();
            for y in down {
                table.extend(along.iter().map(|x| {
                    let weight = (y * x * WHOLE as f32).round_ties_even();
                    weight as i16
                }));
            }
            balance(&mut table[first..], COUNT);
        }
    }
    table
}

/// Has weights add up to the whole. As in OpenCV, it is one of the four behind the middle that gives
/// or takes what is missing.
fn balance(weights: &mut [i16], count: usize) {
    let excess = weights.iter().map(|&w| i32::from(w)).sum::<i32>() - WHOLE;
    let middle = count / 2;
    let places = [middle, middle + 1].map(|y| [middle, middle + 1].map(|x| (y, x)));
    let places = places
        .into_iter()
        .flatten()
        .filter(|&(y, x)| y < count && x < count)
        .map(|(y, x)| y * count + x);
    let (mut least, mut most) = (middle * (count + 1), middle * (count + 1));
    for place in places {
        if weights[place] < weights[least] {
            least = place;
        } else if weights[place] > weights[most] {
            most = place;
        }
    }
    let place = if excess < 0 { most } else { least };
    weights[place] = (i32::from(weights[place]) - excess) as i16;
}
