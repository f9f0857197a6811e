//! Sums that go to memory straight from the registers of a tile, with what becomes of them: where a tile
//! covers neighbours of the result and nothing of the sums is still to come.

use super::field::Run;
use super::finish::{Addend, Finish, Places};
use crate::api::Req;
use crate::linalg::ends::End;
use crate::math::real::Real;
use std::ops::Range;

/// Bytes of a result that stays in the cache anyhow.
const NEAR: usize = 1 << 20;

/// Where the sums of a group of filters go.
pub(super) struct Out<'a, T> {
    finish: &'a Finish<'a, T>,
    /// The first filter.
    first: usize,
    places: Places,
    /// Whether the cache is told before of what will be written.
    far: bool,
    /// Whether tiles go straight to memory.
    pub(super) straight: bool,
}

impl<'a, T: Real> Out<'a, T> {
    /// For products of `chunks` steps each, of which all but the last one leave unfinished sums.
    pub(super) fn new(
        finish: &'a Finish<'a, T>,
        first: usize,
        places: Places,
        chunks: usize,
    ) -> Self {
        // What is added to must not be overwritten by unfinished sums.
        let held = matches!(finish.addend, Addend::Held);
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

    fn at(&self, row: usize, run: &Run) -> usize {
        self.places.0 + row * self.places.1 + run.target
    }

    /// Where a row of a run begins.
    ///
    /// # Safety
    /// As that of [`crate::blocks::raw::Target::at`].
    pub(super) unsafe fn place(&self, row: usize, run: &Run) -> *mut T {
        // SAFETY: as the caller vouches.
        unsafe { self.finish.target.at(self.at(row, run)) }
    }

    /// What becomes of the sums of a tile that begins with this row of a run.
    ///
    /// # Safety
    /// As [`Out::place`].
    pub(super) unsafe fn end(&self, row: usize, run: &Run) -> End<T> {
        let shift = self.finish.shift.map(|s| s[self.first + row..].as_ptr());
        let addend = match self.finish.addend {
            Addend::Nothing => std::ptr::null(),
            // SAFETY: as the caller vouches.
            Addend::Held => unsafe { self.place(row, run) }.cast_const(),
            // SAFETY: the addend lies as the target does.
            Addend::Of(x) => unsafe { x.at(self.at(row, run)) },
        };
        End {
            shift: shift.unwrap_or(std::ptr::null()),
            addend,
            relu: self.finish.relu,
        }
    }
}
