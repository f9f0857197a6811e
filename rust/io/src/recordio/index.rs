//! Index files: lines of a key, a tab and the offset of a record.

use ferromix_base::{Error, Result};
use std::path::Path;

/// A key and the offset of its record.
pub type IndexEntry = (String, u64);

/// Reads an index file; empty lines are passed over.
///
/// # Errors
/// [`ferromix_base::ErrorKind::Io`] naming file and line, where one is no key, tab and offset, or
/// the file cannot be read.
pub fn read_index(path: impl AsRef<Path>) -> Result<Vec<IndexEntry>> {
    let name = path.as_ref().display().to_string();
    let read = std::fs::read(path);
    let bytes = read.map_err(|reason| Error::io(format!("{name}: cannot be read: {reason}")))?;
    read_index_bytes(&name, &bytes)
}

/// Reads the bytes of an index file, which errors call `name`.
///
/// # Errors
/// As [`read_index`].
pub fn read_index_bytes(name: &str, bytes: &[u8]) -> Result<Vec<IndexEntry>> {
    let lines = bytes.iter().filter(|&&byte| byte == b'\t').count();
    let mut entries = Vec::with_capacity(lines);
    for (number, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let line = std::str::from_utf8(line).map(str::trim);
        if line == Ok("") {
            continue;
        }
        let entry = line.ok().and_then(entry).ok_or_else(|| {
            let (number, found) = (number + 1, excerpt(line));
            Error::io(format!(
                "{name}: in line {number}: expected a key, a tab and the offset of a record, \
                 found {found}"
            ))
        })?;
        entries.push(entry);
    }
    Ok(entries)
}

fn entry(line: &str) -> Option<IndexEntry> {
    let mut fields = line.split('\t');
    let (key, offset) = (fields.next()?, fields.next()?);
    Some((key.to_owned(), offset.trim().parse().ok()?))
}

fn excerpt(line: std::result::Result<&str, std::str::Utf8Error>) -> String {
    match line {
        Err(_) => "bytes that are no text".to_owned(),
        Ok(line) => format!("{:?}", line.chars().take(40).collect::<String>()),
    }
}
