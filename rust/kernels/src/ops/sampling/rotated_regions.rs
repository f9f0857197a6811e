//! `RROIAlign`: means of points in the bins of regions that are turned.

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::blocks::bilinear::{Point, Rim, Taps, check_plane};
use crate::blocks::blockwise::{lifted, settle};
use crate::blocks::raw::Target;
use crate::blocks::regions::image_of;
use crate::math::real::{Real, by_float};
use crate::par;
use ferromix_base::{Error, Result};

const NAME: &str = "_contrib_RROIAlign";

/// Most points of a bin along an axis.
const MOST: usize = 1024;

#[derive(Clone, Copy)]
struct Turned {
    scale: f64,
    /// Points of a bin along an axis; as many as there are pixels where this is 0.
    samples: usize,
    images: usize,
    channels: usize,
    /// Rows and columns of the images.
    extents: [usize; 2],
    regions: usize,
    /// Rows and columns of bins.
    bins: [usize; 2],
}

/// One region; its axes are those of rows and columns before it is turned.
struct Region<R> {
    image: Option<usize>,
    center: [R; 2],
    size: [R; 2],
    sine: R,
    cosine: R,
    points: [usize; 2],
}

impl Turned {
    fn new(attrs: &Attrs, data: &Desc, rois: &Desc, out: &Desc) -> Result<Self> {
        let [images, channels, rows, columns] = data.shape[..] else {
            return Err(Error::value(format!(
                "{NAME}: data must have shape (n, c, h, w), got {:?}",
                &data.shape[..]
            )));
        };
        let bins = attrs.extents("pooled_size", 2, 1)?;
        let regions = rois.shape.first().copied().unwrap_or(0);
        check_shape(NAME, "rois", rois, &[regions, 6])?;
        check_shape(NAME, "output", out, &[regions, channels, bins[0], bins[1]])?;
        check_plane(NAME, [rows, columns])?;
        Ok(Turned {
            scale: attrs.float("spatial_scale")?,
            samples: usize::try_from(attrs.int("sampling_ratio")?).unwrap_or(0),
            images,
            channels,
            extents: [rows, columns],
            regions,
            bins: [bins[0], bins[1]],
        })
    }

    /// The regions of `rois`: image, center (x, y), width, height, degrees.
    ///
    /// # Errors
    /// An image that there is not, and bins of too many points.
    fn read<R: Real>(&self, rois: &[R]) -> Result<Vec<Region<R>>> {
        let mut found = Vec::with_capacity(self.regions);
        for (number, roi) in rois.chunks_exact(6).enumerate() {
            let scale = R::of(self.scale);
            let size = [roi[4], roi[3]].map(|n| R::ONE.at_least(n * scale));
            let points = [0, 1].map(|axis| match self.samples {
                0 => (size[axis] / R::of(self.bins[axis] as f64)).ceil().f64() as usize,
                given => given,
            });
            if points.iter().any(|n| *n > MOST) {
                return Err(Error::value(format!(
                    "{NAME}: region {number} has {points:?} points in each bin; at most {MOST} \
                     along an axis, which sampling_ratio sets"
                )));
            }
            let turn = roi[5].f64().to_radians();
            found.push(Region {
                image: image_of(NAME, number, roi[0], self.images)?,
                center: [roi[2] * scale, roi[1] * scale],
                size,
                sine: R::of(turn.sin()),
                cosine: R::of(turn.cos()),
                points,
            });
        }
        Ok(found)
    }

    /// The points of a bin.
    fn points<R: Real>(&self, region: &Region<R>, bin: [usize; 2], taps: &mut Vec<Taps<R>>) {
        taps.clear();
        let half = R::of(0.5);
        let along = |axis: usize, i: usize| {
            let extent = region.size[axis] / R::of(self.bins[axis] as f64);
            let inside = R::of(i as f64 + 0.5) * extent / R::of(region.points[axis] as f64);
            R::of(bin[axis] as f64) * extent + inside - region.size[axis] * half
        };
        for i in 0..region.points[0] {
            let y = along(0, i);
            for j in 0..region.points[1] {
                let x = along(1, j);
                let place = [
                    y * region.cosine - x * region.sine + region.center[0],
                    x * region.cosine + y * region.sine + region.center[1],
                ];
                taps.push(Point::new(place, self.extents, Rim::PIXEL).value);
            }
        }
    }

    fn run<R: Real>(&self, data: &[R], rois: &[R], out: &mut [R]) -> Result<()> {
        let regions = self.read(rois)?;
        let bins = self.bins[0] * self.bins[1];
        let (size, pixels) = (self.channels * bins, self.extents[0] * self.extents[1]);
        let target = Target::of_slice(out);
        par::for_each(self.regions, |number| {
            // SAFETY: regions belong to one task each.
            let out = unsafe { target.slice(number * size..(number + 1) * size) };
            let region = &regions[number];
            let Some(image) = region.image.filter(|_| pixels > 0) else {
                return out.fill(R::ZERO);
            };
            let mut taps = Vec::new();
            for bin in 0..bins {
                let place = [bin / self.bins[1], bin % self.bins[1]];
                self.points(region, place, &mut taps);
                let count = R::of(taps.len().max(1) as f64);
                let planes = data[image * self.channels * pixels..].chunks_exact(pixels);
                for (plane, out) in planes.zip(out.chunks_exact_mut(bins)) {
                    out[bin] = sum(&taps, plane) / count;
                }
            }
        });
        Ok(())
    }
}

crate::simd::vector::multiversion! {
    fn sum<R: Real>(taps: &[Taps<R>], plane: &[R]) -> R {
        let mut sum = R::ZERO;
        taps.iter().for_each(|t| sum += t.read(plane));
        sum
    }
}

fn prepare(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_args(NAME, (i, 2), (o, 1))?;
    let turned = Turned::new(attrs, &i[0], &i[1], &o[0])?;
    by_float!(NAME, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let data = lifted(call.inputs[0].read::<T>()?, &mut a);
        let rois = lifted(call.inputs[1].read::<T>()?, &mut b);
        settle::<T>(&mut call.outputs[0], call.reqs[0], |out| turned.run(data, rois, out))
    }))
}

pub(crate) const ROWS: &[Row] = &[Row::new(NAME, prepare).unknown_cost()];
