//! `ROIPooling`: the maxima over the bins of regions of images, and its gradient. The second output says
//! where in its plane each maximum stands, -1 for a bin without elements.

use crate::api::prepared::{boxed, check_count, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row};
use crate::blocks::blockwise::{lifted, store};
use crate::blocks::raw::{Source, Target};
use crate::math::real::{Float, Real, by_float};
use crate::par;
use ferromix_base::{DType, Error, Result};
use std::ops::Range;

/// Elements per task, roughly.
const GRAIN: usize = 32_768;
/// Numbers of a region: the image, then the corners, each as column and row.
const REGION: usize = 5;

#[derive(Clone, Copy)]
struct Pool {
    images: usize,
    channels: usize,
    /// Rows and columns of an image.
    plane: [usize; 2],
    regions: usize,
    /// Rows and columns of bins.
    bins: [usize; 2],
    scale: f64,
}

/// The bins of one region along one axis.
struct Axis<R> {
    start: i64,
    bin: R,
    extent: usize,
}

impl<R: Real> Axis<R> {
    fn new([low, high]: [R; 2], scale: R, bins: usize, extent: usize) -> Self {
        let round = |x: R| (x * scale).f64().round() as i64;
        let (start, end) = (round(low), round(high));
        let length = end.saturating_sub(start).saturating_add(1).max(1);
        Axis {
            start,
            bin: R::of(length as f64) / R::of(bins as f64),
            extent,
        }
    }

    /// The elements of a bin.
    fn range(&self, bin: usize) -> Range<usize> {
        let place = |x: f64| (x as i64).saturating_add(self.start);
        let clip = |x: i64| x.clamp(0, self.extent as i64) as usize;
        let low = place((R::of(bin as f64) * self.bin).f64().floor());
        let high = place((R::of((bin + 1) as f64) * self.bin).f64().ceil());
        clip(low)..clip(high)
    }
}

impl Pool {
    fn new(name: &str, attrs: &Attrs, data: &Desc, rois: &Desc, out: &Desc) -> Result<Self> {
        let (&[images, channels, high, wide], &[regions, REGION]) =
            (&data.shape[..], &rois.shape[..])
        else {
            return Err(Error::value(format!(
                "{name}: data must have 4 dimensions and rois the shape (regions, 5), got {:?} and \
                 {:?}",
                &data.shape[..],
                &rois.shape[..]
            )));
        };
        let bins = attrs.extents("pooled_size", 2, 0)?;
        let bins = [bins[0], bins[1]];
        let expected = [regions, channels, bins[0], bins[1]];
        check_shape(name, "output", out, &expected)?;
        Ok(Pool {
            images,
            channels,
            plane: [high, wide],
            regions,
            bins,
            scale: attrs.float("spatial_scale")?,
        })
    }

    fn size(&self) -> usize {
        self.plane[0] * self.plane[1]
    }

    /// The image of a region; none for a negative number or no number.
    fn image<R: Real>(&self, roi: &[R]) -> Result<Option<usize>> {
        let number = roi[0].f64().trunc();
        if number.is_nan() || number < 0.0 {
            return Ok(None);
        }
        if number >= self.images as f64 {
            return Err(Error::index(format!(
                "ROIPooling: a region is in image {number} of {}",
                self.images
            )));
        }
        Ok(Some(number as usize))
    }

    /// The maxima of one plane over the bins of a region, and where they stand.
    fn pool<R: Real>(&self, roi: &[R], (x, least): (&[R], R), out: &mut [R], places: &mut [i64]) {
        let scale = R::of(self.scale);
        let down = Axis::new([roi[2], roi[4]], scale, self.bins[0], self.plane[0]);
        let along = Axis::new([roi[1], roi[3]], scale, self.bins[1], self.plane[1]);
        for (i, (out, place)) in out.iter_mut().zip(places).enumerate() {
            let rows = down.range(i / self.bins[1]);
            let columns = along.range(i % self.bins[1]);
            let empty = rows.is_empty() || columns.is_empty();
            (*out, *place) = (if empty { R::ZERO } else { least }, -1);
            for row in rows {
                let line = row * self.plane[1];
                for column in columns.clone() {
                    if x[line + column] > *out {
                        (*out, *place) = (x[line + column], (line + column) as i64);
                    }
                }
            }
        }
    }
}

fn forward<T: Float>(pool: &Pool, call: &mut Call<'_>) -> Result<()> {
    let rois = call.inputs[1].read::<T>()?;
    let mut numbers = Vec::new();
    let rois = lifted(rois, &mut numbers);
    let images = rois
        .chunks_exact(REGION)
        .map(|roi| pool.image(roi))
        .collect::<Result<Vec<_>>>()?;
    let data = Source::<T>::of(&call.inputs[0])?;
    let [out, places] = call.outputs else {
        return Err(Error::internal("ROIPooling has two outputs"));
    };
    let (reqs, bins) = ([call.reqs[0], call.reqs[1]], pool.bins[0] * pool.bins[1]);
    let (out, places) = (Target::<T>::of(out)?, Target::<i64>::of(places)?);
    let grain = (GRAIN / (pool.size() + bins).max(1)).max(1);
    par::for_ranges(pool.regions * pool.channels, grain, |range| {
        let (mut buffer, mut maxima) = (Vec::new(), vec![T::Real::ZERO; bins]);
        let mut found = vec![-1; bins];
        for i in range {
            let (region, channel) = (i / pool.channels, i % pool.channels);
            if let Some(image) = images[region] {
                let start = (image * pool.channels + channel) * pool.size();
                // SAFETY: inputs are only read.
                let raw = unsafe { data.slice(start..start + pool.size()) };
                let roi = &rois[region * REGION..][..REGION];
                let plane = (lifted(raw, &mut buffer), T::LEAST);
                pool.pool(roi, plane, &mut maxima, &mut found);
            } else {
                maxima.fill(T::Real::ZERO);
                found.fill(-1);
            }
            let own = i * bins..(i + 1) * bins;
            // SAFETY: planes of the output belong to one task each.
            store(&maxima, unsafe { out.slice(own.clone()) }, reqs[0]);
            // SAFETY: as above.
            let places = unsafe { places.slice(own) };
            match reqs[1] {
                Req::Null => {}
                Req::Add => places.iter_mut().zip(&found).for_each(|(p, f)| *p += f),
                _ => places.copy_from_slice(&found),
            }
        }
    });
    Ok(())
}

fn backward<T: Float>(pool: &Pool, call: &mut Call<'_>) -> Result<()> {
    if call.reqs[0] == Req::Null {
        return Ok(());
    }
    let head = call.inputs[0].read::<T>()?;
    let rois = call.inputs[1].read::<T>()?;
    let places = call.inputs[2].read::<i64>()?;
    let mut numbers = Vec::new();
    let images = lifted(rois, &mut numbers)
        .chunks_exact(REGION)
        .map(|roi| pool.image(roi))
        .collect::<Result<Vec<_>>>()?;
    let (size, bins) = (pool.size(), pool.bins[0] * pool.bins[1]);
    let (target, req) = (Target::<T>::of(&mut call.outputs[0])?, call.reqs[0]);
    let work = size + pool.regions * bins;
    par::for_ranges(
        pool.images * pool.channels,
        (GRAIN / work.max(1)).max(1),
        |range| {
            let mut sums = vec![T::Real::ZERO; size];
            for i in range {
                let (image, channel) = (i / pool.channels, i % pool.channels);
                sums.fill(T::Real::ZERO);
                for (region, _) in images.iter().enumerate().filter(|r| *r.1 == Some(image)) {
                    let start = (region * pool.channels + channel) * bins;
                    let own = start..start + bins;
                    for (g, &place) in head[own.clone()].iter().zip(&places[own]) {
                        let sum = usize::try_from(place).ok().and_then(|p| sums.get_mut(p));
                        if let Some(sum) = sum {
                            *sum += g.up();
                        }
                    }
                }
                // SAFETY: planes of the data belong to one task each.
                store(
                    &sums,
                    unsafe { target.slice(i * size..(i + 1) * size) },
                    req,
                );
            }
        },
    );
    Ok(())
}

fn check_types(name: &str, args: &[&Desc], places: &Desc) -> Result<()> {
    let dtype = args[0].dtype;
    match args.iter().find(|d| d.dtype != dtype) {
        None if places.dtype == DType::I64 => Ok(()),
        None => Err(Error::dtype(format!(
            "{name}: places of maxima must be int64, got {}",
            places.dtype
        ))),
        Some(odd) => Err(Error::dtype(format!(
            "{name}: arguments must share one dtype, got {dtype} and {}; cast one of them",
            odd.dtype
        ))),
    }
}

fn prepare(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "ROIPooling";
    check_count(name, (ins, 2), (outs, 2))?;
    check_types(name, &[&ins[0], &ins[1], &outs[0]], &outs[1])?;
    let pool = Pool::new(name, attrs, &ins[0], &ins[1], &outs[0])?;
    check_shape(name, "places", &outs[1], &outs[0].shape)?;
    by_float!(name, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| forward::<T>(&pool, call)))
}

fn prepare_back(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_backward_ROIPooling";
    check_count(name, (ins, 4), (outs, 1))?;
    check_types(name, &[&ins[0], &ins[1], &ins[3], &outs[0]], &ins[2])?;
    let pool = Pool::new(name, attrs, &ins[3], &ins[1], &ins[0])?;
    check_shape(name, "places", &ins[2], &ins[0].shape)?;
    check_shape(name, "data gradient", &outs[0], &ins[3].shape)?;
    by_float!(name, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| backward::<T>(&pool, call)))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("ROIPooling", prepare).unknown_cost(),
    Row::new("_backward_ROIPooling", prepare_back).unknown_cost(),
];
