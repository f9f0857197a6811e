//! A file is replaced as a whole or not at all.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod common;

use common::Folder;
use ferromix_base::ErrorKind;
use ferromix_io::atomic_write;
use std::io;

#[test]
fn a_failed_write_leaves_what_was_there() {
    let folder = Folder::new("atomic-failed");
    let path = folder.file("a");
    atomic_write(&path, |file| file.write_all(b"old")).unwrap();
    let error = atomic_write(&path, |file| {
        file.write_all(b"new")?;
        Err(io::Error::other("the disk is on fire"))
    })
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    let message = format!("{}: cannot be written: the disk is on fire", path.display());
    assert_eq!(error.to_string(), message);
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(folder.listing(), ["a"]);
}

#[test]
fn a_link_stays_and_its_file_is_replaced() {
    let folder = Folder::new("atomic-link");
    std::fs::write(folder.file("a"), b"old").unwrap();
    std::os::unix::fs::symlink("a", folder.file("link")).unwrap();
    atomic_write(folder.file("link"), |file| file.write_all(b"new")).unwrap();
    assert_eq!(std::fs::read(folder.file("a")).unwrap(), b"new");
    assert!(folder.file("link").is_symlink());
    assert_eq!(folder.listing(), ["a", "link"]);
}

#[test]
fn a_folder_that_is_missing_is_an_error() {
    let folder = Folder::new("atomic-missing");
    let error = atomic_write(folder.file("no/a"), |_| Ok(())).unwrap_err();
    assert!(
        error.to_string().contains("no/a: cannot be written"),
        "{error}"
    );
}

#[test]
fn writers_at_once_leave_one_whole_file() {
    let folder = Folder::new("atomic-race");
    let path = folder.file("a");
    std::thread::scope(|scope| {
        for byte in 0..4u8 {
            let path = &path;
            scope.spawn(move || {
                (0..20).for_each(|_| atomic_write(path, |f| f.write_all(&[byte; 9000])).unwrap());
            });
        }
    });
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes, vec![bytes[0]; 9000]);
    assert_eq!(folder.listing(), ["a"]);
}
