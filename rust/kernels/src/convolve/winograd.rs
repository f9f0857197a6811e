//! Convolutions of 3 by 3 with stride 1 by Winograd's minimal filtering F(4x4, 3x3) (Lavin and Gray,
//! "Fast Algorithms for Convolutional Neural Networks", 2015): 36 products of matrices make a tile of
//! 4 by 4 outputs, a quarter of the multiplications. Channels are neighbours in memory meanwhile, so
//! that vectors hold channels throughout.

pub(super) mod channels;
mod in_blocks;
pub(super) mod sums;
pub(super) mod weights;

use super::apply::summed::Summed;
use super::field::Run;
use super::finish::Finish;
use super::geometry::Geometry;
use super::transforms::{POINTS, SIDE, STEP, Transformed};
use crate::blocks::raw::{Target, scratch_bytes};
use crate::copy::transpose::transpose;
use crate::linalg::tile::{Tiles, tile_rows};
use crate::math::real::Float;
use crate::par;
use channels::channels_last;
use std::ops::Range;
use weights::{PIECE, Panels, Weights};

/// Channels and filters are multiples of this, the numbers of the widest vector.
const VECTOR: usize = 16;
/// Numbers of transformed tiles that a task holds at once, about: they stay in the second-level cache.
const HELD: usize = 1 << 18;
/// Tiles that a task holds: at least, where there is much of them, and at most.
const LEAST: usize = 64;
const MOST: usize = 120;
/// Tasks that there are at least, where filters can be shared out.
const TASKS: usize = 8;
/// Filters whose results a task holds.
const FILTERS: usize = 64;

/// A convolution, or the gradient of the data of one.
#[derive(Clone, Debug)]
pub(crate) struct Winograd {
    pub(super) batch: usize,
    /// Channels that are read, and those that are written.
    pub(super) channels: usize,
    pub(super) filters: usize,
    /// Rows and columns of what is read and of what is written.
    pub(super) input: [usize; 2],
    pub(super) output: [usize; 2],
    pub(super) pad: [usize; 2],
    /// Whether weights go from filters to channels, turned by half a circle.
    back: bool,
    /// Where channels of the result lie in blocks: whether those of the data do so, too.
    blocks: Option<bool>,
}

/// Distance between matrices of so many numbers, a multiple of [`VECTOR`]: an odd number of vectors, so
/// that the matrices are not all in the same places of the cache.
pub(super) fn apart(numbers: usize) -> usize {
    ((numbers / VECTOR) | 1) * VECTOR
}

impl Winograd {
    /// Of the forward pass, or of the gradient of the data, where this way is open and pays.
    pub(crate) fn of(g: &Geometry, back: bool) -> Option<Self> {
        Self::instead_of(g, back, 1.0)
    }

    /// The same where a multiplication of the definition takes such a part of the time of one here.
    pub(crate) fn instead_of(g: &Geometry, back: bool, part: f64) -> Option<Self> {
        let plane = |x: [usize; 3]| [x[1], x[2]];
        let flat = g.input[0] == 1 && g.kernel == [1, 3, 3] && g.pad[0] == 0;
        if !flat || g.stride != [1; 3] || g.dilate != [1; 3] || g.groups != 1 {
            return None;
        }
        let pad = plane(g.pad);
        let this = if back {
            Winograd {
                batch: g.batch,
                channels: g.filters,
                filters: g.channels,
                input: plane(g.output),
                output: plane(g.input),
                pad: [2usize.checked_sub(pad[0])?, 2usize.checked_sub(pad[1])?],
                back,
                blocks: None,
            }
        } else {
            Winograd {
                batch: g.batch,
                channels: g.channels,
                filters: g.filters,
                input: plane(g.input),
                output: plane(g.output),
                pad,
                back,
                blocks: None,
            }
        };
        this.pays(part).then_some(this)
    }

    /// Whether it takes less time than the products of the definition, by the multiplications of
    /// either and by what is moved.
    fn pays(&self, part: f64) -> bool {
        let (c, k) = (self.channels, self.filters);
        if c == 0 || k == 0 || !c.is_multiple_of(VECTOR) || !k.is_multiple_of(VECTOR) {
            return false;
        }
        let positions = (self.batch * self.output[0] * self.output[1]) as f64;
        let tiles = self.tiles() as f64;
        let (pairs, sum) = ((c * k) as f64, (c + k) as f64);
        let direct = part * 9.0 * pairs * positions;
        let products = 36.0 * pairs * tiles;
        let moved = MOVE * sum * tiles + WEIGHT * pairs;
        std::env::var_os("FERROMIX_WINOGRAD").is_none_or(|v| v != "0") && products + moved < direct
    }

    /// Tiles along each axis.
    pub(super) fn grid(&self) -> [usize; 2] {
        self.output.map(|n| n.div_ceil(STEP))
    }

    pub(super) fn tiles(&self) -> usize {
        self.batch * self.grid()[0] * self.grid()[1]
    }

    /// Rows and columns that tiles read, with the border.
    pub(super) fn extents(&self) -> [usize; 2] {
        self.grid().map(|n| n * STEP + 2)
    }

    /// Tiles that a task holds: as many as stay in the cache, and about as many in each task.
    fn held(&self) -> usize {
        let most = (HELD / POINTS / self.channels).clamp(LEAST, MOST);
        let wanted = TASKS.div_ceil(self.filters.div_ceil(self.block()));
        let chunks = self.tiles().div_ceil(most).max(wanted);
        self.tiles()
            .div_ceil(chunks)
            .max(LEAST / 2)
            .min(self.tiles())
    }

    /// Filters whose results a task holds.
    fn block(&self) -> usize {
        FILTERS.min(self.filters)
    }

    /// Scratch memory: elements of what is read, numbers of weights and of threads.
    pub(crate) fn scratch<R: Transformed>(&self) -> [usize; 3] {
        let [high, wide] = self.extents();
        let thread = POINTS * apart(self.held() * self.channels)
            + POINTS * apart(self.held() * self.block())
            + 2 * STEP * STEP * self.block();
        [
            self.batch * high * wide * self.channels,
            POINTS * apart(self.filters * self.channels),
            scratch_bytes::<R>(thread) / size_of::<R>() * par::threads(),
        ]
    }

    fn tiles_of<T: Transformed>(&self) -> Tiles<T> {
        if self.filters.is_multiple_of(T::tiles().width) {
            T::tiles()
        } else {
            T::narrow_tiles()
        }
    }

    /// Takes the sums of products of `data` with the weights to where they belong. Weights that
    /// [lie](Weights::Lying) are for where they are [wanted once](Winograd::wants_weights_once).
    pub(crate) fn run<T: Summed<Real: Transformed>>(
        &self,
        (data, weights): (&[T], Weights<'_, T::Real>),
        (field, threads): (&mut [T], &mut [T::Real]),
        finish: &Finish<'_, T>,
    ) {
        let sizes = (self.channels, self.input);
        let fill = match self.blocks {
            Some(true) => in_blocks::channels_last,
            _ => channels_last,
        };
        fill(data, sizes, (self.pad, self.extents()), field);
        let field = &*field;
        let (held, block) = (self.held(), self.block());
        let chunks = self.tiles().div_ceil(held);
        let blocks = self.filters.div_ceil(block);
        let shares = match par::threads() {
            1 => 1,
            _ => TASKS.div_ceil(chunks).min(blocks),
        };
        let each = threads.len() / par::threads();
        let threads = Target::of_slice(threads);
        par::for_each_slot(chunks * shares, |slot, task| {
            let (chunk, share) = (task / shares, task % shares);
            // SAFETY: tasks that run at the same time have different slots.
            let scratch = unsafe { threads.slice(slot * each..(slot + 1) * each) };
            let (seen, scratch) = scratch.split_at_mut(POINTS * apart(held * self.channels));
            let (sums, scratch) = scratch.split_at_mut(POINTS * apart(held * block));
            let places = chunk * held..self.tiles().min((chunk + 1) * held);
            self.transform_input(field, places.clone(), seen);
            for b in share * blocks / shares..(share + 1) * blocks / shares {
                let filters = b * block..self.filters.min((b + 1) * block);
                let seen = (&*seen, places.len());
                self.products(seen, (weights, slot), filters.clone(), sums);
                for (i, place) in places.clone().enumerate() {
                    let room = &mut scratch[..2 * STEP * STEP * filters.len()];
                    let sums = &sums[i * block..];
                    if self.blocks.is_some() {
                        // SAFETY: as below.
                        unsafe { self.to_memory(sums, place, filters.clone(), room, finish) };
                        continue;
                    }
                    let tile = self.finish(sums, filters.len(), room);
                    // SAFETY: a tile of these filters belongs to one task.
                    unsafe { self.store(tile, place, filters.clone(), finish) };
                }
            }
        });
    }

    /// Transforms some tiles of the field.
    fn transform_input<T: Summed>(&self, field: &[T], places: Range<usize>, seen: &mut [T::Real]) {
        let (c, [_, across], [high, wide]) = (self.channels, self.grid(), self.extents());
        let apart = apart(self.held() * c);
        for (i, place) in places.enumerate() {
            let [image, y, x] = self.place(place, across);
            let from = ((image * high + y) * wide + x) * c;
            let from = &field[from..from + ((SIDE - 1) * wide + SIDE) * c];
            let to = &mut seen[i * c..];
            assert!(to.len() >= (POINTS - 1) * apart + c);
            // SAFETY: the lines are ours.
            unsafe { T::transform(c, (from, wide * c), (to.as_mut_ptr(), apart)) };
        }
    }

    /// The image of a tile, and its first row and column.
    pub(super) fn place(&self, tile: usize, across: usize) -> [usize; 3] {
        let rows = self.grid()[0];
        let (line, x) = (tile / across, tile % across);
        [line / rows, line % rows * STEP, x * STEP]
    }

    /// The 36 products for some tiles and filters, in a slot for tasks.
    fn products<T: Transformed>(
        &self,
        seen: (&[T], usize),
        (weights, slot): (Weights<'_, T>, usize),
        filters: Range<usize>,
        sums: &mut [T],
    ) {
        let c = self.channels;
        match weights {
            Weights::Packed(data) => {
                let panels = Panels {
                    data,
                    apart: apart(self.filters * c),
                    filter: 0,
                    room: c,
                    channels: (0, c),
                };
                self.multiply(seen, &panels, filters, sums);
            }
            Weights::Lying(weights, scale, rooms) => {
                let each = POINTS * self.piece_apart();
                // SAFETY: tasks that run at the same time have different slots.
                let room = unsafe { rooms.slice(slot * each..(slot + 1) * each) };
                for first in (0..c).step_by(PIECE) {
                    let channels = first..c.min(first + PIECE);
                    let panels = self.piece((weights, scale), &filters, channels, &mut *room);
                    self.multiply(seen, &panels, filters.clone(), sums);
                }
            }
        }
    }

    /// Adds the products of some channels to the sums, which begin with the first ones.
    fn multiply<T: Transformed>(
        &self,
        (seen, count): (&[T], usize),
        panels: &Panels<'_, T>,
        filters: Range<usize>,
        sums: &mut [T],
    ) {
        let tiles = self.tiles_of::<T>();
        let (c, block, width) = (self.channels, self.block(), tiles.width);
        let (seen_apart, sums_apart) = (apart(self.held() * c), apart(self.held() * block));
        let (first, depth) = panels.channels;
        for point in 0..POINTS {
            let seen = &seen[point * seen_apart + first..];
            let sums = &mut sums[point * sums_apart..];
            for filter in filters.clone().step_by(width) {
                let panel = panels.at(point, filter, width);
                for (row, n) in tile_rows(count, tiles.most_rows) {
                    let operands = (depth, (&seen[row * c..], c), (panel, width));
                    let to = &mut sums[row * block + filter - filters.start..];
                    assert!(to.len() >= (n - 1) * block + width);
                    // SAFETY: the tile is within the sums.
                    unsafe { tiles.lines_at(n, operands, (to.as_mut_ptr(), block), first == 0) };
                }
            }
        }
    }

    /// The outputs of a tile, a filter after the other.
    fn finish<'a, T: Transformed>(&self, sums: &[T], filters: usize, room: &'a mut [T]) -> &'a [T] {
        let apart = apart(self.held() * self.block());
        let (lines, turned) = room.split_at_mut(STEP * STEP * filters);
        T::transforms().output(filters, (sums, apart), lines);
        transpose(
            (lines, filters),
            (filters, STEP * STEP),
            (turned, STEP * STEP),
        );
        turned
    }

    /// Writes a tile to its place.
    ///
    /// # Safety
    /// Nobody else uses the places meanwhile.
    unsafe fn store<T: Float>(
        &self,
        tile: &[T::Real],
        place: usize,
        filters: Range<usize>,
        finish: &Finish<'_, T>,
    ) {
        let [rows, columns] = self.output;
        let [image, y, x] = self.place(place, self.grid()[1]);
        let (high, wide) = (STEP.min(rows - y), STEP.min(columns - x));
        let start = ((image * self.filters + filters.start) * rows + y) * columns + x;
        let runs: [Run; STEP] = std::array::from_fn(|i| Run {
            at: i * STEP,
            len: wide,
            source: 0,
            target: i * columns,
        });
        let (sums, places) = ((tile, STEP * STEP), (start, rows * columns, 1));
        // SAFETY: as the caller vouches.
        unsafe { finish.store(filters, sums, &runs[..high], places) };
    }
}

/// What it costs to move a channel of a tile, and to transform a weight, in multiplications.
const MOVE: f64 = 1000.0;
const WEIGHT: f64 = 1600.0;
