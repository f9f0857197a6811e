//! What pooling pools: the windows along each axis, and how many elements an average counts.

use crate::api::prepared::check_shape;
use crate::api::{Attrs, Desc};
use crate::blocks::planes::Planes;
use crate::math::real::Real;
use ferromix_base::{Error, Result};
use std::ops::Range;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Max,
    Avg,
    Sum,
    /// The square root of the sum of squares.
    Squares,
    /// The cube root of the sum of cubes.
    Cubes,
}

/// Elements beyond an axis of any length that are no reason to go window by window.
const FAR: usize = 1 << 14;

/// One spatial axis.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    pub(super) input: usize,
    pub(super) output: usize,
    pub(super) kernel: usize,
    pub(super) stride: usize,
    pub(super) pad: usize,
}

impl Axis {
    const TRIVIAL: Axis = Axis {
        input: 1,
        output: 1,
        kernel: 1,
        stride: 1,
        pad: 0,
    };

    /// The part of the input that window `o` covers.
    pub(super) fn window(&self, o: usize) -> Range<usize> {
        let start = (o * self.stride) as isize - self.pad as isize;
        let end = start + self.kernel as isize;
        let clip = |x: isize| x.clamp(0, self.input as isize) as usize;
        clip(start)..clip(end)
    }

    /// The size by which an average divides; with padding counted, but not beyond it.
    fn divisor(&self, o: usize, with_pad: bool) -> usize {
        if !with_pad {
            return self.window(o).len();
        }
        (o * self.stride + self.kernel)
            .min(self.input + 2 * self.pad)
            .saturating_sub(o * self.stride)
    }

    /// How many elements the input has with the padding, and what windows reach beyond that; none where that is
    /// so much more than the input that windows are better reduced one by one.
    pub(super) fn reached(&self) -> Option<usize> {
        let windows = self.output.saturating_sub(1) * self.stride + self.kernel;
        let reached = windows.max(self.pad + self.input);
        (reached <= 4 * self.input + FAR).then_some(reached)
    }
}

fn kind(attrs: &Attrs) -> Result<Kind> {
    Ok(match attrs.str("pool_type")? {
        "max" => Kind::Max,
        "avg" => Kind::Avg,
        "sum" => Kind::Sum,
        "lp" => match attrs.int("p_value")? {
            1 => Kind::Sum,
            2 => Kind::Squares,
            3 => Kind::Cubes,
            other => {
                return Err(Error::value(format!(
                    "Pooling: p_value must be 1, 2 or 3, got {other}"
                )));
            }
        },
        other => {
            return Err(Error::value(format!(
                "Pooling: unknown pool_type '{other}'; known: max, avg, sum, lp"
            )));
        }
    })
}

/// The whole operator: planes of one to three axes, filled up in front.
#[derive(Clone, Copy)]
pub(super) struct Pool {
    pub(super) planes: Planes,
    pub(super) axes: [Axis; 3],
    pub(super) kind: Kind,
    with_pad: bool,
}

impl Pool {
    pub(super) fn new(attrs: &Attrs, data: &Desc, out: &Desc) -> Result<Self> {
        let shape = &data.shape[..];
        let n = shape.len().wrapping_sub(2);
        if !(1..=3).contains(&n) {
            return Err(Error::value(format!(
                "Pooling: data must have a batch, a channel and one to three spatial axes, got \
                 shape {shape:?}"
            )));
        }
        let kind = kind(attrs)?;
        let last = attrs.has("layout") && attrs.str("layout")?.ends_with('C');
        let (spatial, channels) = if last {
            (&shape[1..=n], shape[n + 1])
        } else {
            (&shape[2..], shape[1])
        };
        let axes = if attrs.bool("global_pool")? {
            spatial
                .iter()
                .map(|&d| Axis {
                    input: d,
                    kernel: d,
                    ..Axis::TRIVIAL
                })
                .collect()
        } else {
            Self::windows(attrs, spatial)?
        };
        let mut expected = vec![shape[0]];
        expected.extend((!last).then_some(channels));
        expected.extend(axes.iter().map(|a| a.output));
        expected.extend(last.then_some(channels));
        check_shape("Pooling", "output", out, &expected)?;
        let mut all = [Axis::TRIVIAL; 3];
        all[3 - n..].copy_from_slice(&axes);
        let with_pad = kind == Kind::Avg
            && (!attrs.has("count_include_pad") || attrs.bool("count_include_pad")?);
        let elements = |of: fn(&Axis) -> usize| all.iter().map(of).product::<usize>();
        let most = elements(|a| a.input).max(elements(|a| a.output));
        Ok(Pool {
            planes: Planes {
                images: shape[0],
                channels,
                last,
                grain: (16_384 / most.max(1)).max(1),
                together: 1,
            },
            axes: all,
            kind,
            with_pad,
        })
    }

    fn windows(attrs: &Attrs, spatial: &[usize]) -> Result<Vec<Axis>> {
        let n = spatial.len();
        let kernel = attrs.extents("kernel", n, 0)?;
        let stride = attrs.extents("stride", n, 1)?;
        let pad = attrs.extents("pad", n, 0)?;
        let convention = attrs.str("pooling_convention")?;
        let mut axes = Vec::with_capacity(n);
        for i in 0..n {
            let (input, kernel, stride, pad) = (spatial[i], kernel[i], stride[i], pad[i]);
            let span = (input + 2 * pad).checked_sub(kernel);
            let (Some(span), true) = (span, kernel > 0 && stride > 0) else {
                return Err(Error::value(format!(
                    "Pooling: a kernel of {kernel} with stride {stride} does not fit an axis of \
                     {input} with padding {pad}"
                )));
            };
            let output = match convention {
                "valid" => span / stride + 1,
                "full" => span.div_ceil(stride) + 1,
                "same" => (input + 2 * pad).div_ceil(stride),
                other => {
                    return Err(Error::value(format!(
                        "Pooling: unknown pooling_convention '{other}'; known: valid, full, same"
                    )));
                }
            };
            axes.push(Axis {
                input,
                output,
                kernel,
                stride,
                pad,
            });
        }
        Ok(axes)
    }

    pub(super) fn input_plane(&self) -> usize {
        self.axes.iter().map(|a| a.input).product()
    }

    pub(super) fn output_plane(&self) -> usize {
        self.axes.iter().map(|a| a.output).product()
    }

    /// Whether one window has all of a plane and nothing else.
    pub(super) fn is_global(&self) -> bool {
        let all = |a: &Axis| a.output == 1 && a.pad == 0 && a.kernel == a.input;
        self.axes.iter().all(all)
    }

    /// Where the rows start that window `(d, h)` covers.
    pub(super) fn rows(&self, d: usize, h: usize) -> impl Iterator<Item = usize> + use<> {
        let [deep, high, wide] = self.axes;
        deep.window(d).flat_map(move |z| {
            high.window(h)
                .map(move |y| (z * high.input + y) * wide.input)
        })
    }

    /// One over the number of elements that window `(d, h, w)` averages.
    pub(super) fn share<R: Real>(&self, d: usize, h: usize, w: usize) -> R {
        if self.kind != Kind::Avg {
            return R::ONE;
        }
        let [deep, high, wide] = self.axes;
        let n = deep.divisor(d, self.with_pad)
            * high.divisor(h, self.with_pad)
            * wide.divisor(w, self.with_pad);
        R::ONE / R::of(n.max(1) as f64)
    }
}
