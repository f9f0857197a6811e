//! Convolutions of all channels as products of positions with filters.

use super::tile::{LINE, Tile, Tiles, tiles};
use super::{BLOCK, Blocked, Field, Finish, Geometry, Target, par};
use crate::blocks::raw::scratch_bytes;
use crate::copy::transpose::transpose;
use crate::linalg::tile::tile_rows;

/// Steps of a panel of weights that are multiplied with all positions of a task before the next ones: they stay
/// in the first-level cache.
const STEPS: usize = 128;
/// Numbers that the positions of a task read, about: they stay in the second-level cache.
const READ: usize = 1 << 16;
/// Fewest and most positions of a task, about.
const FEWEST: usize = 28;
const MOST: usize = 512;
/// Tasks of each thread, where there are so many panels.
const TASKS: usize = 4;
/// Numbers of weights that a task orders, at least.
const PACKED: usize = 1 << 14;

/// A convolution as products.
pub(super) struct Products {
    pub(super) field: Field,
    /// For whole panels of filters, and for a last one of one block.
    tiles: [Tiles; 2],
    /// Neighbours that a tap reads: the channels of a block, where data lie so.
    inner: usize,
    /// Where each tap reads, the first of its neighbours.
    taps: Vec<usize>,
    /// Taps of a channel.
    window: usize,
    /// The tiles of an image.
    pieces: Vec<Piece>,
    filters: usize,
    batch: usize,
    /// Positions of an image of the result, and numbers of one of the field.
    positions: usize,
    image: usize,
    /// Tiles of a task, and its most positions.
    together: usize,
    most: usize,
}

/// Neighbouring positions: the number of the first one in its image, how many there are, and what the first reads.
#[derive(Clone, Copy)]
struct Piece {
    at: usize,
    len: usize,
    source: usize,
}

impl Products {
    /// Of data in blocks, or of planes. Nothing where there are no tiles for it.
    pub(super) fn of(g: &Geometry, blocked: bool) -> Option<Self> {
        let [wide, narrow] = [false, true].map(|narrow| tiles(blocked, g.stride[2], narrow));
        let tiles = [wide?, narrow?];
        let inner = if blocked { BLOCK } else { 1 };
        let field = field(g, inner);
        let (plane, row) = (field.plane(), field.steps()[1]);
        let within = g
            .positions()
            .map(|[_, y, x]| y * g.dilate[1] * row + x * g.dilate[2] * inner);
        let within: Vec<usize> = within.collect();
        let taps = |c| within.iter().map(move |p| c * plane + p);
        let pieces = pieces(
            g,
            tiles[0].most_rows,
            [g.stride[1] * row, g.stride[2] * inner],
        );
        let positions = g.output[1] * g.output[2];
        let read = g.channels * g.stride[1] * g.stride[2];
        let wanted = (READ / read.max(1)).clamp(FEWEST, MOST);
        let blocks = positions.div_ceil(wanted).max(1);
        let together = pieces.len().div_ceil(blocks).max(1);
        let sum = |some: &[Piece]| some.iter().map(|p| p.len).sum();
        Some(Products {
            tiles,
            inner,
            taps: (0..g.channels / inner).flat_map(taps).collect(),
            window: within.len(),
            most: pieces.chunks(together).map(sum).max().unwrap_or(0),
            pieces,
            filters: g.filters,
            batch: g.batch,
            positions,
            image: g.channels / inner * plane,
            together,
            field,
        })
    }

    /// Steps of all taps.
    fn depth(&self) -> usize {
        self.taps.len() * self.inner
    }

    fn width(&self) -> usize {
        self.tiles[0].width
    }

    /// Numbers of a thread.
    fn per_thread(&self) -> usize {
        scratch_bytes::<f32>(self.most * self.width()) / size_of::<f32>()
    }

    /// Scratch numbers: field, weights, threads.
    pub(super) fn scratch(&self) -> [usize; 3] {
        let threads = self.per_thread() * par::threads();
        [self.field.scratch(), self.filters * self.depth(), threads]
    }

    /// How it goes, for people.
    pub(super) fn choice(&self) -> String {
        format!("product of {} by {}", self.filters, self.depth())
    }

    /// Where the weight of each step stands among those of a filter.
    fn places(&self) -> impl Iterator<Item = usize> {
        let (inner, window) = (self.inner, self.window);
        let within = move |first: usize| {
            (0..window).flat_map(move |tap| (0..inner).map(move |k| (first + k) * window + tap))
        };
        (0..self.depth() / window).step_by(inner).flat_map(within)
    }

    /// Orders the weights as tiles read them, those of each filter times its scale.
    pub(super) fn pack(&self, weights: &[f32], scale: Option<&[f32]>, packed: &mut [f32]) {
        let (depth, width) = (self.depth(), self.width());
        let packed = Target::of_slice(packed);
        let grain = (PACKED / (depth * width).max(1)).max(1);
        par::for_ranges(self.filters.div_ceil(width), grain, |panels| {
            for panel in panels {
                let first = panel * width;
                let n = width.min(self.filters - first);
                // SAFETY: panels belong to one task each.
                let to = unsafe { packed.slice(first * depth..(first + n) * depth) };
                let from = &weights[first * depth..];
                if self.window == 1 {
                    transpose((from, depth), (depth, n), (&mut *to, n));
                } else {
                    let mut rows = to.chunks_exact_mut(n);
                    for (place, row) in self.places().zip(&mut rows) {
                        for (f, to) in row.iter_mut().enumerate() {
                            *to = from[f * depth + place];
                        }
                    }
                }
                if let Some(scale) = scale {
                    for row in to.chunks_exact_mut(n) {
                        row.iter_mut()
                            .zip(&scale[first..])
                            .for_each(|(x, &s)| *x *= s);
                    }
                }
            }
        });
    }
}

impl Blocked {
    /// Runs the products of a field with packed weights.
    pub(super) fn run_products(
        &self,
        products: &Products,
        (source, packed): (&[f32], &[f32]),
        threads: &mut [f32],
        finish: &Finish<'_, f32>,
    ) {
        let p = products;
        let blocks = p.pieces.len().div_ceil(p.together);
        let panels = p.filters.div_ceil(p.width());
        let wanted = match par::threads() {
            1 => 1,
            n => (n * TASKS).div_ceil(p.batch * blocks),
        };
        let shares = wanted.min(panels);
        let each = p.per_thread();
        let threads = Target::of_slice(threads);
        par::for_each_slot(p.batch * blocks * shares, |slot, task| {
            // SAFETY: tasks that run at the same time have different slots.
            let sums = unsafe { threads.slice(slot * each..(slot + 1) * each) };
            let (task, share) = (task / shares, task % shares);
            let (image, block) = (task / blocks, task % blocks);
            let pieces = &p.pieces[block * p.together..];
            let pieces = &pieces[..pieces.len().min(p.together)];
            let from = &source[image * p.image..(image + 1) * p.image];
            for panel in share * panels / shares..(share + 1) * panels / shares {
                // SAFETY: positions and filters belong to one task each.
                unsafe { self.fill(p, (from, packed), (image, pieces, panel), sums, finish) };
            }
        });
    }

    /// Computes a panel of filters at some positions of an image.
    ///
    /// # Safety
    /// Nobody else uses what this writes meanwhile.
    unsafe fn fill(
        &self,
        p: &Products,
        (source, packed): (&[f32], &[f32]),
        (image, pieces, panel): (usize, &[Piece], usize),
        sums: &mut [f32],
        finish: &Finish<'_, f32>,
    ) {
        let first = panel * p.width();
        let n = p.width().min(p.filters - first);
        let tiles = p.tiles[usize::from(n < p.width())];
        let plane = p.positions * BLOCK;
        let target = (image * p.filters + first) * p.positions;
        // Of narrower vectors both are of one block.
        let apart = if n > BLOCK { plane } else { BLOCK / 2 };
        let chunks = p.depth().div_ceil(STEPS).max(1);
        let chunk = p.taps.len().div_ceil(chunks).max(1);
        let last = p.taps.chunks(chunk).len().saturating_sub(1);
        for (number, taps) in p.taps.chunks(chunk).enumerate() {
            let from = first * p.depth() + number * chunk * p.inner * n;
            let weights = &packed[from..from + taps.len() * p.inner * n];
            // Those behind are next, and are fetched little by little.
            let share = weights.len() / LINE / (taps.len() * pieces.len());
            let mut ahead = (weights.as_ptr_range().end, share + 1);
            let mut row = 0;
            for piece in pieces {
                let room = &mut sums[row * n..(row + piece.len) * n];
                let at = target + piece.at * BLOCK;
                // SAFETY: taps read within the field, and the tile lies within the result, as it was planned.
                unsafe {
                    let tile = Tile {
                        a: source.as_ptr().add(piece.source),
                        b: weights.as_ptr(),
                        start: if number == 0 {
                            std::ptr::null()
                        } else {
                            room.as_ptr()
                        },
                        sums: if number == last {
                            std::ptr::null_mut()
                        } else {
                            room.as_mut_ptr()
                        },
                        c: (finish.target.at(at), apart),
                        end: self.end(finish, first, at),
                        ahead,
                    };
                    tiles.run(piece.len, taps, &tile);
                }
                row += piece.len;
                ahead.0 = ahead.0.wrapping_add(ahead.1 * taps.len() * LINE);
            }
        }
    }
}

/// What is read, with its border; `inner` channels are neighbours.
fn field(g: &Geometry, inner: usize) -> Field {
    let last = |i: usize| (g.output[i].max(1) - 1) * g.stride[i] + (g.kernel[i] - 1) * g.dilate[i];
    let after = |i: usize| (last(i) + 1).saturating_sub(g.input[i] + g.pad[i]);
    Field::whole(
        g.batch * g.channels / inner,
        [1, g.input[1], g.input[2] * inner],
        [
            [0, g.pad[1], g.pad[2] * inner],
            [0, after(1), after(2) * inner],
        ],
    )
}

/// The tiles of an image, of at most so many positions each, which are neighbours: of one row, or of all, where a
/// position reads what stands at its own place. Rows and columns read what is so far apart.
fn pieces(g: &Geometry, most: usize, steps: [usize; 2]) -> Vec<Piece> {
    let [_, high, wide] = g.output;
    let [rows, columns] = if g.pointwise() {
        [1, high * wide]
    } else {
        [high, wide]
    };
    let of_row = |y: usize| {
        tile_rows(columns, most).map(move |(x, len)| Piece {
            at: y * columns + x,
            len,
            source: y * steps[0] + x * steps[1],
        })
    };
    (0..rows).flat_map(of_row).collect()
}
