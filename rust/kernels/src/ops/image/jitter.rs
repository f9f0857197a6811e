//! Brightness, contrast, saturation, hue and lighting of one image of red, green and blue, or of gray:
//! by given amounts or by drawn ones. All is computed in single precision; integers are cut, and bytes
//! limited, after each step.

use crate::api::check::{arity, one_dtype, one_shape};
use crate::api::prepared::boxed;
use crate::api::random::Stream;
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::copy::assign;
use ferromix_base::{DType, Error, Result};
use std::f32::consts::TAU;

/// What red, green and blue have of gray.
const GRAY: [f32; 3] = [0.299, 0.587, 0.114];

/// The principal components of the colours of ImageNet, after Krizhevsky, Sutskever and Hinton (2012):
/// lengths and directions.
const LENGTHS: [f32; 3] = [55.46, 4.794, 1.148];
const DIRECTIONS: [[f32; 3]; 3] = [
    [-0.5675, 0.7192, 0.4009],
    [-0.5808, -0.0045, -0.8140],
    [-0.5836, -0.6948, 0.4203],
];

/// A change of the colours of an image, by an amount.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A factor.
    Brightness(f32),
    /// The factor of distances to the mean gray.
    Contrast(f32),
    /// The factor of distances to a part of the blue of the pixel, which MXNet takes for gray.
    Saturation(f32),
    /// Parts of a full turn.
    Hue(f32),
    /// Parts of the principal components.
    Lighting([f32; 3]),
}

impl Step {
    fn apply(self, image: &mut [f32], channels: usize) {
        let gray = |pixel: &[f32]| -> f32 { pixel.iter().zip(GRAY).map(|(x, g)| x * g).sum() };
        match self {
            Step::Brightness(factor) => image.iter_mut().for_each(|x| *x *= factor),
            Step::Contrast(factor) => {
                let sum: f64 = if channels == 3 {
                    image.chunks_exact(3).map(|p| f64::from(gray(p))).sum()
                } else {
                    image.iter().map(|&x| f64::from(x)).sum()
                };
                let mean = (sum / (image.len() / channels) as f64) as f32;
                let shift = (1.0 - factor) * mean;
                image.iter_mut().for_each(|x| *x = *x * factor + shift);
            }
            _ if channels != 3 => {}
            Step::Saturation(factor) => {
                for pixel in image.chunks_exact_mut(3) {
                    let shift = pixel[2] * GRAY[2] * (1.0 - factor);
                    pixel.iter_mut().for_each(|x| *x = *x * factor + shift);
                }
            }
            Step::Hue(turn) => {
                for pixel in image.chunks_exact_mut(3) {
                    let [hue, lightness, saturation] = to_hls([pixel[0], pixel[1], pixel[2]]);
                    pixel.copy_from_slice(&to_rgb(hue + turn * 6.0, lightness, saturation));
                }
            }
            Step::Lighting(parts) => {
                let shifts = DIRECTIONS.map(|row| {
                    let terms = row.iter().zip(LENGTHS).zip(parts);
                    terms
                        .map(|((d, length), part)| d * length * part)
                        .sum::<f32>()
                });
                for pixel in image.chunks_exact_mut(3) {
                    pixel.iter_mut().zip(shifts).for_each(|(x, s)| *x += s);
                }
            }
        }
    }
}

/// Hue in sixths of a turn, lightness and saturation.
fn to_hls(pixel: [f32; 3]) -> [f32; 3] {
    let [r, g, b] = pixel.map(|x| x / 255.0);
    let (most, least) = (r.max(g).max(b), r.min(g).min(b));
    let (sum, range) = (most + least, most - least);
    let lightness = sum * 0.5;
    if range <= f32::EPSILON {
        return [0.0, lightness, 0.0];
    }
    let saturation = range / if lightness < 0.5 { sum } else { 2.0 - sum };
    let hue = if most == r {
        (g - b) / range
    } else if most == g {
        (b - r) / range + 2.0
    } else {
        (r - g) / range + 4.0
    };
    [hue, lightness, saturation]
}

fn to_rgb(hue: f32, lightness: f32, saturation: f32) -> [f32; 3] {
    let most = if lightness <= 0.5 {
        lightness * (1.0 + saturation)
    } else {
        lightness + saturation - lightness * saturation
    };
    let least = 2.0 * lightness - most;
    // Six sectors of the circle; in each, one colour goes from the least to the most or back.
    let hue = hue.rem_euclid(6.0);
    let sector = hue.floor();
    let part = hue - sector;
    let falls = least + (most - least) * (1.0 - part);
    let rises = least + (most - least) * part;
    let rgb = match sector as u8 {
        0 => [most, rises, least],
        1 => [falls, most, least],
        2 => [least, most, rises],
        3 => [least, falls, most],
        4 => [rises, least, most],
        5 => [most, least, falls],
        // Rounding may end at a full turn.
        _ => [most, least, least],
    };
    rgb.map(|x| x * 255.0)
}

/// What is drawn: the amounts of the steps.
#[derive(Clone, Copy)]
enum Draw {
    /// Nothing.
    Fixed(Step),
    /// One amount between two.
    Even(fn(f32) -> Step, [f32; 2]),
    /// Lighting of this deviation.
    Light(f32),
    /// All but lighting, by up to these amounts, in any order.
    All([f32; 4]),
}

fn even(word: u32, [low, high]: [f32; 2]) -> f32 {
    low + (f64::from(word) / 4_294_967_296.0) as f32 * (high - low)
}

impl Draw {
    fn steps(self, random: Option<Stream>) -> Result<Vec<Step>> {
        if let Draw::Fixed(step) = self {
            return Ok(vec![step]);
        }
        let random = random
            .ok_or_else(|| Error::internal("a random operator was run without random numbers"))?;
        let words = random.block(0);
        Ok(match self {
            Draw::Fixed(step) => vec![step],
            Draw::Even(step, range) => vec![step(even(words[0], range))],
            Draw::Light(deviation) => {
                let more = random.block(1);
                let pairs = [
                    (words[0], words[1]),
                    (words[2], words[3]),
                    (more[0], more[1]),
                ];
                vec![Step::Lighting(pairs.map(|(a, b)| {
                    let radius = (-2.0 * (1.0 - even(a >> 8, [0.0, 256.0])).ln()).sqrt();
                    deviation * radius * (even(b, [0.0, TAU])).cos()
                }))]
            }
            Draw::All(most) => {
                let amounts: [f32; 4] =
                    std::array::from_fn(|i| even(words[i], [-most[i], most[i]]));
                let factor = |i: usize| 1.0 + amounts[i];
                let mut steps = vec![
                    Step::Brightness(factor(0)),
                    Step::Contrast(factor(1)),
                    Step::Saturation(factor(2)),
                    Step::Hue(amounts[3]),
                ];
                let order = random.block(1);
                for i in (1..4).rev() {
                    steps.swap(i, order[i] as usize % (i + 1));
                }
                steps
            }
        })
    }
}

fn run(draw: Draw, channels: usize, call: &mut Call<'_>) -> Result<()> {
    let (data, out, req) = (&call.inputs[0], &call.outputs[0], call.reqs[0]);
    if req == Req::Null || out.is_empty() {
        return Ok(());
    }
    let mut image = vec![0.0_f32; data.len()];
    let shape = data.shape();
    assign(data, &View::of_slice(&mut image, shape)?, Req::Write)?;
    let dtype = out.dtype();
    for step in draw.steps(call.random)? {
        step.apply(&mut image, channels);
        if dtype == DType::U8 {
            image.iter_mut().for_each(|x| *x = x.clamp(0.0, 255.0));
        }
        if !dtype.is_float() {
            image.iter_mut().for_each(|x| *x = x.trunc());
        }
    }
    assign(&View::of_slice(&mut image, shape)?, out, req)
}

type Read = fn(&Attrs) -> Result<Draw>;

fn prepare(
    name: &str,
    read: Read,
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let ([data], [out]) = arity(name, i, o)?;
    one_dtype(name, &[data, out])?;
    one_shape(name, &[data, out])?;
    let &[_, _, channels @ (1 | 3)] = &data.shape[..] else {
        return Err(Error::value(format!(
            "{name}: an image has height, width and 1 or 3 channels, got shape {:?}",
            &data.shape[..]
        )));
    };
    let draw = read(attrs).map_err(|e| e.within(name))?;
    boxed(move |call: &mut Call<'_>| run(draw, channels, call))
}

fn range(attrs: &Attrs) -> Result<[f32; 2]> {
    Ok([
        attrs.float("min_factor")? as f32,
        attrs.float("max_factor")? as f32,
    ])
}

fn lighting(attrs: &Attrs) -> Result<Draw> {
    let alpha = attrs.floats("alpha")?;
    let parts = alpha
        .first_chunk::<3>()
        .ok_or_else(|| Error::value(format!("alpha must be 3 numbers, got {}", alpha.len())))?;
    Ok(Draw::Fixed(Step::Lighting(parts.map(|x| x as f32))))
}

fn all(attrs: &Attrs) -> Result<Draw> {
    let names = ["brightness", "contrast", "saturation", "hue"];
    let [a, b, c, d] = names.map(|name| attrs.float(name));
    Ok(Draw::All([a? as f32, b? as f32, c? as f32, d? as f32]))
}

macro_rules! rows {
    ($($name:literal, $read:expr);*) => {
        pub(crate) const ROWS: &[Row] = &[
            $(Row::new($name, |a, i, o| prepare($name, $read, a, i, o)).random(),)*
            Row::new("_image_adjust_lighting", |a, i, o| {
                prepare("_image_adjust_lighting", lighting, a, i, o)
            }),
        ];
    };
}

rows! {
    "_image_random_brightness", |a| Ok(Draw::Even(Step::Brightness, range(a)?));
    "_image_random_contrast", |a| Ok(Draw::Even(Step::Contrast, range(a)?));
    "_image_random_saturation", |a| Ok(Draw::Even(Step::Saturation, range(a)?));
    "_image_random_hue", |a| Ok(Draw::Even(Step::Hue, range(a)?));
    "_image_random_color_jitter", all;
    "_image_random_lighting", |a| Ok(Draw::Light(a.float("alpha_std")? as f32))
}
