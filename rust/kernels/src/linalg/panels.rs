//! Products of packed rows with packed columns, on the tiles of this crate. Where rows are new at each
//! step and the columns stay, as in recurrent networks, these are packed once.

use crate::blocks::raw::Target;
use crate::copy::transpose::transpose;
use crate::linalg::ends::Start;
use crate::linalg::tile::{Lines, Tiled, Tiles, tile_rows};
use crate::math::real::Real;
use crate::par;
use crate::simd::vector::multiversion;
use smallvec::SmallVec;
use std::ops::Range;

/// Rows that a task takes at once, about.
const ROWS: usize = 48;

/// Multiplications that are worth a task.
const GRAIN: usize = 1 << 17;

/// Blocks of which lines are packed together.
const TOGETHER: usize = 8;

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Bytes of a page. Rows that are pages apart push each other out of the first-level cache.
pub(super) const PAGE: usize = 4096;

/// Numbers packed by a task.
const PACK_GRAIN: usize = 16_384;

/// Rows, cut into tiles and the tiles into chunks. Packed, they are a panel for each tile.
pub(crate) struct Rows {
    tiles: Vec<(usize, usize)>,
    together: usize,
}

impl Rows {
    pub(crate) fn new<T: Tiled>(tiles: &Tiles<T>, rows: usize) -> Self {
        Rows {
            tiles: tile_rows(rows, tiles.most_rows).collect(),
            together: tiles.together,
        }
    }

    pub(crate) fn chunks(&self) -> usize {
        self.tiles.len().div_ceil(self.together)
    }

    pub(crate) fn tiles(&self, chunk: usize) -> &[(usize, usize)] {
        let first = chunk * self.together;
        &self.tiles[first..self.tiles.len().min(first + self.together)]
    }

    /// The rows of a chunk.
    pub(crate) fn range(&self, chunk: usize) -> Range<usize> {
        match self.tiles(chunk) {
            [] => 0..0,
            [first, .., last] => first.0..last.0 + last.1,
            [only] => only.0..only.0 + only.1,
        }
    }

    /// Packs `depth` columns of a chunk of a matrix of which element `(row, k)` stands at the sum of these
    /// times `steps`.
    pub(crate) fn pack_from<T: Tiled>(
        &self,
        chunk: usize,
        from: &[T],
        steps: [usize; 2],
        (packed, depth): (&mut [T], usize),
    ) {
        let start = self.range(chunk).start;
        for &(row, n) in self.tiles(chunk) {
            let panel = &mut packed[(row - start) * depth..][..n * depth];
            if steps[0] == 1 {
                for (k, column) in panel.chunks_exact_mut(n).enumerate() {
                    column.copy_from_slice(&from[row + k * steps[1]..][..n]);
                }
                continue;
            }
            if steps[1] == 1 {
                let lines = (&from[row * steps[0]..], steps[0]);
                transpose(lines, (depth, n), (panel, n));
                continue;
            }
            for r in 0..n {
                let line = from[(row + r) * steps[0]..].iter().step_by(steps[1].max(1));
                let column = panel[r..].iter_mut().step_by(n);
                column.zip(line).for_each(|(to, &x)| *to = x);
            }
        }
    }
}

/// The rows of a chunk: packed alone, or a whole matrix as it lies, with the distance between its rows.
#[derive(Clone, Copy)]
pub(crate) enum Left<'a, T> {
    Packed(&'a [T]),
    Lines(&'a [T], usize),
}

/// How far apart to put rows of `width` numbers that products read as they lie.
pub(crate) fn apart<T>(width: usize) -> usize {
    let size = size_of::<T>();
    if (width * size).is_multiple_of(PAGE) {
        width + LINE / size
    } else {
        width
    }
}

/// A matrix of `depth` rows and `groups * columns` columns, packed.
#[derive(Clone, Copy)]
pub(crate) struct Panels<'a, T: 'static> {
    data: &'a [T],
    shape: Shape,
    tiles: Tiles<T>,
}

/// Its sizes.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) groups: usize,
    pub(crate) columns: usize,
    pub(crate) depth: usize,
    width: usize,
}

impl Shape {
    pub(crate) fn new<T: Tiled>(
        tiles: &Tiles<T>,
        groups: usize,
        columns: usize,
        depth: usize,
    ) -> Self {
        Shape {
            groups,
            columns,
            depth,
            width: tiles.width,
        }
    }

    /// Blocks of columns.
    pub(crate) fn blocks(&self) -> usize {
        self.columns.div_ceil(self.width)
    }

    /// The columns of a block.
    pub(crate) fn range(&self, block: usize) -> Range<usize> {
        let first = block * self.width;
        first..self.columns.min(first + self.width)
    }

    /// Columns that a product has room for.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Numbers of the packed matrix.
    pub(crate) fn size(&self) -> usize {
        self.blocks() * self.groups * self.depth * self.width
    }

    /// Blocks of rows and columns that are worth a task together.
    pub(crate) fn grain(&self, rows: usize) -> usize {
        let work = rows.min(ROWS) * self.groups * self.depth * self.width;
        GRAIN / work.max(1)
    }

    /// Packs the matrix of which element `(k, g, j)` stands at the sum of these times `steps`.
    pub(crate) fn pack<T: Tiled>(&self, from: &[T], steps: [usize; 3], to: &mut [T]) {
        let (to, panel) = (Target::of_slice(to), self.depth * self.width);
        let together = if steps[2] == 1 { TOGETHER } else { 1 };
        let across = self.blocks().div_ceil(together);
        let grain = PACK_GRAIN / (panel * together).max(1);
        par::for_ranges(across * self.groups, grain, |range| {
            for i in range {
                let (first, group) = (i / self.groups * together, i % self.groups);
                let blocks = first..self.blocks().min(first + together);
                let from = &from[group * steps[1]..];
                // SAFETY: each panel belongs to one task.
                let panel = |block: usize| unsafe {
                    let at = (block * self.groups + group) * panel;
                    to.slice(at..at + panel)
                };
                if steps[2] == 1 {
                    self.pack_lines(from, steps[0], blocks, panel);
                } else {
                    blocks.for_each(|block| self.pack_block(from, steps, block, panel(block)));
                }
            }
        });
    }

    /// Packs blocks of rows that run along the columns: of each row all blocks, as they are neighbours.
    fn pack_lines<'a, T: Tiled>(
        &self,
        from: &[T],
        step: usize,
        blocks: Range<usize>,
        panel: impl Fn(usize) -> &'a mut [T],
    ) {
        let whole = blocks.end.min(self.columns / self.width);
        let mut panels: SmallVec<[&mut [T]; TOGETHER]> =
            (blocks.start..whole).map(&panel).collect();
        let first = &from[self.range(blocks.start).start..];
        pack_whole(first, step, (self.depth, self.width), &mut panels);
        for block in whole..blocks.end {
            let columns = self.range(block);
            for (k, to) in panel(block).chunks_exact_mut(self.width).enumerate() {
                let (to, rest) = to.split_at_mut(columns.len());
                to.copy_from_slice(&from[k * step + columns.start..][..columns.len()]);
                rest.fill(T::ZERO);
            }
        }
    }

    fn pack_block<T: Tiled>(&self, from: &[T], steps: [usize; 3], block: usize, to: &mut [T]) {
        let columns = self.range(block);
        let from = &from[columns.start * steps[2]..];
        if steps[0] == 1 && columns.len() == self.width {
            let size = (self.depth, self.width);
            return transpose((from, steps[2]), size, (to, self.width));
        }
        for (k, row) in to.chunks_exact_mut(self.width).enumerate() {
            let (row, rest) = row.split_at_mut(columns.len());
            for (j, x) in row.iter_mut().enumerate() {
                *x = from[k * steps[0] + j * steps[2]];
            }
            rest.fill(T::ZERO);
        }
    }
}

multiversion! {
    /// Packs neighbouring blocks, of which each row is moved in one piece, without a call.
    fn pack_whole<T: Real>(
        from: &[T],
        step: usize,
        size: (usize, usize),
        panels: &mut [&mut [T]],
    ) {
        match size.1 {
            64 => rows::<T, 64>(from, step, size.0, panels),
            32 => rows::<T, 32>(from, step, size.0, panels),
            16 => rows::<T, 16>(from, step, size.0, panels),
            8 => rows::<T, 8>(from, step, size.0, panels),
            _ => {
                debug_assert_eq!(size.1, 4);
                rows::<T, 4>(from, step, size.0, panels);
            }
        }
    }
}

/// Rows of so many numbers for each panel.
#[inline(always)]
fn rows<T: Copy, const N: usize>(from: &[T], step: usize, depth: usize, panels: &mut [&mut [T]]) {
    let len = panels.len() * N;
    for k in 0..depth {
        let line = from[k * step..][..len].as_chunks::<N>().0;
        for (line, panel) in line.iter().zip(panels.iter_mut()) {
            if let Some(to) = panel[k * N..].first_chunk_mut() {
                *to = *line;
            }
        }
    }
}

impl<'a, T: Tiled> Panels<'a, T> {
    /// A packed matrix, and the tiles that multiply it, for which it was packed.
    pub(crate) fn new(tiles: Tiles<T>, data: &'a [T], shape: Shape) -> Self {
        debug_assert_eq!(tiles.width, shape.width);
        Panels { data, shape, tiles }
    }

    /// The product of a chunk of rows with a block of columns that is whole, into rows of `c` that begin at
    /// a place and are so far apart; `from` is what the sums begin with.
    ///
    /// # Safety
    /// `c` has these rows and columns, and so has what the sums begin with; nobody else uses those of `c`
    /// meanwhile.
    pub(crate) unsafe fn multiply_into(
        &self,
        (rows, chunk): (&Rows, usize),
        left: Left<'_, T>,
        block: usize,
        (c, place, stride): (Target<T>, usize, usize),
        from: Start<T>,
    ) {
        let (column, start) = (block * self.shape.width, rows.range(chunk).start);
        let (tiles, panel) = (&self.tiles, (self.shape.depth, self.panel(block)));
        for &(row, n) in rows.tiles(chunk) {
            // SAFETY: as the caller vouches.
            unsafe {
                let c = (c.at(place + row * stride + column), stride);
                let from = from.of((row, column), c);
                left.tile(tiles, (row, row - start, n), panel, c, from);
            }
        }
    }

    /// The product of a chunk of rows with a block of columns of every group, to `(group, row, column)`, with
    /// [`Shape::width`] columns; `from` says what the sums of a group begin with. While a tile is computed, the
    /// cache fetches what the next one begins with: its rows are too far apart for the processor to foresee.
    ///
    /// # Safety
    /// What the sums begin with has these rows, and columns of the block; nobody writes them meanwhile.
    pub(crate) unsafe fn multiply(
        &self,
        (rows, chunk): (&Rows, usize),
        left: Left<'_, T>,
        block: usize,
        out: &mut [T],
        from: impl Fn(usize) -> Start<T>,
    ) {
        let Shape { groups, width, .. } = self.shape;
        let (range, columns) = (rows.range(chunk), self.shape.range(block));
        let (tiles, size) = (rows.tiles(chunk), range.len() * width);
        let fetch = |group: usize, &(row, n): &(usize, usize)| {
            from(group).fetch((row, n), &columns);
        };
        tiles.first().into_iter().for_each(|tile| fetch(0, tile));
        for (group, out) in (0..groups).zip(out.chunks_exact_mut(size)) {
            let panel = (self.shape.depth, self.panel(block * groups + group));
            let mut start = from(group);
            if columns.len() < width {
                // SAFETY: as the caller vouches.
                unsafe { start.copy((&range, &columns), (out, width)) };
                start = Start::There;
            }
            for (i, &(row, n)) in tiles.iter().enumerate() {
                match tiles.get(i + 1) {
                    Some(tile) => fetch(group, tile),
                    None if group + 1 < groups => fetch(group + 1, &tiles[0]),
                    None => {}
                }
                let first = row - range.start;
                let c = (out[first * width..][..n * width].as_mut_ptr(), width);
                // SAFETY: the room is of this tile; as the caller vouches.
                unsafe {
                    let start = start.of((row, columns.start), c);
                    left.tile(&self.tiles, (row, first, n), panel, c, start);
                }
            }
        }
    }

    /// Its sizes.
    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    /// A panel.
    fn panel(&self, panel: usize) -> &[T] {
        let size = self.shape.depth * self.shape.width;
        &self.data[panel * size..(panel + 1) * size]
    }
}

impl<T: Tiled> Left<'_, T> {
    /// The product of `n` rows, of which the first has the number `row`, and `first` in its chunk, with a
    /// panel of so many rows.
    ///
    /// # Safety
    /// As [`Panels::multiply_into`], for the rows of this tile alone.
    #[inline(always)]
    unsafe fn tile(
        self,
        tiles: &Tiles<T>,
        (row, first, n): (usize, usize, usize),
        (depth, panel): (usize, &[T]),
        c: (*mut T, usize),
        from: Lines<T>,
    ) {
        // SAFETY: as the caller vouches.
        unsafe {
            match self {
                Left::Packed(a) => {
                    let a = &a[first * depth..(first + n) * depth];
                    tiles.panels_from(n, (depth, a, panel), c, from);
                }
                Left::Lines(a, apart) => {
                    let operands = (depth, (&a[row * apart..], apart), (panel, tiles.width));
                    tiles.lines_from(n, operands, c, from);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_matrices_agree_with_the_definition() {
        let all = [f32::tiles()].into_iter().chain(f32::wide_tiles());
        let columns = |t: Tiles<f32>| {
            [1, 3, t.width, t.width + 3, 9 * t.width + 1].map(|columns| (t, columns))
        };
        for (tiles, columns) in all.flat_map(columns) {
            let width = tiles.width;
            let depth = 5;
            // Rows without gaps, some with gaps, columns; and rows that begin within the ones before.
            for steps in [
                [columns, 0, 1],
                [columns + 7, 0, 1],
                [1, 0, depth],
                [1, 0, 1],
            ] {
                let at = |k: usize, j: usize| k * steps[0] + j * steps[2];
                let from: Vec<f32> = (0..=at(depth - 1, columns - 1)).map(|i| i as f32).collect();
                let shape = Shape::new(&tiles, 1, columns, depth);
                let mut packed = vec![f32::NAN; shape.size()];
                shape.pack(&from, steps, &mut packed);
                for (i, &found) in packed.iter().enumerate() {
                    let (block, k) = (i / width / depth, i / width % depth);
                    let j = block * width + i % width;
                    let want = if j < columns { at(k, j) as f32 } else { 0.0 };
                    assert_eq!(found, want, "{columns} columns, {steps:?}");
                }
            }
        }
    }
}
