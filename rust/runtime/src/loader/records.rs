//! Records of images, read from any place of a file, by several threads at once.

use ferromix_base::{Error, Result};
use ferromix_io::RecordReader;
use std::collections::HashMap;
use std::fs::File;
use std::io::Cursor;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The first four bytes of each part of a record.
const MAGIC: u32 = 0xced7_230a;
/// Bytes of the head of an image's record: how many labels follow, a label, two numbers.
const HEAD: usize = 24;

/// Labels by the number in a record's head.
pub type Labels = HashMap<u64, Vec<f32>>;

/// A file of records, and where each begins and ends.
#[derive(Debug)]
pub struct Records {
    file: File,
    name: String,
    spans: Vec<(u64, u64)>,
}

impl Records {
    /// The records of a file that begin at `starts`, or all, which are looked for.
    ///
    /// # Errors
    /// A file that cannot be read, that has something else where a record should begin, or ends
    /// before a record does.
    pub fn open(path: &Path, starts: Option<Vec<u64>>) -> Result<Self> {
        let name = path.display().to_string();
        let why = |reason: std::io::Error| failed(&name, &reason);
        let file = File::open(path).map_err(why)?;
        let size = file.metadata().map_err(why)?.len();
        let mut records = Records {
            file,
            name,
            spans: Vec::new(),
        };
        match starts {
            None => {
                let mut at = 0;
                while at < size {
                    at = records.note(at, size)?;
                }
            }
            Some(starts) => {
                let mut ends: Vec<u64> = starts.iter().copied().chain([size]).collect();
                ends.sort_unstable();
                for start in starts {
                    // To the next record of the index; a reader stops at the end of its own.
                    let next = ends.partition_point(|&end| end <= start);
                    let end = ends.get(next).copied().unwrap_or(size);
                    if start >= size {
                        return Err(
                            records.damaged(start, "the index says that a record begins here")
                        );
                    }
                    records.spans.push((start, end));
                }
            }
        }
        Ok(records)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Keeps some of them.
    pub fn keep(&mut self, kept: impl Fn(usize, u64) -> bool) {
        let mut number = 0;
        self.spans.retain(|&(start, _)| {
            number += 1;
            kept(number - 1, start)
        });
    }

    /// Bytes of the file.
    ///
    /// # Errors
    /// A file that cannot be asked.
    pub fn file_size(&self) -> Result<u64> {
        let why = |reason: std::io::Error| failed(&self.name, &reason);
        Ok(self.file.metadata().map_err(why)?.len())
    }

    fn damaged(&self, at: u64, what: &str) -> Error {
        Error::io(format!(
            "{}, at byte {at}: {what}, but there is none",
            self.name
        ))
    }

    /// Adds the part at `at`; where the next one is.
    fn note(&mut self, at: u64, size: u64) -> Result<u64> {
        let mut head = [0; 8];
        if self.file.read_exact_at(&mut head, at).is_err() {
            return Err(self.damaged(at, "a record should begin here"));
        }
        let [magic, length] =
            [0, 4].map(|i| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]));
        let end = at + 8 + u64::from(length & 0x1fff_ffff).next_multiple_of(4);
        if magic != MAGIC {
            return Err(self.damaged(at, "a record should begin here"));
        }
        if end > size {
            return Err(Error::io(format!(
                "{}, at byte {at}: the file ends after {size} bytes, before the record does, at {end}",
                self.name
            )));
        }
        match (length >> 29, self.spans.last_mut()) {
            (0 | 1, _) => self.spans.push((at, end)),
            (_, Some(last)) => last.1 = end,
            (_, None) => return Err(self.damaged(at, "the first part of a record should be here")),
        }
        Ok(end)
    }

    /// How many labels the record has that has most, beside the one in its head.
    ///
    /// # Errors
    /// A record that is damaged, or a file that cannot be read any more; where all must have the same
    /// number, a record that has another.
    pub fn most_labels(&self, each: Option<usize>) -> Result<usize> {
        let mut record = Vec::new();
        (0..self.len()).try_fold(0, |most, number| {
            let count = match self.count_in_head(number) {
                Some(count) => count,
                None => {
                    let name = self.read(number, &mut record)?;
                    Header::of(&name, &record)?.count
                }
            };
            match (each, self.spans.get(number)) {
                (Some(each), Some(&(start, _))) if each != count => Err(Error::io(format!(
                    "{}, record at byte {start}: has {count} labels, but label_width is {each}",
                    self.name
                ))),
                _ => Ok(most.max(count)),
            }
        })
    }

    /// The count of labels, where it stands at the start of a record in one part, as it nearly always
    /// does.
    fn count_in_head(&self, number: usize) -> Option<usize> {
        let mut words = [0; 12];
        self.file
            .read_exact_at(&mut words, self.spans.get(number)?.0)
            .ok()?;
        let [magic, length, count] = [0, 4, 8].map(|i| {
            let word = [words[i], words[i + 1], words[i + 2], words[i + 3]];
            u32::from_le_bytes(word)
        });
        // The upper bits say which part of a record it is, the others how long that is.
        let whole = magic == MAGIC && length >> 29 == 0 && length as usize >= HEAD;
        let fits = (length as usize).saturating_sub(HEAD) / 4 >= count as usize;
        (whole && fits).then_some(count as usize)
    }

    /// Reads a record; what errors call it.
    ///
    /// # Errors
    /// A record that is damaged, or a file that cannot be read any more.
    pub(super) fn read(&self, number: usize, record: &mut Vec<u8>) -> Result<String> {
        let &(start, end) = self.spans.get(number).ok_or_else(|| {
            Error::value(format!(
                "{} has {} records, not {number}",
                self.name,
                self.len()
            ))
        })?;
        let name = format!("{}, record at byte {start}", self.name);
        let mut bytes = Vec::new();
        let length = (end - start) as usize;
        if bytes.try_reserve_exact(length).is_err() {
            return Err(Error::memory(format!(
                "{name}: reading it needs {length} bytes"
            )));
        }
        bytes.resize(length, 0);
        self.file
            .read_exact_at(&mut bytes, start)
            .map_err(|reason| failed(&name, &reason))?;
        let mut reader = RecordReader::new(name.as_str(), Cursor::new(bytes));
        if !reader.read_into(record)? {
            return Err(Error::io(format!("{name}: there is none")));
        }
        Ok(name)
    }
}

fn failed(name: &str, reason: &std::io::Error) -> Error {
    Error::io(format!("{name}: {reason}"))
}

/// The head of an image's record, and the image.
pub(super) struct Header<'a> {
    count: usize,
    label: f32,
    number: u64,
    labels: &'a [u8],
    pub(super) image: &'a [u8],
}

impl<'a> Header<'a> {
    pub(super) fn of(name: &str, record: &'a [u8]) -> Result<Self> {
        let short = || Error::io(format!("{name}: its {} bytes are too few", record.len()));
        let (head, rest) = record.split_at_checked(HEAD).ok_or_else(short)?;
        let word = |i: usize| [head[i], head[i + 1], head[i + 2], head[i + 3]];
        let count = u32::from_le_bytes(word(0)) as usize;
        let bytes = count.checked_mul(4).ok_or_else(short)?;
        let (labels, image) = rest.split_at_checked(bytes).ok_or_else(short)?;
        let halves = [8, 12].map(|i| u64::from(u32::from_le_bytes(word(i))));
        Ok(Header {
            count,
            label: f32::from_le_bytes(word(4)),
            number: halves[0] | halves[1] << 32,
            labels,
            image,
        })
    }

    /// The label of the list.
    fn listed<'l>(&self, name: &str, list: &'l Labels) -> Result<&'l [f32]> {
        let found = list
            .get(&self.number)
            .ok_or_else(|| Error::io(format!("{name}: the list has no image {}", self.number)))?;
        Ok(found)
    }

    /// The numbers that describe the objects of the image: those of the record, or of the list.
    pub(super) fn objects(&self, name: &str, list: Option<&Labels>) -> Result<Vec<f32>> {
        match list {
            Some(list) => Ok(self.listed(name, list)?.to_vec()),
            None => Ok(self.own().collect()),
        }
    }

    fn own(&self) -> impl Iterator<Item = f32> + '_ {
        self.labels
            .chunks_exact(4)
            .map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]))
    }

    /// Fills `label` with the label, or with that of the list.
    pub(super) fn copy_label(
        &self,
        name: &str,
        list: Option<&Labels>,
        label: &mut [f32],
    ) -> Result<()> {
        let wrong = |found: usize| {
            let width = label.len();
            Error::io(format!(
                "{name}: has {found} labels, but label_width is {width}"
            ))
        };
        if let Some(list) = list {
            let found = self.listed(name, list)?;
            if found.len() < label.len() {
                return Err(wrong(found.len()));
            }
            label.copy_from_slice(&found[..label.len()]);
        } else if self.count == 0 && label.len() == 1 {
            label[0] = self.label;
        } else if self.count == label.len() {
            label
                .iter_mut()
                .zip(self.own())
                .for_each(|(to, from)| *to = from);
        } else {
            return Err(wrong(self.count.max(1)));
        }
        Ok(())
    }
}
