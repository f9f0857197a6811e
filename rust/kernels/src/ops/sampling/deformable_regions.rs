//! `DeformablePSROIPooling`: means of points in the bins of regions, each bin with channels of its own
//! and moved by what is learned for its part of the region.

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::blocks::bilinear::{Point, Rim, check_plane};
use crate::blocks::blockwise::{lifted, settle};
use crate::blocks::raw::Target;
use crate::blocks::regions::image_of;
use crate::math::real::{Float, Real, by_float};
use crate::par;
use ferromix_base::{Error, Result};

const NAME: &str = "_contrib_DeformablePSROIPooling";

#[derive(Clone, Copy)]
struct Pool {
    scale: f64,
    images: usize,
    channels: usize,
    /// Rows and columns of the images.
    image: [usize; 2],
    regions: usize,
    /// Channels of the output.
    tops: usize,
    /// Bins, groups of them and parts of a region along either axis.
    bins: usize,
    groups: usize,
    parts: usize,
    samples: usize,
    /// How far bins move, and by what: classes, and the shape of what is given for each region.
    factor: f64,
    classes: usize,
    moves: Option<[usize; 3]>,
}

/// A region in pixels, with rows first.
struct Region<R> {
    image: Option<usize>,
    start: [R; 2],
    size: [R; 2],
}

/// A bin of a class of a region.
#[derive(Clone, Copy)]
struct Bin {
    region: usize,
    class: usize,
    place: [usize; 2],
}

impl Pool {
    fn new(attrs: &Attrs, ins: &[Desc], out: &Desc) -> Result<Self> {
        let extent = |name: &str| attrs.int(name).map(|n| usize::try_from(n).unwrap_or(0));
        let [images, channels, rows, columns] = ins[0].shape[..] else {
            return Err(Error::value(format!(
                "{NAME}: data must have shape (n, c, h, w), got {:?}",
                &ins[0].shape[..]
            )));
        };
        let (tops, bins, groups) = (
            extent("output_dim")?,
            extent("pooled_size")?,
            extent("group_size")?,
        );
        let parts = match extent("part_size")? {
            0 => bins,
            given => given,
        };
        let regions = ins[1].shape.first().copied().unwrap_or(0);
        check_shape(NAME, "rois", &ins[1], &[regions, 5])?;
        check_shape(NAME, "output", out, &[regions, tops, bins, bins])?;
        check_plane(NAME, [rows, columns])?;
        let moves = match ins
            .get(2)
            .filter(|_| !attrs.bool("no_trans").unwrap_or(false))
        {
            None => None,
            Some(trans) => Some(Self::moves(trans, regions, parts)?),
        };
        let made = Pool {
            scale: attrs.float("spatial_scale")?,
            images,
            channels,
            image: [rows, columns],
            regions,
            tops,
            bins,
            groups,
            parts,
            samples: extent("sample_per_part")?,
            factor: attrs.float("trans_std")?,
            classes: moves.map_or(1, |m| m[0] / 2),
            moves,
        };
        made.check()?;
        Ok(made)
    }

    fn moves(trans: &Desc, regions: usize, parts: usize) -> Result<[usize; 3]> {
        match trans.shape[..] {
            [n, moves, high, wide]
                if n >= regions
                    && moves >= 2
                    && moves % 2 == 0
                    && high == parts
                    && wide == parts =>
            {
                Ok([moves, high, wide])
            }
            _ => Err(Error::value(format!(
                "{NAME}: trans must have shape ({regions}, 2 * classes, {parts}, {parts}), got {:?}",
                &trans.shape[..]
            ))),
        }
    }

    fn check(&self) -> Result<()> {
        let squared = self.groups.checked_mul(self.groups);
        let needed = squared.and_then(|n| n.checked_mul(self.tops));
        let counts = [self.groups, self.bins, self.samples, self.classes];
        if counts.contains(&0)
            || needed.is_none_or(|n| n > self.channels)
            || !self.tops.is_multiple_of(self.classes)
        {
            return Err(Error::value(format!(
                "{NAME}: {} channels do not give {} for {} classes in {} by {} groups",
                self.channels, self.tops, self.classes, self.groups, self.groups
            )));
        }
        Ok(())
    }

    fn read<R: Real>(&self, rois: &[R]) -> Result<Vec<Region<R>>> {
        let (scale, half) = (R::of(self.scale), R::of(0.5));
        let rows = rois.chunks_exact(5).enumerate();
        rows.map(|(number, roi)| {
            let start = [roi[2], roi[1]].map(|x| x.round() * scale - half);
            let end = [roi[4], roi[3]].map(|x| (x.round() + R::ONE) * scale - half);
            Ok(Region {
                image: image_of(NAME, number, roi[0], self.images)?,
                start,
                size: [0, 1].map(|i| R::of(0.1).at_least(end[i] - start[i])),
            })
        })
        .collect()
    }

    /// Where the move of a bin along x is; that along y is a part of its own behind.
    fn move_of(&self, bin: Bin, [moves, high, wide]: [usize; 3]) -> usize {
        let part = bin.place.map(|p| p * self.parts / self.bins);
        ((bin.region * moves + 2 * bin.class) * high + part[0]) * wide + part[1]
    }

    /// The points of a bin that are in the image.
    fn points<R: Real>(
        &self,
        region: &Region<R>,
        bin: Bin,
        trans: Option<&[R]>,
        points: &mut Vec<Point<R>>,
    ) {
        let moved = match (self.moves, trans) {
            (Some(shape), Some(trans)) => {
                let at = self.move_of(bin, shape);
                let factor = R::of(self.factor);
                [trans[at + shape[1] * shape[2]] * factor, trans[at] * factor]
            }
            _ => [R::ZERO; 2],
        };
        let along = |axis: usize, i: usize| {
            let extent = region.size[axis] / R::of(self.bins as f64);
            let start = R::of(bin.place[axis] as f64) * extent + region.start[axis];
            let start = start + moved[axis] * region.size[axis];
            start + R::of(i as f64) * (extent / R::of(self.samples as f64))
        };
        points.clear();
        for i in 0..self.samples {
            for j in 0..self.samples {
                let place = [along(0, i), along(1, j)];
                let within = |axis: usize| {
                    let end = R::of(self.image[axis] as f64 - 0.5);
                    self.image[axis] > 0 && place[axis] >= R::of(-0.5) && place[axis] <= end
                };
                if within(0) && within(1) {
                    points.push(Point::new(place, self.image, Rim::HALF));
                }
            }
        }
    }

    /// The channel that a bin of a channel of the output reads.
    fn channel(&self, top: usize, place: [usize; 2]) -> usize {
        let [y, x] = place.map(|p| (p * self.groups / self.bins).min(self.groups - 1));
        (top * self.groups + y) * self.groups + x
    }

    /// The channels of the output that are of a class.
    fn members(&self, class: usize) -> std::ops::Range<usize> {
        let size = self.tops / self.classes;
        class * size..(class + 1) * size
    }

    /// Calls `each` with the bins of a region and their points.
    fn each_bin<R: Real>(
        &self,
        number: usize,
        region: &Region<R>,
        trans: Option<&[R]>,
        mut each: impl FnMut(Bin, &[Point<R>]),
    ) {
        let mut points = Vec::new();
        for i in 0..self.classes * self.bins * self.bins {
            let bin = Bin {
                region: number,
                class: i / self.bins / self.bins,
                place: [i / self.bins % self.bins, i % self.bins],
            };
            self.points(region, bin, trans, &mut points);
            each(bin, &points);
        }
    }

    fn plane<'a, R>(&self, data: &'a [R], image: usize, channel: usize) -> &'a [R] {
        let pixels = self.image[0] * self.image[1];
        &data[(image * self.channels + channel) * pixels..][..pixels]
    }

    /// The place of a bin of a channel in the output.
    fn place(&self, bin: Bin, top: usize) -> usize {
        let [y, x] = bin.place;
        ((bin.region * self.tops + top) * self.bins + y) * self.bins + x
    }

    fn forward<R: Real>(
        &self,
        data: &[R],
        regions: &[Region<R>],
        trans: Option<&[R]>,
        out: &mut [R],
    ) {
        let size = self.tops * self.bins * self.bins;
        let target = Target::of_slice(out);
        par::for_each(self.regions, |number| {
            // SAFETY: regions belong to one task each.
            let out = unsafe { target.slice(number * size..(number + 1) * size) };
            out.fill(R::ZERO);
            let region = &regions[number];
            let Some(image) = region.image else {
                return;
            };
            self.each_bin(number, region, trans, |bin, points| {
                let count = R::of(points.len().max(1) as f64);
                for top in self.members(bin.class) {
                    let plane = self.plane(data, image, self.channel(top, bin.place));
                    let sum: R = points.iter().map(|p| p.value.read(plane)).sum();
                    out[self.place(bin, top) - number * size] = sum / count;
                }
            });
        });
    }

    /// Channels are those of one task each, which goes through all regions in their order.
    fn to_data<R: Real>(&self, g: &[R], regions: &[Region<R>], trans: Option<&[R]>, out: &mut [R]) {
        let pixels = self.image[0] * self.image[1];
        let each = self.groups * self.groups;
        let target = Target::of_slice(out);
        par::for_each(self.images * self.channels.div_ceil(each), |task| {
            let across = self.channels.div_ceil(each);
            let (image, top) = (task / across, task % across);
            let first = image * self.channels + top * each;
            let end = (first + each).min((image + 1) * self.channels);
            // SAFETY: the channels of a channel of the output belong to one task.
            let out = unsafe { target.slice(first * pixels..end * pixels) };
            out.fill(R::ZERO);
            if top >= self.tops {
                return;
            }
            let class = top / (self.tops / self.classes);
            let numbered = regions.iter().enumerate();
            for (number, region) in numbered.filter(|(_, r)| r.image == Some(image)) {
                self.each_bin(number, region, trans, |bin, points| {
                    if bin.class != class {
                        return;
                    }
                    let share = g[self.place(bin, top)] / R::of(points.len().max(1) as f64);
                    let channel = self.channel(top, bin.place) - top * each;
                    let plane = &mut out[channel * pixels..(channel + 1) * pixels];
                    points.iter().for_each(|p| p.value.scatter(share, plane));
                });
            }
        });
    }

    fn to_moves<R: Real>(
        &self,
        (g, data): (&[R], &[R]),
        regions: &[Region<R>],
        trans: &[R],
        out: &mut [R],
    ) {
        out.fill(R::ZERO);
        let Some(shape) = self.moves else {
            return;
        };
        let size = shape.iter().product::<usize>();
        let target = Target::of_slice(out);
        par::for_each(self.regions, |number| {
            // SAFETY: regions belong to one task each.
            let out = unsafe { target.slice(number * size..(number + 1) * size) };
            let region = &regions[number];
            let Some(image) = region.image else {
                return;
            };
            self.each_bin(number, region, Some(trans), |bin, points| {
                let count = R::of(points.len().max(1) as f64);
                let mut sums = [R::ZERO; 2];
                for top in self.members(bin.class) {
                    let plane = self.plane(data, image, self.channel(top, bin.place));
                    let share = g[self.place(bin, top)] / count;
                    for point in points {
                        let slopes = point.slopes(plane);
                        sums.iter_mut()
                            .zip(slopes)
                            .for_each(|(s, by)| *s += share * by);
                    }
                }
                let at = self.move_of(bin, shape) - number * size;
                let factor = R::of(self.factor);
                out[at] += sums[1] * factor * region.size[1];
                out[at + shape[1] * shape[2]] += sums[0] * factor * region.size[0];
            });
        });
    }
}

fn prepare(back: bool, attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let moved = !attrs.bool("no_trans")?;
    let (first, count) = (usize::from(back), 2 + usize::from(moved));
    check_args(
        NAME,
        (i, first + count),
        (o, if back && moved { 2 } else { 1 }),
    )?;
    let pool = Pool::new(attrs, &i[first..], if back { &i[0] } else { &o[0] })?;
    if back {
        check_shape(NAME, "gradient of the data", &o[0], &i[1].shape)?;
        if moved {
            check_shape(NAME, "gradient of trans", &o[1], &i[3].shape)?;
        }
    }
    by_float!(NAME, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let mut scratch = [const { Vec::new() }; 4];
        let mut inputs: Vec<&[<T as Float>::Real]> = Vec::with_capacity(4);
        for (view, scratch) in call.inputs.iter().zip(&mut scratch) {
            inputs.push(lifted(view.read::<T>()?, scratch));
        }
        let (data, trans) = (inputs[first], inputs.get(first + 2).copied());
        let regions = pool.read(inputs[first + 1])?;
        settle::<T>(&mut call.outputs[0], call.reqs[0], |out| {
            if back {
                pool.to_data(inputs[0], &regions, trans, out);
            } else {
                pool.forward(data, &regions, trans, out);
            }
            Ok(())
        })?;
        if let (true, Some(trans)) = (back, trans) {
            settle::<T>(&mut call.outputs[1], call.reqs[1], |out| {
                pool.to_moves((inputs[0], data), &regions, trans, out);
                Ok(())
            })?;
        }
        Ok(())
    }))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new(NAME, |a, i, o| prepare(false, a, i, o)).unknown_cost(),
    Row::new("_backward__contrib_DeformablePSROIPooling", |a, i, o| {
        prepare(true, a, i, o)
    })
    .unknown_cost(),
];
