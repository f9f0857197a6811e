//! The gradient of a convolution's weights: the product of the matrix that the taps read with the
//! transposed gradient of the output, summed over positions. The batch is cut into a fixed number
//! of parts with a partial sum each.

use super::apply::Apply;
use super::direct::{Direct, Taps};
use super::field::Run;
use super::geometry::Geometry;
use super::plan;
use super::winograd_weight::WinogradSums;
use crate::api::Req;
use crate::blocks::blockwise;
use crate::blocks::raw::{Target, scratch_bytes};
use crate::linalg::tile::{Tiles, tile_rows};
use crate::math::real::Real;
use crate::par;
use crate::simd::vector::multiversion;

/// Positions that are worked on at a time.
const POSITIONS: usize = 128;
/// Weights of a filter that one task sums, at least.
const ROWS: usize = 192;
/// Tasks to aim for.
const TASKS: usize = 16;
/// Filters whose partial sums are added up together.
const FILTERS: usize = 16;
/// Numbers that partial sums may take.
const PARTIALS: usize = 1 << 20;

/// The sums; `apply` is the product of the forward pass.
#[derive(Clone, Debug)]
pub(crate) struct WeightSums {
    pub(crate) apply: Apply,
    /// Parts of the batch.
    parts: usize,
    /// Weights of a filter that one task sums.
    rows: usize,
    /// Another way to the same, of single precision.
    pub(super) winograd: Option<WinogradSums>,
}

multiversion! {
    /// `out[p][f] = head[f][p]` for the filters of one panel; `out` has rows of `width` numbers.
    fn transpose<T: Real>(head: &[T], runs: &[Run], row: usize, filters: usize, width: usize, out: &mut [T]) {
        for run in runs {
            let to = &mut out[run.at * width..(run.at + run.len) * width];
            let row_at = |f: usize| &head[f * row + run.target..][..run.len];
            let whole = filters / 4 * 4;
            for f in (0..whole).step_by(4) {
                let rows = [row_at(f), row_at(f + 1), row_at(f + 2), row_at(f + 3)];
                square(rows, f, width, to);
            }
            for f in whole..filters {
                for (o, &v) in to[f..].iter_mut().step_by(width).zip(row_at(f)) {
                    *o = v;
                }
            }
        }
    }
}

/// Transposes four rows into columns `f` to `f + 4` of `to`, in squares of four by four.
#[inline(always)]
fn square<T: Real>(rows: [&[T]; 4], f: usize, width: usize, to: &mut [T]) {
    let len = rows[0].len();
    let whole = len / 4 * 4;
    for p in (0..whole).step_by(4) {
        let block = rows.map(|r| *r[p..].first_chunk::<4>().unwrap_or(&[T::ZERO; 4]));
        for i in 0..4 {
            let column = block.map(|b| b[i]);
            to[(p + i) * width + f..][..4].copy_from_slice(&column);
        }
    }
    for p in whole..len {
        let column = rows.map(|r| r[p]);
        to[p * width + f..][..4].copy_from_slice(&column);
    }
}

impl WeightSums {
    pub(crate) fn new(g: &Geometry) -> Self {
        let apply = plan::forward(g);
        let depth = apply.taps.len().max(1);
        let most = PARTIALS / (depth * apply.rows * apply.groups).max(1);
        let parts = TASKS.min(most).clamp(1, apply.grid.batch.max(1));
        let cuts = TASKS.div_ceil(parts * apply.groups);
        let rows = depth.div_ceil(cuts).max(ROWS);
        let winograd = WinogradSums::of(g);
        WeightSums {
            apply,
            parts,
            rows,
            winograd,
        }
    }

    /// The tiles that suit the number of filters.
    fn tiles<T: Direct>(&self) -> Tiles<T> {
        let narrow = T::narrow_tiles();
        if self.apply.rows <= narrow.width {
            narrow
        } else {
            T::tiles()
        }
    }

    /// Filters, with the rest of the last panel.
    fn columns<T: Direct>(&self) -> usize {
        self.apply.rows.next_multiple_of(self.tiles::<T>().width)
    }

    /// Scratch numbers for the partial sums.
    pub(crate) fn partials<T: Direct>(&self) -> usize {
        self.parts * self.apply.groups * self.apply.taps.len() * self.columns::<T>()
    }

    /// Scratch numbers of one thread.
    pub(crate) fn per_thread<T: Direct>(&self) -> usize {
        let numbers = POSITIONS * self.columns::<T>();
        scratch_bytes::<T>(numbers) / size_of::<T>()
    }

    /// Sums the gradient into `out`, `[groups * filters, weights of a filter]`.
    pub(crate) fn run<T: Direct>(
        &self,
        (source, head): (&[T], &[T]),
        partials: &mut [T],
        threads: &mut [T],
        out: &mut [T],
        req: Req,
    ) {
        let a = &self.apply;
        let depth = a.taps.len();
        let columns = self.columns::<T>();
        let each = self.per_thread::<T>();
        let threads = Target::of_slice(threads);
        let target = Target::of_slice(partials);
        let cuts = depth.div_ceil(self.rows);
        par::for_each_slot(self.parts * a.groups * cuts, |slot, task| {
            let (part, group, cut) = (task / cuts / a.groups, task / cuts % a.groups, task % cuts);
            let rows = cut * self.rows..((cut + 1) * self.rows).min(depth);
            let first = (part * a.groups + group) * depth;
            let sums = (first + rows.start) * columns..(first + rows.end) * columns;
            // SAFETY: each task has its own rows of its own part; tasks that run at the same time
            // have different slots.
            let (sums, scratch) = unsafe {
                (
                    target.slice(sums),
                    threads.slice(slot * each..(slot + 1) * each),
                )
            };
            sums.fill(T::ZERO);
            let source = source.get(group * a.source_group..).unwrap_or(&[]);
            let head = head.get(group * a.target_group..).unwrap_or(&[]);
            self.part(part, &a.taps[rows], (source, head), scratch, sums);
        });
        self.collect(partials, out, req);
    }

    /// The samples of a part.
    fn samples(&self, part: usize) -> std::ops::Range<usize> {
        let batch = self.apply.grid.batch;
        part * batch / self.parts..(part + 1) * batch / self.parts
    }

    /// Adds the products of one part of the batch to `sums`, rows of taps.
    fn part<T: Direct>(
        &self,
        part: usize,
        taps: &[usize],
        (source, head): (&[T], &[T]),
        turned: &mut [T],
        sums: &mut [T],
    ) {
        let tiles = self.tiles::<T>();
        let a = &self.apply;
        let columns = self.columns::<T>();
        let (loops, step) = (T::loops(), a.grid.source[2]);
        let vectors = tiles.width / loops.lanes;
        let samples = self.samples(part);
        let per_sample = a.grid.len() / a.grid.batch.max(1);
        let end = samples.end * per_sample;
        let mut runs = Vec::new();
        let rows = tile_rows(taps.len(), tiles.most_rows);
        let tiles_of_taps: Vec<_> = rows
            .map(|(first, n)| (first, Taps::new(&taps[first..first + n])))
            .collect();
        for start in (samples.start * per_sample..end).step_by(POSITIONS) {
            let n = POSITIONS.min(end - start);
            a.grid.runs(start, n, POSITIONS, &mut runs);
            self.turn(&tiles, head, &runs, turned);
            for panel in 0..columns / tiles.width {
                let b = &turned[panel * tiles.width * POSITIONS..][..n * tiles.width];
                for &(first, taps) in &tiles_of_taps {
                    let c = &mut sums[first * columns + panel * tiles.width..];
                    loops.sums(vectors, (source, taps, step), (b, &runs), (c, columns));
                }
            }
        }
    }

    /// The gradient of the output, transposed, in panels of the tiles' width.
    fn turn<T: Direct>(&self, tiles: &Tiles<T>, head: &[T], runs: &[Run], turned: &mut [T]) {
        let a = &self.apply;
        for (panel, out) in turned.chunks_mut(tiles.width * POSITIONS).enumerate() {
            let first = panel * tiles.width;
            let filters = tiles.width.min(a.rows - first);
            let head = head.get(first * a.target_row..).unwrap_or(&[]);
            transpose(head, runs, a.target_row, filters, tiles.width, out);
        }
    }

    /// Adds the partial sums up, in order, and stores them transposed.
    fn collect<T: Direct>(&self, partials: &[T], out: &mut [T], req: Req) {
        let a = &self.apply;
        let (depth, columns) = (a.taps.len(), self.columns::<T>());
        let target = Target::of_slice(out);
        let across = a.rows.div_ceil(FILTERS);
        let grain = (65_536 / (depth * self.parts * FILTERS).max(1)).max(1);
        par::for_ranges(a.groups * across, grain, |tasks| {
            let mut totals = vec![[T::ZERO; FILTERS]; depth];
            let mut row = vec![T::ZERO; depth];
            for task in tasks {
                let (group, first) = (task / across, task % across * FILTERS);
                let n = FILTERS.min(columns - first);
                totals.fill([T::ZERO; FILTERS]);
                for part in 0..self.parts {
                    let from = &partials[(part * a.groups + group) * depth * columns..];
                    add_columns(&from[first..], columns, n, &mut totals);
                }
                for f in 0..FILTERS.min(a.rows - first) {
                    row.iter_mut().zip(&totals).for_each(|(o, t)| *o = t[f]);
                    let filter = group * a.rows + first + f;
                    // SAFETY: filters belong to one task each.
                    let to = unsafe { target.slice(filter * depth..(filter + 1) * depth) };
                    blockwise::store(&row, to, req);
                }
            }
        });
    }
}

/// Adds `n` columns of `x` to `totals`; rows of `x` are `stride` apart.
fn add_columns<T: Real>(x: &[T], stride: usize, n: usize, totals: &mut [[T; FILTERS]]) {
    for (total, row) in totals.iter_mut().zip(x.chunks(stride)) {
        match row.first_chunk::<FILTERS>() {
            Some(row) if n == FILTERS => total.iter_mut().zip(row).for_each(|(t, &v)| *t += v),
            _ => total[..n].iter_mut().zip(row).for_each(|(t, &v)| *t += v),
        }
    }
}
