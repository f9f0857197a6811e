//! The gradient of the weights of convolutions of 3 by 3 by Winograd's minimal filtering: what
//! [`super::Winograd`] computes is linear in the weights, and this is the transposed map. Tiles of the
//! data and of the gradient are transformed, multiplied point by point, and summed over all tiles.

use super::channels::channels_last;
use super::{Winograd, apart};
use crate::api::Req;
use crate::blocks::blockwise;
use crate::blocks::raw::{Target, scratch_bytes};
use crate::convolve::geometry::Geometry;
use crate::convolve::transforms::{POINTS, SIDE, STEP, Transformed};
use crate::copy::transpose::transpose;
use crate::linalg::tile::tile_rows;
use crate::par;
use std::ops::Range;

/// Numbers of transformed tiles that are held at once, about, and the tiles that these are at least
/// and at most.
const HELD: usize = 1 << 20;
const LEAST: usize = 128;
const MOST: usize = 256;
/// Filters of a task.
const FILTERS: usize = 48;
/// Tiles of a task.
const TILES: usize = 16;

/// The sums, over the tiles of the forward pass.
#[derive(Clone, Debug)]
pub(crate) struct WinogradSums(Winograd);

impl WinogradSums {
    /// Where this way is open and pays.
    pub(crate) fn of(g: &Geometry) -> Option<Self> {
        Winograd::of(g, false).map(WinogradSums)
    }

    fn held(&self) -> usize {
        let Winograd {
            channels, filters, ..
        } = self.0;
        let most = (HELD / POINTS / (channels + filters)).clamp(LEAST, MOST);
        let tiles = self.0.tiles();
        tiles.div_ceil(tiles.div_ceil(most))
    }

    /// The extents of the gradient, in whole tiles.
    fn extents(&self) -> [usize; 2] {
        self.0.grid().map(|n| n * STEP)
    }

    /// Scratch numbers: data, gradient, tiles of either, sums, threads.
    pub(crate) fn scratch<T: Transformed>(&self) -> [usize; 6] {
        let Winograd {
            batch,
            channels,
            filters,
            ..
        } = self.0;
        let area = |[high, wide]: [usize; 2]| batch * high * wide;
        let thread = scratch_bytes::<T>(FILTERS * self.held()) / size_of::<T>();
        [
            area(self.0.extents()) * channels,
            area(self.extents()) * filters,
            POINTS * apart(self.held() * channels),
            POINTS * apart(self.held() * filters),
            POINTS * apart(filters * channels),
            thread * par::threads(),
        ]
    }

    /// Fills `out` with the gradient, of what the convolution reads and the gradient of its result.
    pub(crate) fn run<T: Transformed>(
        &self,
        (data, head): (&[T], &[T]),
        [field, heads, seen, given, sums, threads]: [&mut [T]; 6],
        (out, req): (&mut [T], Req),
    ) {
        let w = &self.0;
        channels_last(data, (w.channels, w.input), (w.pad, w.extents()), field);
        channels_last(head, (w.filters, w.output), ([0; 2], self.extents()), heads);
        let held = self.held();
        for (chunk, first) in (0..w.tiles()).step_by(held).enumerate() {
            let places = first..w.tiles().min(first + held);
            self.transform(&*field, &*heads, places.clone(), (&mut *seen, &mut *given));
            self.multiply(
                (&*seen, &*given),
                places.len(),
                threads,
                (&mut *sums, chunk == 0),
            );
        }
        self.store(sums, (out, req));
    }

    fn transform<T: Transformed>(
        &self,
        field: &[T],
        heads: &[T],
        places: Range<usize>,
        (seen, given): (&mut [T], &mut [T]),
    ) {
        let (w, transforms) = (&self.0, T::transforms());
        let (c, k, across) = (w.channels, w.filters, w.grid()[1]);
        let ([high, wide], [rows, columns]) = (w.extents(), self.extents());
        let (seen, given) = (Target::of_slice(seen), Target::of_slice(given));
        let apart = [c, k].map(|n| apart(self.held() * n));
        par::for_ranges(places.len(), TILES, |range| {
            for i in range {
                let [image, y, x] = w.place(places.start + i, across);
                let from = &field[((image * high + y) * wide + x) * c..];
                let from = &from[..((SIDE - 1) * wide + SIDE) * c];
                let heads = &heads[((image * rows + y) * columns + x) * k..];
                let heads = &heads[..((STEP - 1) * columns + STEP) * k];
                // SAFETY: the lines of a tile belong to one task.
                unsafe {
                    transforms.input(c, (from, wide * c), (seen.at(i * c), apart[0]));
                    transforms.head(k, (heads, columns * k), (given.at(i * k), apart[1]));
                }
            }
        });
    }

    /// Adds the products of some tiles to the sums.
    fn multiply<T: Transformed>(
        &self,
        (seen, given): (&[T], &[T]),
        count: usize,
        threads: &mut [T],
        (sums, fresh): (&mut [T], bool),
    ) {
        let (c, k) = (self.0.channels, self.0.filters);
        let tiles = if c.is_multiple_of(T::tiles().width) {
            T::tiles()
        } else {
            T::narrow_tiles()
        };
        let [seen_apart, given_apart] = [c, k].map(|n| apart(self.held() * n));
        let sums_apart = apart(k * c);
        let blocks = k.div_ceil(FILTERS);
        let each = threads.len() / par::threads();
        let (threads, sums) = (Target::of_slice(threads), Target::of_slice(sums));
        par::for_each_slot(POINTS * blocks, |slot, task| {
            // SAFETY: tasks that run at the same time have different slots.
            let turned = unsafe { threads.slice(slot * each..(slot + 1) * each) };
            let (point, first) = (task / blocks, task % blocks * FILTERS);
            let filters = FILTERS.min(k - first);
            let given = &given[point * given_apart + first..];
            transpose((given, k), (filters, count), (turned, count));
            let seen = &seen[point * seen_apart..];
            for channel in (0..c).step_by(tiles.width) {
                for (row, n) in tile_rows(filters, tiles.most_rows) {
                    let operands = (
                        count,
                        (&turned[row * count..], count),
                        (&seen[channel..], c),
                    );
                    let at = point * sums_apart + (first + row) * c + channel;
                    // SAFETY: these filters of a point belong to one task.
                    unsafe {
                        debug_assert!(at + (n - 1) * c + tiles.width <= sums.len());
                        tiles.lines_at(n, operands, (sums.at(at), c), fresh);
                    }
                }
            }
        });
    }

    fn store<T: Transformed>(&self, sums: &[T], (out, req): (&mut [T], Req)) {
        let (c, k) = (self.0.channels, self.0.filters);
        let (transforms, apart) = (T::transforms(), apart(k * c));
        let out = Target::of_slice(out);
        par::for_ranges(k, (4096 / c).max(1), |range| {
            let (mut lines, mut turned) = (vec![T::ZERO; 9 * c], vec![T::ZERO; 9 * c]);
            for filter in range {
                transforms.sums(c, (&sums[filter * c..], apart), &mut lines);
                transpose((&lines, c), (c, 9), (&mut turned, 9));
                // SAFETY: the weights of a filter belong to one task.
                let to = unsafe { out.slice(filter * c * 9..(filter + 1) * c * 9) };
                blockwise::store(&turned, to, req);
            }
        });
    }
}
