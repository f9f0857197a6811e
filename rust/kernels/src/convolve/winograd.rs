//! Convolutions of 3 by 3 taps with fewer multiplications: tiles of 4 by 4 results come from 6 by 6
//! numbers by 36 products instead of 144. Source: Lavin and Gray, "Fast Algorithms for Convolutional
//! Neural Networks" (CVPR 2016), F(4x4, 3x3). Sums are those of other numbers than the definition's:
//! in float32 a result is off by about 1e-6 of the largest one, at most 1e-5 in what tests try, so
//! that float64 is left to the definition; `FERROMIX_WINOGRAD=0` leaves all to it.

use super::apply::{Apply, Arguments};
use super::direct::Direct;
use super::points::{IN, LANES, Lane, OUT, POINTS, turn_back, turn_data, turn_filter};
use crate::api::Req;
use crate::blocks::raw::{Target, scratch_bytes};
use crate::linalg::tile::{Tiles, tile_rows};
use crate::math::real::Real;
use crate::par;
use std::sync::OnceLock;

/// Fewest channels and rows of a group, and tiles of the batch, for which it pays.
const CHANNELS: usize = 16;
const ROWS: usize = 16;
const TILES: usize = 96;
/// Numbers that a task turns at a time, which fit the second-level cache.
const ROOM: usize = 1 << 18;
/// Weights that a task turns, at least.
const TURNED: usize = 1 << 10;

/// Where a product of 3 by 3 taps reads, and its tiles.
#[derive(Clone, Copy)]
struct Plan {
    channels: usize,
    /// Of the first tap in a plane.
    start: usize,
    /// Extents of a plane with its border.
    high: usize,
    wide: usize,
    /// Tiles of a sample along each axis.
    down: usize,
    across: usize,
}

impl Plan {
    /// Tiles of a batch.
    fn tiles(&self, batch: usize) -> usize {
        batch * self.down * self.across
    }
}

/// Whether the environment allows it.
fn allowed() -> bool {
    static ALLOWED: OnceLock<bool> = OnceLock::new();
    *ALLOWED.get_or_init(|| std::env::var_os("FERROMIX_WINOGRAD").is_none_or(|x| x != "0"))
}

impl Apply {
    /// The plan, where the product has the form and is large enough.
    fn winograd<T: Direct>(&self) -> Option<Plan> {
        let (grid, taps) = (&self.grid, &self.taps);
        let ([deep, high, wide], plane) = (self.field.extents(), self.field.plane());
        let channels = taps.len() / 9;
        let [_, rows, columns] = grid.extents;
        let plan = Plan {
            channels,
            start: taps.iter().copied().min()?,
            high,
            wide,
            down: rows.div_ceil(OUT),
            across: columns.div_ceil(OUT),
        };
        let sizes = channels >= CHANNELS && self.rows >= ROWS && rows.min(columns) >= OUT;
        let steps = deep == 1 && grid.extents[0] == 1 && grid.source[1..] == [wide, 1];
        let lanes = T::tiles().width.is_multiple_of(LANES);
        let fits =
            lanes && size_of::<T>() == 4 && taps.len() == 9 * channels && grid.target[2] == 1;
        if !(sizes && steps && fits && plan.tiles(grid.batch) >= TILES && allowed()) {
            return None;
        }
        // Of each channel the nine taps in a square, in any order.
        let square = |c: usize| {
            let mut seen = 0u32;
            for &t in &taps[c * 9..c * 9 + 9] {
                let place = t.checked_sub(c * plane + plan.start).unwrap_or(plane);
                let (y, x) = (place / wide, place % wide);
                if y < 3 && x < 3 {
                    seen |= 1 << (y * 3 + x);
                }
            }
            seen == 0b1_1111_1111
        };
        (0..channels).all(square).then_some(plan)
    }

    /// Whether this is the way for numbers of this type.
    pub(crate) fn by_winograd<T: Direct>(&self) -> bool {
        self.winograd::<T>().is_some()
    }

    /// Numbers of the turned weights.
    pub(crate) fn turned_weights(&self) -> usize {
        self.groups * POINTS * self.rows * (self.taps.len() / 9)
    }

    /// Scratch numbers of one thread: turned tiles, products of some rows, results of them.
    pub(crate) fn winograd_scratch<T: Direct>(&self) -> usize {
        let tiles = T::tiles();
        let block = self.block_of(&tiles);
        let numbers = POINTS * (self.taps.len() / 9 + tiles.most_rows) * block;
        scratch_bytes::<T>(numbers) / size_of::<T>()
    }

    /// Tiles that a task takes at a time: whole panels.
    fn block_of<T: Direct>(&self, tiles: &Tiles<T>) -> usize {
        let panel = POINTS * (self.taps.len() / 9) * tiles.width;
        (ROOM / panel.max(1)).clamp(1, 4) * tiles.width
    }

    /// Runs the product, which has the form.
    pub(crate) fn run_winograd<T: Direct>(&self, args: Arguments<'_, T>) {
        let Some(plan) = self.winograd::<T>() else {
            return;
        };
        let tiles = T::tiles();
        self.turn_weights(&plan, &tiles, args.weights, args.packed);
        let block = self.block_of(&tiles);
        let count = plan.tiles(self.grid.batch);
        let blocks = count.div_ceil(block);
        let each = self.winograd_scratch::<T>();
        let threads = Target::of_slice(args.threads);
        let (packed, source) = (&*args.packed, args.source);
        let per_group = self.turned_weights() / self.groups;
        par::for_each_slot(self.groups * blocks, |slot, task| {
            let (group, first) = (task / blocks, task % blocks * block);
            // SAFETY: tasks that run at the same time have different slots.
            let scratch = unsafe { threads.slice(slot * each..(slot + 1) * each) };
            let (data, products) = scratch.split_at_mut(POINTS * plan.channels * block);
            let source = source.get(group * self.source_group..).unwrap_or(&[]);
            let here = first..count.min(first + block);
            self.turn_tiles(&plan, source, (here.clone(), tiles.width), data);
            let weights = &packed[group * per_group..(group + 1) * per_group];
            for (row, n) in tile_rows(self.rows, tiles.most_rows) {
                let of_rows = &weights[row * POINTS * plan.channels..];
                let shape = (n, plan.channels, here.len().div_ceil(tiles.width));
                multiply(&tiles, shape, of_rows, data, products, block);
                for r in 0..n {
                    let shift = args
                        .bias
                        .map_or(T::ZERO, |b| b[group * self.rows + row + r]);
                    let line = (&products[r * block..], n * block);
                    let place = group * self.target_group + (row + r) * self.target_row;
                    // SAFETY: tiles and groups belong to one task each.
                    unsafe {
                        self.put_tiles(&plan, line, here.clone(), (place, shift), &args);
                    }
                }
            }
        });
    }

    /// The weights as products take them: for each tile of rows and each point, a panel.
    fn turn_weights<T: Direct>(
        &self,
        plan: &Plan,
        tiles: &Tiles<T>,
        weights: &[T],
        packed: &mut [T],
    ) {
        let target = Target::of_slice(packed);
        let parts: Vec<_> = tile_rows(self.rows, tiles.most_rows).collect();
        let plane = self.field.plane();
        // Where each tap of the square has its weight, by channel.
        let mut places = vec![[0; 9]; plan.channels];
        for (i, (&tap, &w)) in self.taps.iter().zip(&self.weights).enumerate() {
            let place = tap - i / 9 * plane - plan.start;
            places[i / 9][place / plan.wide * 3 + place % plan.wide] = w;
        }
        let grain = (TURNED / (plan.channels * tiles.most_rows).max(1)).max(1);
        par::for_ranges(self.groups * parts.len(), grain, |range| {
            for i in range {
                let (group, (first, n)) = (i / parts.len(), parts[i % parts.len()]);
                let start = (group * self.rows + first) * POINTS * plan.channels;
                // SAFETY: tiles of rows belong to one task each.
                let out = unsafe { target.slice(start..start + n * POINTS * plan.channels) };
                for (c, places) in places.iter().enumerate() {
                    for r in 0..n {
                        let at = group * self.weight_group + (first + r) * self.weight_row;
                        let turned = turn_filter(&places.map(|w| weights[at + w]));
                        for (point, x) in turned.into_iter().enumerate() {
                            out[(point * plan.channels + c) * n + r] = x;
                        }
                    }
                }
            }
        });
    }

    /// Turns what tiles read into panels of `width` tiles, for each point and panel one.
    fn turn_tiles<T: Direct>(
        &self,
        plan: &Plan,
        source: &[T],
        (here, width): (std::ops::Range<usize>, usize),
        out: &mut [T],
    ) {
        let (plane, count) = (self.field.plane(), here.len());
        let panels = count.div_ceil(width);
        let mut room = [[T::ZERO; LANES]; POINTS];
        for first in (0..panels * width).step_by(LANES) {
            let lanes = count.saturating_sub(first).min(LANES);
            let (panel, lane) = (first / width, first % width);
            let spots: [_; LANES] = std::array::from_fn(|j| place_of(plan, here.start + first + j));
            for c in 0..plan.channels {
                for (j, &(sample, y, x)) in spots[..lanes].iter().enumerate() {
                    let at = sample * self.grid.source_sample + c * plane + plan.start;
                    let rest = (
                        plan.high - plan.start / plan.wide,
                        plan.wide - plan.start % plan.wide,
                    );
                    read_tile(&source[at..], plan.wide, (y, x), rest, j, &mut room);
                }
                let at = (panel * plan.channels + c) * width + lane;
                turn_data(&room, &mut out[at..], panels * plan.channels * width);
            }
        }
    }

    /// Turns the products of a row back and writes them to the tiles' places.
    ///
    /// # Safety
    /// Nobody else uses the places of these tiles in this row meanwhile.
    unsafe fn put_tiles<T: Direct>(
        &self,
        plan: &Plan,
        (products, apart): (&[T], usize),
        here: std::ops::Range<usize>,
        (place, shift): (usize, T),
        args: &Arguments<'_, T>,
    ) {
        let [_, rows, columns] = self.grid.extents;
        for first in (0..here.len()).step_by(LANES) {
            let mut out = [[shift; LANES]; OUT * OUT];
            turn_back(&products[first..], apart, &mut out);
            for j in 0..LANES.min(here.len() - first) {
                let (sample, y, x) = place_of(plan, here.start + first + j);
                let at = self.target_start + place + sample * self.grid.target_sample;
                let width = OUT.min(columns - x * OUT);
                for i in 0..OUT.min(rows - y * OUT) {
                    let at = at + (y * OUT + i) * self.grid.target[1] + x * OUT;
                    // SAFETY: as the caller vouches.
                    let to = unsafe { args.target.slice(at..at + width) };
                    for (k, to) in to.iter_mut().enumerate() {
                        let x = out[i * OUT + k][j];
                        *to = if args.req == Req::Add { *to + x } else { x };
                    }
                }
            }
        }
    }
}

/// Sample, row and column of a tile.
fn place_of(plan: &Plan, tile: usize) -> (usize, usize, usize) {
    let (line, x) = (tile / plan.across, tile % plan.across);
    (line / plan.down, line % plan.down, x)
}

/// Reads what a tile needs into its lane; beyond the plane is zero.
#[inline(always)]
fn read_tile<T: Real>(
    source: &[T],
    wide: usize,
    (y, x): (usize, usize),
    (high, rest): (usize, usize),
    lane: usize,
    room: &mut [Lane<T>; POINTS],
) {
    let (y, x) = (y * OUT, x * OUT);
    let inside = y + IN <= high && x + IN <= rest;
    for i in 0..IN {
        if inside && let Some(row) = source[(y + i) * wide + x..].first_chunk::<IN>() {
            for (k, &v) in row.iter().enumerate() {
                room[i * IN + k][lane] = v;
            }
            continue;
        }
        for k in 0..IN {
            let there = y + i < high && x + k < rest;
            room[i * IN + k][lane] = if there {
                source[(y + i) * wide + x + k]
            } else {
                T::ZERO
            };
        }
    }
}

/// For each point the product of its panels: rows of a tile by blocks of columns.
fn multiply<T: Direct>(
    tiles: &Tiles<T>,
    (n, depth, panels): (usize, usize, usize),
    weights: &[T],
    data: &[T],
    products: &mut [T],
    block: usize,
) {
    let panel = depth * tiles.width;
    for point in 0..POINTS {
        let a = &weights[point * depth * n..(point + 1) * depth * n];
        for p in 0..panels {
            let b = &data[(point * panels + p) * panel..][..panel];
            let c = &mut products[point * n * block + p * tiles.width..];
            assert!(c.len() >= (n - 1) * block + tiles.width);
            // SAFETY: the length was checked.
            unsafe { tiles.panels_at(n, (depth, a, b), (c.as_mut_ptr(), block), true) };
        }
    }
}
