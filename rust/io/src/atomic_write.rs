//! Writing of a file such that readers, and a crash, see the old one or the whole new one.

use ferromix_base::{Error, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Replaces the file at `path` by what `write` writes: into a new file beside it, which is synced
/// to the disk and then renamed. A link at `path` stays, and the file it names is replaced.
///
/// ```
/// let path = std::env::temp_dir().join(format!("ferromix-doc-{}", std::process::id()));
/// ferromix_io::atomic_write(&path, |file| file.write_all(b"hello"))?;
/// assert_eq!(std::fs::read(&path).unwrap(), b"hello");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), ferromix_base::Error>(())
/// ```
///
/// # Errors
/// [`ferromix_base::ErrorKind::Io`] naming the file; what was there before is then untouched.
pub fn atomic_write(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    let path = path.as_ref();
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    replace(&target, write)
        .map_err(|reason| Error::io(format!("{}: cannot be written: {reason}", path.display())))
}

fn replace(target: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let name = target
        .file_name()
        .ok_or_else(|| io::Error::other("it names no file"))?;
    let (temporary, file) = create_beside(folder, &name.to_string_lossy())?;
    let done = fill(file, write).and_then(|()| fs::rename(&temporary, target));
    match done {
        // Syncing the folder makes the new name last; some file systems cannot, and need not.
        Ok(()) => File::open(folder)
            .and_then(|folder| folder.sync_all())
            .or(Ok(())),
        Err(reason) => {
            // The first error says what is wrong; a leftover file is not worth hiding it.
            let _ = fs::remove_file(&temporary);
            Err(reason)
        }
    }
}

/// A new file, under a name that no other writer of this process or another one uses.
fn create_beside(folder: &Path, name: &str) -> io::Result<(PathBuf, File)> {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    loop {
        // Relaxed: only makes numbers distinct.
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".{name}.{}-{number}.tmp", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(reason) if reason.kind() == io::ErrorKind::AlreadyExists => {}
            Err(reason) => return Err(reason),
        }
    }
}

fn fill(file: File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut buffer = BufWriter::new(file);
    write(&mut buffer)?;
    buffer
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .sync_all()
}
