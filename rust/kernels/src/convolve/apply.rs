//! Convolution as a product of a matrix of weights with a matrix that is never stored: the columns
//! are positions of the output grid, the rows the input elements that the taps reach. Panels of it
//! are gathered into the cache as the product needs them. The gradient of the data is the same
//! product with other taps.

mod few;
mod in_place;
pub(crate) mod summed;

use super::ahead::Ahead;
use super::direct::{Direct, Taps, TileLoops};
use super::field::{Field, Grid, Run};
use super::finish::Finish;
use super::gather::take_every;
use super::out::Out;
use super::places::Places;
use super::tiles::{Cut, Factors, lines};
use crate::blocks::raw::{Target, scratch_bytes};
use crate::copy::transpose::transpose;
use crate::linalg::tile::{Tiled, tile_rows};
use crate::math::real::Real;
use crate::par;
use summed::{InPlace, Summed};

/// One product. Places of groups are distances from one group to the next.
#[derive(Clone, Debug)]
pub(crate) struct Apply {
    pub(crate) field: Field,
    pub(crate) grid: Grid,
    /// Where each tap reads, from the place of the position.
    pub(crate) taps: Places,
    /// Where the weight of each tap stands, from the start of the row.
    pub(crate) weights: Places,
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

/// Most steps of taps that are gathered at a time.
const DEPTH: usize = 512;
/// Panels that are gathered at a time.
pub(super) const PANELS: usize = 4;
/// Multiplications per task, at least.
const TASK: usize = 1 << 21;
/// Most bytes of weights that are read again for each panel.
const WEIGHTS: usize = 1 << 21;
/// Most tasks of a group, unless each block is worth one: what the next block reads is fetched meanwhile, for
/// the thread that does this one.
const TASKS: usize = 64;
/// Tasks of each thread that there are at least, on several, where filters can be shared out.
const LEAST_TASKS: usize = 2;
/// Tasks of each thread from which on it does not matter that one thread has one more than another.
const MANY_TASKS: usize = 4;
/// Rows of tiles that a task has then at least: each task gathers its positions itself.
const LEAST_TILES: usize = 4;
/// Weights that a task packs, at least.
const PACKED: usize = 1 << 14;

/// The arguments and scratch memory of a product.
pub(crate) struct Arguments<'a, T: Summed> {
    /// What the taps read, with its border.
    pub(crate) source: &'a [T],
    /// The weights as [`Apply::pack`] orders them, or [`Apply::pack_pairs`].
    pub(crate) packed: &'a [T::Real],
    pub(crate) finish: &'a Finish<'a, T>,
    /// The tiles of panels that are gathered.
    pub(crate) loops: TileLoops<T>,
    /// Scratch memory for [`Apply::per_thread`] numbers for each thread.
    pub(crate) threads: &'a mut [T::Real],
}

/// The tiles of panels that are gathered; or how vectors are read where they lie, with the taps.
type How<'a, T> = (TileLoops<T>, Option<(InPlace<T>, &'a [Taps<'a>])>);

impl Apply {
    /// Numbers of the packed weights.
    pub(crate) fn packed<T: Summed>(&self) -> usize {
        self.groups * self.rows * self.steps::<T>()
    }

    /// Steps of all taps.
    fn steps<T: Summed>(&self) -> usize {
        self.taps.len().div_ceil(T::TOGETHER)
    }

    /// Steps that are gathered at a time: as few times as may be, and about as many each time.
    pub(super) fn depth<T: Summed>(&self) -> usize {
        let all = self.steps::<T>();
        all.div_ceil(all.div_ceil(DEPTH).max(1))
    }

    /// Taps by those that are gathered at a time.
    pub(super) fn chunks<T: Summed>(&self) -> std::slice::Chunks<'_, usize> {
        self.taps.chunks((self.depth::<T>() * T::TOGETHER).max(1))
    }

    /// Scratch numbers of one thread.
    pub(crate) fn per_thread<T: Summed>(&self) -> usize {
        let block = T::Real::tiles().width * PANELS;
        let numbers = block * (self.depth::<T>() + self.rows) + self.turned::<T>();
        scratch_bytes::<T::Real>(numbers) / size_of::<T::Real>()
    }

    /// Orders the weights as tiles read them: tap by tap, the rows of a tile side by side; those of each
    /// filter times its scale.
    pub(crate) fn pack<T: Direct + Summed>(
        &self,
        weights: &[T],
        scale: Option<&[T]>,
        packed: &mut [T],
    ) {
        let (tiles, depth) = (T::tiles(), self.taps.len());
        let parts: Vec<_> = match self.is_turned::<T>() {
            true => tile_rows(self.rows, tiles.width).collect(),
            false => tile_rows(self.rows, tiles.most_rows).collect(),
        };
        let in_order = self.weights.are_in_order();
        self.pack_tiles(&parts, (depth, packed), |(group, first, n), out| {
            let from = &weights[group * self.weight_group + first * self.weight_row..];
            if in_order {
                transpose((from, self.weight_row), (depth, n), (out, n));
            } else {
                for (out, &w) in out.chunks_exact_mut(n).zip(self.weights.iter()) {
                    if self.weight_row == 1 {
                        take_every(1, &from[w..][..n], out);
                        continue;
                    }
                    for (r, o) in out.iter_mut().enumerate() {
                        *o = from[r * self.weight_row + w];
                    }
                }
            }
            if let Some(scale) = scale {
                let scale = &scale[group * self.rows + first..][..n];
                for out in out.chunks_exact_mut(n) {
                    out.iter_mut().zip(scale).for_each(|(o, &s)| *o *= s);
                }
            }
        });
    }

    /// Has `pack` fill in the rows of each tile, of a group and from a row on, for so many steps.
    pub(super) fn pack_tiles<R: Real + Tiled>(
        &self,
        parts: &[(usize, usize)],
        (depth, packed): (usize, &mut [R]),
        pack: impl Fn((usize, usize, usize), &mut [R]) + Sync,
    ) {
        let target = Target::of_slice(packed);
        let grain = (PACKED / (depth * R::tiles().most_rows).max(1)).max(1);
        par::for_ranges(self.groups * parts.len(), grain, |range| {
            for i in range {
                let (group, (first, n)) = (i / parts.len(), parts[i % parts.len()]);
                let start = (group * self.rows + first) * depth;
                // SAFETY: tiles belong to one task each.
                pack((group, first, n), unsafe {
                    target.slice(start..start + n * depth)
                });
            }
        });
    }

    /// How the product goes, for people.
    pub(crate) fn choice<T: Summed>(&self) -> String {
        let [rows, depth] = [self.rows, self.taps.len()];
        let how = match (self.in_place::<T>(), self.is_turned::<T>()) {
            (Some(_), _) => "read in place",
            (None, true) => "gathered, along filters",
            (None, false) => "gathered",
        };
        let pairs = if T::TOGETHER > 1 { " in pairs" } else { "" };
        format!("product of {rows} by {depth}{pairs}, {how}")
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
    pub(crate) fn run<T: Summed>(&self, args: Arguments<'_, T>) {
        let tiles = T::Real::tiles();
        let (block, lanes) = (tiles.width * PANELS, T::Real::loops().lanes);
        let in_place = self.in_place::<T>();
        let direct = in_place.is_some();
        let (unit, units) = self.units(direct, lanes);
        let per_block = block / unit;
        let blocks = units.div_ceil(per_block);
        let taps: Vec<Taps<'_>> = self.chunks::<T>().map(Taps::new).collect();
        let work = self.rows * self.taps.len() * block;
        let grain = (TASK / work.max(1)).max(blocks / TASKS).max(1);
        let per_group = blocks.div_ceil(grain);
        let rows: Vec<_> = tile_rows(self.rows, tiles.most_rows).collect();
        // A small block at the end counts for nothing, or one thread would have a whole block more to do.
        let full = (units + per_block * grain / 2) / (per_block * grain);
        let shares = match direct {
            true => 1,
            false => self.shares(self.groups * full.max(1), rows.len()),
        };
        let each = self.per_thread::<T>();
        let threads = Target::of_slice(args.threads);
        let (packed, source, finish, loops) = (args.packed, args.source, args.finish, args.loops);
        par::for_each_slot(self.groups * per_group * shares, |slot, task| {
            // SAFETY: tasks that run at the same time have different slots.
            let scratch = unsafe { threads.slice(slot * each..(slot + 1) * each) };
            let (task, share) = (task / shares, task % shares);
            let rows = &rows[share * rows.len() / shares..(share + 1) * rows.len() / shares];
            let group = task / per_group;
            let packed = &packed[group * self.rows * self.steps::<T>()..];
            let source = source.get(group * self.source_group..).unwrap_or(&[]);
            let cut = |b: usize, runs: &mut Vec<Run>| {
                let (start, n) = (b * per_block, per_block.min(units - b * per_block));
                if direct {
                    self.grid.vector_runs(start, n, lanes, runs);
                } else {
                    self.grid.runs(start, n, tiles.width, runs);
                }
            };
            let (mut runs, mut next) = (Vec::new(), Vec::new());
            let first = task % per_group * grain;
            cut(first, &mut runs);
            for b in first..(first + grain).min(blocks) {
                next.clear();
                if b + 1 < blocks {
                    cut(b + 1, &mut next);
                }
                let how = (loops, in_place.map(|way| (way, &taps[..])));
                let places = (&mut runs, &next[..]);
                // SAFETY: positions, groups and rows belong to one task each.
                unsafe {
                    self.positions(
                        how,
                        (source, packed),
                        places,
                        (group, rows),
                        finish,
                        scratch,
                    )
                };
                std::mem::swap(&mut runs, &mut next);
            }
        });
    }

    /// Among how many tasks the filters are shared out, where positions make so many.
    pub(super) fn shares(&self, tasks: usize, tiles: usize) -> usize {
        let work = self.grid.len() * self.rows * self.taps.len() / tasks.max(1);
        let most = (tiles / LEAST_TILES).min(work / TASK).max(1);
        let (threads, tasks) = (par::threads(), tasks.max(1));
        if threads == 1 {
            return 1;
        }
        let even = |shares: &usize| {
            (tasks * shares).is_multiple_of(threads) || tasks * shares >= MANY_TASKS * threads
        };
        let least = (LEAST_TASKS * threads).div_ceil(tasks).min(most);
        (least..=most).find(even).unwrap_or(least)
    }

    /// The product for some rows of tiles and the positions of `runs` in a group, from the source, with its taps
    /// if vectors are read where they lie, and the weights. The cache is told of what the runs read that come
    /// next.
    ///
    /// # Safety
    /// Nobody else uses what these rows write at these positions meanwhile.
    unsafe fn positions<T: Summed>(
        &self,
        (loops, in_place): How<'_, T>,
        (source, packed): (&[T], &[T::Real]),
        (runs, next): (&mut Vec<Run>, &[Run]),
        (group, rows): (usize, &[(usize, usize)]),
        finish: &Finish<'_, T>,
        scratch: &mut [T::Real],
    ) {
        let block = T::Real::tiles().width * PANELS;
        let start = self.target_start + group * self.target_group;
        let places = (start, self.target_row, self.grid.target[2]);
        let first = group * self.rows;
        let out = Out::new(finish, first, places, self.chunks::<T>().len());
        let (result, gathered) = scratch.split_at_mut(self.rows * block);
        if self.taps.is_empty() {
            result.fill(T::Real::ZERO);
        }
        let sums = Target::of_slice(result);
        // SAFETY: as the caller vouches; the sums are ours.
        unsafe {
            match in_place {
                Some((way, taps)) => way(self, (source, taps), packed, runs, &out, sums),
                None => {
                    let from = (source, gathered, packed);
                    self.block(loops, from, (runs, next), (rows, &out), sums);
                    if out.straight {
                        runs.clear();
                    }
                }
            }
            if !runs.is_empty() {
                let begin = rows.first().map_or(0, |row| row.0);
                let end = rows.last().map_or(0, |row| row.0 + row.1);
                let (start, row, step) = places;
                let places = (start + begin * row, row, step);
                let sums = (&result[begin * block..], block);
                finish.store(first + begin..first + end, sums, runs, places);
            }
        }
    }

    /// The product for the positions of `runs`. Where it does not go straight to memory, the sums are rows of a
    /// block each.
    ///
    /// # Safety
    /// Nobody else uses what these positions write, or `sums`, meanwhile.
    unsafe fn block<T: Summed>(
        &self,
        loops: TileLoops<T>,
        (source, gathered, packed): (&[T], &mut [T::Real], &[T::Real]),
        (runs, next): (&[Run], &[Run]),
        (rows, out): (&[(usize, usize)], &Out<'_, T>),
        sums: Target<T::Real>,
    ) {
        let (width, chunks) = (T::Real::tiles().width, self.chunks::<T>().len());
        let cut = Cut::of(runs, width);
        let filters: usize = rows.iter().map(|row| row.1).sum();
        let (panels, count) = (cut.panels(), cut.panels() * rows.len());
        let mut ahead = self.ahead(next, chunks * count);
        let lying = match T::TOGETHER {
            1 => self.lying(runs, width),
            _ => 0,
        };
        for (chunk, taps) in self.chunks::<T>().enumerate() {
            T::gather(self, (source, taps), runs, lying..panels, gathered);
            let steps = taps.len().div_ceil(T::TOGETHER);
            // A panel stays in the first-level cache, and weights come from the second-level one, unless they
            // are too large for it.
            let large = filters * steps * size_of::<T::Real>() > WEIGHTS;
            let (mut p, mut r) = (0, 0);
            let (first, last) = (chunk == 0, chunk + 1 == chunks);
            let panel = Target::of_slice(gathered);
            for i in 0..count {
                ahead.fetch(source);
                let (row, n) = rows[r];
                let a = &packed[row * self.steps::<T>() + chunk * self.depth::<T>() * n..];
                // SAFETY: there is room for all panels; as the caller vouches.
                unsafe {
                    let panel = panel.at(p * self.apart::<T>(width));
                    let mut factors = Factors::of((steps, n), a, (panel, width));
                    if p < lying && Some(row) == rows.first().map(|row| row.0) {
                        let from = lines(source, runs[p].source, taps, width);
                        factors.b = (from.0.cast(), from.1);
                        factors.keep = panel;
                    }
                    let sums = (sums.at(row * width * PANELS + p * width), width * PANELS);
                    let mut tile =
                        out.tile(row, (cut.parts(p), cut.is_whole(p)), sums, (first, last));
                    let now = p;
                    match large {
                        true if p + 1 == panels => (p, r) = (0, r + 1),
                        true => p += 1,
                        false if r + 1 == rows.len() => (p, r) = (p + 1, 0),
                        false => r += 1,
                    }
                    if last && i + 1 < count {
                        tile.next = out.next(rows[r].0, cut.parts(p)[0].at);
                    }
                    // The table is for this CPU.
                    loops[usize::from(cut.is_narrow(now))][n - 1](&factors, &tile);
                }
            }
        }
    }

    /// What `runs` read, to be fetched in so many parts: where each tap reads a plane of its own, and neighbours.
    fn ahead(&self, runs: &[Run], parts: usize) -> Ahead<'_> {
        let lines = self.taps.are_single() && self.grid.source[2] == 1;
        Ahead::new(&self.taps, if lines { runs } else { &[] }, parts)
    }

    /// Distance between gathered panels.
    pub(super) fn apart<T: Summed>(&self, width: usize) -> usize {
        self.depth::<T>() * width
    }
}
