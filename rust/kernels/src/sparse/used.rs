//! The columns of a csr array that have elements: the rows of a product with its transpose.

use super::pattern::Pattern;
use ferromix_base::Result;

/// Which columns a matrix has elements in, and which of those is which.
pub(crate) enum Used {
    /// A bit for each column, and how many columns come before those of each word.
    Bits { words: Vec<u64>, before: Vec<usize> },
    /// Their numbers, where most columns have none.
    Few(Vec<i64>),
}

impl Used {
    /// Columns for each element from which on a list takes less memory than bits.
    const SPARSE: usize = 64;

    /// Those of a matrix, and how many there are.
    ///
    /// # Errors
    /// A structure that is wrong.
    pub(crate) fn of(name: &str, pattern: Pattern<'_>) -> Result<(Self, usize)> {
        let stored = pattern.indices.len() + 1024;
        if pattern.columns / Self::SPARSE > stored {
            pattern.check(name)?;
            let rows = (0..pattern.rows()).filter_map(|row| pattern.row(row));
            let mut found: Vec<i64> = rows
                .flat_map(|r| pattern.indices[r].iter().copied())
                .collect();
            found.sort_unstable();
            found.dedup();
            let count = found.len();
            return Ok((Used::Few(found), count));
        }
        let mut words = vec![0u64; pattern.columns.div_ceil(64)];
        for row in 0..pattern.rows() {
            let range = pattern.row(row).ok_or_else(|| pattern.refuse(name, row))?;
            for &c in &pattern.indices[range] {
                // A negative column is a large one.
                if c as u64 >= pattern.columns as u64 {
                    return Err(pattern.refuse(name, row));
                }
                words[c as usize / 64] |= 1 << (c as usize % 64);
            }
        }
        let mut count = 0;
        let before = words.iter().map(|word| {
            let first = count;
            count += word.count_ones() as usize;
            first
        });
        let before = before.collect();
        Ok((Used::Bits { words, before }, count))
    }

    /// Which of the used columns a used column is.
    #[inline(always)]
    pub(crate) fn place(&self, column: usize) -> usize {
        match self {
            Used::Bits { words, before } => {
                let lower = words[column / 64] & ((1 << (column % 64)) - 1);
                before[column / 64] + lower.count_ones() as usize
            }
            Used::Few(found) => found.partition_point(|&c| c < column as i64),
        }
    }

    /// Writes their numbers, which grow.
    pub(crate) fn list(&self, into: &mut [i64]) {
        let words = match self {
            Used::Bits { words, .. } => words,
            Used::Few(found) => return into[..found.len()].copy_from_slice(found),
        };
        let mut into = into.iter_mut();
        for (number, &word) in words.iter().enumerate() {
            let mut rest = word;
            let places = into.by_ref().take(word.count_ones() as usize);
            for place in places {
                *place = (number * 64) as i64 + i64::from(rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
    }
}
