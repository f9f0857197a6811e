//! Sums that go to memory straight from the registers of a tile, with what becomes of them: where a tile
//! covers neighbours of the result and nothing of the sums is still to come.

use super::field::Run;
use super::finish::{Addend, Finish, Places};
use super::tiles::Tile;
use crate::api::Req;
use crate::linalg::ends::{End, Part};
use crate::linalg::tile::Lines;
use crate::math::real::Float;
use std::ops::Range;

/// Bytes of a result that stays in the cache anyhow.
const NEAR: usize = 1 << 20;

/// Where the sums of a group of filters go.
pub(crate) struct Out<'a, T: Float> {
    finish: &'a Finish<'a, T>,
    /// The first filter.
    first: usize,
    places: Places,
    /// Whether the cache is told before of what will be written.
    far: bool,
    /// Whether tiles go straight to memory.
    pub(super) straight: bool,
}

impl<'a, T: Float> Out<'a, T> {
    /// Whether results have room for unfinished sums.
    const ROOMY: bool = size_of::<T>() == size_of::<T::Real>();

    /// For products of `chunks` steps each, of which all but the last one leave unfinished sums.
    pub(super) fn new(
        finish: &'a Finish<'a, T>,
        first: usize,
        places: Places,
        chunks: usize,
    ) -> Self {
        // What is added to must not be overwritten by unfinished sums.
        let held = Self::ROOMY && matches!(finish.addend, Addend::Held);
        let neighbours = places.2 == 1;
        Out {
            finish,
            first,
            places,
            far: neighbours && finish.target.len() * size_of::<T>() > NEAR,
            straight: neighbours
                && finish.req != Req::Add
                && (chunks == 1 || (chunks > 1 && !held)),
        }
    }

    /// Tells the cache of some rows of a run that are written next.
    pub(super) fn ahead(&self, rows: Range<usize>, run: &Run) {
        if self.far {
            self.finish.fetch(rows, run, self.places);
        }
    }

    /// Distance between rows.
    pub(super) fn row(&self) -> usize {
        self.places.1
    }

    /// Where a row of the result has its element `at`.
    ///
    /// # Safety
    /// As that of [`crate::blocks::raw::Target::at`].
    pub(super) unsafe fn place(&self, row: usize, at: usize) -> *mut T {
        // SAFETY: as the caller vouches.
        unsafe {
            let start = self.places.0 + row * self.places.1;
            self.finish.target.at(start + at)
        }
    }

    /// The tile of a panel in these parts, or in one, which begins with this row, where its sums are unfinished in a
    /// block at `sums`, in the first or the last step of a product.
    ///
    /// # Safety
    /// As [`Out::place`], of all that the parts name.
    #[inline(always)]
    pub(super) unsafe fn tile<'p>(
        &self,
        row: usize,
        (parts, one): (&'p [Part], bool),
        sums: (*mut T::Real, usize),
        (first, last): (bool, bool),
    ) -> Tile<'p, T> {
        let one = one && Self::ROOMY;
        let mut tile = Tile {
            start: if first {
                (std::ptr::null(), 0)
            } else {
                (sums.0.cast_const(), sums.1)
            },
            sums,
            c: (std::ptr::null_mut(), 0),
            parts,
            end: None,
            next: (std::ptr::null(), 0),
        };
        if self.straight && (one || last) {
            tile.sums = (std::ptr::null_mut(), 0);
            // SAFETY: as the caller vouches.
            unsafe {
                let c = self.place(row, 0);
                if one && !first {
                    let start = c.cast_const().add(parts[0].at);
                    tile.start = (start.cast(), self.row());
                }
                tile.c = (c, self.row());
                tile.end = last.then(|| self.end(row, 0));
            }
        }
        tile
    }

    /// What is told to the cache before it is written: rows from this one on; null where that is no use.
    pub(super) fn next(&self, row: usize, at: usize) -> Lines<T> {
        if !self.far {
            return (std::ptr::null(), 0);
        }
        // SAFETY: there is such a row of the result.
        let next = unsafe { self.place(row, at) };
        (next.cast_const(), self.row())
    }

    /// What becomes of the sums of a tile that begins at this row and element.
    ///
    /// # Safety
    /// As [`Out::place`].
    #[inline(always)]
    pub(super) unsafe fn end(&self, row: usize, at: usize) -> End<T> {
        let of_row = |numbers: Option<&[T::Real]>| {
            numbers.map_or(std::ptr::null(), |n| n[self.first + row..].as_ptr())
        };
        let addend = match self.finish.addend {
            Addend::Nothing => std::ptr::null(),
            // SAFETY: as the caller vouches.
            Addend::Held => unsafe { self.place(row, at) }.cast_const(),
            // SAFETY: the addend lies as the target does.
            Addend::Of(x) => unsafe { x.at(self.places.0 + row * self.places.1 + at) },
        };
        End {
            factor: of_row(self.finish.factor),
            shift: of_row(self.finish.shift),
            addend,
            relu: self.finish.relu,
        }
    }
}
