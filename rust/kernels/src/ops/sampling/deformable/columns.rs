//! What a moved kernel sees at each place of the output, as columns of a matrix, and the gradients of
//! that.

use crate::blocks::bilinear::{Point, Rim};
use crate::blocks::raw::Target;
use crate::math::real::Real;
use crate::par;
use std::ops::Range;

/// Places whose pixels are found at a time.
const BLOCK: usize = 512;
/// Most channels that a task adds gradients to, for all of which it finds the pixels once.
const CHANNELS: usize = 16;

/// The geometry; pairs are rows and columns.
#[derive(Clone, Copy)]
pub(super) struct Deformed {
    /// Whether there are masks. Without them, pixels outside of an image are not zeros: elements of
    /// the kernel that are moved there see nothing, up to the rim.
    pub(super) masked: bool,
    pub(super) batch: usize,
    pub(super) channels: usize,
    pub(super) image: [usize; 2],
    pub(super) filters: usize,
    pub(super) kernel: [usize; 2],
    pub(super) stride: [usize; 2],
    pub(super) dilate: [usize; 2],
    pub(super) pad: [usize; 2],
    pub(super) output: [usize; 2],
    pub(super) groups: usize,
    /// Groups of channels with offsets of their own.
    pub(super) moved: usize,
}

/// What belongs to one image.
#[derive(Clone, Copy)]
pub(super) struct Image<'a, R> {
    pub(super) data: &'a [R],
    pub(super) offset: &'a [R],
    pub(super) mask: Option<&'a [R]>,
}

impl Deformed {
    pub(super) fn pixels(&self) -> usize {
        self.image[0] * self.image[1]
    }

    pub(super) fn places(&self) -> usize {
        self.output[0] * self.output[1]
    }

    /// Elements of the kernel.
    pub(super) fn taps(&self) -> usize {
        self.kernel[0] * self.kernel[1]
    }

    /// Points that an image is read at, by each channel of a group.
    pub(super) fn points(&self) -> usize {
        self.moved * self.taps() * self.places()
    }

    /// Calls `each` with the points for a row of offsets (group and element of the kernel) and the
    /// places of `range`, and with the mask there.
    #[inline(always)]
    fn each_point<R: Real>(
        &self,
        image: Image<'_, R>,
        row: usize,
        range: Range<usize>,
        mut each: impl FnMut(Point<R>, R),
    ) {
        let (places, wide) = (self.places(), self.output[1]);
        let (tap, rim) = (
            row % self.taps(),
            if self.masked { Rim::Zeros } else { Rim::INSIDE },
        );
        let tap = [tap / self.kernel[1], tap % self.kernel[1]];
        let start = [0, 1].map(|i| (tap[i] * self.dilate[i]) as f64 - self.pad[i] as f64);
        let (down, right) = image.offset[row * 2 * places..][..2 * places].split_at(places);
        for p in range {
            let at = |i: usize, place: usize| R::of(start[i] + (place * self.stride[i]) as f64);
            let place = [at(0, p / wide) + down[p], at(1, p % wide) + right[p]];
            let mask = image.mask.map_or(R::ONE, |mask| mask[row * places + p]);
            each(Point::new(place, self.image, rim), mask);
        }
    }

    /// The channels of a group of offsets.
    fn members(&self, group: usize) -> Range<usize> {
        let size = self.channels / self.moved;
        group * size..(group + 1) * size
    }

    /// Calls `task` with rows of offsets and ranges of places, in parallel.
    fn blocks(&self, task: impl Fn(usize, Range<usize>) + Sync + Send) {
        let across = self.places().div_ceil(BLOCK);
        par::for_each(self.moved * self.taps() * across, |i| {
            let start = i % across * BLOCK;
            task(i / across, start..(start + BLOCK).min(self.places()));
        });
    }

    /// The matrix of what the kernel sees: a row for each channel and element of the kernel.
    pub(super) fn columns<R: Real>(&self, image: Image<'_, R>, out: &mut [R]) {
        if self.pixels() == 0 {
            return out.fill(R::ZERO);
        }
        let target = Target::of_slice(out);
        self.blocks(|row, range| {
            let mut taps = Vec::with_capacity(range.len());
            self.each_point(image, row, range.clone(), |point, mask| {
                let mut tap = point.value;
                tap.weight.iter_mut().for_each(|w| *w *= mask);
                taps.push(tap);
            });
            for c in self.members(row / self.taps()) {
                let plane = &image.data[c * self.pixels()..][..self.pixels()];
                let start = (c * self.taps() + row % self.taps()) * self.places();
                // SAFETY: places of a row belong to one task.
                let out = unsafe { target.slice(start + range.start..start + range.end) };
                for (out, tap) in out.iter_mut().zip(&taps) {
                    *out = tap.read(plane);
                }
            }
        });
    }

    /// The gradient of an image from that of the matrix.
    pub(super) fn to_data<R: Real>(&self, image: Image<'_, R>, columns: &[R], out: &mut [R]) {
        let size = self.channels / self.moved;
        let together = size.div_ceil(4).clamp(1, CHANNELS);
        let across = size.div_ceil(together);
        let (pixels, places) = (self.pixels(), self.places());
        let target = Target::of_slice(out);
        par::for_each(self.moved * across, |task| {
            let (group, first) = (task / across, task % across * together);
            let channels = group * size + first..group * size + size.min(first + together);
            // SAFETY: channels belong to one task each.
            let out = unsafe { target.slice(channels.start * pixels..channels.end * pixels) };
            let mut taps = Vec::with_capacity(BLOCK);
            for (tap, start) in (0..self.taps())
                .flat_map(|tap| (0..places).step_by(BLOCK).map(move |start| (tap, start)))
            {
                let range = start..(start + BLOCK).min(places);
                let row = group * self.taps() + tap;
                taps.clear();
                self.each_point(image, row, range.clone(), |point, mask| {
                    taps.push((point.value, mask));
                });
                for (c, out) in channels.clone().zip(out.chunks_exact_mut(pixels.max(1))) {
                    let g = &columns[(c * self.taps() + tap) * places..][range.clone()];
                    for ((tap, mask), &g) in taps.iter().zip(g) {
                        tap.scatter(g * *mask, out);
                    }
                }
            }
        });
    }

    /// The gradients of offsets and masks from that of the matrix.
    pub(super) fn to_points<R: Real>(
        &self,
        image: Image<'_, R>,
        columns: &[R],
        offset: Option<&mut [R]>,
        mask: Option<&mut [R]>,
    ) {
        if self.pixels() == 0 || (offset.is_none() && mask.is_none()) {
            return;
        }
        let places = self.places();
        let (offset, mask) = (offset.map(Target::of_slice), mask.map(Target::of_slice));
        self.blocks(|row, range| {
            let mut points = Vec::with_capacity(range.len());
            self.each_point(image, row, range.clone(), |point, mask| {
                points.push((point, mask));
            });
            let mut sums = vec![[R::ZERO; 3]; range.len()];
            for c in self.members(row / self.taps()) {
                let plane = &image.data[c * self.pixels()..][..self.pixels()];
                let start = (c * self.taps() + row % self.taps()) * places;
                let g = &columns[start..][range.clone()];
                for ((sum, (point, _)), &g) in sums.iter_mut().zip(&points).zip(g) {
                    let [down, right] = point.slopes(plane);
                    sum[0] += g * down;
                    sum[1] += g * right;
                    sum[2] += g * point.value.read(plane);
                }
            }
            let write = |target: &Target<R>, row: usize, kind: usize| {
                let start = row * places;
                // SAFETY: places of a row belong to one task.
                let out = unsafe { target.slice(start + range.start..start + range.end) };
                for ((out, sum), (_, mask)) in out.iter_mut().zip(&sums).zip(&points) {
                    *out = if kind < 2 { sum[kind] * *mask } else { sum[2] };
                }
            };
            if let Some(target) = &offset {
                write(target, 2 * row, 0);
                write(target, 2 * row + 1, 1);
            }
            if let Some(target) = &mask {
                write(target, row, 2);
            }
        });
    }
}
