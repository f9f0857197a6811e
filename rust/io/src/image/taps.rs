//! From which samples a sample of a resized line is made, and how much of each, as OpenCV 3.4 has it.

use super::resize::Interpolation;

/// For each sample of a line, as many places and weights as [`Taps::count`] says.
pub(super) struct Taps {
    pub(super) count: usize,
    pub(super) places: Vec<usize>,
    pub(super) weights: Vec<f32>,
}

impl Taps {
    /// The taps of columns and of lines of images of `to` rows and columns, made of `from`. Beyond the
    /// ends of a line its last sample is taken alone, beyond those of a column twice, with both weights:
    /// sums of bytes show the difference.
    pub(super) fn pair(how: Interpolation, from: [usize; 2], to: [usize; 2]) -> [Self; 2] {
        [0, 1].map(|axis| Taps::new(how, from[axis], to[axis], axis == 1))
    }

    /// The taps of `to` samples, made of `from`; `alone` is for lines.
    fn new(how: Interpolation, from: usize, to: usize, alone: bool) -> Self {
        let count = match how {
            Interpolation::Nearest => 1,
            Interpolation::Linear | Interpolation::Area => 2,
            Interpolation::Cubic => 4,
            Interpolation::Lanczos => 8,
        };
        let mut taps = Taps {
            count,
            places: Vec::with_capacity(to * count),
            weights: Vec::with_capacity(to * count),
        };
        let inverse = to as f64 / from as f64;
        let scale = 1.0 / inverse;
        for x in 0..to {
            let (first, part) = if how == Interpolation::Area {
                let first = (x as f64 * scale).floor() as isize;
                let part = ((x + 1) as f64 - (first + 1) as f64 * inverse) as f32;
                (
                    first,
                    if part <= 0.0 {
                        0.0
                    } else {
                        part - part.floor()
                    },
                )
            } else if how == Interpolation::Nearest {
                ((x as f64 * scale).floor() as isize, 0.0)
            } else {
                let place = ((x as f64 + 0.5) * scale - 0.5) as f32;
                (place.floor() as isize, place - place.floor())
            };
            let outside = first < 0 || first >= from as isize - 1;
            let part = if alone && outside && count == 2 {
                0.0
            } else {
                part
            };
            taps.push(how, first, part, from as isize - 1);
        }
        taps
    }

    /// One more sample, `part` of the way from the source's sample `first` to the next one.
    fn push(&mut self, how: Interpolation, first: isize, part: f32, last: isize) {
        let before = self.count as isize / 2 - 1;
        let place = |at: isize| at.clamp(0, last) as usize;
        match how {
            Interpolation::Nearest => {
                self.places.push(place(first));
                self.weights.push(1.0);
                return;
            }
            Interpolation::Linear | Interpolation::Area => {
                self.weights.extend([1.0 - part, part]);
            }
            Interpolation::Cubic => self.weights.extend(cubic(part)),
            Interpolation::Lanczos => self.weights.extend(lanczos(part)),
        }
        let places = (0..self.count as isize).map(|k| place(first - before + k));
        self.places.extend(places);
    }
}

/// Keys' cubic convolution with a slope of -0.75.
pub(super) fn cubic(x: f32) -> [f32; 4] {
    const A: f32 = -0.75;
    let near = |x: f32| ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0;
    let first = ((A * (x + 1.0) - 5.0 * A) * (x + 1.0) + 8.0 * A) * (x + 1.0) - 4.0 * A;
    let (second, third) = (near(x), near(1.0 - x));
    [first, second, third, 1.0 - first - second - third]
}

/// Lanczos' window of four lobes, with weights that add up to one.
pub(super) fn lanczos(x: f32) -> [f32; 8] {
    let mut weights = [0.0; 8];
    if x < f32::EPSILON {
        weights[3] = 1.0;
        return weights;
    }
    for (k, weight) in weights.iter_mut().enumerate() {
        let at = std::f64::consts::PI * (f64::from(x) + 3.0 - k as f64);
        *weight = (4.0 * at.sin() * (at / 4.0).sin() / (at * at)) as f32;
    }
    let sum: f32 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

/// The places and weights of one sample that covers more than one of the source.
pub(super) type Cover = Vec<(usize, f32)>;

/// What each sample of a line of `to` covers of a line of `from`, which is not shorter.
pub(super) fn covers(from: usize, to: usize) -> Vec<Cover> {
    const NONE: f64 = 1e-3;
    let scale = from as f64 / to as f64;
    let cover = |x: usize| {
        let (start, end) = (x as f64 * scale, (x + 1) as f64 * scale);
        let width = scale.min(from as f64 - start);
        let last = (end.floor() as usize).min(from - 1);
        let first = (start.ceil() as usize).min(last);
        let mut cover = Cover::new();
        if first as f64 - start > NONE && first > 0 {
            cover.push((first - 1, ((first as f64 - start) / width) as f32));
        }
        cover.extend((first..last).map(|at| (at, (1.0 / width) as f32)));
        if end - last as f64 > NONE {
            cover.push((
                last,
                ((end - last as f64).min(1.0).min(width) / width) as f32,
            ));
        }
        cover
    };
    (0..to).map(cover).collect()
}
