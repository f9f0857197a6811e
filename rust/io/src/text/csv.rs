//! CSV without quotes or headers: lines of numbers with commas in between.

use super::lines::{Lines, Place};
use ferromix_base::{DType, Error, Result};
use std::path::PathBuf;

/// Reads rows of numbers from CSV files.
#[derive(Debug)]
pub struct CsvReader {
    lines: Lines,
    width: usize,
    dtype: DType,
}

impl CsvReader {
    /// Rows of `width` numbers of a type: f32, f64, i32 or i64.
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Type`] for another type,
    /// [`ferromix_base::ErrorKind::Io`] naming a file that cannot be read.
    pub fn open(paths: Vec<PathBuf>, width: usize, dtype: DType) -> Result<Self> {
        if !matches!(dtype, DType::F32 | DType::F64 | DType::I32 | DType::I64) {
            return Err(Error::dtype(format!(
                "CSV files are read as float32, float64, int32 or int64, not {dtype}"
            )));
        }
        Ok(CsvReader {
            lines: Lines::open(paths, 1, 0)?,
            width,
            dtype,
        })
    }

    /// Appends up to `rows` rows, in native byte order; how many there were.
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Io`] naming file and line of what is no number, or no number of
    /// the type, or of a row of another width. The reader stands behind that line.
    pub fn read(&mut self, rows: usize, out: &mut Vec<u8>) -> Result<usize> {
        self.lines.settle();
        for done in 0..rows {
            let found = match self.dtype {
                DType::F64 => self.row(out, |t| t.parse().ok().map(f64::to_ne_bytes)),
                DType::I32 => self.row(out, |t| {
                    integer(t)
                        .and_then(|i| i32::try_from(i).ok())
                        .map(i32::to_ne_bytes)
                }),
                DType::I64 => self.row(out, |t| integer(t).map(i64::to_ne_bytes)),
                _ => self.row(out, |t| t.parse().ok().map(f32::to_ne_bytes)),
            };
            if !found? {
                return Ok(done);
            }
        }
        Ok(rows)
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

    fn row<const N: usize>(
        &mut self,
        out: &mut Vec<u8>,
        parse: impl Fn(&str) -> Option<[u8; N]>,
    ) -> Result<bool> {
        let text = loop {
            match self.lines.next_line()? {
                None => return Ok(false),
                Some(line) if line.trim_ascii().is_empty() => {}
                Some(line) => break line,
            }
        };
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let text = text.trim_ascii();
        // A comma may end the row.
        let text = text.strip_suffix(b",").unwrap_or(text);
        let mut count = 0;
        for field in text.split(|&byte| byte == b',') {
            count += 1;
            let field = field.trim_ascii();
            let number = std::str::from_utf8(field).ok().and_then(&parse);
            match number {
                Some(number) if count <= self.width => out.extend_from_slice(&number),
                Some(_) => {}
                None => {
                    let (dtype, field) = (self.dtype, excerpt(field));
                    let expected = format!("a number that fits {dtype} as column {count}");
                    return Err(self.lines.error(expected, field));
                }
            }
        }
        if count == self.width {
            return Ok(true);
        }
        let expected = format!("{} numbers, as the shape has", self.width);
        Err(self.lines.error(expected, format_args!("{count}")))
    }
}

/// An integer, or a number whose fraction is cut off.
fn integer(text: &str) -> Option<i64> {
    let cut = |number: f64| {
        let number = number.trunc();
        // Both limits are powers of two, and so exact.
        let fits = number >= i64::MIN as f64 && number < -(i64::MIN as f64);
        fits.then_some(number as i64)
    };
    text.parse()
        .ok()
        .or_else(|| text.parse().ok().and_then(cut))
}

/// The beginning of what was found, for an error.
pub(super) fn excerpt(field: &[u8]) -> String {
    match std::str::from_utf8(field) {
        Ok("") => "nothing".to_owned(),
        Ok(text) => format!("{:?}", text.chars().take(40).collect::<String>()),
        Err(_) => "bytes that are no text".to_owned(),
    }
}
