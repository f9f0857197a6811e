//! `GridGenerator`, which says where to look, and `BilinearSampler`, which looks there. Coordinates
//! go from -1 to 1 between the first and the last pixel.

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::blocks::bilinear::{Point, Rim, TapColumns, check_plane};
use crate::blocks::blockwise::{lifted, settle};
use crate::blocks::raw::Target;
use crate::math::real::{Float, Real, by_float};
use crate::par;
use ferromix_base::{Error, Result};
use std::ops::Range;

/// Points whose pixels are found at a time.
const BLOCK: usize = 1024;
/// Most channels of an image that a task adds gradients to, for each of which it finds the pixels once.
const CHANNELS: usize = 16;

/// The grid that `GridGenerator` makes, or takes apart.
#[derive(Clone, Copy)]
struct Grid {
    batch: usize,
    affine: bool,
    /// Rows and columns.
    extents: [usize; 2],
}

impl Grid {
    fn new(name: &str, attrs: &Attrs, data: &Desc, grid: &Desc) -> Result<Self> {
        let affine = attrs.str("transform_type")? == "affine";
        let [batch, 2, rows, columns] = grid.shape[..] else {
            return Err(Error::value(format!(
                "{name}: a grid must have shape (n, 2, h, w), got {:?}",
                &grid.shape[..]
            )));
        };
        if affine {
            check_shape(name, "data", data, &[batch, 6])?;
        } else {
            check_shape(name, "data", data, &grid.shape)?;
        }
        if rows < 2 || columns < 2 {
            return Err(Error::value(format!(
                "{name}: a grid of {rows} by {columns} points has no scale; at least 2 by 2"
            )));
        }
        let extents = [rows, columns];
        Ok(Grid {
            batch,
            affine,
            extents,
        })
    }

    /// The coordinates of the points along an axis.
    fn along<R: Real>(&self, axis: usize) -> Vec<R> {
        let step = R::of(2.0) / R::of((self.extents[axis] - 1) as f64);
        (0..self.extents[axis])
            .map(|i| R::of(i as f64) * step - R::ONE)
            .collect()
    }

    fn forward<R: Real>(&self, data: &[R], out: &mut [R]) {
        let [rows, columns] = self.extents;
        let (high, wide) = (self.along::<R>(0), self.along::<R>(1));
        let target = Target::of_slice(out);
        par::for_ranges(self.batch * 2, (BLOCK / columns / rows).max(1), |range| {
            for plane in range {
                // SAFETY: planes belong to one task each.
                let out =
                    unsafe { target.slice(plane * rows * columns..(plane + 1) * rows * columns) };
                for (y, row) in out.chunks_exact_mut(columns).enumerate() {
                    if self.affine {
                        let m = &data[plane * 3..][..3];
                        let start = m[1] * high[y] + m[2];
                        row.iter_mut()
                            .zip(&wide)
                            .for_each(|(o, &x)| *o = m[0] * x + start);
                    } else {
                        let half = self.half::<R>(plane);
                        let flow = &data[(plane * rows + y) * columns..][..columns];
                        for (x, (o, &f)) in row.iter_mut().zip(flow).enumerate() {
                            let place = R::of(if plane % 2 == 0 { x } else { y } as f64);
                            *o = (f + place) / half - R::ONE;
                        }
                    }
                }
            }
        });
    }

    /// Half the distance of the first and the last pixel along the axis of a plane of a grid.
    fn half<R: Real>(&self, plane: usize) -> R {
        R::of((self.extents[1 - plane % 2] - 1) as f64) / R::of(2.0)
    }

    fn backward<R: Real>(&self, g: &[R], out: &mut [R]) {
        let [rows, columns] = self.extents;
        if !self.affine {
            let planes = out.chunks_exact_mut(rows * columns);
            for ((plane, out), g) in planes.enumerate().zip(g.chunks_exact(rows * columns)) {
                let half = self.half::<R>(plane);
                out.iter_mut().zip(g).for_each(|(o, &g)| *o = g / half);
            }
            return;
        }
        let (high, wide) = (self.along::<f64>(0), self.along::<f64>(1));
        let target = Target::of_slice(out);
        par::for_each(self.batch * 2, |plane| {
            let mut sums = [0.0; 3];
            let g = &g[plane * rows * columns..][..rows * columns];
            for (row, y) in g.chunks_exact(columns).zip(&high) {
                let mut total = [0.0; 2];
                for (g, x) in row.iter().zip(&wide) {
                    total[0] += g.f64() * x;
                    total[1] += g.f64();
                }
                sums[0] += total[0];
                sums[1] += total[1] * y;
                sums[2] += total[1];
            }
            // SAFETY: planes belong to one task each.
            let out = unsafe { target.slice(plane * 3..plane * 3 + 3) };
            out.copy_from_slice(&sums.map(R::of));
        });
    }
}

fn prepare_grid(back: bool, attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "GridGenerator";
    check_args(name, (i, if back { 2 } else { 1 }), (o, 1))?;
    let (data, grid) = if back { (&o[0], &i[0]) } else { (&i[0], &o[0]) };
    let geometry = Grid::new(name, attrs, data, grid)?;
    by_float!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let mut scratch = Vec::new();
        let given = lifted(call.inputs[0].read::<T>()?, &mut scratch);
        settle::<T>(&mut call.outputs[0], call.reqs[0], |out| {
            if back { geometry.backward(given, out) } else { geometry.forward(given, out) }
            Ok(())
        })
    }))
}

/// Images, and the points at which they are read.
#[derive(Clone, Copy)]
struct Sampler {
    batch: usize,
    channels: usize,
    /// Rows and columns of the images.
    image: [usize; 2],
    /// Points for each image.
    points: usize,
}

impl Sampler {
    fn new(name: &str, data: &Desc, grid: &Desc, out: &Desc) -> Result<Self> {
        let ([batch, channels, rows, columns], [_, _, high, wide]) =
            (&data.shape[..], &grid.shape[..])
        else {
            return Err(Error::value(format!(
                "{name}: data and grid must have 4 dimensions, got {:?} and {:?}",
                &data.shape[..],
                &grid.shape[..]
            )));
        };
        check_shape(name, "grid", grid, &[*batch, 2, *high, *wide])?;
        check_shape(name, "output", out, &[*batch, *channels, *high, *wide])?;
        let image = [*rows, *columns];
        check_plane(name, image)?;
        check_plane(name, [*high, *wide])?;
        Ok(Sampler {
            batch: *batch,
            channels: *channels,
            image,
            points: high * wide,
        })
    }

    fn pixels(&self) -> usize {
        self.image[0] * self.image[1]
    }

    /// By how many pixels a point moves with a coordinate: rows, columns.
    fn scale<R: Real>(&self) -> [R; 2] {
        self.image.map(|n| R::of((n as f64 - 1.0) / 2.0))
    }

    /// Calls `each` with the points of `range` of an image, and what is read there.
    #[inline(always)]
    fn points<R: Real>(
        &self,
        grid: &[R],
        image: usize,
        range: Range<usize>,
        mut each: impl FnMut(Point<R>),
    ) {
        let [high, wide] = self.scale::<R>();
        let (x, y) = grid[image * 2 * self.points..][..2 * self.points].split_at(self.points);
        for (&x, &y) in x[range.clone()].iter().zip(&y[range]) {
            let place = [(y + R::ONE) * high, (x + R::ONE) * wide];
            each(Point::new(place, self.image, Rim::Zeros));
        }
    }

    /// Calls `task` with images and ranges of their points, in parallel.
    fn blocks(&self, task: impl Fn(usize, Range<usize>) + Sync + Send) {
        let across = self.points.div_ceil(BLOCK);
        par::for_each(self.batch * across, |i| {
            let start = i % across * BLOCK;
            task(i / across, start..(start + BLOCK).min(self.points));
        });
    }

    fn forward<R: Real>(&self, data: &[R], grid: &[R], out: &mut [R]) {
        let target = Target::of_slice(out);
        self.blocks(|image, range| {
            let mut taps = TapColumns::with_capacity(range.len());
            self.points(grid, image, range.clone(), |point| taps.push(&point.value));
            for plane in image * self.channels..(image + 1) * self.channels {
                let pixels = &data[plane * self.pixels()..][..self.pixels()];
                let start = plane * self.points;
                // SAFETY: points of an image belong to one task.
                let out = unsafe { target.slice(start + range.start..start + range.end) };
                taps.read(pixels, out);
            }
        });
    }

    fn to_data<R: Real>(&self, g: &[R], grid: &[R], out: &mut [R]) {
        let together = self.channels.div_ceil(4).clamp(1, CHANNELS);
        let groups = self.channels.div_ceil(together);
        let target = Target::of_slice(out);
        par::for_each(self.batch * groups, |task| {
            let (image, first) = (task / groups, task % groups * together);
            let last = self.channels.min(first + together);
            let mut taps = Vec::with_capacity(BLOCK);
            let planes = image * self.channels + first..image * self.channels + last;
            let (start, end) = (planes.start * self.pixels(), planes.end * self.pixels());
            // SAFETY: planes belong to one task each.
            let out = unsafe { target.slice(start..end) };
            out.fill(R::ZERO);
            for start in (0..self.points).step_by(BLOCK) {
                let range = start..(start + BLOCK).min(self.points);
                taps.clear();
                self.points(grid, image, range.clone(), |point| taps.push(point.value));
                for (plane, out) in planes.clone().zip(out.chunks_exact_mut(self.pixels())) {
                    let g = &g[plane * self.points..][range.clone()];
                    taps.iter().zip(g).for_each(|(t, &g)| t.scatter(g, out));
                }
            }
        });
    }

    fn to_grid<R: Real>(&self, g: &[R], data: &[R], grid: &[R], out: &mut [R]) {
        let target = Target::of_slice(out);
        self.blocks(|image, range| {
            let mut places = Vec::with_capacity(range.len());
            self.points(grid, image, range.clone(), |point| places.push(point));
            let mut sums = vec![[R::ZERO; 2]; range.len()];
            for plane in image * self.channels..(image + 1) * self.channels {
                let pixels = &data[plane * self.pixels()..][..self.pixels()];
                let g = &g[plane * self.points..][range.clone()];
                for ((sum, point), &g) in sums.iter_mut().zip(&places).zip(g) {
                    let slopes = point.slopes(pixels);
                    sum.iter_mut().zip(slopes).for_each(|(s, by)| *s += g * by);
                }
            }
            let scale = self.scale::<R>();
            for axis in 0..2 {
                let start = (image * 2 + 1 - axis) * self.points;
                // SAFETY: points of an image belong to one task.
                let out = unsafe { target.slice(start + range.start..start + range.end) };
                let sums = sums.iter().map(|s| s[axis] * scale[axis]);
                out.iter_mut().zip(sums).for_each(|(o, s)| *o = s);
            }
        });
    }
}

fn prepare_sampler(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "BilinearSampler";
    check_args(name, (i, 2), (o, 1))?;
    let sampler = Sampler::new(name, &i[0], &i[1], &o[0])?;
    by_float!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let data = lifted(call.inputs[0].read::<T>()?, &mut a);
        let grid = lifted(call.inputs[1].read::<T>()?, &mut b);
        settle::<T>(&mut call.outputs[0], call.reqs[0], |out| {
            if data.is_empty() {
                out.fill(<T as Float>::Real::ZERO);
            } else {
                sampler.forward(data, grid, out);
            }
            Ok(())
        })
    }))
}

fn prepare_sampler_back(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_backward_BilinearSampler";
    check_args(name, (i, 3), (o, 2))?;
    let sampler = Sampler::new(name, &i[1], &i[2], &i[0])?;
    check_shape(name, "gradient of the data", &o[0], &i[1].shape)?;
    check_shape(name, "gradient of the grid", &o[1], &i[2].shape)?;
    by_float!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let mut scratch = [const { Vec::new() }; 3];
        let [a, b, c] = &mut scratch;
        let g = lifted(call.inputs[0].read::<T>()?, a);
        let data = lifted(call.inputs[1].read::<T>()?, b);
        let grid = lifted(call.inputs[2].read::<T>()?, c);
        settle::<T>(&mut call.outputs[0], call.reqs[0], |out| {
            sampler.to_data(g, grid, out);
            Ok(())
        })?;
        settle::<T>(&mut call.outputs[1], call.reqs[1], |out| {
            if data.is_empty() {
                out.fill(<T as Float>::Real::ZERO);
            } else {
                sampler.to_grid(g, data, grid, out);
            }
            Ok(())
        })
    }))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("GridGenerator", |a, i, o| prepare_grid(false, a, i, o)).unknown_cost(),
    Row::new("_backward_GridGenerator", |a, i, o| {
        prepare_grid(true, a, i, o)
    })
    .unknown_cost(),
    Row::new("BilinearSampler", prepare_sampler).unknown_cost(),
    Row::new("_backward_BilinearSampler", prepare_sampler_back).unknown_cost(),
];
