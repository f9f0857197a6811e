//! LibSVM: lines of a label and the numbers that are not zero, each with its index.

use super::csv::excerpt;
use super::lines::{Lines, Place};
use ferromix_base::Result;
use std::path::PathBuf;

/// Rows in compressed form, and their labels.
#[derive(Clone, Debug, PartialEq)]
pub struct LibsvmRows {
    /// A label for each row.
    pub labels: Vec<f32>,
    /// For each row, how many numbers the rows before it store; at last, all.
    pub indptr: Vec<i64>,
    /// The column of each number, growing within a row.
    pub indices: Vec<i64>,
    /// The numbers.
    pub values: Vec<f32>,
}

impl Default for LibsvmRows {
    fn default() -> Self {
        LibsvmRows {
            labels: Vec::new(),
            indptr: vec![0],
            indices: Vec::new(),
            values: Vec::new(),
        }
    }
}

/// Reads rows from LibSVM files, whose indices count from 0.
///
/// A line is `label index:value index:value ...`; a weight after the label (`label:weight`), `qid:N`
/// and what follows a `#` are passed over.
#[derive(Debug)]
pub struct LibsvmReader {
    lines: Lines,
    width: i64,
}

impl LibsvmReader {
    /// Rows of `width` columns; of part `index` of `parts`, as [`Lines`] cuts them.
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Io`] naming a file that cannot be read.
    pub fn open(paths: Vec<PathBuf>, width: usize, parts: u64, index: u64) -> Result<Self> {
        Ok(LibsvmReader {
            lines: Lines::open(paths, parts, index)?,
            width: i64::try_from(width).unwrap_or(i64::MAX),
        })
    }

    /// Up to `rows` rows.
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Io`] naming file and line of what is no such line, or has an index
    /// that the row lacks, or twice. The reader stands behind that line.
    pub fn read(&mut self, rows: usize) -> Result<LibsvmRows> {
        self.lines.settle();
        let mut found = LibsvmRows::default();
        while found.labels.len() < rows && self.row(&mut found)? {}
        Ok(found)
    }

    /// Where the next row is.
    pub fn place(&self) -> Place {
        self.lines.place()
    }

    /// Goes to a place, as [`place`](Self::place) gave it.
    pub fn seek(&mut self, place: Place) {
        self.lines.seek(place);
    }

    /// Goes to the first row.
    pub fn rewind(&mut self) {
        self.lines.rewind();
    }

    fn row(&mut self, rows: &mut LibsvmRows) -> Result<bool> {
        let first = rows.indices.len();
        loop {
            let Some(line) = self.lines.next_line()? else {
                return Ok(false);
            };
            let line = line.split(|&byte| byte == b'#').next().unwrap_or_default();
            match parse(line, self.width, rows) {
                Ok(true) => break,
                Ok(false) => {}
                Err((expected, found)) => return Err(self.lines.error(expected, found)),
            }
        }
        if let Err(index) = sort(&mut rows.indices[first..], &mut rows.values[first..]) {
            let expected = "each index once in a row";
            return Err(self.lines.error(expected, format_args!("{index} twice")));
        }
        rows.indptr.push(rows.indices.len() as i64);
        Ok(true)
    }
}

/// What was expected and found.
type Mismatch = (String, String);

/// Appends a line, but for `indptr`; false for one that is empty.
fn parse(line: &[u8], width: i64, rows: &mut LibsvmRows) -> std::result::Result<bool, Mismatch> {
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let Some(label) = words.next() else {
        return Ok(false);
    };
    let wrong = |expected: &str, word: &[u8]| (expected.to_owned(), excerpt(word));
    let (label_number, weight) = halves(label);
    let number = parsed::<f32>(label_number)
        .filter(|_| weight.is_none_or(|weight| parsed::<f32>(weight).is_some()))
        .ok_or_else(|| wrong("a number as label", label))?;
    for word in words {
        let (index, value) = match halves(word) {
            (b"qid", Some(_)) => continue,
            (index, value) => (parsed::<i64>(index), value.and_then(parsed::<f32>)),
        };
        let (Some(index), Some(value)) = (index, value) else {
            return Err(wrong("index:value", word));
        };
        if !(0..width).contains(&index) {
            let expected = format!("an index of 0 to {}, as the shape has", width - 1);
            return Err((expected, excerpt(word)));
        }
        rows.indices.push(index);
        rows.values.push(value);
    }
    rows.labels.push(number);
    Ok(true)
}

fn halves(word: &[u8]) -> (&[u8], Option<&[u8]>) {
    match word.iter().position(|&byte| byte == b':') {
        Some(at) => (&word[..at], Some(&word[at + 1..])),
        None => (word, None),
    }
}

fn parsed<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Sorts a row by its indices; an index that is there twice is an error.
fn sort(indices: &mut [i64], values: &mut [f32]) -> std::result::Result<(), i64> {
    if !indices.is_sorted() {
        let mut pairs: Vec<_> = indices
            .iter()
            .copied()
            .zip(values.iter().copied())
            .collect();
        pairs.sort_by_key(|&(index, _)| index);
        for (number, (index, value)) in pairs.into_iter().enumerate() {
            indices[number] = index;
            values[number] = value;
        }
    }
    match indices.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(pair[0]),
        None => Ok(()),
    }
}
