//! The columns of a csr array that have elements: the rows of a product with its transpose.

use super::pattern::Pattern;
use ferromix_base::Result;

/// Which columns a matrix has elements in, and which of those is which.
pub(crate) struct Used {
    /// Their numbers, which grow.
    found: Vec<i64>,
    place: Place,
}

enum Place {
    /// For each column which of the used ones it is.
    Slots(Vec<u32>),
    /// A bit for each column, and how many columns come before those of each word.
    Bits { words: Vec<u64>, before: Vec<usize> },
    /// Where it is among the numbers.
    Search,
}

impl Used {
    /// Columns for each element up to which slots are kept: they are read fastest.
    const DENSE: usize = 16;
    /// Columns for each element from which on a list takes less memory than bits.
    const SPARSE: usize = 64;

    /// Those of a matrix.
    ///
    /// # Errors
    /// A structure that is wrong.
    pub(crate) fn of(name: &str, pattern: Pattern<'_>) -> Result<Self> {
        let stored = pattern.indices.len() + 1024;
        if pattern.columns / Self::SPARSE > stored {
            pattern.check(name)?;
            let rows = (0..pattern.rows()).filter_map(|row| pattern.row(row));
            let columns = rows.flat_map(|r| pattern.indices[r].iter().copied());
            let mut found: Vec<i64> = columns.collect();
            found.sort_unstable();
            found.dedup();
            let place = Place::Search;
            return Ok(Used { found, place });
        }
        let words = marked(name, pattern)?;
        let mut count = 0;
        let before = words.iter().map(|word| {
            let first = count;
            count += word.count_ones() as usize;
            first
        });
        let before: Vec<usize> = before.collect();
        let found = numbers(&words, count);
        if pattern.columns / Self::DENSE > stored || u32::try_from(count).is_err() {
            let place = Place::Bits { words, before };
            return Ok(Used { found, place });
        }
        let mut slots = vec![0; pattern.columns];
        for (slot, &column) in (0..).zip(&found) {
            slots[column as usize] = slot;
        }
        let place = Place::Slots(slots);
        Ok(Used { found, place })
    }

    /// Their numbers, which grow.
    pub(crate) fn found(&self) -> &[i64] {
        &self.found
    }

    /// For each column which of the used ones it is, where few columns are not used.
    pub(crate) fn slots(&self) -> Option<&[u32]> {
        match &self.place {
            Place::Slots(slots) => Some(slots),
            _ => None,
        }
    }

    /// Which of the used columns a used column is.
    pub(crate) fn place(&self, column: usize) -> usize {
        match &self.place {
            Place::Slots(slots) => slots[column] as usize,
            Place::Bits { words, before } => {
                let lower = words[column / 64] & ((1 << (column % 64)) - 1);
                before[column / 64] + lower.count_ones() as usize
            }
            Place::Search => self.found.partition_point(|&c| c < column as i64),
        }
    }
}

/// A bit for each column that has elements.
fn marked(name: &str, pattern: Pattern<'_>) -> Result<Vec<u64>> {
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
    Ok(words)
}

/// The numbers of the bits that are set.
fn numbers(words: &[u64], count: usize) -> Vec<i64> {
    let mut found = Vec::with_capacity(count);
    for (number, &word) in words.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            found.push((number * 64) as i64 + i64::from(rest.trailing_zeros()));
            rest &= rest - 1;
        }
    }
    found
}
