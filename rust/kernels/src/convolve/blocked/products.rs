//! Convolutions of all channels as products of positions with filters.

use super::order::Order;
use super::pieces::{Cut, Part, Piece};
use super::tile::{LINE, Tile, Tiles};
use super::words::Words;
use super::{BLOCK, Blocked, Field, Finish, Geometry, Target, par};
use crate::blocks::raw::scratch_bytes;
use crate::convolve::winograd::channels::bordered;
use crate::linalg::amx;

/// Steps of a panel of weights that are multiplied with all positions of a task before the next ones: they stay
/// in the first-level cache.
const STEPS: usize = 128;
/// Numbers that the positions of a task read, about: they stay in the second-level cache.
const READ: usize = 1 << 16;
/// Fewest and most positions of a task, about.
const FEWEST: usize = 28;
const MOST: usize = 512;
/// Tasks of each thread, where there are so many panels.
const TASKS: usize = 8;
/// Weights that stay in a thread's second-level cache while positions pass by, about. Where there are more, all
/// positions are multiplied with some before the next ones.
const STAY: usize = 1 << 18;
/// Blocks of filters of a tile, where all filters are so many at a time, and each thread has a task yet.
const WIDE: usize = 4;
/// Most positions of a piece for the matrix unit.
const PIECE: usize = amx::ROWS;

/// A convolution as products.
pub(super) struct Products<T: 'static> {
    field: Field,
    /// Whether planes of the data become blocks of the field.
    turns: bool,
    /// For whole panels of filters, and for a last one of one block.
    tiles: [Tiles<T>; 2],
    /// Whether the matrix unit makes sums of up to two pieces at a time.
    unit: bool,
    pub(super) order: Order,
    /// Words that a tap reads, which are neighbours.
    inner: usize,
    /// Words from a position to the next one.
    step: usize,
    /// Where each tap reads, the first of its words, from the start of the field on; in front of it, too, where
    /// pieces leave out what reads nothing.
    taps: Vec<usize>,
    parts: Vec<Part>,
    /// The tiles of an image.
    pieces: Vec<Piece>,
    filters: usize,
    batch: usize,
    /// Positions of an image of the result, and elements of one of the field.
    positions: usize,
    image: usize,
    /// Tiles of a task, and its most positions.
    together: usize,
    most: usize,
}

impl<T: Words> Products<T> {
    /// Of data in blocks, or of planes. Nothing where there are no tiles for it.
    pub(super) fn of(g: &Geometry, blocked: bool) -> Option<Self> {
        let mut order = Order::of::<T>(g, blocked);
        let words = |elements: isize| (elements / T::IN_WORD as isize) as usize;
        let inner = order.block * order.joined / T::IN_WORD;
        let step = g.stride[2] * order.block / T::IN_WORD;
        let unit = T::has_unit();
        let positions = g.output[1] * g.output[2];
        let read = g.channels * g.stride[1] * g.stride[2] / T::IN_WORD;
        let wanted = (READ / read.max(1)).clamp(FEWEST, MOST);
        let blocks = positions.div_ceil(wanted).max(1);
        let tiles = tiles(g, (step, inner), blocks)?;
        let rows = if unit { PIECE } else { tiles[0].most_rows };
        let steps = (!unit && order.joined == 1).then_some(STEPS.min(order.blocks() * inner));
        let mut cut = Cut::of(g, rows, steps);
        order.by_places = cut.skips;
        let field = field(g, &order, cut.border);
        let (plane, row) = (field.plane(), field.steps()[1]);
        let place = |block: usize, tap: [usize; 3]| {
            let from = |i: usize| {
                (tap[i] * g.dilate[i] + cut.border[i - 1][0]) as isize - g.pad[i] as isize
            };
            let within = from(1) * row as isize + from(2) * order.block as isize;
            words((block * plane) as isize + within)
        };
        let taps: Vec<_> = if order.by_places {
            let blocks = |tap| (0..order.blocks()).map(move |block| place(block, tap));
            g.positions().flat_map(blocks).collect()
        } else {
            let window = |block| {
                g.positions()
                    .step_by(order.joined)
                    .map(move |tap| place(block, tap))
            };
            (0..order.blocks()).flat_map(window).collect()
        };
        let parts = parts(g, &order, (taps.len(), inner));
        for piece in &mut cut.pieces {
            piece.place([g.stride[1] * row / T::IN_WORD, step]);
            piece.note(&parts);
        }
        let pieces = cut.pieces;
        let together = pieces.len().div_ceil(blocks).max(1);
        let sum = |some: &[Piece]| some.iter().map(|p| p.len).sum();
        Some(Products {
            turns: !blocked && T::IN_WORD > 1,
            tiles,
            unit,
            order,
            inner,
            step,
            taps,
            parts,
            most: pieces.chunks(together).map(sum).max().unwrap_or(0),
            pieces,
            filters: g.filters,
            batch: g.batch,
            positions,
            image: order.blocks() * plane,
            together,
            field,
        })
    }

    /// Words of all taps.
    fn depth(&self) -> usize {
        self.taps.len() * self.inner
    }

    fn width(&self) -> usize {
        self.tiles[0].width
    }

    /// Filters, and how many of them a panel of weights has.
    pub(super) fn panels(&self) -> (usize, usize) {
        (self.filters, self.width())
    }

    /// Numbers of sums of a thread.
    fn per_thread(&self) -> usize {
        scratch_bytes::<f32>(self.most * self.width()) / size_of::<f32>()
    }

    /// Scratch elements of the field, and numbers of weights and of threads.
    pub(super) fn scratch(&self) -> [usize; 3] {
        let field = match self.turns {
            true => self.batch * self.image,
            false => self.field.scratch(),
        };
        let threads = self.per_thread() * par::threads();
        [field, self.filters * self.depth(), threads]
    }

    /// How it goes, for people.
    pub(super) fn choice(&self) -> String {
        let unit = if self.unit {
            ", by the matrix unit"
        } else {
            ""
        };
        format!(
            "product of {} by {}{unit}",
            self.filters,
            self.depth() * T::IN_WORD
        )
    }

    /// What is read, with its border, from the data.
    pub(super) fn fill_field<'a>(&self, data: &'a [T], room: &'a mut [T]) -> &'a [T] {
        if !self.turns {
            return self.field.fill(data, room);
        }
        let (block, channels) = (self.order.block, self.order.channels);
        let (f, blocks) = (&self.field, self.order.blocks());
        let size = [f.inner[1], f.inner[2] / block];
        let plane = size[0] * size[1];
        let border = [f.before[1], f.before[2] / block];
        let extents = [f.extents()[1], f.extents()[2] / block];
        bordered((block, size), (border, extents), room, |image, y, to| {
            let first = image % blocks * block;
            let n = block.min(channels - first);
            let at = (image / blocks * channels + first) * plane + y * size[1];
            if n == block {
                return T::turn((&data[at..], plane), (size[1], block), to);
            }
            to.fill(T::zero());
            for c in 0..n {
                let from = &data[at + c * plane..][..size[1]];
                let to = to[c..].iter_mut().step_by(block);
                to.zip(from).for_each(|(to, &x)| *to = x);
            }
        });
        room
    }
}

impl<T: Words> Blocked<T> {
    /// Runs the products of a field with packed weights.
    pub(super) fn run_products(
        &self,
        products: &Products<T>,
        (source, packed): (&[T], &[f32]),
        threads: &mut [f32],
        finish: &Finish<'_, T>,
    ) {
        let p = products;
        let blocks = p.pieces.len().div_ceil(p.together);
        let panels = p.filters.div_ceil(p.width());
        let wanted = match par::threads() {
            1 => 1,
            n => (n * TASKS).div_ceil(p.batch * blocks),
        };
        let shares = wanted.max(packed.len().div_ceil(STAY)).min(panels);
        let each = p.per_thread();
        let threads = Target::of_slice(threads);
        par::for_each_slot(p.batch * blocks * shares, |slot, task| {
            // SAFETY: tasks that run at the same time have different slots.
            let sums = unsafe { threads.slice(slot * each..(slot + 1) * each) };
            let (share, task) = (task / (p.batch * blocks), task % (p.batch * blocks));
            let (image, block) = (task / blocks, task % blocks);
            let pieces = &p.pieces[block * p.together..];
            let pieces = &pieces[..pieces.len().min(p.together)];
            let from = &source[image * p.image..(image + 1) * p.image];
            let mut unit = if p.unit { amx::Unit::take() } else { None };
            for panel in share * panels / shares..(share + 1) * panels / shares {
                let place = (image, pieces, panel);
                // SAFETY: positions and filters belong to one task each.
                unsafe { self.fill(p, (from.as_ptr(), packed), place, (sums, &mut unit), finish) };
            }
        });
    }

    /// Computes a panel of filters at some positions of an image.
    ///
    /// # Safety
    /// The image of the field is at `source`; nobody else uses what this writes meanwhile.
    unsafe fn fill(
        &self,
        p: &Products<T>,
        (source, packed): (*const T, &[f32]),
        (image, pieces, panel): (usize, &[Piece], usize),
        (sums, unit): (&mut [f32], &mut Option<amx::Unit>),
        finish: &Finish<'_, T>,
    ) {
        let first = panel * p.width();
        let n = p.width().min(p.filters - first);
        let tiles = &p.tiles[usize::from(n < p.width())];
        let plane = p.positions * BLOCK;
        let target = (image * p.filters + first) * p.positions;
        // Of narrower vectors both are of one block.
        let apart = if n > BLOCK { plane } else { BLOCK / 2 };
        let last = p.parts.len().saturating_sub(1);
        for (number, part) in p.parts.iter().enumerate() {
            let mut taps = &p.taps[part.taps[0]..part.taps[1]];
            let from = first * p.depth() + part.taps[0] * p.inner * n;
            let weights = &packed[from..from + taps.len() * p.inner * n];
            if let Some(unit) = unit {
                let factors = (source, taps, weights);
                // SAFETY: as the caller vouches.
                unsafe { p.sum_by_unit(unit, factors, pieces, (n, number > 0, sums)) };
                if number < last {
                    continue;
                }
                // All is added; what is left is what becomes of it.
                taps = &[];
            }
            // Those behind are next, and are fetched little by little.
            let share = weights.len() / LINE / (taps.len() * pieces.len()).max(1);
            let mut ahead = (weights.as_ptr_range().end, share + 1);
            let mut row = 0;
            for (piece, start, len) in pieces.iter().flat_map(|p| p.tiles(tiles.most_rows)) {
                let room = &mut sums[row * n..(row + len) * n];
                row += len;
                let taps = match piece.reads(part) {
                    true => taps,
                    // Nothing is added, but to what reads nothing at all.
                    false if piece.ends == [number; 2] => &[],
                    false => continue,
                };
                let at = target + (piece.at + start) * BLOCK;
                // SAFETY: taps read within the field, and the tile lies within the result, as it was planned.
                unsafe {
                    let tile = Tile {
                        a: (
                            (source.cast::<f32>()).wrapping_add(piece.source + start * p.step),
                            p.inner,
                        ),
                        b: weights.as_ptr(),
                        start: if number == piece.ends[0] && unit.is_none() {
                            std::ptr::null()
                        } else {
                            room.as_ptr()
                        },
                        sums: if number == piece.ends[1] {
                            std::ptr::null_mut()
                        } else {
                            room.as_mut_ptr()
                        },
                        c: (finish.target.at(at), apart),
                        end: self.end(finish, first, at),
                        ahead,
                    };
                    tiles.run(len, taps, &tile);
                }
                ahead.0 = ahead.0.wrapping_add(ahead.1 * taps.len() * LINE);
            }
        }
    }
}

impl<T: Words> Products<T> {
    /// Writes sums of pieces, or adds to them, by the matrix unit: a row of `n` for each position.
    ///
    /// # Safety
    /// The image of the field is at `source`.
    unsafe fn sum_by_unit(
        &self,
        unit: &mut amx::Unit,
        (source, taps, weights): (*const T, &[usize], &[f32]),
        pieces: &[Piece],
        (n, add, sums): (usize, bool, &mut [f32]),
    ) {
        let mut row = 0;
        for two in pieces.chunks(2) {
            let rows = |piece: &Piece| (source.cast::<u32>().wrapping_add(piece.source), piece.len);
            let second = two.get(1).map_or((std::ptr::null(), 0), rows);
            let count = two[0].len + second.1;
            let factors = amx::Factors {
                a: [rows(&two[0]), second],
                step: self.step * size_of::<u32>(),
                taps,
                pairs: self.inner,
                b: weights.as_ptr(),
                columns: n,
            };
            let room = &mut sums[row * n..(row + count) * n];
            // SAFETY: taps read within the field, as it was planned; there is room for all sums.
            unsafe { unit.multiply(&factors, add, room.as_mut_ptr()) };
            row += count;
        }
    }
}

/// The tiles for whole panels, and for a last one of one block, of an image whose positions are so many tasks.
fn tiles<T: Words>(
    g: &Geometry,
    (step, inner): (usize, usize),
    blocks: usize,
) -> Option<[Tiles<T>; 2]> {
    let of = |blocks| T::tiles(step, inner, blocks);
    let fits = |width: usize| {
        let tasks = g.batch * blocks * (g.filters / width);
        g.filters.is_multiple_of(width) && tasks >= par::threads()
    };
    let wide = match of(WIDE) {
        Some(tiles) if !T::has_unit() && fits(tiles.width) => tiles,
        _ => of(2)?,
    };
    Some([wide, of(1)?])
}

/// What is read, with its border: elements of blocks of channels.
fn field(g: &Geometry, order: &Order, [down, across]: [[usize; 2]; 2]) -> Field {
    let block = order.block;
    let border = [0, 1].map(|i| [0, down[i], across[i] * block]);
    let inner = [1, g.input[1], g.input[2] * block];
    Field::whole(g.batch * order.blocks(), inner, border)
}

/// Taps in parts of about as many steps, each at one place of the kernel where they are ordered by these.
fn parts(g: &Geometry, order: &Order, (taps, inner): (usize, usize)) -> Vec<Part> {
    let each = if order.by_places {
        order.blocks()
    } else {
        taps
    };
    let count = (each * inner).div_ceil(STEPS).max(1);
    let chunk = each.div_ceil(count).max(1);
    let of_place = |first: usize| {
        let tap = [first / each / g.kernel[2], first / each % g.kernel[2]];
        let tap = order.by_places.then_some(tap);
        (0..each).step_by(chunk).map(move |at| Part {
            taps: [first + at, first + each.min(at + chunk)],
            tap,
        })
    };
    (0..taps).step_by(each.max(1)).flat_map(of_place).collect()
}
