//! Products of large matrices on the tiles of this crate, for CPUs whose registers are wider than those
//! that the `gemm` crate uses. `B` is packed once for all, `A` by each task for itself. What a
//! task computes depends on the sizes alone.

use crate::blocks::raw::Target;
use crate::linalg::gemm::{Operand, TASK};
use crate::linalg::panels::{Left, Panels, Rows, Shape};
use crate::linalg::tile::{ROOM, Tiled};
use crate::par;
#[cfg(target_arch = "x86_64")]
use crate::simd::vector::{Level, level};

/// The part of the contracted axis that is packed at a time: as much as leaves room in the first-level
/// cache for other things than a panel of `B`.
const DEPTH: usize = 256;

/// Columns that are packed at a time: as many as a thread keeps memory for.
const WIDE: usize = ROOM / DEPTH;

/// Columns of a task at least, so that packing its rows does not count.
const COLUMNS: usize = 512;

/// Blocks of columns that a task's rows are packed for at least: for fewer, they are read as they lie.
const REUSED: usize = 4;

/// Bytes of a `B` whose rows are read as they lie: these stay in the first-level cache meanwhile.
const NEAR: usize = 1 << 14;

/// Whether this is the way for a product of these sizes.
pub(super) fn pays<T: Tiled>((m, n, k): (usize, usize, usize)) -> bool {
    #[cfg(target_arch = "x86_64")]
    let wide = level() == Level::V4;
    #[cfg(not(target_arch = "x86_64"))]
    let wide = false;
    let width = T::tiles().width;
    let padded = n.next_multiple_of(width);
    wide && m >= 24 && k >= 32 && n >= 2 * width && padded - n <= n / 8
}

/// `C = A B`, or `C += A B`, for a `C` whose rows stand from a place in memory on, so far apart.
///
/// # Safety
/// The rows are within the memory, and nobody else uses the elements of `C` meanwhile.
pub(super) unsafe fn product<T: Tiled>(
    (m, n, k): (usize, usize, usize),
    a: Operand<'_, T>,
    b: Operand<'_, T>,
    add: bool,
    c: (Target<T>, usize, usize),
) {
    let rows = Rows::new::<T>(m);
    let near = k <= DEPTH && n * k * size_of::<T>() <= NEAR;
    if near && a.cols == 1 && b.cols == 1 && n.is_multiple_of(T::tiles().width) {
        let most = (TASK / (n * k)).div_ceil(rows.range(0).len());
        // SAFETY: as the caller vouches.
        return par::for_ranges(rows.chunks(), most, |chunks| unsafe {
            chunks.for_each(|chunk| lying((&rows, chunk), (n, k), a, b, add, c));
        });
    }
    let mut room = T::borrow_room(Shape::new::<T>(1, n.min(WIDE), DEPTH.min(k)).size());
    for (first, start) in (0..n)
        .step_by(WIDE)
        .flat_map(|j| (0..k).step_by(DEPTH).map(move |p| (j, p)))
    {
        let (width, depth) = (WIDE.min(n - first), DEPTH.min(k - start));
        let shape = Shape::new::<T>(1, width, depth);
        let columns = &mut room[..shape.size()];
        let from = &b.data[start * b.rows + first * b.cols..];
        shape.pack(from, [b.rows, 0, b.cols], columns);
        let panels = Panels {
            data: columns,
            shape,
        };
        let c = (c.0, c.1 + first, c.2);
        let across = (COLUMNS / shape.width()).max(1);
        let tasks = shape.blocks().div_ceil(across);
        par::for_each(rows.chunks() * tasks, |i| {
            let (chunk, first) = (i / tasks, i % tasks * across);
            let blocks = first..shape.blocks().min(first + across);
            // SAFETY: these rows and columns belong to this task; the caller vouches for the whole.
            unsafe {
                let a = (&a.data[start * a.cols..], [a.rows, a.cols]);
                part(&rows, chunk, a, &panels, blocks, c, add || start > 0);
            }
        });
    }
    T::return_room(room);
}

/// The product of a chunk of rows with all columns, which are whole blocks, of matrices of rows, without
/// packing.
///
/// # Safety
/// Nobody else uses these rows of `c` meanwhile.
unsafe fn lying<T: Tiled>(
    (rows, chunk): (&Rows, usize),
    (n, k): (usize, usize),
    a: Operand<'_, T>,
    b: Operand<'_, T>,
    add: bool,
    (c, place, stride): (Target<T>, usize, usize),
) {
    let tiles = T::tiles();
    for &(row, count) in rows.tiles(chunk) {
        let left = (&a.data[row * a.rows..], a.rows);
        for column in (0..n).step_by(tiles.width) {
            let right = (&b.data[column..], b.rows);
            // SAFETY: as the caller vouches.
            unsafe {
                let c = (c.at(place + row * stride + column), stride);
                tiles.lines_at(count, (k, left, right), c, !add);
            }
        }
    }
}

/// The product of a chunk of rows with some blocks of columns.
///
/// # Safety
/// Nobody else uses these rows and columns of `c` meanwhile.
unsafe fn part<T: Tiled>(
    rows: &Rows,
    chunk: usize,
    (a, steps): (&[T], [usize; 2]),
    panels: &Panels<'_, T>,
    blocks: std::ops::Range<usize>,
    (c, place, stride): (Target<T>, usize, usize),
    add: bool,
) {
    let Panels { shape, .. } = *panels;
    let range = rows.range(chunk);
    let lie = steps[1] == 1
        && blocks.len() < REUSED
        && shape.range(blocks.end - 1).len() == shape.width();
    let mut packed = Vec::new();
    let left = if lie {
        Left::Lines(a, steps[0])
    } else {
        packed = T::borrow_room(range.len() * shape.depth);
        rows.pack_from(chunk, a, steps, (&mut packed, shape.depth));
        Left::Packed(&packed)
    };
    for block in blocks {
        let columns = shape.range(block);
        if columns.len() == shape.width() {
            // SAFETY: as the caller vouches.
            unsafe { panels.multiply_into((rows, chunk), left, block, (c, place, stride), !add) };
            continue;
        }
        let mut out = vec![T::ZERO; range.len() * shape.width()];
        panels.multiply_chunk((rows, chunk), &packed, block, &mut out);
        for (row, from) in range.clone().zip(out.chunks_exact(shape.width())) {
            let at = place + row * stride;
            // SAFETY: as the caller vouches.
            let to = unsafe { c.slice(at + columns.start..at + columns.end) };
            for (to, &from) in to.iter_mut().zip(from) {
                *to = if add { *to + from } else { from };
            }
        }
    }
    if !lie {
        T::return_room(packed);
    }
}
