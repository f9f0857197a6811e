//! Products of large matrices on the tiles of this crate, for CPUs that these are made for. `B` is packed once
//! for all, `A` by each task for itself. What a task computes depends on the sizes alone.

use crate::blocks::aligned::Aligned;
use crate::blocks::raw::Target;
use crate::linalg::ends::Start;
use crate::linalg::gemm::{Operand, TASK};
use crate::linalg::panels::{Left, PAGE, Panels, Rows, Shape};
use crate::linalg::tile::{ROOM, Tiled, Tiles};
use crate::par;
use crate::simd::vector::{Level, level};
use std::ops::Range;

/// The part of the contracted axis that is packed at a time: as much as leaves room in the first-level
/// cache for other things than a panel of `B` of two vectors. Those of four come from the second-level one.
const DEPTH: usize = 256;

/// Columns that are packed at a time: as many as a thread keeps memory for.
const WIDE: usize = ROOM / DEPTH;

/// Columns of a task at least, so that packing its rows does not count.
const COLUMNS: usize = 512;

/// Chunks of rows up to which there are several tasks for each, of fewer columns, where nothing is packed.
const FEW: usize = 2;

/// Columns that a task's rows are packed for at least, where these are pages apart: else they are
/// read as they lie.
const REUSED: usize = 128;

/// Panels of a task at least, where each is packed before it is multiplied.
const PANELS: usize = 2;

/// Bytes of a `B` whose rows are read as they lie: these stay in the first-level cache meanwhile.
const NEAR: usize = 1 << 14;

/// Whether this is the way for a product of these sizes.
pub(super) fn pays<T: Tiled>((m, n, k): (usize, usize, usize)) -> bool {
    let known = level() != Level::Base;
    let width = T::tiles().width;
    let padded = n.next_multiple_of(width);
    known && m >= 24 && k >= 32 && n >= 2 * width && padded - n <= n / 8
}

/// The matrix `B` of a product: as it lies, and from [`pack`] where that was done before.
#[derive(Clone, Copy)]
pub(crate) struct Right<'a, T> {
    pub(crate) lies: Operand<'a, T>,
    pub(crate) packed: Option<&'a [T]>,
}

/// The parts of a `B` of `n` columns and `k` rows that are packed at a time, with their first column and row.
fn parts<T: Tiled>(
    tiles: Tiles<T>,
    (n, k): (usize, usize),
) -> impl Iterator<Item = (usize, usize, Shape)> {
    let depth = k.div_ceil(k.div_ceil(DEPTH).max(1)).max(1);
    let starts = move |j| (0..k).step_by(depth).map(move |p| (j, p));
    (0..n).step_by(WIDE).flat_map(starts).map(move |(j, p)| {
        let shape = Shape::new(&tiles, 1, WIDE.min(n - j), depth.min(k - p));
        (j, p, shape)
    })
}

/// A packed part of a `B`, with its first column and row.
struct Part<'a, T: 'static> {
    first: usize,
    start: usize,
    panels: Panels<'a, T>,
}

impl<'a, T: Tiled> Part<'a, T> {
    fn new(tiles: Tiles<T>, (first, start, shape): (usize, usize, Shape), data: &'a [T]) -> Self {
        let panels = Panels::new(tiles, data, shape);
        Part {
            first,
            start,
            panels,
        }
    }
}

/// Numbers of a `B` of so many columns and rows that is packed for such tiles.
pub(crate) fn size<T: Tiled>(tiles: Tiles<T>, size: (usize, usize)) -> usize {
    parts(tiles, size).map(|(_, _, shape)| shape.size()).sum()
}

/// Packs a `B` of so many columns and rows.
pub(crate) fn pack<T: Tiled>(
    tiles: Tiles<T>,
    size: (usize, usize),
    b: Operand<'_, T>,
    mut to: &mut [T],
) {
    for (first, start, shape) in parts(tiles, size) {
        let (part, rest) = std::mem::take(&mut to).split_at_mut(shape.size());
        shape.pack(b.from(start, first).data, [b.rows, 0, b.cols], part);
        to = rest;
    }
}

/// `C = A B` plus what its sums begin with, for a `C` whose rows stand from a place in memory on, so far
/// apart.
///
/// # Safety
/// The rows are within the memory, and nobody else uses the elements of `C` meanwhile. What the sums begin
/// with has all rows and columns.
pub(super) unsafe fn product<T: Tiled>(
    tiles: Tiles<T>,
    (m, n, k): (usize, usize, usize),
    a: Operand<'_, T>,
    b: Right<'_, T>,
    from: Start<T>,
    c: (Target<T>, usize, usize),
) {
    let rows = Rows::new(&tiles, m);
    let near = k <= DEPTH && n * k * size_of::<T>() <= NEAR;
    if near && a.cols == 1 && b.lies.cols == 1 && n.is_multiple_of(tiles.width) {
        let most = (TASK / (n * k)).div_ceil(rows.range(0).len());
        // SAFETY: as the caller vouches.
        return par::for_ranges(rows.chunks(), most, |chunks| unsafe {
            chunks.for_each(|chunk| lying(tiles, (&rows, chunk), (n, k), a, b.lies, from, c));
        });
    }
    let in_place = a.cols == 1 && !apart_by_pages(a);
    let run = |columns: &[Part<'_, T>]| {
        let first = columns[0].first;
        let (shape, c) = (columns[0].panels.shape(), (c.0, c.1 + first, c.2));
        let few = in_place && rows.chunks() <= FEW;
        let fewest = if few { COLUMNS / 4 } else { COLUMNS };
        let across = (fewest / shape.width()).max(1);
        let tasks = shape.blocks().div_ceil(across);
        par::for_each(rows.chunks() * tasks, |i| {
            // A thread that takes neighbouring tasks each time has its columns in its cache, or its rows.
            let (chunk, number) = match few {
                true => (i % rows.chunks(), i / rows.chunks()),
                false => (i / tasks, i % tasks),
            };
            let block = number * across;
            let blocks = block..shape.blocks().min(block + across);
            for Part { start, panels, .. } in columns {
                let from = if *start > 0 {
                    Start::There
                } else {
                    from.right(first)
                };
                // SAFETY: these rows and columns belong to this task; the caller vouches for the whole.
                unsafe {
                    let a = a.from(0, *start);
                    multiply((&rows, chunk), a, panels, blocks.clone(), c, from);
                }
            }
        });
    };
    if in_place && rows.chunks() <= FEW && b.packed.is_none() {
        // SAFETY: as the caller vouches.
        return unsafe { by_columns(tiles, (&rows, n, k), a, b.lies, from, c) };
    }
    if let Some(mut kept) = b.packed {
        let cut = |place: (usize, usize, Shape)| {
            let (data, rest) = kept.split_at(place.2.size());
            kept = rest;
            Part::new(tiles, place, data)
        };
        let all: Vec<_> = parts(tiles, (n, k)).map(cut).collect();
        return all.chunk_by(|a, b| a.first == b.first).for_each(run);
    }
    let largest = parts(tiles, (n, k)).map(|(_, _, shape)| shape.size()).max();
    let mut room = T::borrow_room(largest.unwrap_or(0));
    for (first, start, shape) in parts(tiles, (n, k)) {
        let columns = &mut room[..shape.size()];
        let lies = b.lies.from(start, first);
        shape.pack(lies.data, [lies.rows, 0, lies.cols], columns);
        run(&[Part::new(tiles, (first, start, shape), columns)]);
    }
    T::return_room(room);
}

/// The product of few rows with all columns: each task packs a panel of these and multiplies it while it is in the
/// first-level cache.
///
/// # Safety
/// As [`product`].
unsafe fn by_columns<T: Tiled>(
    tiles: Tiles<T>,
    (rows, n, k): (&Rows, usize, usize),
    a: Operand<'_, T>,
    b: Operand<'_, T>,
    from: Start<T>,
    (c, place, stride): (Target<T>, usize, usize),
) {
    let depth = k.div_ceil(k.div_ceil(DEPTH).max(1)).max(1);
    let (width, parts) = (tiles.width, k.div_ceil(depth));
    par::for_ranges(n.div_ceil(width), PANELS, |blocks| {
        let mut room = T::borrow_room(depth * width);
        for i in blocks.start * parts..blocks.end * parts {
            let (column, start) = (i / parts * width, i % parts * depth);
            let shape = Shape::new(&tiles, 1, width.min(n - column), depth.min(k - start));
            let panel = &mut room[..shape.size()];
            let lies = b.from(start, column);
            shape.pack(lies.data, [lies.rows, 0, lies.cols], panel);
            let panels = Panels::new(tiles, panel, shape);
            let from = match start {
                0 => from.right(column),
                _ => Start::There,
            };
            for chunk in 0..rows.chunks() {
                let a = a.from(0, start);
                let (left, c) = (Left::Lines(a.data, a.rows), (c, place + column, stride));
                // SAFETY: these columns belong to this task; the caller vouches for the whole.
                unsafe {
                    if shape.range(0).len() == width {
                        panels.multiply_into((rows, chunk), left, 0, c, from);
                    } else {
                        rest((rows, chunk), left, &panels, 0, c, from);
                    }
                }
            }
        }
        T::return_room(room);
    });
}

/// The product of a chunk of rows with all columns, which are whole blocks, of matrices of rows, without
/// packing.
///
/// # Safety
/// Nobody else uses these rows of `c` meanwhile; what sums begin with has these rows.
unsafe fn lying<T: Tiled>(
    tiles: Tiles<T>,
    (rows, chunk): (&Rows, usize),
    (n, k): (usize, usize),
    a: Operand<'_, T>,
    b: Operand<'_, T>,
    from: Start<T>,
    (c, place, stride): (Target<T>, usize, usize),
) {
    for &(row, count) in rows.tiles(chunk) {
        let left = (&a.data[row * a.rows..], a.rows);
        for column in (0..n).step_by(tiles.width) {
            let right = (&b.data[column..], b.rows);
            // SAFETY: as the caller vouches.
            unsafe {
                let c = (c.at(place + row * stride + column), stride);
                let from = from.of((row, column), c);
                tiles.lines_from(count, (k, left, right), c, from);
            }
        }
    }
}

/// Whether the rows of a matrix are pages apart.
fn apart_by_pages<T>(a: Operand<'_, T>) -> bool {
    (a.rows * size_of::<T>()).is_multiple_of(PAGE)
}

/// The product of a chunk of rows with some blocks of columns.
///
/// # Safety
/// Nobody else uses these rows and columns of `c` meanwhile; what sums begin with has them.
unsafe fn multiply<T: Tiled>(
    (rows, chunk): (&Rows, usize),
    a: Operand<'_, T>,
    panels: &Panels<'_, T>,
    blocks: Range<usize>,
    c: (Target<T>, usize, usize),
    from: Start<T>,
) {
    let shape = panels.shape();
    let range = rows.range(chunk);
    let mut packed = Aligned::default();
    let left = if a.cols == 1 && (blocks.len() * shape.width() < REUSED || !apart_by_pages(a)) {
        Left::Lines(a.data, a.rows)
    } else {
        packed = T::borrow_room(range.len() * shape.depth);
        let steps = [a.rows, a.cols];
        rows.pack_from(chunk, a.data, steps, (&mut packed, shape.depth));
        Left::Packed(&packed)
    };
    for block in blocks {
        // SAFETY: as the caller vouches.
        unsafe {
            if shape.range(block).len() == shape.width() {
                panels.multiply_into((rows, chunk), left, block, c, from);
            } else {
                rest((rows, chunk), left, panels, block, c, from);
            }
        }
    }
    if packed.capacity() > 0 {
        T::return_room(packed);
    }
}

/// The product with a block that is not whole.
///
/// # Safety
/// As [`multiply`].
unsafe fn rest<T: Tiled>(
    (rows, chunk): (&Rows, usize),
    left: Left<'_, T>,
    panels: &Panels<'_, T>,
    block: usize,
    (c, place, stride): (Target<T>, usize, usize),
    from: Start<T>,
) {
    let (shape, range) = (panels.shape(), rows.range(chunk));
    let columns = shape.range(block);
    let mut out = vec![T::ZERO; range.len() * shape.width()];
    // SAFETY: there is nothing that sums begin with.
    unsafe { panels.multiply((rows, chunk), left, block, &mut out, |_| Start::Zero) };
    for (row, sums) in range.zip(out.chunks_exact(shape.width())) {
        let at = place + row * stride;
        // SAFETY: as the caller vouches.
        let to = unsafe { c.slice(at + columns.start..at + columns.end) };
        for ((column, to), &sum) in columns.clone().zip(to).zip(sums) {
            *to = match from {
                Start::Zero => sum,
                Start::There => *to + sum,
                // SAFETY: as the caller vouches.
                Start::Rows(..) => unsafe { from.element(row, column) + sum },
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::gemm::{affine, packed_size};

    fn numbers(n: usize, seed: usize) -> Vec<f64> {
        let number = |i| ((i * 37 + seed * 11) % 23) as f64 / 4.0 - 2.5;
        (0..n).map(number).collect()
    }

    #[test]
    fn what_was_packed_before_gives_the_same_bits_as_the_definition_but_for_rounding() {
        // Several parts of the depth; a rest of columns; rows that are pages apart; fewer than are packed.
        for (m, n, k) in [
            (30, 64, 300),
            (25, 124, 33),
            (48, 160, 512),
            (5, 64, 40),
            (50, 256, 300),
        ] {
            let (a, b, row) = (numbers(m * k, 1), numbers(n * k, 2), numbers(n, 3));
            let left = Operand::new(&a, k);
            let lies = Operand::new(&b, k).transposed();
            let mut room = vec![f64::NAN; packed_size::<f64>((m, n, k))];
            assert_eq!(room.is_empty(), !pays::<f64>((m, n, k)));
            if !room.is_empty() {
                pack(f64::tiles_for(n), (n, k), lies, &mut room);
            }
            let packed = (!room.is_empty()).then_some(&room[..]);
            for (add, with) in [(false, false), (false, true), (true, false), (true, true)] {
                let row = with.then_some(&row[..]);
                let before = numbers(m * n, 4);
                let run = |packed| {
                    let mut c = before.clone();
                    affine((m, n, k), left, Right { lies, packed }, row, add, &mut c);
                    c
                };
                let found = run(packed);
                assert_eq!(found, run(None));
                for (at, &found) in found.iter().enumerate() {
                    let (i, j) = (at / n, at % n);
                    let dot: f64 = (0..k).map(|p| a[i * k + p] * b[j * k + p]).sum();
                    let more = row.map_or(0.0, |row| row[j]);
                    let want = dot + more + if add { before[at] } else { 0.0 };
                    assert!((found - want).abs() <= 1e-10 * (1.0 + want.abs()));
                }
            }
        }
    }
}
