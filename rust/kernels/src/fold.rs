//! Reduction of many elements to one in a fixed order: blocks of a fixed size, 32 lanes within a
//! block, and a binary tree over the blocks, whatever the number of threads. Errors of sums grow
//! with the logarithm of the number of blocks.

use crate::loops::GRAIN;
use crate::number::Number;
use crate::par;
use crate::reader::{Parts, Reader, Room};
use crate::vector::versions;
use crate::walk::{Order, Walk};

/// How elements join.
pub(crate) trait Fold<C: Number>: Copy + Send + Sync {
    /// What joins without effect.
    fn start(self) -> C;
    /// What an element contributes.
    fn lift(self, x: C) -> C;
    /// Joins two contributions.
    fn join(self, a: C, b: C) -> C;
}

/// Elements, or rows, of a block.
const BLOCK: usize = Room::LEN;
const ROWS: usize = 64;

/// Columns that are reduced side by side.
const TILE: usize = 1024;

const LANES: usize = 32;

versions! {
    /// Folds one block.
    pub(crate) fn block[C: Number, F: Fold<C>](x: &[C], f: F) -> C [C, F] {
        if x.len() < LANES {
            return x.iter().fold(f.start(), |a, &x| f.join(a, f.lift(x)));
        }
        // In registers as long as every index is known, so the rest has an array of its own.
        let mut lanes = [f.start(); LANES];
        let chunks = x.chunks_exact(LANES);
        let rest = chunks.remainder();
        for chunk in chunks {
            for i in 0..LANES {
                lanes[i] = f.join(lanes[i], f.lift(chunk[i]));
            }
        }
        if !rest.is_empty() {
            let mut all = lanes;
            for (lane, &x) in all.iter_mut().zip(rest) {
                *lane = f.join(*lane, f.lift(x));
            }
            lanes = all;
        }
        let lanes: [C; 16] = std::array::from_fn(|i| f.join(lanes[i], lanes[i + 16]));
        let lanes: [C; 8] = std::array::from_fn(|i| f.join(lanes[i], lanes[i + 8]));
        let lanes: [C; 4] = std::array::from_fn(|i| f.join(lanes[i], lanes[i + 4]));
        f.join(f.join(lanes[0], lanes[2]), f.join(lanes[1], lanes[3]))
    }
}

versions! {
    fn four_rows[C: Number, F: Fold<C>](acc: &mut [C], rows: [&[C]; 4], f: F) [C, F] {
        let n = acc.len();
        let [a, b, c, d] = rows.map(|r| &r[..n]);
        for i in 0..n {
            let low = f.join(f.lift(a[i]), f.lift(b[i]));
            let high = f.join(f.lift(c[i]), f.lift(d[i]));
            acc[i] = f.join(acc[i], f.join(low, high));
        }
    }
}

versions! {
    fn one_row[C: Number, F: Fold<C>](acc: &mut [C], row: &[C], f: F) [C, F] {
        for (a, &x) in acc.iter_mut().zip(row) {
            *a = f.join(*a, f.lift(x));
        }
    }
}

versions! {
    fn merge[C: Number, F: Fold<C>](acc: &mut [C], other: &[C], f: F) [C, F] {
        for (a, &x) in acc.iter_mut().zip(other) {
            *a = f.join(*a, x);
        }
    }
}

/// Partial results of consecutive blocks, joined like the digits of a binary counter.
struct Tree<C> {
    levels: Vec<(usize, Vec<C>)>,
}

impl<C: Number> Tree<C> {
    const fn new() -> Self {
        Tree { levels: Vec::new() }
    }

    fn push<F: Fold<C>>(&mut self, mut part: Vec<C>, f: F) {
        let mut height = 0;
        while let Some((_, mut left)) = self.levels.pop_if(|top| top.0 == height) {
            merge(&mut left, &part, f);
            part = left;
            height += 1;
        }
        self.levels.push((height, part));
    }

    fn finish<F: Fold<C>>(mut self, f: F) -> Option<Vec<C>> {
        let mut part = self.levels.pop()?.1;
        while let Some((_, mut left)) = self.levels.pop() {
            merge(&mut left, &part, f);
            part = left;
        }
        Some(part)
    }
}

/// The same for single values, without allocation: level `i` of 64 holds 2^i blocks.
struct Ladder<C> {
    levels: [C; 64],
    blocks: u64,
}

impl<C: Number> Ladder<C> {
    fn new() -> Self {
        Ladder {
            levels: [C::ZERO; 64],
            blocks: 0,
        }
    }

    fn push<F: Fold<C>>(&mut self, mut part: C, f: F) {
        let height = self.blocks.trailing_ones() as usize;
        for &left in &self.levels[..height] {
            part = f.join(left, part);
        }
        self.levels[height] = part;
        self.blocks += 1;
    }

    fn finish<F: Fold<C>>(&self, f: F) -> C {
        let mut set = (0..64).filter(|i| self.blocks >> i & 1 == 1);
        let Some(first) = set.next() else {
            return f.start();
        };
        set.fold(self.levels[first], |part, i| f.join(self.levels[i], part))
    }
}

/// One reduction: for every position of `kept`, all positions of `reduced` of an input.
pub(crate) struct Space<'a, C> {
    pub(crate) input: Reader<'a, C>,
    pub(crate) kept: Walk<1>,
    pub(crate) reduced: Walk<1>,
}

impl<C: Number> Space<'_, C> {
    /// Reduces to `out`, one element for each position of `kept`. The positions are within the
    /// view that the reader was made for.
    pub(crate) fn fold<F: Fold<C>>(&self, f: F, out: &mut [C]) {
        if self.reduced.total == 0 {
            return out.fill(f.start());
        }
        if out.is_empty() {
            return;
        }
        let [down] = self.reduced.inner_strides();
        let [along] = self.kept.inner_strides();
        if self.kept.inner() > 1 && along.abs() < down.abs() {
            match self.folded() {
                Some(parts) => self.narrow(parts, f, out),
                None => self.columns(f, out),
            }
        } else {
            self.rows(f, out);
        }
    }

    /// Block `index` of the elements of the output at `offset`.
    fn block<F: Fold<C>>(&self, offset: isize, index: usize, room: &mut Room, f: F) -> C {
        let start = index * BLOCK;
        let n = BLOCK.min(self.reduced.total - start);
        // SAFETY: positions of the two walks together lie within the view.
        block(
            unsafe { self.input.read(offset, &self.reduced, start, n, room) },
            f,
        )
    }

    /// For inputs whose reduced elements are near each other.
    fn rows<F: Fold<C>>(&self, f: F, out: &mut [C]) {
        let n = self.reduced.total;
        let blocks = n.div_ceil(BLOCK);
        let outputs = out.len();
        if outputs < 16 && n > GRAIN {
            let mut parts = vec![C::ZERO; outputs * blocks];
            let shared = Parts::new(&mut parts);
            par::for_ranges(outputs * blocks, GRAIN / BLOCK, |range| {
                let mut room = Room::new();
                // SAFETY: tasks have disjoint ranges.
                let parts = unsafe { shared.part(range.start, range.len()) };
                for (unit, part) in range.zip(parts) {
                    let [offset] = self.kept.cursor(unit / blocks).place;
                    *part = self.block(offset, unit % blocks, &mut room, f);
                }
            });
            for (out, parts) in out.iter_mut().zip(parts.chunks_exact(blocks)) {
                let mut ladder = Ladder::new();
                parts.iter().for_each(|&p| ladder.push(p, f));
                *out = ladder.finish(f);
            }
            return;
        }
        let shared = Parts::new(out);
        par::for_ranges(outputs, (GRAIN / n).max(1), |range| {
            let mut room = Room::new();
            let mut cursor = self.kept.cursor(range.start);
            // SAFETY: tasks have disjoint ranges.
            for out in unsafe { shared.part(range.start, range.len()) } {
                let [offset] = cursor.place;
                cursor.advance_in_row(1);
                if blocks == 1 {
                    *out = self.block(offset, 0, &mut room, f);
                    continue;
                }
                let mut ladder = Ladder::new();
                (0..blocks).for_each(|b| ladder.push(self.block(offset, b, &mut room, f), f));
                *out = ladder.finish(f);
            }
        });
    }

    /// For inputs whose kept elements are near each other: many columns side by side.
    fn columns<F: Fold<C>>(&self, f: F, out: &mut [C]) {
        let width = self.kept.inner();
        let tiles = width.div_ceil(TILE);
        let blocks = self.reduced.total.div_ceil(ROWS);
        let units = out.len() / width * tiles;
        let tile = |unit: usize| {
            let start = unit / tiles * width + unit % tiles * TILE;
            (start, TILE.min(width - unit % tiles * TILE))
        };
        let shared = Parts::new(out);
        let size = TILE.min(width) * ROWS;
        let finish = |unit: usize, parts: &mut dyn Iterator<Item = Vec<C>>| {
            let mut tree = Tree::new();
            parts.for_each(|p| tree.push(p, f));
            if let Some(sum) = tree.finish(f) {
                let (start, n) = tile(unit);
                // SAFETY: units have disjoint tiles.
                unsafe { shared.part(start, n) }.copy_from_slice(&sum);
            }
        };
        if units < 16 && blocks > 1 {
            let mut parts: Vec<Vec<C>> = vec![Vec::new(); units * blocks];
            let slots = Parts::new(&mut parts);
            par::for_ranges(units * blocks, (GRAIN / size).max(1), |range| {
                // SAFETY: tasks have disjoint ranges.
                let slots = unsafe { slots.part(range.start, range.len()) };
                for (i, slot) in range.zip(slots) {
                    let (start, n) = tile(i / blocks);
                    *slot = self.column_block(start, n, i % blocks, f);
                }
            });
            let mut parts = parts.into_iter();
            (0..units).for_each(|unit| finish(unit, &mut parts.by_ref().take(blocks)));
            return;
        }
        par::for_ranges(units, (GRAIN / (size * blocks)).max(1), |range| {
            for unit in range {
                let (start, n) = tile(unit);
                finish(
                    unit,
                    &mut (0..blocks).map(|b| self.column_block(start, n, b, f)),
                );
            }
        });
    }

    /// How many rows of a gapless matrix of few columns to take as one, if it is one.
    fn folded(&self) -> Option<usize> {
        let [width, rows] = [&self.kept, &self.reduced].map(Walk::inner);
        let matrix = self.kept.dims.len() == 1
            && self.reduced.dims.len() == 1
            && self.kept.inner_strides() == [1]
            && self.reduced.inner_strides() == [width as isize];
        let parts = TILE / 4 / width;
        (matrix && parts > 1 && rows >= 2 * parts).then_some(parts)
    }

    /// Reduces a matrix of few columns: `parts` consecutive rows count as one wide row, whose parts
    /// are joined at the end, and then the rows left over.
    fn narrow<F: Fold<C>>(&self, parts: usize, f: F, out: &mut [C]) {
        let (width, rows) = (self.kept.inner(), self.reduced.inner());
        let wide = parts * width;
        let [start] = self.kept.offsets;
        let part = |columns: usize, rows: usize, first: usize| {
            let step = columns as isize;
            let mut kept = Walk::new(&[columns], [&[1]], Order::Kept);
            kept.offsets = [start + self.reduced.offsets[0] + (first * width) as isize];
            let reduced = Walk::new(&[rows], [&[step]], Order::Kept);
            Space {
                input: self.input,
                kept,
                reduced,
            }
        };
        let mut sums = vec![f.start(); wide];
        part(wide, rows / parts, 0).columns(f, &mut sums);
        let (first, others) = sums.split_at(width);
        out.copy_from_slice(first);
        others
            .chunks_exact(width)
            .for_each(|other| merge(out, other, f));
        let left = rows % parts;
        if left > 0 {
            let mut sums = vec![f.start(); width];
            part(width, left, rows - left).columns(f, &mut sums);
            merge(out, &sums, f);
        }
    }

    /// Block `index` of the rows of `n` columns from position `start` of `kept` on.
    fn column_block<F: Fold<C>>(&self, start: usize, n: usize, index: usize, f: F) -> Vec<C> {
        let mut acc = vec![f.start(); n];
        let first = index * ROWS;
        let rows = ROWS.min(self.reduced.total - first);
        let mut cursor = self.reduced.cursor(first);
        let mut rooms = [const { Room::new() }; 4];
        let mut left = rows;
        while left > 0 {
            let group = if left >= 4 { 4 } else { 1 };
            let offsets: [isize; 4] = std::array::from_fn(|i| {
                let [offset] = cursor.place;
                if i < group {
                    cursor.advance_in_row(1);
                }
                offset
            });
            let [a, b, c, d] = &mut rooms;
            // SAFETY: positions of the two walks together lie within the view.
            let read =
                |i: usize, room| unsafe { self.input.read(offsets[i], &self.kept, start, n, room) };
            if group == 4 {
                let rows = [read(0, a), read(1, b), read(2, c), read(3, d)];
                four_rows(&mut acc, rows, f);
            } else {
                one_row(&mut acc, read(0, a), f);
            }
            left -= group;
        }
        acc
    }
}
