//! Reduction of many elements to one in a fixed order: blocks of a fixed size, a fixed number of lanes
//! within a block, and a binary tree over the blocks, whatever the number of threads. Errors of sums
//! grow with the logarithm of the number of blocks.

pub(crate) mod axes;
mod block;
pub(crate) mod sums;

use crate::iter::reader::{Parts, ReadBuffer, Reader};
use crate::iter::walk::{Cursor, Order, Walk};
use crate::loops::GRAIN;
use crate::par;
use crate::simd::number::Number;
use block::{Ladder, Tree, add_rows, each_row, each_short_row, merge};
pub(crate) use block::{Rows, block, inner_block, lanes_of};
use ferromix_base::DType;

/// How elements join.
pub(crate) trait Fold<C: Number>: Copy + Send + Sync {
    /// Whether [`Fold::quick`] leaves out what is not a number.
    const SKIPS_NAN: bool = false;
    /// What joins without effect.
    fn start(self) -> C;
    /// What an element contributes.
    fn lift(self, x: C) -> C;
    /// Joins two contributions.
    fn join(self, a: C, b: C) -> C;
    /// As [`Fold::join`] of numbers; NaN may be left out.
    #[inline(always)]
    fn quick(self, a: C, b: C) -> C {
        self.join(a, b)
    }
    /// The fold of a block, computed in single precision, where that is nearly as good.
    #[inline(always)]
    fn in_short(self, _block: &[f32]) -> Option<C> {
        None
    }
}

/// Elements, or rows, of a block.
const BLOCK: usize = ReadBuffer::LEN;
const ROWS: usize = 64;
/// Rows that are joined before they are added to those before.
const GROUP: usize = 8;

/// Columns that are reduced side by side: runs of memory that are long enough to be fetched ahead, with
/// accumulators that stay in the first-level cache; fewer where they are collected first.
const TILE: usize = 4096;
const NARROW: usize = ReadBuffer::LEN;

/// Blocks of a row whose results are kept until they are joined.
const PARTS: usize = 64;

/// One reduction: for every position of `kept`, all positions of `reduced` of an input.
pub(crate) struct Space<'a, C> {
    pub(crate) input: Reader<'a, C>,
    pub(crate) kept: &'a Walk<1>,
    pub(crate) reduced: &'a Walk<1>,
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

    /// Blocks `first..` of the elements of the output at `offset`, each folded to an element of `out`.
    fn blocks<F: Fold<C>>(
        &self,
        offset: isize,
        first: usize,
        out: &mut [C],
        buffer: &mut ReadBuffer,
        f: F,
    ) {
        let left = self.reduced.total - first * BLOCK;
        let whole = out.len().min(left / BLOCK);
        let at = offset + (first * BLOCK) as isize;
        let (full, last) = out.split_at_mut(whole);
        if self.run_rows(at, BLOCK as isize, BLOCK, full, f) {
            let at = at + (whole * BLOCK) as isize;
            self.run_rows(at, 0, left - whole * BLOCK, last, f);
            return;
        }
        for (i, out) in full.iter_mut().chain(last).enumerate() {
            let n = BLOCK.min(left - i * BLOCK);
            // SAFETY: positions of the two walks together lie within the view.
            let run = unsafe {
                let start = (first + i) * BLOCK;
                self.input.read(offset, self.reduced, start, n, buffer)
            };
            *out = block(run, f);
        }
    }

    /// Folds rows of `n` elements, from `at` on and `step` apart, if the reduced elements lie without
    /// gaps and the type suits.
    fn run_rows<F: Fold<C>>(&self, at: isize, step: isize, n: usize, out: &mut [C], f: F) -> bool {
        if self.reduced.dims.len() > 1 || self.reduced.strides[0] != [1] {
            return false;
        }
        let at = at + self.reduced.offsets[0];
        if let Some(x) = self.input.plain::<C>() {
            let first = x.wrapping_offset(at);
            each_row(Rows { first, step, n }, out, f);
        } else if let (DType::F64, Some(x)) = (C::DTYPE, self.input.plain::<f32>()) {
            let first = x.wrapping_offset(at);
            each_short_row(Rows { first, step, n }, out, f);
        } else {
            return false;
        }
        true
    }

    /// One output: the row at `offset`.
    fn row<F: Fold<C>>(&self, offset: isize, buffer: &mut ReadBuffer, f: F) -> C {
        let blocks = self.reduced.total.div_ceil(BLOCK);
        let mut ladder = Ladder::new();
        let mut parts = [C::ZERO; PARTS];
        for first in (0..blocks).step_by(PARTS) {
            let parts = &mut parts[..PARTS.min(blocks - first)];
            self.blocks(offset, first, parts, buffer, f);
            parts.iter().for_each(|&p| ladder.push(p, f));
        }
        ladder.finish(f)
    }

    /// For inputs whose reduced elements are near each other.
    fn rows<F: Fold<C>>(&self, f: F, out: &mut [C]) {
        let n = self.reduced.total;
        let blocks = n.div_ceil(BLOCK);
        if out.len() < 16 && n > GRAIN {
            return self.long_rows(blocks, f, out);
        }
        let outputs = out.len();
        let shared = Parts::new(out);
        par::for_ranges(outputs, (GRAIN / n).max(1), |range| {
            let mut buffer = ReadBuffer::new();
            let mut cursor = self.kept.cursor(range.start);
            // SAFETY: tasks have disjoint ranges.
            let out = unsafe { shared.part(range.start, range.len()) };
            let evenly = blocks == 1 && self.kept.dims.len() == 1;
            let [step] = self.kept.inner_strides();
            if evenly && self.run_rows(cursor.place[0], step, n, out, f) {
                return;
            }
            if self.whole_blocks() {
                return self.rows_of_blocks(cursor.place[0], blocks, out, f);
            }
            for out in out {
                let [offset] = cursor.place;
                cursor.advance_in_row(1);
                if blocks == 1 {
                    self.blocks(offset, 0, std::slice::from_mut(out), &mut buffer, f);
                } else {
                    *out = self.row(offset, &mut buffer, f);
                }
            }
        });
    }

    /// Whether rows of several whole blocks follow each other without gaps.
    fn whole_blocks(&self) -> bool {
        let n = self.reduced.total;
        let plain = self.input.plain::<C>().is_some();
        let rows = self.kept.dims.len() == 1 && self.kept.strides[0] == [n as isize];
        let gapless = self.reduced.dims.len() == 1 && self.reduced.strides[0] == [1];
        plain && rows && gapless && n.is_multiple_of(BLOCK) && (2..=PARTS).contains(&(n / BLOCK))
    }

    /// Such rows of a task, which are [`PARTS`] blocks at most, from `at` on: what the processor fetches
    /// ahead at the end of a row is then of use.
    fn rows_of_blocks<F: Fold<C>>(&self, at: isize, blocks: usize, out: &mut [C], f: F) {
        const { assert!(GRAIN / BLOCK <= PARTS) };
        let mut parts = [C::ZERO; PARTS];
        let parts = &mut parts[..out.len() * blocks];
        self.run_rows(at, BLOCK as isize, BLOCK, parts, f);
        for (out, parts) in out.iter_mut().zip(parts.chunks_exact(blocks)) {
            let mut ladder = Ladder::new();
            parts.iter().for_each(|&p| ladder.push(p, f));
            *out = ladder.finish(f);
        }
    }

    /// The same for few outputs of many elements: blocks are shared among threads.
    fn long_rows<F: Fold<C>>(&self, blocks: usize, f: F, out: &mut [C]) {
        let chunks = blocks.div_ceil(PARTS);
        let mut parts = vec![C::ZERO; out.len() * blocks];
        let shared = Parts::new(&mut parts);
        par::for_each(out.len() * chunks, |unit| {
            let (output, first) = (unit / chunks, unit % chunks * PARTS);
            let [offset] = self.kept.cursor(output).place;
            let n = PARTS.min(blocks - first);
            // SAFETY: units are disjoint.
            let parts = unsafe { shared.part(output * blocks + first, n) };
            self.blocks(offset, first, parts, &mut ReadBuffer::new(), f);
        });
        for (out, parts) in out.iter_mut().zip(parts.chunks_exact(blocks)) {
            let mut ladder = Ladder::new();
            parts.iter().for_each(|&p| ladder.push(p, f));
            *out = ladder.finish(f);
        }
    }

    /// For inputs whose kept elements are near each other: many columns side by side.
    fn columns<F: Fold<C>>(&self, f: F, out: &mut [C]) {
        let width = self.kept.inner();
        let direct = self.kept.inner_strides() == [1] && self.input.plain::<C>().is_some();
        let most = if direct { TILE } else { NARROW };
        if out.len() == width && width <= most && self.reduced.total <= ROWS {
            out.fill(f.start());
            return self.add_block(0, out, 0, f);
        }
        let tiles = width.div_ceil(most);
        let blocks = self.reduced.total.div_ceil(ROWS);
        let units = out.len() / width * tiles;
        let tile = |unit: usize| {
            let start = unit / tiles * width + unit % tiles * most;
            (start, most.min(width - unit % tiles * most))
        };
        let shared = Parts::new(out);
        let size = most.min(width) * ROWS;
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
                if blocks == 1 {
                    // SAFETY: as above.
                    let acc = unsafe { shared.part(start, n) };
                    acc.fill(f.start());
                    self.add_block(start, acc, 0, f);
                } else {
                    let block = |b| self.column_block(start, n, b, f);
                    finish(unit, &mut (0..blocks).map(block));
                }
            }
        });
    }

    /// Block `index` of the rows of `n` columns from position `start` of `kept` on.
    fn column_block<F: Fold<C>>(&self, start: usize, n: usize, index: usize, f: F) -> Vec<C> {
        let mut acc = vec![f.start(); n];
        self.add_block(start, &mut acc, index, f);
        acc
    }

    /// Joins the same to `acc`.
    fn add_block<F: Fold<C>>(&self, start: usize, acc: &mut [C], index: usize, f: F) {
        let (n, first) = (acc.len(), index * ROWS);
        let rows = ROWS.min(self.reduced.total - first);
        let cursor = self.reduced.cursor(first);
        let direct = self.kept.inner_strides() == [1] && self.reduced.dims.len() == 1;
        if let (true, Some(x)) = (direct, self.input.plain::<C>()) {
            let place = cursor.place[0] + self.kept.cursor(start).place[0];
            let [step] = self.reduced.inner_strides();
            let first = x.wrapping_offset(place);
            let there = Rows { first, step, n };
            return add_rows(acc, rows, |i| there.get(i), f);
        }
        self.add_collected(start, acc, (cursor, rows), f);
    }

    /// The same for rows that are collected first: apart, as scratch memory for them takes time to enter.
    #[inline(never)]
    fn add_collected<F: Fold<C>>(
        &self,
        start: usize,
        acc: &mut [C],
        (mut cursor, rows): (Cursor<'_, 1>, usize),
        f: F,
    ) {
        let n = acc.len();
        let mut buffers = [const { ReadBuffer::new() }; GROUP];
        let buffers = buffers.as_mut_ptr();
        let row = |i: usize| {
            let [offset] = cursor.place;
            cursor.advance_in_row(1);
            // SAFETY: positions of the two walks together lie within the view; a buffer is used again
            // when its group is over.
            unsafe {
                let buffer = &mut *buffers.add(i % GROUP);
                self.input.read(offset, self.kept, start, n, buffer)
            }
        };
        add_rows(acc, rows, row, f);
    }

    /// How many rows of a gapless matrix of few columns to take as one, if it is one.
    fn folded(&self) -> Option<usize> {
        let [width, rows] = [self.kept, self.reduced].map(Walk::inner);
        let matrix = self.kept.dims.len() == 1
            && self.reduced.dims.len() == 1
            && self.kept.inner_strides() == [1]
            && self.reduced.inner_strides() == [width as isize];
        let parts = NARROW / 4 / width;
        (matrix && parts > 1 && rows >= 2 * parts).then_some(parts)
    }

    /// Reduces a matrix of few columns: `parts` consecutive rows count as one wide row, whose parts
    /// are joined at the end, and then the rows left over.
    fn narrow<F: Fold<C>>(&self, parts: usize, f: F, out: &mut [C]) {
        let (width, rows) = (self.kept.inner(), self.reduced.inner());
        let wide = parts * width;
        let [start] = self.kept.offsets;
        let fold = |columns: usize, rows: usize, first: usize, out: &mut [C]| {
            let place = start + self.reduced.offsets[0] + (first * width) as isize;
            let step = columns as isize;
            if let (true, Some(x)) = (rows <= ROWS, self.input.plain::<C>()) {
                let (first, n) = (x.wrapping_offset(place), columns);
                let there = Rows { first, step, n };
                // `out` has what joins without effect.
                return add_rows(out, rows, |i| there.get(i), f);
            }
            let mut kept = Walk::new(&[columns], [&[1]], Order::Kept);
            kept.offsets = [place];
            let space = Space {
                input: self.input,
                kept: &kept,
                reduced: &Walk::new(&[rows], [&[step]], Order::Kept),
            };
            space.columns(f, out);
        };
        let mut buffer = [f.start(); NARROW / 4];
        let sums = &mut buffer[..wide];
        fold(wide, rows / parts, 0, sums);
        let (first, others) = sums.split_at(width);
        out.copy_from_slice(first);
        others
            .chunks_exact(width)
            .for_each(|other| merge(out, other, f));
        let left = rows % parts;
        if left > 0 {
            let sums = &mut buffer[..width];
            sums.fill(f.start());
            fold(width, left, rows - left, sums);
            merge(out, sums, f);
        }
    }
}
