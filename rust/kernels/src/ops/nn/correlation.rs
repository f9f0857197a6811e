//! `Correlation`: the products, or differences, of patches of two tensors of images at all displacements
//! up to a distance, and its gradients.
//!
//! Both are first copied with their border of zeros and with channels last, so that what a row of a patch
//! multiplies lies side by side.

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::blocks::blockwise::store;
use crate::blocks::raw::{Source, Target};
use crate::math::real::{Float, Real, by_float};
use crate::par;
use crate::simd::vector::multiversion;
use ferromix_base::{Error, Result};

/// Multiplications per task, roughly.
const GRAIN: usize = 1 << 16;

#[derive(Clone, Copy)]
struct Geometry {
    batch: usize,
    channels: usize,
    /// Rows and columns of the first tensor, which those of the second follow.
    inner: [usize; 2],
    pad: usize,
    kernel: usize,
    /// The furthest displacement, and the steps between places and between displacements.
    reach: usize,
    strides: [usize; 2],
    /// Displacements to either side.
    radius: usize,
    /// Rows and columns of the output.
    output: [usize; 2],
    multiply: bool,
}

fn size(attrs: &Attrs, key: &str, least: usize) -> Result<usize> {
    let value = usize::try_from(attrs.int(key)?).ok();
    // Sums of these stay far from overflow.
    match value.filter(|v| (least..1 << 31).contains(v)) {
        Some(value) => Ok(value),
        None => Err(Error::value(format!(
            "Correlation: {key} must be from {least} on and below 2 ** 31"
        ))),
    }
}

impl Geometry {
    fn new(attrs: &Attrs, data: &Desc, out: &Desc) -> Result<Self> {
        let name = "Correlation";
        let &[batch, channels, high, wide] = &data.shape[..] else {
            return Err(Error::value(format!(
                "{name}: data must have 4 dimensions, got shape {:?}",
                &data.shape[..]
            )));
        };
        let (kernel, pad) = (size(attrs, "kernel_size", 1)?, size(attrs, "pad_size", 0)?);
        let reach = size(attrs, "max_displacement", 0)?;
        let strides = [size(attrs, "stride1", 1)?, size(attrs, "stride2", 1)?];
        let border = 2 * (reach + kernel / 2);
        let room = [high, wide].map(|n| n.saturating_add(2 * pad).checked_sub(border));
        let [Some(rows @ 1..), Some(columns @ 1..)] = room else {
            return Err(Error::value(format!(
                "{name}: a kernel of {kernel} and displacements of {reach} do not fit images of \
                 {high} by {wide} with padding {pad}"
            )));
        };
        let output = [rows, columns].map(|n| n.div_ceil(strides[0]));
        let radius = reach / strides[1];
        let found = (2 * radius + 1).saturating_mul(2 * radius + 1);
        check_shape(name, "output", out, &[batch, found, output[0], output[1]])?;
        Ok(Geometry {
            batch,
            channels,
            inner: [high, wide],
            pad,
            kernel,
            reach,
            strides,
            radius,
            output,
            multiply: attrs.bool("is_multiply")?,
        })
    }

    fn padded(&self) -> [usize; 2] {
        self.inner.map(|n| n + 2 * self.pad)
    }

    /// What a sum is divided by.
    fn count(&self) -> f64 {
        (self.kernel * self.kernel * self.channels) as f64
    }

    /// All displacements, as rows and columns more than `reach` before.
    fn shifts(&self) -> impl Iterator<Item = [usize; 2]> + use<> {
        let (n, step) = (2 * self.radius + 1, self.strides[1]);
        let first = self.reach - self.radius * step;
        (0..n).flat_map(move |y| (0..n).map(move |x| [first + y * step, first + x * step]))
    }

    /// A copy of the images with their border, channels last.
    fn bordered<T: Float>(&self, view: &View) -> Result<Vec<T::Real>> {
        let source = Source::<T>::of(view)?;
        let ([high, wide], [rows, columns]) = (self.inner, self.padded());
        let row = columns * self.channels;
        let mut all = vec![T::Real::ZERO; self.batch * rows * row];
        let target = Target::of_slice(&mut all);
        par::for_ranges(self.batch * high, (GRAIN / row.max(1)).max(1), |range| {
            for i in range {
                let (image, y) = (i / high, i % high);
                let start = ((image * rows + y + self.pad) * columns + self.pad) * self.channels;
                // SAFETY: rows belong to one task each.
                let out = unsafe { target.slice(start..start + wide * self.channels) };
                for c in 0..self.channels {
                    let from = ((image * self.channels + c) * high + y) * wide;
                    // SAFETY: inputs are only read.
                    let line = unsafe { source.slice(from..from + wide) };
                    let places = out[c..].iter_mut().step_by(self.channels);
                    places.zip(line).for_each(|(o, x)| *o = x.up());
                }
            }
        });
        Ok(all)
    }
}

multiversion! {
    fn product<R: Real>(a: &[R], b: &[R]) -> R {
        let mut sums = [R::ZERO; 16];
        let (left, right) = (a.chunks_exact(16), b.chunks_exact(16));
        let rest = left.remainder().iter().zip(right.remainder());
        let rest: R = rest.map(|(&a, &b)| a * b).sum();
        for (a, b) in left.zip(right) {
            for ((s, &a), &b) in sums.iter_mut().zip(a).zip(b) {
                *s += a * b;
            }
        }
        sums.into_iter().sum::<R>() + rest
    }

    fn distance<R: Real>(a: &[R], b: &[R]) -> R {
        let mut sums = [R::ZERO; 16];
        let (left, right) = (a.chunks_exact(16), b.chunks_exact(16));
        let rest = left.remainder().iter().zip(right.remainder());
        let rest: R = rest.map(|(&a, &b)| Real::abs(a - b)).sum();
        for (a, b) in left.zip(right) {
            for ((s, &a), &b) in sums.iter_mut().zip(a).zip(b) {
                *s += Real::abs(a - b);
            }
        }
        sums.into_iter().sum::<R>() + rest
    }

    /// Adds the gradient of a product by one side.
    fn add_product<R: Real>(to: &mut [R], other: &[R], g: R) {
        to.iter_mut().zip(other).for_each(|(t, &o)| *t += o * g);
    }
}

/// Adds the gradient of a distance by `own`.
fn add_distance<R: Real>(to: &mut [R], own: &[R], other: &[R], g: R) {
    for ((t, &a), &b) in to.iter_mut().zip(own).zip(other) {
        if a > b {
            *t += g;
        } else if a < b {
            *t += -g;
        }
    }
}

fn forward<T: Float>(g: &Geometry, call: &mut Call<'_>) -> Result<()> {
    let req = call.reqs[0];
    if req == Req::Null || call.outputs[0].is_empty() {
        return Ok(());
    }
    let [a, b] = [0, 1].map(|i| g.bordered::<T>(&call.inputs[i]));
    let (a, b) = (a?, b?);
    let target = Target::<T>::of(&mut call.outputs[0])?;
    let ([rows, columns], [_, padded]) = (g.output, g.padded());
    let shifts: Vec<_> = g.shifts().collect();
    let (c, scale) = (g.channels, T::Real::of(1.0 / g.count()));
    let work = columns * g.kernel * g.kernel * c;
    let lines = g.batch * shifts.len() * rows;
    let patch = g.kernel * c;
    par::for_ranges(lines, (GRAIN / work.max(1)).max(1), |range| {
        let mut line = vec![T::Real::ZERO; columns];
        for i in range {
            let (image, shift, y) = (
                i / rows / shifts.len(),
                shifts[i / rows % shifts.len()],
                i % rows,
            );
            let first = image * g.padded()[0] + y * g.strides[0];
            for (x, sum) in line.iter_mut().enumerate() {
                let column = x * g.strides[0];
                *sum = T::Real::ZERO;
                for h in 0..g.kernel {
                    let left = ((first + g.reach + h) * padded + column + g.reach) * c;
                    let right = ((first + shift[0] + h) * padded + column + shift[1]) * c;
                    let pair = (&a[left..left + patch], &b[right..right + patch]);
                    *sum += if g.multiply {
                        product(pair.0, pair.1)
                    } else {
                        distance(pair.0, pair.1)
                    };
                }
                *sum *= scale;
            }
            // SAFETY: lines of the output belong to one task each.
            let out = unsafe { target.slice(i * columns..(i + 1) * columns) };
            store(&line, out, req);
        }
    });
    Ok(())
}

/// One side of a correlation, with its border, and whether it is the one that is displaced.
struct Side<'a, R> {
    own: &'a [R],
    other: &'a [R],
    second: bool,
}

impl<R: Real> Side<'_, R> {
    /// Adds to `line`, the gradient of the row `row` of a bordered image, what the patches at one
    /// displacement give it; `head` has the gradients of these patches.
    fn add<T: Float<Real = R>>(
        &self,
        g: &Geometry,
        (image, row, shift): (usize, usize, [usize; 2]),
        head: &[T],
        line: &mut [R],
    ) {
        let ([rows, columns], [deep, padded]) = (g.output, g.padded());
        let (c, patch, step) = (g.channels, g.kernel * g.channels, g.strides[0]);
        let scale = R::of(1.0 / g.count());
        let (mut mine, mut theirs) = ([g.reach; 2], shift);
        if self.second {
            (mine, theirs) = (theirs, mine);
        }
        for h in 0..g.kernel {
            let y = row.checked_sub(mine[0] + h).filter(|y| y % step == 0);
            let Some(y) = y.map(|y| y / step).filter(|&y| y < rows) else {
                continue;
            };
            let from = (image * deep + y * step + theirs[0] + h) * padded + theirs[1];
            for (x, head) in head[y * columns..][..columns].iter().enumerate() {
                let at = x * step + mine[1];
                let own = &self.own[((image * deep + row) * padded + at) * c..][..patch];
                let other = &self.other[(from + x * step) * c..][..patch];
                let (to, part) = (&mut line[at * c..][..patch], head.up() * scale);
                if g.multiply {
                    add_product(to, other, part);
                } else {
                    add_distance(to, own, other, part);
                }
            }
        }
    }

    fn gradient<T: Float<Real = R>>(
        &self,
        g: &Geometry,
        head: &View,
        (out, req): (&mut View, Req),
    ) -> Result<()> {
        if req == Req::Null || out.is_empty() {
            return Ok(());
        }
        let (head, target) = (head.read::<T>()?, Target::<T>::of(out)?);
        let ([high, wide], [_, padded]) = (g.inner, g.padded());
        let (shifts, plane): (Vec<_>, _) = (g.shifts().collect(), g.output[0] * g.output[1]);
        let work = shifts.len() * g.kernel * g.kernel * g.output[1] * g.channels;
        par::for_ranges(g.batch * high, (GRAIN / work.max(1)).max(1), |range| {
            let mut line = vec![R::ZERO; padded * g.channels];
            let mut row = vec![R::ZERO; wide];
            for i in range {
                let (image, y) = (i / high, i % high);
                line.fill(R::ZERO);
                for (s, &shift) in shifts.iter().enumerate() {
                    let heads = &head[(image * shifts.len() + s) * plane..][..plane];
                    self.add(g, (image, y + g.pad, shift), heads, &mut line);
                }
                for c in 0..g.channels {
                    let places = line[g.pad * g.channels + c..].iter().step_by(g.channels);
                    row.iter_mut().zip(places).for_each(|(r, &x)| *r = x);
                    let at = ((image * g.channels + c) * high + y) * wide;
                    // SAFETY: rows of all channels belong to one task each.
                    store(&row, unsafe { target.slice(at..at + wide) }, req);
                }
            }
        });
        Ok(())
    }
}

fn backward<T: Float>(g: &Geometry, call: &mut Call<'_>) -> Result<()> {
    let [a, b] = [1, 2].map(|i| g.bordered::<T>(&call.inputs[i]));
    let (a, b) = (a?, b?);
    for (i, out) in call.outputs.iter_mut().enumerate() {
        let (own, other) = if i == 0 { (&a, &b) } else { (&b, &a) };
        let (own, other, second) = (&own[..], &other[..], i == 1);
        let side = Side { own, other, second };
        side.gradient::<T>(g, &call.inputs[0], (out, call.reqs[i]))?;
    }
    Ok(())
}

fn prepare(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "Correlation";
    check_args(name, (ins, 2), (outs, 1))?;
    check_shape(name, "data2", &ins[1], &ins[0].shape)?;
    let g = Geometry::new(attrs, &ins[0], &outs[0])?;
    by_float!(name, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| forward::<T>(&g, call)))
}

fn prepare_back(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_backward_Correlation";
    check_args(name, (ins, 3), (outs, 2))?;
    for desc in [&ins[2], &outs[0], &outs[1]] {
        check_shape(name, "data", desc, &ins[1].shape)?;
    }
    let g = Geometry::new(attrs, &ins[1], &ins[0])?;
    by_float!(name, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| backward::<T>(&g, call)))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("Correlation", prepare).unknown_cost(),
    Row::new("_backward_Correlation", prepare_back).unknown_cost(),
];
