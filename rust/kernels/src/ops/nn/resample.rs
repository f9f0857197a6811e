//! Images of another size, each of whose samples is a weighted sum of neighbours: `UpSampling` by
//! repetition, `_contrib_AdaptiveAvgPooling2D`, `_contrib_BilinearResize2D`, and the ways back. Weights are
//! products of one for the row and one for the column, so that rows are combined first, into one as wide
//! as the input, and then the elements along it.

use crate::api::prepared::{boxed, check_count};
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::blocks::planes::{self, Planes};
use crate::math::real::{Float, Real, by_float};
use crate::simd::vector::multiversion;
use ferromix_base::{Error, Result};
use std::ops::Range;
use std::sync::OnceLock;

/// Multiplications per task, roughly.
const GRAIN: usize = 65_536;

/// What the samples of a line are made of.
#[derive(Default)]
struct Line {
    /// For each sample, the neighbours, and where their weights begin.
    samples: Vec<(Range<usize>, usize)>,
    weights: Vec<f64>,
}

impl Line {
    fn push(&mut self, first: usize, weights: &[f64]) {
        self.samples
            .push((first..first + weights.len(), self.weights.len()));
        self.weights.extend(weights);
    }

    /// A line of `to` samples, each a copy of one of `from`, which divide `to`.
    fn repeated(from: usize, to: usize) -> Self {
        let mut line = Line::default();
        (0..to).for_each(|i| line.push(i / (to / from), &[1.0]));
        line
    }

    /// A line of `to` means of neighbours that cover all of `from`.
    fn means(from: usize, to: usize) -> Self {
        let mut line = Line::default();
        let (n, m) = (from as u128, to as u128);
        for i in 0..m {
            let (start, end) = ((i * n / m) as usize, ((i + 1) * n).div_ceil(m) as usize);
            line.push(start, &vec![1.0 / (end - start) as f64; end - start]);
        }
        line
    }

    /// A line of `to` samples on straight lines between those of `from`; corners are kept, or the ends of
    /// both lines lie half a sample beyond the outermost ones. One sample alone is the first one.
    fn linear(from: usize, to: usize, corners: bool) -> Self {
        let mut line = Line::default();
        let step = match (corners, to) {
            (_, 0 | 1) => 0.0,
            (true, _) => (from - 1) as f64 / (to - 1) as f64,
            (false, _) => from as f64 / to as f64,
        };
        for i in 0..to {
            let place = if corners {
                step * i as f64
            } else {
                (step * (i as f64 + 0.5) - 0.5).max(0.0)
            };
            let first = (place as usize).min(from - 1);
            let part = place - first as f64;
            if from == to {
                line.push(i, &[1.0]);
            } else if first + 1 < from && part > 0.0 {
                line.push(first, &[1.0 - part, part]);
            } else {
                line.push(first, &[1.0]);
            }
        }
        line
    }
}

/// A line with weights of the type that is computed in.
struct Ready<'a, R> {
    samples: &'a [(Range<usize>, usize)],
    weights: Vec<R>,
}

impl<'a, R: Real> Ready<'a, R> {
    fn of(line: &'a Line) -> Self {
        Ready {
            samples: &line.samples,
            weights: line.weights.iter().map(|&w| R::of(w)).collect(),
        }
    }

    /// The places that make up sample `i`, with their weights.
    #[inline(always)]
    fn taps(&self, i: usize) -> impl Iterator<Item = (usize, R)> + '_ {
        let (places, at) = &self.samples[i];
        places.clone().zip(self.weights[*at..].iter().copied())
    }

    /// Whether sample `i` is made as the one before.
    fn repeats(&self, i: usize) -> bool {
        i > 0 && {
            let (a, b) = (&self.samples[i], &self.samples[i - 1]);
            a.0.len() == 1 && a.0 == b.0
        }
    }
}

multiversion! {
    fn shrink<R: Real>(down: &Ready<'_, R>, along: &Ready<'_, R>, x: &[R], row: &mut [R], out: &mut [R]) {
        let (wide, columns) = (row.len(), along.samples.len());
        for y in 0..down.samples.len() {
            let (before, rest) = out.split_at_mut(y * columns);
            let line = &mut rest[..columns];
            if down.repeats(y) {
                line.copy_from_slice(&before[(y - 1) * columns..]);
                continue;
            }
            for (i, (place, weight)) in down.taps(y).enumerate() {
                let from = &x[place * wide..][..wide];
                if i == 0 {
                    row.iter_mut().zip(from).for_each(|(r, &x)| *r = x * weight);
                } else {
                    row.iter_mut().zip(from).for_each(|(r, &x)| *r += x * weight);
                }
            }
            for (c, out) in line.iter_mut().enumerate() {
                let mut sum = None;
                for (place, weight) in along.taps(c) {
                    let part = row[place] * weight;
                    sum = Some(sum.map_or(part, |s: R| s + part));
                }
                *out = sum.unwrap_or(R::ZERO);
            }
        }
    }

    fn spread<R: Real>(down: &Ready<'_, R>, along: &Ready<'_, R>, g: &[R], row: &mut [R], dx: &mut [R]) {
        let (wide, columns) = (row.len(), along.samples.len());
        dx.fill(R::ZERO);
        for y in 0..down.samples.len() {
            row.fill(R::ZERO);
            for (c, &g) in g[y * columns..][..columns].iter().enumerate() {
                for (place, weight) in along.taps(c) {
                    row[place] += g * weight;
                }
            }
            for (place, weight) in down.taps(y) {
                let to = &mut dx[place * wide..][..wide];
                to.iter_mut().zip(&*row).for_each(|(d, &r)| *d += r * weight);
            }
        }
    }
}

/// How a line of one length is made of one of another.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Repeated,
    Means,
    /// Whether corners are kept.
    Linear(bool),
}

impl Way {
    fn line(self, from: usize, to: usize) -> Line {
        match self {
            Way::Repeated => Line::repeated(from, to),
            Way::Means => Line::means(from, to),
            Way::Linear(corners) => Line::linear(from, to, corners),
        }
    }
}

/// The planes that are resampled, and the lines along their rows and columns.
struct Resample {
    way: Way,
    /// Rows of input and output, and their columns.
    ends: [[usize; 2]; 2],
    /// Made when there is something to resample: they may be as long as an output for which there is no
    /// memory.
    lines: OnceLock<[Line; 2]>,
    planes: Planes,
}

impl Resample {
    /// Checks that images of `small` become those of `large` in a way.
    fn new(name: &str, [from, to]: [&Desc; 2], way: Way) -> Result<Self> {
        let wrong = || {
            Error::value(format!(
                "{name}: images of shape {:?} do not become ones of shape {:?}",
                &from.shape[..],
                &to.shape[..]
            ))
        };
        let (&[images, channels, high, wide], &[n, c, rows, columns]) =
            (&from.shape[..], &to.shape[..])
        else {
            return Err(wrong());
        };
        let ends = [[high, rows], [wide, columns]];
        let whole = |[from, to]: [usize; 2]| from > 0 && to.is_multiple_of(from);
        let misfit = rows * columns > 0 && way == Way::Repeated && !ends.into_iter().all(whole);
        if [images, channels] != [n, c] || (high * wide == 0 && rows * columns > 0) || misfit {
            return Err(wrong());
        }
        let grain = (GRAIN / (high * wide + rows * columns).max(1)).max(1);
        Ok(Resample {
            way,
            ends,
            lines: OnceLock::new(),
            planes: Planes {
                images,
                channels,
                last: false,
                grain,
                together: 1,
            },
        })
    }

    fn run<T: Float>(&self, back: bool, call: &mut Call<'_>) -> Result<()> {
        let [[high, rows], [wide, columns]] = self.ends;
        let (from, to) = (high * wide, rows * columns);
        let lines = self.lines.get_or_init(|| match to {
            0 => Default::default(),
            _ => self.ends.map(|[from, to]| self.way.line(from, to)),
        });
        let (read, written) = if back { (to, from) } else { (from, to) };
        let (source, out) = (&call.inputs[0], &mut call.outputs[0]);
        planes::each::<T, 1, _>(
            &self.planes,
            [(source, read)],
            (out, written),
            call.reqs[0],
            || {
                let [down, along] = lines.each_ref().map(Ready::of);
                let mut row = vec![T::Real::ZERO; wide];
                move |[x]: [&[T::Real]; 1], out: &mut [T::Real]| {
                    if back {
                        spread(&down, &along, x, &mut row, out);
                    } else {
                        shrink(&down, &along, x, &mut row, out);
                    }
                }
            },
        )
    }
}

/// The way that attributes ask for.
type Asked = fn(&Attrs) -> Result<Way>;

/// `back` takes the gradient of the output to that of the input. Inputs beyond these give their shapes.
fn prepare(
    (name, back, asked): (&str, bool, Asked),
    attrs: &Attrs,
    ins: &[Desc],
    outs: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let more = ins.len().saturating_sub(1).min(1);
    check_count(name, (ins, 1 + more), (outs, 1))?;
    let dtype = ins[0].dtype;
    if outs[0].dtype != dtype {
        return Err(Error::dtype(format!(
            "{name}: data and output must share one dtype, got {dtype} and {}",
            outs[0].dtype
        )));
    }
    let ends = if back {
        [&outs[0], &ins[0]]
    } else {
        [&ins[0], &outs[0]]
    };
    let whole = Resample::new(name, ends, asked(attrs)?)?;
    by_float!(name, dtype, T => boxed(move |call: &mut Call<'_>| whole.run::<T>(back, call)))
}

macro_rules! rows {
    ($($name:literal, $back:literal, $asked:expr);*) => {
        pub(crate) const ROWS: &[Row] = &[$(
            Row::new($name, |a, i, o| prepare(($name, false, $asked), a, i, o)).unknown_cost(),
            Row::new($back, |a, i, o| prepare(($back, true, $asked), a, i, o)).unknown_cost(),
        )*];
    };
}

rows! {
    "_nearest_upsampling", "_backward_nearest_upsampling", |_| Ok(Way::Repeated);
    "_contrib_AdaptiveAvgPooling2D", "_backward_contrib_AdaptiveAvgPooling2D", |_| Ok(Way::Means);
    "_contrib_BilinearResize2D", "_backward_contrib_BilinearResize2D",
        |a| Ok(Way::Linear(a.bool("align_corners")?))
}
