//! Convolution as a product of a matrix of weights with a matrix that is never stored: the columns
//! are positions of the output grid, the rows the input elements that the taps reach. Panels of it
//! are gathered into the cache as the product needs them. The gradient of the data is the same
//! product with other taps.

use super::direct::{Direct, Taps, Tile};
use super::field::{Field, Grid, Run};
use super::finish::Finish;
use super::gather::{gather, gather_line};
use crate::blocks::raw::{Target, scratch_bytes};
use crate::copy::transpose::transpose;
use crate::linalg::tile::{Operands, Tiles, tile_rows};
use crate::par;
use std::ops::Range;

/// One product. Places of groups are distances from one group to the next.
#[derive(Clone, Debug)]
pub(crate) struct Apply {
    pub(crate) field: Field,
    pub(crate) grid: Grid,
    /// Where each tap reads, from the place of the position.
    pub(crate) taps: Vec<usize>,
    /// Where the weight of each tap stands, from the start of the row.
    pub(crate) weights: Vec<usize>,
    /// Distance between rows of weights.
    pub(crate) weight_row: usize,
    pub(crate) weight_group: usize,
    /// Rows of the result, per group.
    pub(crate) rows: usize,
    pub(crate) groups: usize,
    pub(crate) source_group: usize,
    /// Where the first position writes.
    pub(crate) target_start: usize,
    pub(crate) target_row: usize,
    pub(crate) target_group: usize,
}

/// Taps that are gathered at a time.
const DEPTH: usize = 256;
/// Panels that are gathered at a time.
const PANELS: usize = 4;
/// Multiplications per task, at least.
const TASK: usize = 1 << 21;
/// Most rows of a result for which vectors are read where they lie.
const DIRECT_ROWS: usize = 48;
/// Bytes of a result that stays in the cache anyhow.
const NEAR: usize = 1 << 20;
/// Weights that a task packs, at least.
const PACKED: usize = 1 << 14;

/// The arguments and scratch memory of a product.
pub(crate) struct Arguments<'a, T> {
    /// What the taps read, with its border.
    pub(crate) source: &'a [T],
    pub(crate) weights: &'a [T],
    pub(crate) finish: &'a Finish<'a, T>,
    /// Scratch memory for [`Apply::packed`] numbers.
    pub(crate) packed: &'a mut [T],
    /// Scratch memory for [`Apply::per_thread`] numbers for each thread.
    pub(crate) threads: &'a mut [T],
}

impl Apply {
    /// Numbers of the packed weights.
    pub(crate) fn packed(&self) -> usize {
        self.groups * self.rows * self.taps.len()
    }

    /// Whether there is too little work to enter the thread pool for it.
    pub(crate) fn small(&self) -> bool {
        self.grid.len() * self.packed() < TASK
    }

    /// Scratch numbers of one thread.
    pub(crate) fn per_thread<T: Direct>(&self) -> usize {
        let block = T::tiles().width * PANELS;
        let numbers = block * (DEPTH.min(self.taps.len()) + self.rows);
        scratch_bytes::<T>(numbers) / size_of::<T>()
    }

    /// Orders the weights as tiles read them: tap by tap, the rows of a tile side by side.
    fn pack<T: Direct>(&self, tiles: &Tiles<T>, args: &mut Arguments<'_, T>) {
        let (weights, finish, packed) = (args.weights, args.finish, &mut *args.packed);
        let depth = self.taps.len();
        let target = Target::of_slice(packed);
        let parts: Vec<_> = tile_rows(self.rows, tiles.most_rows).collect();
        let in_order = self.weights.iter().enumerate().all(|(k, &w)| k == w);
        let grain = (PACKED / (depth * tiles.most_rows).max(1)).max(1);
        par::for_ranges(self.groups * parts.len(), grain, |range| {
            for i in range {
                let (group, (first, n)) = (i / parts.len(), parts[i % parts.len()]);
                let start = (group * self.rows + first) * depth;
                // SAFETY: tiles belong to one task each.
                let out = unsafe { target.slice(start..start + n * depth) };
                let from = &weights[group * self.weight_group + first * self.weight_row..];
                if in_order {
                    transpose((from, self.weight_row), (depth, n), (out, n));
                } else {
                    for (out, &w) in out.chunks_exact_mut(n).zip(&self.weights) {
                        for (r, o) in out.iter_mut().enumerate() {
                            *o = from[r * self.weight_row + w];
                        }
                    }
                }
                if let Some(scale) = finish.scale {
                    let scale = &scale[group * self.rows + first..][..n];
                    for out in out.chunks_exact_mut(n) {
                        out.iter_mut().zip(scale).for_each(|(o, &s)| *o *= s);
                    }
                }
            }
        });
    }

    /// Whether vectors of `lanes` neighbours are read where they lie, rather than gathered:
    /// where few rows of the result share what would be gathered, where vectors of one line waste
    /// less than gathering takes, and where none reaches beyond the end of the field. Gathering
    /// takes about as long as six rows of the result.
    fn lies_well(&self, lanes: usize) -> bool {
        let wide = self.grid.extents[2];
        let covered = self.grid.vectors(lanes) * lanes;
        let filled = wide * (self.rows + 6) > covered * self.rows;
        let inside = wide >= lanes || self.field.scratch() > 0;
        self.grid.source[2] == 1 && self.rows <= DIRECT_ROWS && filled && inside
    }

    /// Positions of a unit of work, a vector or a single position, and the number of units.
    fn units(&self, direct: bool, lanes: usize) -> (usize, usize) {
        let lines = self.grid.len() / self.grid.extents[2].max(1);
        if direct {
            (lanes, lines * self.grid.vectors(lanes))
        } else {
            (1, self.grid.len())
        }
    }

    /// Runs the product.
    pub(crate) fn run<T: Direct>(&self, mut args: Arguments<'_, T>) {
        let tiles = T::tiles();
        self.pack(&tiles, &mut args);
        let (block, lanes) = (tiles.width * PANELS, T::loops().lanes);
        let direct = self.lies_well(lanes);
        let (unit, units) = self.units(direct, lanes);
        let per_block = block / unit;
        let blocks = units.div_ceil(per_block);
        let taps: Vec<Taps<'_>> = self.taps.chunks(DEPTH).map(Taps::new).collect();
        let work = self.rows * self.taps.len() * block;
        let grain = (TASK / work.max(1)).max(1);
        let per_group = blocks.div_ceil(grain);
        let each = self.per_thread::<T>();
        let threads = Target::of_slice(args.threads);
        let (packed, source, finish) = (&*args.packed, args.source, args.finish);
        par::for_each_slot(self.groups * per_group, |slot, task| {
            // SAFETY: tasks that run at the same time have different slots.
            let scratch = unsafe { threads.slice(slot * each..(slot + 1) * each) };
            let group = task / per_group;
            let packed = &packed[group * self.rows * self.taps.len()..];
            let source = source.get(group * self.source_group..).unwrap_or(&[]);
            let mut runs = Vec::new();
            let first = task % per_group * grain;
            for b in first..(first + grain).min(blocks) {
                let start = b * per_block;
                let n = per_block.min(units - start);
                if direct {
                    self.grid.vector_runs(start, n, lanes, &mut runs);
                } else {
                    self.grid.runs(start, n, tiles.width, &mut runs);
                }
                let from = (source, direct.then_some(&taps[..]), packed);
                // SAFETY: positions and groups belong to one task each.
                unsafe { self.positions(from, &runs, group, finish, scratch) };
            }
        });
    }

    /// The product for the positions of `runs` in a group, from the source, with its taps if vectors are
    /// read where they lie, and the weights.
    ///
    /// # Safety
    /// Nobody else uses what these positions write meanwhile.
    unsafe fn positions<T: Direct>(
        &self,
        (source, taps, packed): (&[T], Option<&[Taps<'_>]>, &[T]),
        runs: &[Run],
        group: usize,
        finish: &Finish<'_, T>,
        scratch: &mut [T],
    ) {
        let width = T::tiles().width;
        let start = self.target_start + group * self.target_group;
        let places = (start, self.target_row, self.grid.target[2]);
        let far = finish.target.len() * size_of::<T>() > NEAR && places.2 == 1;
        let ahead = |rows: Range<usize>, panel: usize| {
            let here = panel * width..(panel + 1) * width;
            let runs = runs.iter().filter(|run| far && here.contains(&run.at));
            runs.for_each(|run| finish.fetch(rows.clone(), run, places));
        };
        let result = match taps {
            Some(taps) => self.direct((source, taps), packed, runs, scratch, ahead),
            None => self.block(source, packed, runs, scratch, ahead),
        };
        let filters = group * self.rows..(group + 1) * self.rows;
        // SAFETY: as the caller vouches.
        unsafe { finish.store(filters, (result, width * PANELS), runs, places) };
    }

    /// The product for the positions of `runs`: rows of a block each. `ahead` is told before of each tile
    /// that will be whole then: its rows, and which panel of positions it is for.
    fn block<'a, T: Direct>(
        &self,
        source: &[T],
        packed: &[T],
        runs: &[Run],
        scratch: &'a mut [T],
        ahead: impl Fn(Range<usize>, usize),
    ) -> &'a [T] {
        let tiles = T::tiles();
        let width = tiles.width;
        let block = width * PANELS;
        let (result, gathered) = scratch.split_at_mut(self.rows * block);
        let panels = runs.last().map_or(0, |r| (r.at + r.len).div_ceil(width));
        if self.taps.is_empty() {
            result.fill(T::ZERO);
        }
        for (chunk, taps) in self.taps.chunks(DEPTH).enumerate() {
            let depth = taps.len();
            let apart = DEPTH.min(self.taps.len()) * width;
            let lines = self.whole_lines(runs, width);
            if lines > 0 {
                gather_line(
                    source,
                    taps,
                    runs[0].source,
                    lines,
                    (apart, width),
                    gathered,
                );
            }
            for p in lines..panels {
                let low = runs.partition_point(|r| r.at < p * width);
                let high = runs.partition_point(|r| r.at < (p + 1) * width);
                let to = &mut gathered[p * apart..];
                let (runs, place) = (&runs[low..high], (p * width, width));
                let to = &mut to[..depth * width];
                gather(source, taps, runs, self.grid.source[2], place, to);
            }
            // A panel stays in the first-level cache, and weights come from the second-level one.
            for p in 0..panels {
                for (first, n) in tile_rows(self.rows, tiles.most_rows) {
                    if chunk + 1 == self.taps.len().div_ceil(DEPTH) {
                        ahead(first..first + n, p);
                    }
                    let operands = Operands {
                        depth,
                        a: &packed[first * self.taps.len() + chunk * DEPTH * n..],
                        b: &gathered[p * apart..],
                        c: &mut result[first * block + p * width..],
                        c_stride: block,
                        fresh: chunk == 0,
                    };
                    tiles.panels(n, operands);
                }
            }
        }
        result
    }

    /// How many of the first panels are whole and read neighbours.
    fn whole_lines(&self, runs: &[Run], width: usize) -> usize {
        let Some(first) = runs.first().filter(|_| self.grid.source[2] == 1) else {
            return 0;
        };
        let lie = |(p, run): &(usize, &Run)| {
            run.len == width && run.at == p * width && run.source == first.source + p * width
        };
        runs.iter().enumerate().take_while(lie).count()
    }

    /// As [`Apply::block`] for vectors that are read where they lie.
    fn direct<'a, T: Direct>(
        &self,
        (source, taps): (&[T], &[Taps<'_>]),
        packed: &[T],
        runs: &[Run],
        scratch: &'a mut [T],
        ahead: impl Fn(Range<usize>, usize),
    ) -> &'a [T] {
        let (tiles, loops) = (T::tiles(), T::loops());
        let block = tiles.width * PANELS;
        let result = &mut scratch[..self.rows * block];
        if self.taps.is_empty() {
            result.fill(T::ZERO);
        }
        let last = taps.len();
        for (chunk, &taps) in taps.iter().enumerate() {
            for (first, n) in tile_rows(self.rows, tiles.most_rows) {
                let a = &packed[first * self.taps.len() + chunk * DEPTH * n..];
                for (p, pair) in runs.chunks(2).enumerate() {
                    if chunk + 1 == last {
                        ahead(first..first + n, p);
                    }
                    let start = |r: &Run| r.source - r.at % loops.lanes;
                    let starts = [start(&pair[0]), start(&pair[pair.len() - 1])];
                    let tile = Tile {
                        c: &mut result[first * block + p * tiles.width..],
                        stride: block,
                        fresh: chunk == 0,
                    };
                    loops.product(n, (source, starts, taps), a, tile);
                }
            }
        }
        result
    }
}
