//! Writing of a file such that readers, and a crash, see the old one or the whole new one.

use crate::drafts::{Draft, is_at, remove_abandoned};
use ferromix_base::{Error, Result};
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// Replaces the file at `path` by what `write` writes: into a new file beside it, which is synced
/// to the disk and then renamed. A link at `path` stays, and the file it names is replaced. The
/// file keeps its mode, and its owner where the system allows it.
///
/// What is no regular file, as a device or a pipe, is written into.
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
/// [`ferromix_base::ErrorKind::Io`] naming the file; a regular file is then untouched.
pub fn atomic_write(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    let path = path.as_ref();
    write_at(path, write)
        .map_err(|reason| Error::io(format!("{}: cannot be written: {reason}", path.display())))
}

fn write_at(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let old = match fs::metadata(path) {
        Ok(old) => Some(old),
        Err(reason) if reason.kind() == io::ErrorKind::NotFound => None,
        Err(reason) => return Err(reason),
    };
    let target = behind_links(path)?;
    match old {
        // A regular file may have no name, as one that was removed and is at /dev/stdout.
        Some(old) if !(old.is_file() && is_at(&old, &target)?) => fill(
            &OpenOptions::new().write(true).truncate(true).open(path)?,
            write,
        ),
        old => replace(&target, old.as_ref(), write),
    }
}

/// What `path` names once links at its end are followed, which need not be there.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    // As many as Linux follows: links that never end are an error before this.
    for _ in 0..40 {
        match fs::read_link(&target) {
            Ok(link) => target = target.parent().unwrap_or(Path::new("")).join(link),
            Err(_) => break,
        }
    }
    match target.file_name() {
        Some(_) => Ok(target),
        // A path may end in `..`, and then names a folder.
        None => fs::canonicalize(target),
    }
}

fn replace(
    target: &Path,
    old: Option<&Metadata>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let name = target
        .file_name()
        .ok_or_else(|| io::Error::other("it names no file"))?;
    remove_abandoned(folder, name);
    // What others may not read they may not read meanwhile.
    let draft = Draft::new(folder, name, if old.is_some() { 0o600 } else { 0o666 })?;
    let done = fill(&draft.file, |file| {
        write(file)?;
        if let Some(old) = old {
            keep_access(&draft.file, old);
        }
        Ok(())
    });
    match done.and_then(|()| fs::rename(&draft.path, target)) {
        // Syncing the folder makes the new name last; some file systems cannot, and need not.
        Ok(()) => File::open(folder)
            .and_then(|folder| folder.sync_all())
            .or(Ok(())),
        Err(reason) => {
            // The first error says what is wrong; a leftover file is not worth hiding it.
            let _ = fs::remove_file(&draft.path);
            Err(reason)
        }
    }
}

/// Gives a new file the owner, the group and the mode of the old one, as far as is allowed: only
/// root can give another owner, and some file systems have none.
fn keep_access(file: &File, old: &Metadata) {
    if fchown(file, Some(old.uid()), Some(old.gid())).is_err() {
        let _ = fchown(file, None, Some(old.gid()));
    }
    // Without the bits that lend rights, which writing into a file takes from it, too.
    let _ = file.set_permissions(Permissions::from_mode(old.mode() & 0o777));
}

/// Writes, and waits for the disk where there is one.
fn fill(file: &File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut buffer = BufWriter::new(file);
    write(&mut buffer)?;
    let file = buffer
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    if file.metadata()?.is_file() {
        file.sync_all()?;
    }
    Ok(())
}
