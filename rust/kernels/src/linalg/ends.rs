//! What the sums of a tile begin with, and what becomes of them before they are written.

use crate::blocks::raw::{Source, fetch_near};
use crate::linalg::lanes::Lanes;
use crate::linalg::results::Results;
use crate::linalg::tile::Lines;
use crate::math::real::{Float, Real};
use std::ops::Range;

/// What the sums of tiles begin with.
#[derive(Clone, Copy)]
pub(crate) enum Start<T> {
    Zero,
    /// What stands where they go.
    There,
    /// Rows of a matrix, whose first element is at that place of the memory, and which are so far apart:
    /// not at all where one row is for all.
    Rows(Source<T>, usize, usize),
}

impl<T: Real> Start<T> {
    /// That of a tile which goes to `c`, with the row and the column that are its first.
    ///
    /// # Safety
    /// There are such rows of the matrix, if there is one.
    #[inline(always)]
    pub(crate) unsafe fn of(self, (row, column): (usize, usize), c: (*mut T, usize)) -> Lines<T> {
        match self {
            Start::Zero => (std::ptr::null(), 0),
            Start::There => (c.0.cast_const(), c.1),
            // SAFETY: as the caller vouches.
            Start::Rows(from, at, stride) => unsafe {
                (from.at(at + row * stride + column), stride)
            },
        }
    }

    /// The same from a column on.
    pub(crate) fn right(self, columns: usize) -> Self {
        match self {
            Start::Rows(from, at, stride) => Start::Rows(from, at + columns, stride),
            other => other,
        }
    }

    /// Has the cache fetch the columns of `n` rows of the matrix, if there is one, from `row` on.
    #[inline(always)]
    pub(crate) fn fetch(self, (row, n): (usize, usize), columns: &Range<usize>) {
        if let Start::Rows(from, at, stride) = self {
            for row in row..row + n {
                fetch_near(from.near(at + row * stride + columns.start), columns.len());
            }
        }
    }

    /// Element `(row, column)`, where it is zero or of a matrix.
    ///
    /// # Safety
    /// There is one, which nobody writes meanwhile.
    pub(crate) unsafe fn element(self, row: usize, column: usize) -> T {
        match self {
            Start::Zero | Start::There => T::ZERO,
            // SAFETY: as the caller vouches.
            Start::Rows(from, at, stride) => unsafe { *from.at(at + row * stride + column) },
        }
    }

    /// Puts some rows and columns where the sums of tiles go, in rows of `width`.
    ///
    /// # Safety
    /// There are such, which nobody writes meanwhile.
    pub(crate) unsafe fn copy(
        self,
        (rows, columns): (&Range<usize>, &Range<usize>),
        (to, width): (&mut [T], usize),
    ) {
        for (row, to) in rows.clone().zip(to.chunks_exact_mut(width)) {
            let (to, rest) = to.split_at_mut(columns.len());
            for (to, column) in to.iter_mut().zip(columns.clone()) {
                // SAFETY: as the caller vouches.
                *to = unsafe { self.element(row, column) };
            }
            rest.fill(T::ZERO);
        }
    }
}

/// Columns of a tile that go to neighbouring places of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Where in the row the first column of the tile would go.
    pub(crate) at: usize,
    /// Which columns these are, a bit for each.
    pub(crate) places: u32,
}

impl Part {
    /// The places of a vector, of which there are several in a tile.
    #[inline(always)]
    pub(crate) fn of_vector<T, V: Lanes<T>>(&self, vector: usize) -> u16 {
        (self.places >> (vector * V::N)) as u16 & (u16::MAX >> (16 - V::N))
    }
}

/// What becomes of the sums of a tile before they are written, in this order.
#[derive(Clone, Copy)]
pub(crate) struct End<T: Float> {
    /// A number for each row, by which sums are multiplied; or null.
    pub(crate) factor: *const T::Real,
    /// A number for each row, which is added; or null.
    pub(crate) shift: *const T::Real,
    /// The first of the rows that are added, which are as far apart as those of the tile; or null.
    pub(crate) addend: *const T,
    /// Whether what is negative becomes 0.
    pub(crate) relu: bool,
}

impl<T: Float> End<T> {
    /// What becomes of vectors of row `r`, of which the first is `at` numbers into the row.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`; there is a shift of this row, if there are any, and an addend
    /// of these numbers, where rows are so far apart.
    #[inline(always)]
    pub(crate) unsafe fn of<V: Results<T>, const W: usize>(
        &self,
        mut sums: [V; W],
        r: usize,
        at: [usize; W],
        stride: usize,
    ) -> [V; W] {
        // SAFETY: as the caller vouches.
        unsafe {
            self.shifted(&mut sums, r);
            if !self.addend.is_null() {
                let row = self.addend.add(r * stride);
                for (sum, at) in sums.iter_mut().zip(at) {
                    *sum = sum.add(V::read(row.add(at)));
                }
            }
            self.cut(&mut sums);
        }
        sums
    }

    /// As [`End::of`], of the columns in `parts` alone.
    ///
    /// # Safety
    /// As [`End::of`], for these columns.
    #[inline(always)]
    pub(crate) unsafe fn of_parts<V: Results<T>, const W: usize>(
        &self,
        mut sums: [V; W],
        r: usize,
        parts: &[Part],
        stride: usize,
    ) -> [V; W] {
        // SAFETY: as the caller vouches.
        unsafe {
            self.shifted(&mut sums, r);
            if !self.addend.is_null() {
                for part in parts {
                    let row = self.addend.wrapping_add(r * stride + part.at);
                    for (j, sum) in sums.iter_mut().enumerate() {
                        match part.of_vector::<T::Real, V>(j) {
                            0 => {}
                            places => {
                                let row = row.wrapping_add(j * V::N);
                                *sum = sum.add(V::read_places(row, places));
                            }
                        }
                    }
                }
            }
            self.cut(&mut sums);
        }
        sums
    }

    /// Multiplies by the number of row `r`, and adds that of the row.
    ///
    /// # Safety
    /// As [`End::of`].
    #[inline(always)]
    unsafe fn shifted<V: Results<T>, const W: usize>(&self, sums: &mut [V; W], r: usize) {
        // SAFETY: as the caller vouches.
        unsafe {
            if !self.factor.is_null() {
                let factor = V::splat(*self.factor.add(r));
                for sum in sums.iter_mut() {
                    *sum = sum.mul(factor);
                }
            }
            if !self.shift.is_null() {
                let shift = V::splat(*self.shift.add(r));
                for sum in sums {
                    *sum = sum.add(shift);
                }
            }
        }
    }

    /// Zero in place of what is negative, where that is wanted.
    ///
    /// # Safety
    /// As [`End::of`].
    #[inline(always)]
    unsafe fn cut<V: Results<T>, const W: usize>(&self, sums: &mut [V; W]) {
        if self.relu {
            for sum in sums {
                // SAFETY: as the caller vouches.
                *sum = unsafe { sum.relu() };
            }
        }
    }
}
