//! What a task of a step works on: tiles of rows and columns, and how they come from where the rows stand
//! and go there.

use super::net::Net;
use crate::blocks::raw::Target;
use crate::linalg::panels::{Rows, Shape};
use crate::linalg::rows_dot::RowsDot;
use crate::par;
use std::ops::Range;

/// Some rows and columns of a direction, at the step that is taken as number `s`, which is number `t` of the
/// sequence. Tiles of them have rows of `width`.
pub(super) struct Place {
    pub(super) s: usize,
    pub(super) t: usize,
    pub(super) d: usize,
    pub(super) chunk: usize,
    pub(super) block: usize,
    pub(super) rows: Range<usize>,
    pub(super) columns: Range<usize>,
    pub(super) width: usize,
}

impl Place {
    /// Runs a task for each direction, chunk of rows and block of columns.
    pub(super) fn each(
        net: &Net,
        rows: &Rows,
        shape: &Shape,
        s: usize,
        task: impl Fn(&Place) + Sync + Send,
    ) {
        let (chunks, blocks) = (rows.chunks(), shape.blocks());
        let n = net.directions * chunks * blocks;
        par::for_ranges(n, shape.grain(net.batch), |range| {
            for i in range {
                let (d, chunk, block) = (i / (chunks * blocks), i / blocks % chunks, i % blocks);
                task(&Place {
                    s,
                    t: net.step(d, s),
                    d,
                    chunk,
                    block,
                    rows: rows.range(chunk),
                    columns: shape.range(block),
                    width: shape.width(),
                });
            }
        });
    }

    /// Numbers of a tile.
    pub(super) fn size(&self) -> usize {
        self.rows.len() * self.width
    }

    /// A row of a tile.
    pub(super) fn own(&self, row: usize) -> Range<usize> {
        let at = (row - self.rows.start) * self.width;
        at..at + self.columns.len()
    }

    /// The columns of a row that begins there.
    pub(super) fn of(&self, row: usize) -> Range<usize> {
        row + self.columns.start..row + self.columns.end
    }

    /// Copies a tile to rows that begin where `at` says.
    ///
    /// # Safety
    /// These columns of the rows belong to the caller.
    pub(super) unsafe fn put<T: RowsDot>(
        &self,
        tile: &[T],
        to: Target<T>,
        at: impl Fn(usize) -> usize,
    ) {
        for (row, from) in self.rows.clone().zip(tile.chunks_exact(self.width)) {
            // SAFETY: as the caller vouches.
            let to = unsafe { to.slice(self.of(at(row))) };
            copy(&from[..to.len()], to);
        }
    }

    /// Copies these columns of rows, which `of` gives, to a tile.
    pub(super) fn take<'a, T: RowsDot>(&self, tile: &mut [T], of: impl Fn(usize) -> &'a [T]) {
        for (row, to) in self.rows.clone().zip(tile.chunks_exact_mut(self.width)) {
            let from = of(row);
            copy(from, &mut to[..from.len()]);
        }
    }
}

/// Copies as many numbers as tiles have columns, or a part of them.
fn copy<T: RowsDot>(from: &[T], to: &mut [T]) {
    // What tiles have is of a length that the compiler knows, and moved without a call.
    match to.len() {
        64 => copy_exactly::<T, 64>(from, to),
        32 => copy_exactly::<T, 32>(from, to),
        16 => copy_exactly::<T, 16>(from, to),
        8 => copy_exactly::<T, 8>(from, to),
        _ => to.copy_from_slice(from),
    }
}

fn copy_exactly<T: RowsDot, const N: usize>(from: &[T], to: &mut [T]) {
    if let (Some(from), Some(to)) = (from.first_chunk::<N>(), to.first_chunk_mut::<N>()) {
        *to = *from;
    }
}

/// The cell states of a layer, or their gradients, as tasks take them: a tile for each of their places.
#[derive(Clone, Copy)]
pub(super) struct Cells<T> {
    pub(super) tiles: Target<T>,
    pub(super) shape: Shape,
}

impl<T: RowsDot> Cells<T> {
    /// Numbers of all tiles.
    pub(super) fn size(net: &Net) -> usize {
        let shape = Shape::new(&net.tiles::<T>(), 1, net.hidden, 0);
        let across = shape.blocks() * shape.width();
        if net.cells() {
            net.states_of(across)
        } else {
            0
        }
    }

    fn range(&self, net: &Net, d: usize, rows: &Range<usize>, block: usize) -> Range<usize> {
        let (across, width) = (self.shape.blocks() * self.shape.width(), self.shape.width());
        let at = (d * net.batch + rows.start) * across + block * rows.len() * width;
        at..at + rows.len() * width
    }

    /// The tile of a task.
    ///
    /// # Safety
    /// Nobody else uses it meanwhile.
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn tile(&self, net: &Net, p: &Place) -> &mut [T] {
        // SAFETY: as the caller vouches.
        unsafe { self.tiles.slice(self.range(net, p.d, &p.rows, p.block)) }
    }

    /// Calls with the place of some units among a layer's, and with these.
    ///
    /// # Safety
    /// Nobody else uses the states meanwhile.
    pub(super) unsafe fn each(
        &self,
        net: &Net,
        rows: &Rows,
        mut call: impl FnMut(Range<usize>, &mut [T]),
    ) {
        for d in 0..net.directions {
            for rows in (0..rows.chunks()).map(|chunk| rows.range(chunk)) {
                for block in 0..self.shape.blocks() {
                    let columns = self.shape.range(block);
                    // SAFETY: as the caller vouches.
                    let tile = unsafe { self.tiles.slice(self.range(net, d, &rows, block)) };
                    for (row, tile) in rows.clone().zip(tile.chunks_exact_mut(self.shape.width())) {
                        let at = (d * net.batch + row) * net.hidden;
                        let at = at + columns.start..at + columns.end;
                        let n = at.len();
                        call(at, &mut tile[..n]);
                    }
                }
            }
        }
    }

    /// Fills them from a layer's, or with zeros.
    ///
    /// # Safety
    /// As [`Cells::each`].
    pub(super) unsafe fn fill(&self, net: &Net, rows: &Rows, from: Option<&[T]>) {
        // SAFETY: as the caller vouches.
        unsafe {
            self.tiles.slice(0..self.tiles.len()).fill(T::ZERO);
            if let Some(from) = from {
                self.each(net, rows, |at, tile| tile.copy_from_slice(&from[at]));
            }
        }
    }
}
