//! A file is replaced as a whole or not at all.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod common;

use common::Folder;
use ferromix_base::ErrorKind;
use ferromix_io::atomic_write;
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown, symlink};
use std::process::Command;

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
    symlink("a", folder.file("link")).unwrap();
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

#[test]
fn a_link_to_nothing_stays_and_its_file_is_made() {
    let folder = Folder::new("atomic-dangling");
    std::fs::create_dir(folder.file("in")).unwrap();
    symlink("in/first", folder.file("link")).unwrap();
    symlink("../a", folder.file("in/first")).unwrap();
    atomic_write(folder.file("link"), |file| file.write_all(b"new")).unwrap();
    assert_eq!(std::fs::read(folder.file("a")).unwrap(), b"new");
    assert_eq!(folder.listing(), ["a", "in", "link"]);
    symlink("round", folder.file("round")).unwrap();
    let error = atomic_write(folder.file("round"), |_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("(os error 40)"), "{error}");
}

#[test]
fn a_pipe_is_written_into() {
    let folder = Folder::new("atomic-pipe");
    let path = folder.pipe("pipe");
    symlink("pipe", folder.file("link")).unwrap();
    let mut reader = Command::new("timeout");
    reader.arg("20").arg("cat").arg(&path);
    let long = vec![7; 300_000];
    let got = std::thread::scope(|scope| {
        let got = scope.spawn(|| reader.output().unwrap().stdout);
        atomic_write(folder.file("link"), |file| file.write_all(&long)).unwrap();
        got.join().unwrap()
    });
    assert_eq!(got, long);
    assert!(std::fs::metadata(&path).unwrap().file_type().is_fifo());
    assert_eq!(folder.listing(), ["link", "pipe"]);
}

#[test]
fn a_file_without_a_name_is_written_into() {
    let folder = Folder::new("atomic-nameless");
    let path = folder.file("a");
    std::fs::write(&path, b"what was there").unwrap();
    let mut file = File::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    atomic_write(open, |file| file.write_all(b"new")).unwrap();
    let mut found = Vec::new();
    file.read_to_end(&mut found).unwrap();
    assert_eq!(found, b"new");
    assert_eq!(folder.listing(), [""; 0]);
}

#[test]
fn a_file_keeps_its_mode_and_owner() {
    let folder = Folder::new("atomic-mode");
    let path = folder.file("a");
    for mode in [0o640, 0o600, 0o444, 0o666] {
        std::fs::write(&path, b"old").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        // As root others' files stay others'.
        let _ = chown(&path, Some(1234), Some(4321));
        let before = std::fs::metadata(&path).unwrap();
        atomic_write(&path, |file| {
            let draft = folder.listing().into_iter().find(|name| name != "a");
            let draft = std::fs::metadata(folder.file(&draft.unwrap())).unwrap();
            assert_eq!(draft.mode() & 0o177, 0);
            file.write_all(b"new")
        })
        .unwrap();
        let after = std::fs::metadata(&path).unwrap();
        let access = |found: &Metadata| (found.mode(), found.uid(), found.gid());
        assert_eq!(access(&after), access(&before));
        assert_ne!(after.ino(), before.ino());
        std::fs::remove_file(&path).unwrap();
    }
}

fn machine() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    id[..8].to_owned()
}

#[test]
fn names_may_be_as_long_as_the_system_takes_them() {
    let folder = Folder::new("atomic-long");
    let (machine, id) = (machine(), std::process::id());
    // The checksums are those of Python's `zlib.crc32`.
    for (name, begin) in [
        ("x".repeat(255), "x".repeat(190) + "~3d66e3d9"),
        (
            "x".to_owned() + &"é".repeat(127),
            "x".to_owned() + &"é".repeat(94) + "~cab3fbda",
        ),
        ("x".repeat(200), "x".repeat(200)),
    ] {
        let path = folder.file(&name);
        let abandoned = folder.file(&format!("{begin}.{machine}-1-0.tmp"));
        std::fs::write(&abandoned, b"").unwrap();
        atomic_write(&path, |file| {
            let drafts = folder.listing();
            let expected = format!("{begin}.{machine}-{id}-");
            assert!(
                drafts.iter().all(|name| name.starts_with(&expected)),
                "{drafts:?}"
            );
            file.write_all(b"new")
        })
        .unwrap();
        assert_eq!(folder.listing(), [name]);
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn drafts_are_removed_where_no_writer_has_them() {
    let folder = Folder::new("atomic-abandoned");
    let path = folder.file("x");
    let machine = machine();
    let others = [
        "x.tmp".to_owned(),
        "x.7-0.tmp".to_owned(),
        "x.01234567-7-0.tmp".to_owned(),
        format!("x.{machine}-7-0.tmp.old"),
        format!("x.{machine}-7.tmp"),
        format!("x.{machine}-7-.tmp"),
        format!("x.{machine}-7-0-0.tmp"),
        format!("xx.{machine}-7-0.tmp"),
        format!("x.{machine}-7-b.tmp"),
        format!(".x.{machine}-7-0.tmp"),
    ];
    for name in &others {
        std::fs::write(folder.file(name), b"").unwrap();
    }
    std::fs::create_dir(folder.file(&format!("x.{machine}-8-0.tmp"))).unwrap();
    symlink("x.tmp", folder.file(&format!("x.{machine}-9-0.tmp"))).unwrap();
    let held = File::create(folder.file(&format!("x.{machine}-6-0.tmp"))).unwrap();
    held.lock().unwrap();
    let mut before = folder.listing();
    std::fs::write(folder.file(&format!("x.{machine}-7-0.tmp")), b"").unwrap();
    atomic_write(&path, |file| file.write_all(b"1")).unwrap();
    before.push("x".to_owned());
    before.sort();
    assert_eq!(folder.listing(), before);
    // Closed, it would stay locked by a child that another test has just forked.
    held.unlock().unwrap();
    atomic_write(&path, |file| file.write_all(b"2")).unwrap();
    before.retain(|name| !name.contains("-6-0"));
    assert_eq!(folder.listing(), before);
}

#[test]
fn a_writer_at_work_keeps_its_draft() {
    let folder = Folder::new("atomic-nested");
    let path = folder.file("a");
    atomic_write(&path, |outer| {
        atomic_write(&path, |file| file.write_all(b"inner")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"inner");
        outer.write_all(b"outer")
    })
    .unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"outer");
    assert_eq!(folder.listing(), ["a"]);
}
