//! Products whose vectors are read where they lie, rather than gathered.

use crate::blocks::raw::Target;
use crate::convolve::apply::summed::{InPlace, Summed};
use crate::convolve::apply::{Apply, PANELS};
use crate::convolve::direct::{Direct, Taps, Tile};
use crate::convolve::field::Run;
use crate::convolve::out::Out;
use crate::linalg::tile::tile_rows;

/// Most rows of a result for which vectors are read where they lie.
const DIRECT_ROWS: usize = 48;
/// The same where each tap reads a plane of its own: lines far apart, which are better gathered by the first
/// tile than read by each.
const SINGLE_ROWS: usize = 16;
/// Taps for which vectors that are read where they lie go straight to memory, at least: with fewer, much is
/// written in little time, and memory takes longer rows faster.
const STRAIGHT_TAPS: usize = 64;

impl Apply {
    /// Whether vectors of `lanes` neighbours are read where they lie, rather than gathered:
    /// where few rows of the result share what would be gathered, where vectors of one line waste
    /// less than gathering takes, and where none reaches beyond the end of the field. Gathering
    /// takes about as long as six rows of the result.
    fn lies_well(&self, lanes: usize) -> bool {
        let wide = self.grid.extents[2];
        let covered = self.grid.vectors(lanes) * lanes;
        let filled = wide * (self.rows + 6) > covered * self.rows;
        let inside = wide >= lanes || self.field.scratch() > 0;
        let most = match self.taps.are_single() {
            true => SINGLE_ROWS,
            false => DIRECT_ROWS,
        };
        self.grid.source[2] == 1 && self.rows <= most && filled && inside
    }

    /// How vectors are read where they lie, if they are.
    pub(in crate::convolve) fn in_place<T: Summed>(&self) -> Option<InPlace<T>> {
        T::in_place().filter(|_| self.lies_well(T::Real::loops().lanes))
    }

    /// As [`Apply::block`] for vectors that are read where they lie.
    ///
    /// # Safety
    /// As [`Apply::block`].
    pub(in crate::convolve) unsafe fn direct<T: Direct + Summed>(
        &self,
        (source, taps): (&[T], &[Taps<'_>]),
        packed: &[T],
        runs: &mut Vec<Run>,
        out: &Out<'_, T>,
        sums: Target<T>,
    ) {
        let (tiles, loops) = (T::tiles(), T::loops());
        let (block, lanes) = (tiles.width * PANELS, loops.lanes);
        // Vectors go two by two.
        let straight = out.straight && self.taps.len() >= STRAIGHT_TAPS;
        let whole =
            |pair: &[Run]| straight && pair.len() == 2 && pair.iter().all(|run| run.len == lanes);
        for (chunk, &some) in taps.iter().enumerate() {
            let last = chunk + 1 == taps.len();
            for (first, n) in tile_rows(self.rows, tiles.most_rows) {
                let a = &packed[first * self.taps.len() + chunk * self.depth::<T>() * n..];
                for (p, pair) in runs.chunks(2).enumerate() {
                    let (one, two) = (&pair[0], &pair[pair.len() - 1]);
                    if last {
                        pair.iter().for_each(|run| out.ahead(first..first + n, run));
                    }
                    let starts = [one, two].map(|r| r.source - r.at % lanes);
                    // SAFETY: whole runs are in the target, and other tiles are in the sums.
                    unsafe {
                        let end = (last && whole(pair)).then(|| out.end(first, one.target));
                        let (c, at, stride) = if whole(pair) {
                            let apart = two.target - one.target;
                            (out.place(first, one.target), [0, apart], out.row())
                        } else {
                            let c = sums.at(first * block + p * tiles.width);
                            (c, [0, lanes], block)
                        };
                        let tile = Tile {
                            c,
                            at,
                            stride,
                            fresh: chunk == 0,
                            end: end.as_ref(),
                        };
                        loops.product(n, (source, starts, some), a, tile);
                    }
                }
            }
        }
        let mut at = 0;
        let left: Vec<bool> = runs.chunks(2).map(|pair| !whole(pair)).collect();
        runs.retain(|_| {
            at += 1;
            left[(at - 1) / 2]
        });
    }
}
