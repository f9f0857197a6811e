//! Products with few positions, as of single images: vectors of positions would be empty in part, 49 positions
//! in four vectors of 16. So they go along filters here, and each position is a row of a tile. Every sum adds
//! up in the same order, to the same bits.

use crate::blocks::raw::Target;
use crate::convolve::apply::summed::Summed;
use crate::convolve::apply::{Apply, Arguments, PANELS};
use crate::convolve::direct::Direct;
use crate::convolve::field::Run;
use crate::convolve::finish::Finish;
use crate::convolve::gather::gather;
use crate::copy::transpose::transpose;
use crate::linalg::tile::{Tiled, tile_rows};
use crate::par;
use std::ops::Range;

/// Taps from which on the sums take long enough to be turned.
const DEEP: usize = 64;

/// Positions of a tile: the first one in its block, how many there are, and where they are.
struct Piece {
    first: usize,
    len: usize,
    runs: Vec<Run>,
}

impl Apply {
    /// Whether vectors go along filters: where these fill theirs, and positions would leave more than a
    /// twentieth of theirs empty.
    pub(in crate::convolve) fn is_turned<T: Summed>(&self) -> bool {
        let (lanes, width) = (T::Real::loops().lanes, T::Real::tiles().width);
        let (all, fit) = (self.grid.len(), self.rows.is_multiple_of(width));
        let loose = all.saturating_mul(20) < all.next_multiple_of(lanes).saturating_mul(19);
        T::TOGETHER == 1
            && fit
            && loose
            && self.taps.len() >= DEEP
            && self.in_place::<T>().is_none()
    }

    /// Numbers of a thread for a panel's sums, turned.
    pub(in crate::convolve) fn turned<T: Summed>(&self) -> usize {
        let width = T::Real::tiles().width;
        match self.is_turned::<T>() {
            true => width * width * PANELS,
            false => 0,
        }
    }

    /// Runs the product with vectors along filters.
    pub(in crate::convolve) fn run_turned<T: Direct + Summed>(&self, args: Arguments<'_, T>) {
        let (width, positions) = (T::tiles().width, self.grid.len());
        let panels = self.rows / width;
        // As large as each other: there are few.
        let blocks: Vec<_> = tile_rows(positions, width * PANELS).collect();
        let shares = self.shares(self.groups * blocks.len(), panels);
        let each = self.per_thread::<T>();
        let threads = Target::of_slice(args.threads);
        let Arguments {
            source,
            packed,
            finish,
            ..
        } = args;
        par::for_each_slot(self.groups * blocks.len() * shares, |slot, task| {
            // SAFETY: tasks that run at the same time have different slots.
            let scratch = unsafe { threads.slice(slot * each..(slot + 1) * each) };
            let (task, share) = (task / shares, task % shares);
            let (group, (first, count)) = (task / blocks.len(), blocks[task % blocks.len()]);
            let pieces = self.pieces::<T>(first, count);
            let mut runs = Vec::new();
            self.grid.runs(first, count, count, &mut runs);
            let packed = &packed[group * self.packed::<T>() / self.groups..];
            let source = source.get(group * self.source_group..).unwrap_or(&[]);
            let panels = share * panels / shares..(share + 1) * panels / shares;
            let positions = (&pieces[..], &runs[..]);
            // SAFETY: positions, groups and filters belong to one task each.
            unsafe {
                self.fill(
                    (source, packed),
                    positions,
                    (group, panels),
                    finish,
                    scratch,
                )
            };
        });
    }

    /// The tiles of `n` positions from `start` on.
    fn pieces<T: Direct>(&self, start: usize, n: usize) -> Vec<Piece> {
        let piece = |(first, len)| {
            let mut runs = Vec::new();
            self.grid.runs(start + first, len, len, &mut runs);
            Piece { first, len, runs }
        };
        tile_rows(n, T::tiles().most_rows).map(piece).collect()
    }

    /// Computes some panels of a group's filters at the positions of these pieces, which are those of the runs.
    ///
    /// # Safety
    /// Nobody else uses what they write meanwhile.
    unsafe fn fill<T: Direct + Summed>(
        &self,
        (source, packed): (&[T], &[T]),
        (pieces, runs): (&[Piece], &[Run]),
        (group, panels): (usize, Range<usize>),
        finish: &Finish<'_, T>,
        scratch: &mut [T],
    ) {
        let (tiles, depth) = (T::tiles(), self.depth::<T>());
        let (width, block) = (tiles.width, tiles.width * PANELS);
        let (sums, rest) = scratch.split_at_mut(self.rows * block);
        let (gathered, turned) = rest.split_at_mut(depth * block);
        let sums = Target::of_slice(sums);
        let start = self.target_start + group * self.target_group;
        let places = (start, self.target_row, self.grid.target[2]);
        let chunks = self.chunks::<T>().len();
        let count = pieces.iter().map(|piece| piece.len).sum::<usize>();
        for (chunk, taps) in self.chunks::<T>().enumerate() {
            for piece in pieces {
                let to = &mut gathered[piece.first * depth..][..piece.len * taps.len()];
                let place = (0, piece.len);
                gather(source, taps, &piece.runs, self.grid.source[2], place, to);
            }
            for panel in panels.clone() {
                let b = &packed[(panel * self.taps.len() + chunk * depth) * width..];
                for piece in pieces {
                    let a = &gathered[piece.first * depth..];
                    // SAFETY: the sums are ours.
                    unsafe {
                        let c = (sums.at((panel * block + piece.first) * width), width);
                        let begin = match chunk {
                            0 => (std::ptr::null(), 0),
                            _ => (c.0.cast_const(), width),
                        };
                        tiles.panels_from(piece.len, (taps.len(), a, b), c, begin);
                    }
                }
                if chunk + 1 == chunks {
                    let (at, first) = (panel * block * width, panel * width);
                    let filters = group * self.rows + first;
                    let places = (places.0 + first * places.1, places.1, places.2);
                    // SAFETY: the sums are ours; as the caller vouches.
                    unsafe {
                        let sums = sums.slice(at..at + count * width);
                        transpose((sums, width), (width, count), (turned, count));
                        let sums = (&*turned, count);
                        finish.store(filters..filters + width, sums, runs, places);
                    }
                }
            }
        }
    }
}
