//! Convolutions of bytes: tiles of products of filters with 32 positions. Data lie in groups of four
//! channels, so that the positions of a step are neighbours where windows move on one by one; elsewhere
//! they are gathered.

use super::bytes::{GRAIN, Rest, SUM, added, bytes_of, check, finish, kept, put_excess, shift};
use super::windows::Windows;
use crate::api::prepared::check_shape;
use crate::api::{Attrs, Call, Desc, Kept, Kernel, View};
use crate::blocks::raw::Target;
use crate::blocks::staged::Staged;
use crate::levels::byte_tiles::{COLUMNS, ROWS, STEP, Sides, Steps, Sums, tile};
use crate::levels::{Whole, by_byte};
use crate::par;
use crate::simd::vector::multiversion;
use ferromix_base::{DType, Result};
use std::marker::PhantomData;

/// Channels that lie together.
const GROUP: usize = 4;

struct Convolution<S> {
    windows: Windows,
    images: usize,
    channels: usize,
    filters: usize,
    /// Whether positions are neighbours in the data, with their border.
    lies: bool,
    /// The extents of the data, with the border if positions lie there.
    extents: [usize; 3],
    /// By tap, and for each tap by group of channels.
    steps: Steps,
    of: PhantomData<fn() -> S>,
}

/// Positions of a tile that are neighbours in the result: the first lane, how many, and where.
type Run = (usize, usize, usize);

multiversion! {
    /// Four rows of bytes side by side, with a bit turned in some.
    fn interleave<>(rows: [&[u8]; 4], turned: u8, out: &mut [u8]) {
        let [a, b, c, d] = rows.map(|row| &row[..out.len() / GROUP]);
        for (i, out) in out.chunks_exact_mut(GROUP).enumerate() {
            out.copy_from_slice(&[a[i] ^ turned, b[i] ^ turned, c[i] ^ turned, d[i] ^ turned]);
        }
    }
}

impl<S: Whole> Convolution<S> {
    fn new(windows: Windows, [images, channels, filters]: [usize; 3]) -> Self {
        let bordered = bordered(&windows);
        let extents = bordered.unwrap_or(windows.from);
        let groups = channels.div_ceil(GROUP);
        let volume: usize = extents.iter().product();
        let taps = windows.kernel.iter().product::<usize>();
        let steps = match bordered {
            Some(_) => {
                let taps = (0..taps).map(|tap| flat(offset(&windows, tap), extents));
                let places =
                    taps.flat_map(|tap| (0..groups).map(move |g| GROUP * (g * volume + tap)));
                Steps::new(places.collect())
            }
            None => Steps::in_a_row(taps * groups),
        };
        let lies = bordered.is_some();
        let of = PhantomData;
        Convolution {
            windows,
            images,
            channels,
            filters,
            lies,
            extents,
            steps,
            of,
        }
    }

    fn groups(&self) -> usize {
        self.channels.div_ceil(GROUP)
    }

    fn volume(&self) -> usize {
        self.extents.iter().product()
    }

    /// Bytes of one image in groups of channels.
    fn image(&self) -> usize {
        GROUP * self.groups() * self.volume()
    }

    /// Bytes of all images, and of what a tile may read behind them.
    fn grouped(&self) -> usize {
        self.images * self.image() + if self.lies { 2 * STEP } else { 0 }
    }

    fn row(&self) -> usize {
        GROUP * self.steps.len()
    }

    /// Bytes of the weights in the order of steps, and of the excess of each filter.
    fn packed(&self) -> [usize; 2] {
        [self.filters * self.row(), SUM * self.filters]
    }

    fn pack(&self, weight: &[i8], memory: &mut [u8]) {
        let taps: usize = self.windows.kernel.iter().product();
        let (own, row) = (self.channels * taps, self.row());
        let [size, excess] = self.packed();
        let (packed, rest) = memory.split_at_mut(size);
        put_excess::<S>(weight, own, &mut rest[..excess]);
        packed.fill(0);
        let rows = packed.chunks_exact_mut(row.max(1));
        for (out, weight) in rows.zip(weight.chunks_exact(own.max(1))) {
            for (c, weight) in bytes_of(weight).chunks_exact(taps.max(1)).enumerate() {
                let places = out[c..].iter_mut().step_by(GROUP * self.groups());
                places.zip(weight).for_each(|(o, &w)| *o = w);
            }
        }
    }

    /// Puts the data in groups of channels, with what stands for nought around.
    fn group(&self, data: &[S], out: &mut [u8]) {
        let windows = &self.windows;
        let plane: usize = windows.from.iter().product();
        let pad = if self.lies { windows.pad } else { [0; 3] };
        let size = GROUP * self.volume();
        let (data, target) = (bytes_of(data), Target::of_slice(out));
        let groups = self.groups();
        let grain = GRAIN / 16 / size.max(1);
        par::for_ranges(self.images * groups, grain, |range| {
            for number in range {
                // SAFETY: a group of channels of this task alone.
                let out = unsafe { target.slice(number * size..(number + 1) * size) };
                out.fill(shift::<S>());
                let (image, first) = (number / groups, number % groups * GROUP);
                // The weights of channels that are not there are nought.
                let channels: [&[u8]; 4] = std::array::from_fn(|c| {
                    let channel = image * self.channels + (first + c).min(self.channels - 1);
                    &data[channel * plane..(channel + 1) * plane]
                });
                let [deep, high, wide] = windows.from;
                for line in 0..deep * high {
                    let at = [line / high + pad[0], line % high + pad[1], pad[2]];
                    let from = flat(at, self.extents) * GROUP;
                    let rows = channels.map(|c| &c[line * wide..(line + 1) * wide]);
                    interleave(rows, shift::<S>(), &mut out[from..from + GROUP * wide]);
                }
            }
        });
        // SAFETY: no task is left.
        unsafe { target.slice(self.images * self.image()..target.len()) }.fill(0);
    }

    /// Positions of an image, those between its lines included where they lie in the data.
    fn positions(&self) -> usize {
        let to = self.windows.to;
        if to.contains(&0) {
            0
        } else if self.lies {
            flat(to.map(|n| n - 1), self.extents) + 1
        } else {
            self.windows.places()
        }
    }

    /// Which of the positions from `first` on are results.
    fn runs(&self, first: usize, runs: &mut Vec<Run>) {
        runs.clear();
        let last = (first + COLUMNS).min(self.positions());
        if !self.lies {
            return runs.push((0, last - first, first));
        }
        let ([_, lines, line], [_, high, wide]) = (self.extents, self.windows.to);
        let mut at = first;
        while at < last {
            let (z, y, x) = (at / line / lines, at / line % lines, at % line);
            let next = (at - x + line).min(last);
            if y < high && x < wide {
                let count = (next - at).min(wide - x);
                runs.push((at - first, count, (z * high + y) * wide + x));
            }
            at = next;
        }
    }

    /// Gathers the data of positions from `first` on, step by step.
    fn gather(&self, image: &[u8], first: usize, panel: &mut [u8]) {
        let count = COLUMNS.min(self.positions() - first);
        let (groups, size) = (self.groups(), GROUP * self.volume());
        let nought = [shift::<S>(); GROUP];
        let mut found = vec![[None; COLUMNS]; self.steps.len() / groups.max(1)];
        let mut look = |lane: usize| {
            let place = first + lane;
            self.windows.visit(place, |tap, at| found[tap][lane] = at);
        };
        (0..count).for_each(&mut look);
        let taps = panel.chunks_exact_mut((groups * STEP).max(1));
        for (places, panel) in found.iter().zip(taps) {
            for (group, columns) in panel.chunks_exact_mut(STEP).enumerate() {
                let image = &image[group * size..(group + 1) * size];
                for (out, at) in columns.chunks_exact_mut(GROUP).zip(places) {
                    let from = at.map(|at| &image[GROUP * at..GROUP * (at + 1)]);
                    out.copy_from_slice(from.unwrap_or(&nought));
                }
            }
        }
    }

    /// All products, and what is added to them by filter.
    fn products(&self, grouped: &[u8], packed: &[u8], added: &[i32], target: &Target<i32>) {
        let blocks = self.positions().div_ceil(COLUMNS);
        let work = self.filters * self.row() * COLUMNS;
        let grain = GRAIN.div_ceil(work.max(1));
        par::for_ranges(self.images * blocks, grain, |range| {
            let (mut sums, mut runs) = ([[0; COLUMNS]; ROWS], Vec::new());
            let mut panel = vec![0; if self.lies { 0 } else { self.steps.end() }];
            for number in range {
                let (image, first) = (number / blocks, number % blocks * COLUMNS);
                let data = &grouped[image * self.image()..];
                self.runs(first, &mut runs);
                let columns = if self.lies {
                    &data[GROUP * first..]
                } else {
                    self.gather(data, first, &mut panel);
                    &panel[..]
                };
                for from in (0..self.filters).step_by(ROWS) {
                    let n = ROWS.min(self.filters - from);
                    let rows = &packed[from * self.row()..];
                    tile::<true>(
                        n,
                        Sides {
                            rows,
                            columns,
                            steps: &self.steps,
                        },
                        &mut sums,
                    );
                    // SAFETY: these positions are this task's alone.
                    unsafe { self.store((image, from..from + n), &runs, &sums, added, target) };
                }
            }
        });
    }

    /// Writes the sums of filters of an image.
    ///
    /// # Safety
    /// Nobody else uses what these positions write meanwhile.
    unsafe fn store(
        &self,
        (image, filters): (usize, std::ops::Range<usize>),
        runs: &[Run],
        sums: &Sums,
        added: &[i32],
        target: &Target<i32>,
    ) {
        let places = self.windows.places();
        for (filter, sums) in filters.zip(sums) {
            let start = (image * self.filters + filter) * places;
            for &(lane, count, at) in runs {
                // SAFETY: as the caller vouches.
                let out = unsafe { target.slice(start + at..start + at + count) };
                for (out, sum) in out.iter_mut().zip(&sums[lane..]) {
                    *out = sum.wrapping_add(added[filter]);
                }
            }
        }
    }
}

/// The extents of the data with their border, if windows move on one by one and it is not much.
fn bordered(windows: &Windows) -> Option<[usize; 3]> {
    if windows.stride != [1; 3] {
        return None;
    }
    let mut extents = [0; 3];
    for (i, extent) in extents.iter_mut().enumerate() {
        *extent = windows.from[i].checked_add(windows.pad[i].checked_mul(2)?)?;
        let read = windows.dilate[i].checked_mul(windows.kernel[i].checked_sub(1)?)?;
        // As many positions as there are.
        if extent.checked_sub(read)? != windows.to[i] {
            return None;
        }
    }
    let volume = |x: [usize; 3]| x.into_iter().try_fold(1, usize::checked_mul);
    let usual = volume(windows.from)?.checked_add(volume(windows.to)?)?;
    (volume(extents)? <= usual.checked_mul(2)?).then_some(extents)
}

/// How far a tap is from the first one, along each axis.
fn offset(windows: &Windows, tap: usize) -> [usize; 3] {
    let [_, high, wide] = windows.kernel;
    let at = [tap / wide / high, tap / wide % high, tap % wide];
    std::array::from_fn(|i| at[i] * windows.dilate[i])
}

/// The number of a place in an image of such extents.
fn flat(at: [usize; 3], [_, high, wide]: [usize; 3]) -> usize {
    (at[0] * high + at[1]) * wide + at[2]
}

impl<S: Whole> Kernel for Convolution<S> {
    fn workspace(&self) -> usize {
        self.grouped() + self.packed().iter().sum::<usize>()
    }

    fn kept(&self) -> Option<Kept> {
        kept(self.packed().iter().sum())
    }

    fn keep(&self, inputs: &[View], memory: &mut [u8]) -> Result<()> {
        self.pack(inputs[1].read()?, memory);
        Ok(())
    }

    fn choice(&self) -> Option<String> {
        let how = if self.lies {
            "read in place"
        } else {
            "gathered"
        };
        Some(format!(
            "product of {} by {}, {how}",
            self.filters,
            self.row()
        ))
    }

    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let (data, weight) = (call.inputs[0].read::<S>()?, call.inputs[1].read::<i8>()?);
        let rest = Rest::of(call)?;
        let mut staged = Staged::all(call);
        if let Some(target) = Staged::target::<i32>(&mut staged[0])? {
            let (grouped, room) = call.workspace.split_at_mut(self.grouped());
            self.group(data, grouped);
            let packed = call.kept.unwrap_or_else(|| {
                self.pack(weight, room);
                room
            });
            let [size, excess] = self.packed();
            let bias: Vec<i32> = rest.bias.iter().map(|&x| x.into()).collect();
            let added = added(&bias, &packed[size..size + excess]);
            self.products(grouped, packed, &added, &target);
        }
        // As in MXNet, whatever the type of the data.
        finish(&rest, DType::I8, staged, call)
    }
}

pub(super) fn prepare(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_quantized_conv";
    let filters = usize::try_from(attrs.int("num_filter")?).unwrap_or(0);
    check(name, attrs, i, o, filters)?;
    let windows = Windows::of(name, attrs, &i[0], &o[0], false)?;
    let (images, channels) = (i[0].shape[0], i[0].shape[1]);
    let mut weight = vec![filters, channels];
    weight.extend(attrs.extents("kernel", i[0].shape.len() - 2, 1)?);
    check_shape(name, "weight", &i[1], &weight)?;
    let mut out = vec![images, filters];
    out.extend(&o[0].shape[2..]);
    check_shape(name, "the output", &o[0], &out)?;
    by_byte!(name, i[0].dtype, S => {
        let kernel = Convolution::<S>::new(windows, [images, channels, filters]);
        Ok(Box::new(kernel) as Box<dyn Kernel>)
    })
}
