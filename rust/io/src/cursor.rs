//! Reading of numbers and bytes from a file that may lie about what follows.

use ferromix_base::{Error, Result};
use std::fs::File;
use std::io::{self, Read};

/// How much there is to read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length {
    /// So many bytes.
    Exact(u64),
    /// Not more than so many bytes, as behind a decompressor.
    AtMost(u64),
    /// Nobody knows before the end is there.
    Unknown,
}

impl Length {
    /// That of a file; what is no regular one, as a pipe, has none.
    pub(crate) fn of(file: &File) -> io::Result<Length> {
        let found = file.metadata()?;
        Ok(if found.is_file() {
            Length::Exact(found.len())
        } else {
            Length::Unknown
        })
    }

    /// The most bytes that can be there.
    pub(crate) fn bound(self) -> u64 {
        match self {
            Length::Exact(bytes) | Length::AtMost(bytes) => bytes,
            Length::Unknown => u64::MAX,
        }
    }
}

/// A position in a source of bytes, with the name that errors give it.
pub(crate) struct Cursor<'a, R> {
    source: R,
    name: &'a str,
    length: Length,
    offset: u64,
}

impl<'a, R: Read> Cursor<'a, R> {
    pub(crate) fn new(name: &'a str, source: R, length: Length) -> Self {
        Cursor {
            source,
            name,
            length,
            offset: 0,
        }
    }

    /// The offset of the next byte.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The most bytes that can follow.
    pub(crate) fn remaining(&self) -> u64 {
        self.length.bound().saturating_sub(self.offset)
    }

    /// An error about what stands at `offset`.
    pub(crate) fn error(
        &self,
        offset: u64,
        expected: impl std::fmt::Display,
        found: impl std::fmt::Display,
    ) -> Error {
        let name = self.name;
        let unpacked = if matches!(self.length, Length::AtMost(_)) {
            " once unpacked"
        } else {
            ""
        };
        Error::io(format!(
            "{name}: at byte {offset}{unpacked}: expected {expected}, found {found}"
        ))
    }

    fn truncated(&self, wanted: u64, what: &str, found: u64) -> Error {
        let wanted = format_args!("{wanted} bytes of {what}");
        self.error(
            self.offset,
            wanted,
            format_args!("the end of the file after {found}"),
        )
    }

    /// The next `count` bytes, which are `what`.
    pub(crate) fn bytes(&mut self, count: u64, what: &str) -> Result<Vec<u8>> {
        let remaining = self.remaining();
        if count > remaining {
            return Err(match self.length {
                Length::Exact(_) | Length::Unknown => self.truncated(count, what, remaining),
                Length::AtMost(_) => {
                    let expected = format_args!("{count} bytes of {what}");
                    let found = format_args!("a file that can unpack to {remaining} more at most");
                    self.error(self.offset, expected, found)
                }
            });
        }
        // Without a length nothing vouches for the count, and behind a decompressor the bound is far
        // above the truth, so let the bytes come first.
        let known = if matches!(self.length, Length::Exact(_)) {
            count
        } else {
            0
        };
        let mut bytes = Vec::with_capacity(usize::try_from(known).unwrap_or(0));
        let read = self.source.by_ref().take(count).read_to_end(&mut bytes);
        read.map_err(|reason| self.error(self.offset, format_args!("{what}"), reason))?;
        if (bytes.len() as u64) < count {
            return Err(self.truncated(count, what, bytes.len() as u64));
        }
        self.offset += count;
        Ok(bytes)
    }

    /// The next `N` bytes, which are `what`.
    pub(crate) fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(&self.bytes(N as u64, what)?);
        Ok(array)
    }

    /// The next little-endian unsigned number of four bytes.
    pub(crate) fn u32(&mut self, what: &str) -> Result<u32> {
        self.array(what).map(u32::from_le_bytes)
    }

    /// The next little-endian signed number of four bytes.
    pub(crate) fn i32(&mut self, what: &str) -> Result<i32> {
        self.array(what).map(i32::from_le_bytes)
    }

    /// The next little-endian signed number of eight bytes.
    pub(crate) fn i64(&mut self, what: &str) -> Result<i64> {
        self.array(what).map(i64::from_le_bytes)
    }

    /// The next little-endian unsigned number of eight bytes.
    pub(crate) fn u64(&mut self, what: &str) -> Result<u64> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// The next little-endian count of things of at least `least` bytes each.
    pub(crate) fn count(&mut self, least: u64, what: &str) -> Result<u64> {
        let offset = self.offset;
        let count = self.u64(what)?;
        let most = self.remaining() / least;
        if count > most {
            let expected = format_args!("{what} of {most} at most, as the file ends there");
            return Err(self.error(offset, expected, count));
        }
        Ok(count)
    }

    /// Checks that nothing follows.
    pub(crate) fn end(&mut self) -> Result<()> {
        let mut more = Vec::new();
        let read = self.source.by_ref().take(1).read_to_end(&mut more);
        read.map_err(|reason| self.error(self.offset, "the end of the file", reason))?;
        match (more.len(), self.length) {
            (0, _) => Ok(()),
            (_, Length::Exact(_)) => {
                let found = format_args!("{} more bytes", self.remaining());
                Err(self.error(self.offset, "the end of the file", found))
            }
            _ => Err(self.error(self.offset, "the end of the file", "more bytes")),
        }
    }
}

/// Turns elements of `size` bytes from one byte order into the other, in place.
pub(crate) fn swap_bytes(data: &mut [u8], size: usize) {
    if size > 1 {
        data.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
}

/// Turns little-endian elements of `size` bytes into native ones or back, in place.
pub(crate) fn little_endian(data: &mut [u8], size: usize) {
    if cfg!(target_endian = "big") {
        swap_bytes(data, size);
    }
}

/// Turns big-endian elements of `size` bytes into native ones or back, in place.
pub(crate) fn big_endian(data: &mut [u8], size: usize) {
    if cfg!(target_endian = "little") {
        swap_bytes(data, size);
    }
}

/// Bytes of an array, where they can be counted.
pub(crate) fn byte_count(shape: &[usize], size: usize) -> Option<u64> {
    let bytes = shape
        .iter()
        .try_fold(size, |bytes, &extent| bytes.checked_mul(extent))?;
    u64::try_from(bytes)
        .ok()
        .filter(|_| bytes <= isize::MAX as usize)
}
