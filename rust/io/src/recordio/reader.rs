//! Reading of records, one after the other or from an offset on.

use super::{LENGTH_BITS, MAGIC, MOST, Part, padding};
use ferromix_base::{Error, Result};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// Large enough for many small records, small enough for jumps between them.
const BUFFER: usize = 32 * 1024;

/// Reads the records of a RecordIO file.
///
/// A record that is damaged is an error each time it is read, until the reader is moved.
///
/// ```
/// use ferromix_io::{RecordReader, RecordWriter};
///
/// let mut writer = RecordWriter::new("memory", Vec::new());
/// writer.write(b"one")?;
/// let second = writer.write(b"two")?;
/// let file = writer.into_inner();
///
/// let mut reader = RecordReader::new("memory", std::io::Cursor::new(file));
/// let mut record = Vec::new();
/// assert!(reader.read_into(&mut record)?);
/// assert_eq!(record, b"one");
/// reader.seek(second)?;
/// assert!(reader.read_into(&mut record)?);
/// assert_eq!(record, b"two");
/// assert!(!reader.read_into(&mut record)?); // the end of the file
/// # Ok::<(), ferromix_base::Error>(())
/// ```
#[derive(Debug)]
pub struct RecordReader<R = BufReader<File>> {
    source: R,
    name: String,
    offset: u64,
    /// As it was looked up last; none for what has no end to seek to, such as a pipe.
    size: Option<u64>,
}

impl RecordReader {
    /// Opens a file.
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Io`] naming the file, where it cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let name = path.as_ref().display().to_string();
        let failed = |reason| Error::io(format!("{name}: cannot be read: {reason}"));
        let file = File::open(&path).map_err(failed)?;
        Ok(RecordReader::new(
            name.clone(),
            BufReader::with_capacity(BUFFER, file),
        ))
    }
}

impl<R: Read + Seek> RecordReader<R> {
    /// Reads what `source` gives, which errors call `name`.
    pub fn new(name: impl Into<String>, source: R) -> Self {
        let name = name.into();
        RecordReader {
            source,
            name,
            offset: 0,
            size: None,
        }
    }

    /// The offset of the next record.
    pub fn tell(&self) -> u64 {
        self.offset
    }

    /// Moves to the record at an offset, as [`tell`](Self::tell) or an index gives it.
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Io`] where the file ends before, or cannot be moved in.
    pub fn seek(&mut self, offset: u64) -> Result<()> {
        if offset == self.offset {
            return Ok(());
        }
        let size = self.size_with(offset);
        if size.is_some_and(|size| offset > size) {
            let found = format_args!("a file of {} bytes", size.unwrap_or_default());
            return Err(self.error(offset, "a record", found));
        }
        let moved = self.source.seek(SeekFrom::Start(offset));
        moved.map_err(|reason| self.error(offset, "a place to go to", reason))?;
        self.offset = offset;
        Ok(())
    }

    /// Reads the next record into `record`, whose capacity is used again; false at the end of the
    /// file.
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Io`] naming file and offset, where there is something else than
    /// a record, or a part of one only.
    pub fn read_into(&mut self, record: &mut Vec<u8>) -> Result<bool> {
        let start = self.offset;
        let result = self.parts_into(record);
        if result.is_err() {
            record.clear();
            self.offset = start;
            // What cannot be moved in, a pipe, is at the wrong place now, which the magic will tell.
            let _ = self.source.seek(SeekFrom::Start(start));
        }
        result
    }

    fn parts_into(&mut self, record: &mut Vec<u8>) -> Result<bool> {
        record.clear();
        let start = self.offset;
        let mut is_first = true;
        while let Some((part, length)) = self.head(is_first)? {
            let begins = matches!(part, Part::Whole | Part::First);
            if begins != is_first {
                let expected = match is_first {
                    true => "the beginning of a record (flag 0 or 1)",
                    false => "another part of the record (flag 2 or 3)",
                };
                let found = format_args!("flag {} (record from byte {start})", part as u32);
                return Err(self.error(self.offset + 4, expected, found));
            }
            if !is_first {
                record.extend_from_slice(&MAGIC);
            }
            self.offset += 8;
            self.data(record, length)?;
            if matches!(part, Part::Whole | Part::Last) {
                return Ok(true);
            }
            is_first = false;
        }
        Ok(false)
    }

    /// Flag and length of the part that follows; none at the end of the file, where it may be.
    fn head(&mut self, may_end: bool) -> Result<Option<(Part, u32)>> {
        let mut head = [0; 8];
        let found = self.fill(&mut head)?;
        if found == 0 && may_end {
            return Ok(None);
        }
        if found >= 4 && head[..4] != MAGIC {
            let word = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
            let expected = "the magic of a record, 0xced7230a";
            return Err(self.error(self.offset, expected, format_args!("{word:#010x}")));
        }
        if found < 8 {
            let found = format_args!("the end of the file after {found}");
            return Err(self.error(self.offset, "8 bytes of the head of a record", found));
        }
        let word = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        let flag = word >> LENGTH_BITS;
        match Part::from_flag(flag) {
            Some(part) => Ok(Some((part, word & MOST))),
            None => Err(self.error(self.offset + 4, "a flag of 0 to 3", flag)),
        }
    }

    /// Appends `length` bytes of data, and passes over what fills them up.
    fn data(&mut self, record: &mut Vec<u8>, length: u32) -> Result<()> {
        let end = self.offset + u64::from(length);
        let before = record.len();
        // The length is believed as far as the file goes; beyond it, bytes come before memory.
        let found = if self.size_with(end).is_some_and(|size| end <= size) {
            record.resize(before + length as usize, 0);
            self.fill(&mut record[before..])?
        } else {
            let mut limited = self.source.by_ref().take(length.into());
            let read = limited.read_to_end(record);
            read.map_err(|reason| self.error(self.offset, "the data of a record", reason))?
        };
        if found < length as usize {
            let expected = format_args!("{length} bytes of a record");
            let found = format_args!("the end of the file after {found}");
            return Err(self.error(self.offset, expected, found));
        }
        self.offset = end;
        let fill = padding(length) as usize;
        let mut zeros = [0; 3];
        let found = self.fill(&mut zeros[..fill])?;
        if found < fill {
            let expected = format_args!("{fill} bytes that fill up the record");
            let found = format_args!("the end of the file after {found}");
            return Err(self.error(end, expected, found));
        }
        self.offset += fill as u64;
        Ok(())
    }

    /// Reads as much as there is, to the end of `bytes` at most.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < bytes.len() {
            match self.source.read(&mut bytes[done..]) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(reason) if reason.kind() == std::io::ErrorKind::Interrupted => {}
                Err(reason) => return Err(self.error(self.offset, "a record", reason)),
            }
        }
        Ok(done)
    }

    /// The size of the file, looked up again if it was smaller than `offset`: files grow.
    fn size_with(&mut self, offset: u64) -> Option<u64> {
        if self.size.is_none_or(|size| size < offset) {
            self.size = self.look_up_size();
        }
        self.size
    }

    fn look_up_size(&mut self) -> Option<u64> {
        let here = self.source.stream_position().ok()?;
        let size = self.source.seek(SeekFrom::End(0)).ok()?;
        self.source.seek(SeekFrom::Start(here)).ok()?;
        Some(size)
    }

    fn error(
        &self,
        offset: u64,
        expected: impl std::fmt::Display,
        found: impl std::fmt::Display,
    ) -> Error {
        let name = &self.name;
        Error::io(format!(
            "{name}: at byte {offset}: expected {expected}, found {found}"
        ))
    }
}
