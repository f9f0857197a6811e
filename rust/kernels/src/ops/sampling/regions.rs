//! Means over the bins of regions of images: `ROIAlign`, at points between pixels, and
//! `PSROIPooling`, over whole pixels. The weight of a pixel in a bin is a product of what its row and
//! its column say, so that a region is two short tables, and a channel takes a sum of rows for each
//! row of bins. With groups, the bins of each group read channels of their own.

mod tables;

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::blocks::bilinear::{Line, Rim, check_plane};
use crate::blocks::blockwise::{lifted, settle};
use crate::blocks::raw::Target;
use crate::blocks::regions::image_of;
use crate::math::real::{Float, Real, by_float};
use crate::par;
use ferromix_base::{Error, Result};
use tables::{Axis, Part, Region, gather, nearby, scatter};

/// Bins that a task computes, at least.
const BINS: usize = 4096;

/// How the bins of a region weigh pixels.
#[derive(Clone, Copy)]
enum Kind {
    /// The mean of so many points each way, as many as there are pixels where this is 0.
    Points { samples: usize, aligned: bool },
    /// The mean of the pixels that a bin touches.
    Pixels,
}

#[derive(Clone, Copy)]
struct Regions {
    name: &'static str,
    kind: Kind,
    scale: f64,
    images: usize,
    channels: usize,
    /// Rows and columns of the images.
    extents: [usize; 2],
    regions: usize,
    /// Channels of the output.
    tops: usize,
    /// Rows and columns of bins, and how many groups these fall into.
    bins: [usize; 2],
    groups: [usize; 2],
}

impl Regions {
    /// The regions of `rois`: numbers of images, and left, upper, right, lower ends.
    ///
    /// # Errors
    /// An image that there is not, or a region without an extent that must have one.
    fn read<R: Real>(&self, rois: &[R]) -> Result<Vec<Region<R>>> {
        let mut found = Vec::with_capacity(self.regions);
        for (number, roi) in rois.chunks_exact(5).enumerate() {
            let image = image_of(self.name, number, roi[0], self.images)?;
            let axis = |n: usize| self.axis(number, n, roi[2 - n], roi[4 - n]);
            let axes = [axis(0)?, axis(1)?];
            found.push(Region { image, axes });
        }
        Ok(found)
    }

    fn axis<R: Real>(&self, number: usize, axis: usize, low: R, high: R) -> Result<Axis<R>> {
        let mut made = Axis::new(self.bins[axis]);
        let scale = R::of(self.scale);
        match self.kind {
            Kind::Pixels => self.pixels(axis, low.round() * scale, high, &mut made),
            Kind::Points { samples, aligned } => {
                let shift = R::of(if aligned { 0.5 } else { 0.0 });
                let start = low * scale - shift;
                let size = high * scale - shift - start;
                if aligned && size <= R::ZERO {
                    return Err(Error::value(format!(
                        "{}: region {number} goes from {} to {}; with aligned=True it must have \
                         an extent",
                        self.name,
                        low.f64(),
                        high.f64()
                    )));
                }
                let size = if aligned { size } else { R::ONE.at_least(size) };
                self.points(axis, start, size, samples, &mut made);
            }
        }
        Ok(made)
    }

    fn points<R: Real>(&self, axis: usize, start: R, size: R, samples: usize, made: &mut Axis<R>) {
        let (bins, n) = (self.bins[axis], self.extents[axis]);
        let bin = size / R::of(bins as f64);
        let count = if samples > 0 {
            samples
        } else {
            bin.ceil().f64() as usize
        };
        let (total, step) = (R::of(count.max(1) as f64), bin.f64() / count.max(1) as f64);
        let mut sums = vec![R::ZERO; n];
        for i in 0..bins {
            let base = start + R::of(i as f64) * bin;
            let (mut low, mut high) = (n, 0);
            for k in nearby(base.f64(), step, n, count) {
                let x = base + R::of(k as f64 + 0.5) * bin / total;
                let Some(line) = Line::new(x, n, Rim::PIXEL) else {
                    continue;
                };
                for (at, weight) in line.at.into_iter().zip(line.weight) {
                    sums[at as usize] += weight;
                    low = low.min(at as usize);
                    high = high.max(at as usize + 1);
                }
            }
            let touched = low.min(high)..high;
            made.push(
                touched.start,
                sums[touched.clone()].iter().map(|&w| w / total),
            );
            sums[touched].fill(R::ZERO);
        }
    }

    /// The pixels that each bin touches; regions end with their last pixel.
    fn pixels<R: Real>(&self, axis: usize, start: R, high: R, made: &mut Axis<R>) {
        let (bins, n) = (self.bins[axis], R::of(self.extents[axis] as f64));
        let end = (high.round() + R::ONE) * R::of(self.scale);
        let bin = R::of(0.1).at_least(end - start) / R::of(bins as f64);
        let place = |x: R| x.f64().clamp(0.0, n.f64()) as usize;
        for i in 0..bins {
            let first = place((R::of(i as f64) * bin + start).floor());
            let end = place((R::of((i + 1) as f64) * bin + start).ceil());
            let count = end.saturating_sub(first);
            let weight = R::ONE / R::of(count as f64);
            made.push(first, std::iter::repeat_n(weight, count));
        }
    }

    /// The bins of each group, rows first.
    fn parts(&self) -> Vec<Part> {
        let members = |axis: usize, group: usize| {
            let (bins, groups) = (self.bins[axis], self.groups[axis]);
            // Bin `b` is in group `b * groups / bins`.
            (group * bins).div_ceil(groups)..((group + 1) * bins).div_ceil(groups)
        };
        let [high, wide] = self.groups;
        let groups = (0..high * wide).map(|i| [i / wide, i % wide]);
        let part = |[i, j]: [usize; 2]| Part {
            rows: members(0, i),
            columns: members(1, j),
            across: self.bins[1],
        };
        groups.map(part).collect()
    }

    fn forward<R: Real>(&self, data: &[R], regions: &[Region<R>], out: &mut [R]) {
        let size = self.bins[0] * self.bins[1];
        let pixels = self.extents[0] * self.extents[1];
        let (target, parts) = (Target::of_slice(out), self.parts());
        par::for_ranges(self.regions * self.tops, BINS / size.max(1), |range| {
            let mut row = vec![R::ZERO; self.extents[1]];
            for i in range {
                // SAFETY: channels of regions belong to one task each.
                let out = unsafe { target.slice(i * size..(i + 1) * size) };
                let (region, top) = (&regions[i / self.tops], i % self.tops);
                let Some(image) = region.image else {
                    out.fill(R::ZERO);
                    continue;
                };
                let first = image * self.channels + top * parts.len();
                for (plane, part) in (first..).zip(&parts) {
                    let plane = &data[plane * pixels..][..pixels];
                    gather(region, part, plane, &mut row, out);
                }
            }
        });
    }

    fn backward<R: Real>(&self, g: &[R], regions: &[Region<R>], out: &mut [R]) {
        let size = self.bins[0] * self.bins[1];
        let pixels = self.extents[0] * self.extents[1];
        let (target, parts) = (Target::of_slice(out), self.parts());
        par::for_each(self.images * self.channels, |plane| {
            let (image, channel) = (plane / self.channels, plane % self.channels);
            // SAFETY: planes belong to one task each.
            let out = unsafe { target.slice(plane * pixels..(plane + 1) * pixels) };
            out.fill(R::ZERO);
            let (top, part) = (channel / parts.len(), &parts[channel % parts.len()]);
            if top >= self.tops {
                return;
            }
            let mut row = vec![R::ZERO; self.extents[1]];
            for (number, region) in regions.iter().enumerate() {
                if region.image == Some(image) {
                    let g = &g[(number * self.tops + top) * size..][..size];
                    scatter(region, part, g, &mut row, out);
                }
            }
        });
    }
}

const ALIGN: &str = "_contrib_ROIAlign";
const POOL: &str = "_contrib_PSROIPooling";

type Build = fn(&Attrs, &[usize], &[usize]) -> Result<Regions>;

fn align(attrs: &Attrs, data: &[usize], out: &[usize]) -> Result<Regions> {
    let bins = attrs.extents("pooled_size", 2, 1)?;
    let bins = [bins[0], bins[1]];
    let samples = usize::try_from(attrs.int("sample_ratio")?).unwrap_or(0);
    let aligned = attrs.bool("aligned")?;
    let groups = if attrs.bool("position_sensitive")? {
        bins
    } else {
        [1, 1]
    };
    Ok(Regions {
        name: ALIGN,
        kind: Kind::Points { samples, aligned },
        ..plain(attrs, data, out, bins, groups)?
    })
}

fn pool(attrs: &Attrs, data: &[usize], out: &[usize]) -> Result<Regions> {
    let extent = |name: &str| attrs.int(name).map(|n| usize::try_from(n).unwrap_or(0));
    let (bins, groups) = (extent("pooled_size")?, extent("group_size")?);
    let groups = if groups == 0 { bins } else { groups };
    Ok(Regions {
        name: POOL,
        kind: Kind::Pixels,
        ..plain(attrs, data, out, [bins; 2], [groups; 2])?
    })
}

fn plain(
    attrs: &Attrs,
    data: &[usize],
    out: &[usize],
    bins: [usize; 2],
    groups: [usize; 2],
) -> Result<Regions> {
    let ([images, channels, rows, columns], [regions, tops, high, wide]) = (data, out) else {
        return Err(Error::value(format!(
            "regions are parts of images of shape (n, c, h, w), got {data:?}, and give 4 \
             dimensions, got {out:?}"
        )));
    };
    let needed = groups.iter().try_fold(*tops, |n, g| n.checked_mul(*g));
    let fits = needed.is_some_and(|needed| needed <= *channels);
    if [*high, *wide] != bins || bins.contains(&0) || groups.contains(&0) || !fits {
        return Err(Error::value(format!(
            "{bins:?} bins of images of shape {data:?} in {groups:?} groups do not give {out:?}"
        )));
    }
    Ok(Regions {
        name: "",
        kind: Kind::Pixels,
        scale: attrs.float("spatial_scale")?,
        images: *images,
        channels: *channels,
        extents: [*rows, *columns],
        regions: *regions,
        tops: *tops,
        bins,
        groups,
    })
}

fn prepare(
    name: &'static str,
    build: Build,
    back: bool,
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    check_args(name, (i, if back { 3 } else { 2 }), (o, 1))?;
    let first = usize::from(back);
    let (data, out) = (&i[first], if back { &i[0] } else { &o[0] });
    let regions = build(attrs, &data.shape, &out.shape)?;
    check_shape(name, "rois", &i[first + 1], &[regions.regions, 5])?;
    check_plane(name, regions.extents)?;
    if back {
        check_shape(name, "gradient of the data", &o[0], &data.shape)?;
    }
    by_float!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let rois = lifted(call.inputs[first + 1].read::<T>()?, &mut b);
        let given = lifted(call.inputs[0].read::<T>()?, &mut a);
        settle::<T>(&mut call.outputs[0], call.reqs[0], |out| {
            let found = regions.read::<<T as Float>::Real>(rois)?;
            if back {
                regions.backward(given, &found, out);
            } else {
                regions.forward(given, &found, out);
            }
            Ok(())
        })
    }))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new(ALIGN, |a, i, o| prepare(ALIGN, align, false, a, i, o)).unknown_cost(),
    Row::new("_backward_ROIAlign", |a, i, o| {
        prepare(ALIGN, align, true, a, i, o)
    })
    .unknown_cost(),
    Row::new(POOL, |a, i, o| prepare(POOL, pool, false, a, i, o)).unknown_cost(),
    Row::new("_backward__contrib_PSROIPooling", |a, i, o| {
        prepare(POOL, pool, true, a, i, o)
    })
    .unknown_cost(),
];
