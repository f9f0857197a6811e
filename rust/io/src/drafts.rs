//! New files beside those that they will replace, and what is left of them when a writer is killed.
//!
//! `files.py` of the Python package has the same names and locks; each removes what the other left.

use flate2::Crc;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a file's name beyond which its drafts have a shorter one: names have 255 at most, and
/// what follows it in a draft's name 45.
const LONG: usize = 200;
/// Bytes that are then left of it.
const KEPT: usize = 190;

/// A new file, which is locked while its writer has it open and lives.
pub(crate) struct Draft {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
}

impl Draft {
    /// A draft for the file called `name`, with a name that no other writer uses.
    ///
    /// Where locks are not to be had its name has no word of the machine, and nobody removes it.
    pub(crate) fn new(folder: &Path, name: &OsStr, mode: u32) -> io::Result<Draft> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let mut begin = beginning(name);
        begin.extend(machine().as_bytes());
        let mut locks = !machine().is_empty();
        loop {
            // Relaxed: only makes numbers distinct.
            let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
            let end = format!("{}-{number}.tmp", std::process::id());
            let path = folder.join(OsString::from_vec([&begin, end.as_bytes()].concat()));
            let mut how = OpenOptions::new();
            let file = match how.write(true).create_new(true).mode(mode).open(&path) {
                Ok(file) => file,
                // Of a process that had this number, perhaps in another container.
                Err(reason) if reason.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(reason) => return Err(reason),
            };
            if locks && file.lock().is_err() {
                locks = false;
                begin.truncate(begin.len() - machine().len());
                let _ = fs::remove_file(&path);
                continue;
            }
            // Before it was locked another writer may have taken it for abandoned.
            if is_at(&file.metadata()?, &path)? {
                return Ok(Draft { path, file });
            }
        }
    }
}

/// Removes drafts of a file whose writers are gone: nobody has them locked any more. Only those of
/// this machine, as on some file systems of a network others' locks do not count.
pub(crate) fn remove_abandoned(folder: &Path, name: &OsStr) {
    if machine().is_empty() {
        return;
    }
    let begin = [&beginning(name), machine().as_bytes()].concat();
    // A draft that stays, for whatever reason, does no harm.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let numbers = name.as_bytes().strip_prefix(&begin[..]);
        let numbers = numbers.and_then(|rest| rest.strip_suffix(b".tmp"));
        if numbers.is_some_and(are_numbers) && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let _ = remove_unlocked(&entry.path());
        }
    }
}

/// Whether a text is that of a process and of a draft, `123-4`.
fn are_numbers(text: &[u8]) -> bool {
    let mut numbers = text.split(|&byte| byte == b'-');
    let mut is_next =
        || (numbers.next()).is_some_and(|n| !n.is_empty() && n.iter().all(u8::is_ascii_digit));
    is_next() && is_next() && numbers.next().is_none()
}

fn remove_unlocked(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    if file.try_lock().is_ok() && is_at(&file.metadata()?, path)? {
        fs::remove_file(path)?;
    }
    Ok(())
}

/// Whether a file is still, or just, the one of that name.
pub(crate) fn is_at(file: &Metadata, path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (file.dev(), file.ino())),
        Err(reason) if reason.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(reason) => Err(reason),
    }
}

/// What all drafts of a file begin with: its name, or what is left of a long one with a checksum.
fn beginning(name: &OsStr) -> Vec<u8> {
    let name = name.as_bytes();
    let mut begin = name.to_vec();
    if name.len() > LONG {
        // Before a byte that begins a character, in UTF-8.
        let begins = |&at: &usize| name[at] & 0xC0 != 0x80;
        begin.truncate((1..=KEPT).rev().find(begins).unwrap_or(KEPT));
        let mut crc = Crc::new();
        crc.update(name);
        begin.extend(format!("~{:08x}", crc.sum()).as_bytes());
    }
    begin.push(b'.');
    begin
}

/// What names the running kernel, for all of its containers, or nothing.
fn machine() -> &'static str {
    static MACHINE: OnceLock<String> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        id.get(..8)
            .map_or_else(String::new, |word| format!("{word}-"))
    })
}
