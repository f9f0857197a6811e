//! Writing of records.

use super::{LENGTH_BITS, MAGIC, MOST, Part, padding};
use ferromix_base::{Error, Result};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Large enough for many small records.
const BUFFER: usize = 64 * 1024;

/// How much of the data is searched for the magic at once.
const BLOCK: usize = 1024;

/// Writes a RecordIO file, record by record.
///
/// What was written is in the file after [`flush`](Self::flush). A failure leaves half a record
/// there, so nothing can be written after one.
#[derive(Debug)]
pub struct RecordWriter<W: Write = BufWriter<File>> {
    sink: W,
    name: String,
    offset: u64,
    failed: bool,
}

impl RecordWriter {
    /// Makes a file, or empties the one that is there.
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Io`] naming the file, where it cannot be made.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let name = path.as_ref().display().to_string();
        let made = File::create(path);
        let file =
            made.map_err(|reason| Error::io(format!("{name}: cannot be written: {reason}")))?;
        let sink = BufWriter::with_capacity(BUFFER, file);
        Ok(RecordWriter::new(name, sink))
    }

    /// Closes the file without what was not flushed: in a child process, this is the parent's to
    /// write.
    pub fn discard(self) {
        drop(self.sink.into_parts());
    }
}

impl<W: Write> RecordWriter<W> {
    /// Writes to `sink`, which errors call `name`.
    pub fn new(name: impl Into<String>, sink: W) -> Self {
        let name = name.into();
        RecordWriter {
            sink,
            name,
            offset: 0,
            failed: false,
        }
    }

    /// The offset of the next record.
    pub fn tell(&self) -> u64 {
        self.offset
    }

    /// What was written to.
    pub fn into_inner(self) -> W {
        self.sink
    }

    /// Appends a record; its offset.
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Value`] for a record of 2^29 bytes or more, which the format
    /// cannot hold; [`ferromix_base::ErrorKind::Io`] where it cannot be written, or an earlier one
    /// could not.
    pub fn write(&mut self, record: &[u8]) -> Result<u64> {
        let start = self.offset;
        if u32::try_from(record.len()).is_ok_and(|length| length <= MOST) {
            self.attempt(|writer| writer.parts(record))?;
            return Ok(start);
        }
        let (name, bytes) = (&self.name, record.len());
        Err(Error::value(format!(
            "{name}: a record has at most {MOST} bytes, this one has {bytes}: split it"
        )))
    }

    /// Hands everything to the system.
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Io`] where that cannot be, or an earlier record could not be
    /// written.
    pub fn flush(&mut self) -> Result<()> {
        self.attempt(|writer| writer.sink.flush())
    }

    fn attempt(&mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) -> Result<()> {
        let name = &self.name;
        if self.failed {
            return Err(Error::io(format!(
                "{name}: cannot be written: an earlier record could not, and the file ends in it"
            )));
        }
        self.failed = true;
        let done = write(self);
        self.failed = done.is_err();
        let (name, offset) = (&self.name, self.offset);
        done.map_err(|reason| {
            Error::io(format!(
                "{name}: cannot be written, at about byte {offset}: {reason}"
            ))
        })
    }

    fn parts(&mut self, record: &[u8]) -> io::Result<()> {
        let mut from = 0;
        while let Some(at) = find_magic(record, from) {
            let part = if from == 0 { Part::First } else { Part::Middle };
            self.part(part, &record[from..at])?;
            from = at + MAGIC.len();
        }
        let part = if from == 0 { Part::Whole } else { Part::Last };
        self.part(part, &record[from..])
    }

    fn part(&mut self, part: Part, data: &[u8]) -> io::Result<()> {
        // No longer than the record, whose length fits.
        let length = data.len() as u32;
        let fill = padding(length);
        self.sink.write_all(&MAGIC)?;
        self.sink
            .write_all(&((part as u32) << LENGTH_BITS | length).to_le_bytes())?;
        self.sink.write_all(data)?;
        self.sink.write_all(&[0; 3][..fill as usize])?;
        self.offset += 8 + u64::from(length) + u64::from(fill);
        Ok(())
    }
}

/// Where, at a multiple of four, the magic stands next.
fn find_magic(record: &[u8], from: usize) -> Option<usize> {
    let blocks = record[from..].chunks(BLOCK).enumerate();
    for (number, block) in blocks {
        // Without an early end, so that it runs on vectors.
        let hit = block
            .chunks_exact(4)
            .fold(false, |hit, word| hit | (word == MAGIC));
        if hit && let Some(word) = block.chunks_exact(4).position(|word| word == MAGIC) {
            return Some(from + number * BLOCK + 4 * word);
        }
    }
    None
}
