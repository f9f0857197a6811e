//! Lines of several files, one after the other, or of a part of them.

use ferromix_base::{Error, Result};
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::PathBuf;

/// Large enough to keep the system out of the way.
const BUFFER: usize = 64 * 1024;

/// Where a reader stands: the offset of the next line in all files together, and how many lines of
/// its file came before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Bytes before it, in this file and those before.
    pub offset: u64,
    /// Lines before it in its file, or in this part of it.
    pub line: u64,
}

#[derive(Debug)]
struct Entry {
    path: PathBuf,
    /// Bytes of the files before it.
    start: u64,
}

/// Lines of files, without their ends; `\n`, `\r` and `\r\n` end one, and so does a file. Empty ones
/// are left out.
///
/// A part of several is what lies between two of as many equal cuts, in bytes, moved on to the next
/// beginning of a line; a line that begins just at a cut counts to the part before.
#[derive(Debug)]
pub struct Lines {
    files: Vec<Entry>,
    begin: u64,
    end: u64,
    place: Place,
    /// The file that is open, and its number.
    source: Option<(usize, BufReader<File>)>,
    line: Vec<u8>,
    /// Which process opened it: the child of a fork shares its offset with the parent.
    process: u32,
    /// Of the line that was read last.
    last: Place,
}

impl Lines {
    /// Lines of the files, or of part `index` of `parts`.
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Io`] naming a file that cannot be read.
    pub fn open(paths: Vec<PathBuf>, parts: u64, index: u64) -> Result<Self> {
        let mut total = 0;
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let start = total;
            let size = std::fs::metadata(&path).map_err(|reason| unreadable(&path, reason))?;
            total += size.len();
            files.push(Entry { path, start });
        }
        let origin = Place { offset: 0, line: 0 };
        let mut lines = Lines {
            files,
            begin: 0,
            end: total,
            place: origin,
            source: None,
            line: Vec::new(),
            process: std::process::id(),
            last: origin,
        };
        let step = total.div_ceil(parts.max(1));
        let cut = |number: u64| step.saturating_mul(number).min(total);
        let (begin, end) = (cut(index), cut(index.saturating_add(1)));
        if begin == end {
            (lines.begin, lines.end) = (begin, begin);
        } else {
            (lines.begin, lines.end) = (lines.beginning(begin)?, lines.beginning(end)?);
        }
        lines.rewind();
        Ok(lines)
    }

    /// Where the next line is.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Goes to a place, as [`place`](Self::place) gave it.
    pub fn seek(&mut self, place: Place) {
        self.place = place;
        self.source = None;
    }

    /// Goes to the first line.
    pub fn rewind(&mut self) {
        self.seek(Place {
            offset: self.begin,
            line: 0,
        });
    }

    /// Opens the file anew if this is another process than before; to be asked before lines are.
    pub fn settle(&mut self) {
        let process = std::process::id();
        if process != self.process {
            self.process = process;
            self.source = None;
        }
    }

    /// The next line that is not empty; none at the end.
    ///
    /// # Errors
    /// [`ferromix_base::ErrorKind::Io`] naming a file that cannot be read.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>> {
        loop {
            if self.place.offset >= self.end || !self.open_source()? {
                return Ok(None);
            }
            self.last = self.place;
            let used = self.read_line()?;
            if used == 0 {
                // The file ends here, sooner than it did when its size was asked for, perhaps.
                self.leave_file();
                continue;
            }
            self.place.offset += used;
            if !self.line.is_empty() {
                return Ok(Some(&self.line));
            }
        }
    }

    /// An error about the line that was read last.
    pub fn error(&self, expected: impl std::fmt::Display, found: impl std::fmt::Display) -> Error {
        let number = self.file_at(self.last.offset).unwrap_or_default();
        let Some(entry) = self.files.get(number) else {
            return Error::io(format!("no file: expected {expected}, found {found}"));
        };
        let name = entry.path.display();
        let byte = self.last.offset - entry.start;
        // Within a part, lines before its first file's beginning are not counted.
        let line = if self.begin <= entry.start {
            format!("in line {} (at byte {byte})", self.last.line + 1)
        } else {
            format!("at byte {byte}")
        };
        Error::io(format!(
            "{name}: {line}: expected {expected}, found {found}"
        ))
    }

    fn file_at(&self, offset: u64) -> Option<usize> {
        self.files
            .partition_point(|file| file.start <= offset)
            .checked_sub(1)
    }

    /// Opens the file of the next line, unless it is open; false if there is none.
    fn open_source(&mut self) -> Result<bool> {
        if self.source.is_some() {
            return Ok(true);
        }
        let Some(number) = self.file_at(self.place.offset) else {
            return Ok(false);
        };
        let file = &self.files[number];
        let within = self.place.offset - file.start;
        let opened = File::open(&file.path).and_then(|opened| {
            let mut source = BufReader::with_capacity(BUFFER, opened);
            source.seek(SeekFrom::Start(within))?;
            Ok(source)
        });
        let source = opened.map_err(|reason| unreadable(&file.path, reason))?;
        self.source = Some((number, source));
        Ok(true)
    }

    fn leave_file(&mut self) {
        let next = self.source.take().map_or(0, |(number, _)| number + 1);
        let offset = self.files.get(next).map_or(self.end, |file| file.start);
        self.place = Place { offset, line: 0 };
    }

    /// Reads a line into `line`; how many bytes it took, with its end.
    fn read_line(&mut self) -> Result<u64> {
        self.line.clear();
        let Some((number, source)) = &mut self.source else {
            return Ok(0);
        };
        let path = &self.files[*number].path;
        let mut used = 0;
        loop {
            let buffer = filled(source).map_err(|reason| unreadable(path, reason))?;
            let end = buffer.iter().position(|&b| b == b'\n' || b == b'\r');
            let taken = end.unwrap_or(buffer.len());
            self.line.extend_from_slice(&buffer[..taken]);
            let ender = end.map(|at| buffer[at]);
            let is_empty = buffer.is_empty();
            let consumed = taken + usize::from(ender.is_some());
            source.consume(consumed);
            used += consumed as u64;
            if let Some(ender) = ender {
                let next = filled(source).map_err(|reason| unreadable(path, reason))?;
                if ender == b'\r' && next.first() == Some(&b'\n') {
                    source.consume(1);
                    used += 1;
                }
            }
            if ender.is_some() || is_empty {
                self.place.line += u64::from(ender.is_some());
                return Ok(used);
            }
        }
    }

    /// The first beginning of a line behind a cut, which may be that of a file.
    fn beginning(&self, cut: u64) -> Result<u64> {
        let number = self.file_at(cut).unwrap_or_default();
        let Some(file) = self.files.get(number) else {
            return Ok(cut);
        };
        if file.start == cut || cut >= self.end {
            return Ok(cut);
        }
        let failed = |reason| unreadable(&file.path, reason);
        let mut source = BufReader::new(File::open(&file.path).map_err(failed)?);
        source
            .seek(SeekFrom::Start(cut - file.start))
            .map_err(failed)?;
        let (mut at, mut ended) = (cut, false);
        loop {
            let buffer = filled(&mut source).map_err(failed)?;
            let Some(&byte) = buffer.first() else {
                return Ok(at);
            };
            let is_end = byte == b'\n' || byte == b'\r';
            if ended && !is_end {
                return Ok(at);
            }
            ended |= is_end;
            source.consume(1);
            at += 1;
        }
    }
}

/// What is in the buffer, after reading if it was empty; nothing at the end of the file.
fn filled(source: &mut BufReader<File>) -> std::io::Result<&[u8]> {
    while source.buffer().is_empty() {
        match source.fill_buf() {
            Ok(_) => break,
            Err(reason) if reason.kind() == std::io::ErrorKind::Interrupted => {}
            Err(reason) => return Err(reason),
        }
    }
    Ok(source.buffer())
}

fn unreadable(path: &std::path::Path, reason: std::io::Error) -> Error {
    Error::io(format!("{}: cannot be read: {reason}", path.display()))
}
