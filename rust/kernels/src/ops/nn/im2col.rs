//! `im2col`, the windows of images as columns of a matrix, and `col2im`, the way back, which adds up what
//! windows share.

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::blocks::planes::{self, Planes};
use crate::math::real::{Float, Real, by_float};
use ferromix_base::{Error, Result};
use std::ops::Range;

/// Elements per task, roughly.
const GRAIN: usize = 65_536;

/// One spatial axis.
#[derive(Clone, Copy)]
struct Axis {
    input: usize,
    windows: usize,
    kernel: usize,
    stride: usize,
    dilate: usize,
    pad: usize,
}

impl Axis {
    const TRIVIAL: Axis = Axis {
        input: 1,
        windows: 1,
        kernel: 1,
        stride: 1,
        dilate: 1,
        pad: 0,
    };

    /// The windows that have their element `tap` inside the input, and where the first one has it.
    fn reach(&self, tap: usize) -> (Range<usize>, usize) {
        let place = tap * self.dilate;
        let first = self.pad.saturating_sub(place).div_ceil(self.stride);
        let end = (self.input + self.pad)
            .saturating_sub(place)
            .div_ceil(self.stride)
            .min(self.windows);
        let start = (first * self.stride + place).saturating_sub(self.pad);
        (first.min(end)..end, start)
    }
}

struct Windows {
    axes: [Axis; 3],
    planes: Planes,
    /// Elements of a plane of the image and of the matrix.
    sizes: [usize; 2],
}

impl Windows {
    fn new(name: &str, attrs: &Attrs, image: &Desc, matrix: &Desc) -> Result<Self> {
        let shape = &image.shape[..];
        let n = shape.len().wrapping_sub(2);
        if !(1..=3).contains(&n) {
            return Err(Error::value(format!(
                "{name}: images must have a batch, a channel and one to three spatial axes, got \
                 shape {shape:?}"
            )));
        }
        let [kernel, stride, dilate, pad] =
            [("kernel", 0), ("stride", 1), ("dilate", 1), ("pad", 0)]
                .map(|(key, fill)| attrs.extents(key, n, fill));
        let (kernel, stride, dilate, pad) = (kernel?, stride?, dilate?, pad?);
        let mut axes = [Axis::TRIVIAL; 3];
        for (i, axis) in axes[3 - n..].iter_mut().enumerate() {
            let reach = kernel[i].saturating_sub(1).saturating_mul(dilate[i]);
            let padded = pad[i].saturating_mul(2).saturating_add(shape[i + 2]);
            let room = padded.checked_sub(reach.saturating_add(1));
            let (Some(room), true) = (room, kernel[i] * stride[i] * dilate[i] > 0) else {
                return Err(Error::value(format!(
                    "{name}: a kernel of {} with dilation {} does not fit an axis of {} with \
                     padding {}",
                    kernel[i],
                    dilate[i],
                    shape[i + 2],
                    pad[i]
                )));
            };
            *axis = Axis {
                input: shape[i + 2],
                windows: room / stride[i] + 1,
                kernel: kernel[i],
                stride: stride[i],
                dilate: dilate[i],
                pad: pad[i],
            };
        }
        let product = |of: fn(&Axis) -> usize| {
            axes.iter()
                .try_fold(1usize, |all, axis| all.checked_mul(of(axis)))
        };
        let sizes = product(|a| a.kernel).zip(product(|a| a.windows));
        let rows = sizes.and_then(|(taps, _)| taps.checked_mul(shape[1]));
        let (Some((taps, windows)), Some(rows)) = (sizes, rows) else {
            return Err(Error::value(format!("{name}: too many windows")));
        };
        check_shape(name, "the matrix", matrix, &[shape[0], rows, windows])?;
        let sizes = [shape[2..].iter().product(), taps.saturating_mul(windows)];
        let planes = Planes {
            images: shape[0],
            channels: shape[1],
            last: false,
            grain: (GRAIN / sizes[1].max(1)).max(1),
            together: 1,
        };
        Ok(Windows {
            axes,
            planes,
            sizes,
        })
    }

    /// Calls `f` with every run of neighbours of a row of the matrix that lies in the image: where it
    /// begins in the matrix and in the image, and its length. In the image they are a stride apart.
    fn runs(&self, mut f: impl FnMut(usize, usize, usize)) {
        let [deep, high, wide] = self.axes;
        let mut row = 0;
        for i in 0..deep.kernel {
            let (planes, z) = deep.reach(i);
            for j in 0..high.kernel {
                let (lines, y) = high.reach(j);
                for k in 0..wide.kernel {
                    let (columns, x) = wide.reach(k);
                    for (p, plane) in planes.clone().enumerate() {
                        for (l, line) in lines.clone().enumerate() {
                            let at = (plane * high.windows + line) * wide.windows;
                            let (z, y) = (z + p * deep.stride, y + l * high.stride);
                            let from = (z * high.input + y) * wide.input + x;
                            f(row + at + columns.start, from, columns.len());
                        }
                    }
                    row += deep.windows * high.windows * wide.windows;
                }
            }
        }
    }

    fn run<T: Float>(&self, back: bool, call: &mut Call<'_>) -> Result<()> {
        let [image, matrix] = self.sizes;
        let (read, written) = if back {
            (matrix, image)
        } else {
            (image, matrix)
        };
        let (source, out) = (&call.inputs[0], &mut call.outputs[0]);
        let step = self.axes[2].stride;
        planes::each::<T, 1, _>(
            &self.planes,
            [(source, read)],
            (out, written),
            call.reqs[0],
            || {
                |[x]: [&[T::Real]; 1], out: &mut [T::Real]| {
                    out.fill(T::Real::ZERO);
                    self.runs(|at, from, n| {
                        if n == 0 {
                            return;
                        }
                        if back {
                            let to = out[from..].iter_mut().step_by(step);
                            to.zip(&x[at..at + n]).for_each(|(o, &x)| *o += x);
                        } else {
                            let x = x[from..].iter().step_by(step);
                            out[at..at + n].iter_mut().zip(x).for_each(|(o, &x)| *o = x);
                        }
                    });
                }
            },
        )
    }
}

fn prepare(back: bool, attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = if back { "col2im" } else { "im2col" };
    // What is beyond the first input of a gradient gives its shape.
    check_args(name, (ins, ins.len().clamp(1, 2)), (outs, 1))?;
    let (image, matrix) = if back {
        (&outs[0], &ins[0])
    } else {
        (&ins[0], &outs[0])
    };
    let windows = Windows::new(name, attrs, image, matrix)?;
    by_float!(name, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| windows.run::<T>(back, call)))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("im2col", |a, i, o| prepare(false, a, i, o)).unknown_cost(),
    Row::new("col2im", |a, i, o| prepare(true, a, i, o)).unknown_cost(),
    Row::new("_backward_im2col", |a, i, o| prepare(true, a, i, o)).unknown_cost(),
];
