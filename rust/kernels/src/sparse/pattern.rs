//! Where the elements of a csr array are.

use crate::api::View;
use ferromix_base::{Error, Result};
use std::ops::Range;

/// The structure of a matrix.
#[derive(Clone, Copy)]
pub(crate) struct Pattern<'a> {
    pub(crate) indices: &'a [i64],
    pub(crate) indptr: &'a [i64],
    pub(crate) columns: usize,
}

impl<'a> Pattern<'a> {
    pub(crate) fn of(indices: &'a View, indptr: &'a View, columns: usize) -> Result<Self> {
        Ok(Pattern {
            indices: indices.read()?,
            indptr: indptr.read()?,
            columns,
        })
    }

    pub(crate) fn rows(&self) -> usize {
        self.indptr.len().saturating_sub(1)
    }

    /// Where the elements of a row are; None for offsets that are none.
    #[inline(always)]
    pub(crate) fn row(&self, row: usize) -> Option<Range<usize>> {
        let start = usize::try_from(self.indptr[row]).ok()?;
        let end = usize::try_from(self.indptr[row + 1]).ok()?;
        (start <= end && end <= self.indices.len()).then_some(start..end)
    }

    /// The error for the structure, of which something is known to be wrong in `row`.
    pub(crate) fn refuse(&self, name: &str, row: usize) -> Error {
        let Some(range) = self.row(row) else {
            return Error::value(format!(
                "{name}: row {row} of the csr array is stored from {} to {}, which is no range \
                 of what is stored; check_format() tells whether a structure is right",
                self.indptr[row],
                self.indptr[row + 1]
            ));
        };
        let columns = self.columns;
        let wrong = |c: &&i64| usize::try_from(**c).map_or(true, |c| c >= columns);
        let found = self.indices[range].iter().find(wrong).copied();
        Error::value(format!(
            "{name}: row {row} of the csr array has an element in column {}, but there are {columns} \
             columns; check_format() tells whether a structure is right",
            found.unwrap_or_default()
        ))
    }

    /// Checks every offset and every column.
    pub(crate) fn check(&self, name: &str) -> Result<()> {
        let columns = self.columns as u64;
        for row in 0..self.rows() {
            let range = self.row(row).ok_or_else(|| self.refuse(name, row))?;
            // A negative column is a large one.
            if self.indices[range].iter().any(|&c| c as u64 >= columns) {
                return Err(self.refuse(name, row));
            }
        }
        Ok(())
    }
}
