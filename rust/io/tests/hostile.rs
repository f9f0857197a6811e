//! Damaged and hostile files: always an error that says where, never a panic, never much memory.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod common;
#[path = "common/watched.rs"]
mod watched;

use common::{Folder, cases, golden};
use ferromix_base::{DType, ErrorKind};
use ferromix_io::{
    Entry, params_bytes, read_idx, read_params, read_params_bytes, read_safetensors,
    safetensors_bytes,
};
use proptest::prelude::*;
use std::io::Write;
use std::path::Path;
use watched::frugal;

fn samples() -> Vec<(String, Vec<u8>)> {
    let read = |name: &str| (name.to_owned(), std::fs::read(golden(name)).unwrap());
    let names = [
        "v0_dict",
        "v1_list",
        "v2_list",
        "v2_dict",
        "v2_empty",
        "v3_dict",
        "v2_csr",
        "v2_row_sparse",
    ];
    names.map(|name| read(&format!("{name}.params"))).to_vec()
}

fn params_error(bytes: &[u8]) -> String {
    let error = frugal(bytes.len(), || read_params_bytes("some.params", bytes)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    let message = error.to_string();
    for part in ["some.params: at byte ", "expected ", "found "] {
        assert!(message.contains(part), "{part} not in: {message}");
    }
    message
}

#[test]
fn params_cut_at_any_byte_are_an_error() {
    for (_, bytes) in samples() {
        (0..bytes.len()).for_each(|end| drop(params_error(&bytes[..end])));
    }
}

#[test]
fn params_cut_on_disk_are_the_same_error() {
    let folder = Folder::new("cut");
    let path = folder.file("some.params");
    let bytes = std::fs::read(golden("v2_dict.params")).unwrap();
    for end in (0..bytes.len()).step_by(37) {
        std::fs::write(&path, &bytes[..end]).unwrap();
        let on_disk = read_params(&path).unwrap_err().to_string();
        let name = path.display().to_string();
        assert_eq!(
            on_disk.replace(&name, "some.params"),
            params_error(&bytes[..end])
        );
    }
}

#[test]
fn trailing_bytes_are_an_error() {
    for (name, mut bytes) in samples() {
        let whole = bytes.len();
        bytes.extend([0; 3]);
        let message = params_error(&bytes);
        assert!(message.contains(&format!("at byte {whole}: expected the end of the file")));
        assert!(message.contains("found 3 more bytes"), "{name}: {message}");
    }
}

/// A file of one array whose bytes from the magic of the array on are given.
fn one(array: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = [0x112u64, 0, 1]
        .into_iter()
        .flat_map(u64::to_le_bytes)
        .collect();
    bytes.extend(array);
    bytes.extend([0; 64]);
    bytes
}

fn words(words: &[i64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn lies_about_shapes_and_counts_are_found_out() {
    let v2 = |rest: &[u8]| one(&[&0xF993_FAC9u32.to_le_bytes()[..], &[0; 4], rest].concat());
    let shape = |ndim: i32, extents: &[i64], code: i32| {
        let device = [1, 0, 0, 0, 0, 0, 0, 0];
        v2(&[
            &ndim.to_le_bytes()[..],
            &words(extents),
            &device,
            &code.to_le_bytes(),
        ]
        .concat())
    };
    let sparse = |stored: &[i64], extents: &[i64], rows: i64| {
        one(&[
            &0xF993_FAC9u32.to_le_bytes()[..],
            &1i32.to_le_bytes(),
            &(stored.len() as i32).to_le_bytes(),
            &words(stored),
            &(extents.len() as i32).to_le_bytes(),
            &words(extents),
            &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0],
            &words(&[rows]),
        ]
        .concat())
    };
    let mut counts = words(&[0x112, 0, i64::MAX]);
    counts.extend([0; 100]);
    let mut names = words(&[0x112, 0, 0]);
    names.extend(words(&[1 << 40]));
    for (bytes, part) in [
        (
            shape(-1, &[], 0),
            "at byte 32: expected 0 to 32 dimensions, found -1",
        ),
        (shape(i32::MAX, &[], 0), "found 2147483647"),
        (
            shape(1, &[-5], 0),
            "at byte 36: expected an extent of 0 or more, found -5",
        ),
        (
            shape(2, &[1 << 40, 1 << 40], 0),
            "expected an array that fits into memory",
        ),
        (shape(2, &[0, i64::MAX], 1), "expected the end of the file"),
        (
            shape(1, &[1 << 50], 3),
            "expected 1125899906842624 bytes of uint8 elements",
        ),
        (
            shape(1, &[1], 99),
            "expected a dtype that Ferromix has, found 99; unknown dtype",
        ),
        (shape(1, &[1], 8), "found 8 (int16)"),
        (
            one(&[&0xF993_FAC9u32.to_le_bytes()[..], &3i32.to_le_bytes()].concat()),
            "at byte 28: expected storage kind 0, 1 or 2: a dense, row_sparse or csr array, found 3",
        ),
        (sparse(&[1 << 40], &[2, 2], 0), "found the end of the file"),
        (
            sparse(&[0], &[2, -2], 0),
            "expected an extent of 0 or more, found -2",
        ),
        (
            sparse(&[0], &[2, 2], 1 << 40),
            "bytes of int64 elements of shape [1099511627776]",
        ),
        (shape(0, &[], 0), "expected an array that has a shape"),
        (
            one(&77u32.to_le_bytes()),
            "or at most 32 dimensions, found 0x4d",
        ),
        (one(&[0; 4]), "expected an array that has a shape"),
        (counts, "number of arrays of 5 at most"),
        (names, "number of names of 0 at most"),
        (
            words(&[0x113, 0, 0, 0]),
            "at byte 0: expected the magic of a .params file, 0x112",
        ),
    ] {
        let message = params_error(&bytes);
        assert!(message.contains(part), "{part} not in: {message}");
    }
}

#[test]
fn bytes_that_are_no_bool_and_names_that_are_no_text_are_errors() {
    let mut bytes =
        params_bytes(&[Entry::dense("b", DType::Bool, &[3], &[0, 1, 1])], true).unwrap();
    let last_bool = bytes.len() - 8 - 8 - 1 - 1;
    bytes[last_bool] = 2;
    assert!(params_error(&bytes).contains(&format!("at byte {last_bool}: expected 0 or 1")));
    bytes[last_bool] = 1;
    *bytes.last_mut().unwrap() = 0xFF;
    assert!(params_error(&bytes).contains("expected a name in UTF-8"));
    let two = [
        Entry::dense("a", DType::U8, &[1], &[1]),
        Entry::dense("b", DType::U8, &[1], &[2]),
    ];
    let mut bytes = params_bytes(&two, true).unwrap();
    let names = bytes.len() - 2 * 9 - 8;
    bytes[names] = 1;
    let message = params_error(&bytes);
    assert!(
        message.contains("or one for each of 2 arrays, found 1 names"),
        "{message}"
    );
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn idx_error(folder: &Folder, bytes: &[u8]) -> String {
    let path = folder.file("some.idx");
    std::fs::write(&path, bytes).unwrap();
    let error = frugal(bytes.len(), || read_idx(&path)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    let message = error.to_string();
    let start = format!("{}: at byte ", path.display());
    for part in [&start, "expected ", "found "] {
        assert!(message.contains(part), "{part} not in: {message}");
    }
    message
}

#[test]
fn idx_files_cut_at_any_byte_are_an_error() {
    let folder = Folder::new("idx-cut");
    let whole = [&[0, 0, 0x0C, 2, 0, 0, 0, 2, 0, 0, 0, 3][..], &[7; 24]].concat();
    let packed = gzip(&whole);
    (0..whole.len()).for_each(|end| drop(idx_error(&folder, &whole[..end])));
    (0..packed.len()).for_each(|end| drop(idx_error(&folder, &packed[..end])));
}

#[test]
fn lies_of_idx_files_are_found_out() {
    let folder = Folder::new("idx-lies");
    let huge = [&[0, 0, 8, 3][..], &[0x7F; 12]].concat();
    let large = [0, 0, 8, 1, 0x7F, 0, 0, 0];
    let trailing = [0, 0, 8, 1, 0, 0, 0, 1, 5, 6];
    for (bytes, part) in [
        (
            vec![0x89, b'P', b'N', b'G'],
            "at byte 0: expected the magic of an idx file",
        ),
        (vec![0, 0, 0x0B, 1], "at byte 2: expected an idx type"),
        (
            vec![0, 0, 0x0B, 1],
            "found 0b (int16, which Ferromix has no type for)",
        ),
        (
            huge.clone(),
            "at byte 4: expected extents of an array that fits into memory",
        ),
        (gzip(&huge), "at byte 4 once unpacked: expected extents"),
        (
            large.to_vec(),
            "expected 2130706432 bytes of uint8 elements of shape [2130706432]",
        ),
        (gzip(&large), "found a file that can unpack to"),
        (
            trailing.to_vec(),
            "at byte 9: expected the end of the file, found 1 more bytes",
        ),
        (
            gzip(&trailing),
            "at byte 9 once unpacked: expected the end of the file",
        ),
        (
            [gzip(&trailing[..9]), vec![1, 2, 3]].concat(),
            "expected the end of the file",
        ),
    ] {
        let message = idx_error(&folder, &bytes);
        assert!(message.contains(part), "{part} not in: {message}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(3000), ..ProptestConfig::default() })]

    /// Flipped bytes may still make a valid file, but never one that holds more than its bytes.
    #[test]
    fn flipped_bytes_never_panic(sample in 0..8usize,
                                 flips in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..6)) {
        let (_, mut bytes) = samples().swap_remove(sample);
        for (place, byte) in flips {
            let place = place % bytes.len();
            bytes[place] ^= byte;
        }
        if let Ok(params) = frugal(bytes.len(), || read_params_bytes("flipped", &bytes)) {
            let size: usize = params.tensors.iter().map(|tensor| tensor.data.len()).sum();
            prop_assert!(size < bytes.len());
        }
    }

    #[test]
    fn random_bytes_after_a_good_start_never_panic(tail in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = words(&[0x112, 0, 1]);
        bytes.extend(0xF993_FAC9u32.to_le_bytes());
        bytes.extend(tail);
        let _ = frugal(bytes.len(), || read_params_bytes("random", &bytes));
    }
}

/// What `read` says of a pipe that these bytes come through.
fn piped<R>(bytes: &[u8], read: impl FnOnce(&Path) -> R) -> R {
    let folder = Folder::new(&format!("piped-{:?}", std::thread::current().id()));
    let path = folder.pipe("pipe");
    std::thread::scope(|scope| {
        // A reader that gives up early leaves a writer without a pipe.
        scope.spawn(|| drop(std::fs::write(&path, bytes)));
        read(&path)
    })
}

#[test]
fn pipes_are_read_to_their_end() {
    for (name, bytes) in samples() {
        let found = piped(&bytes, |path| read_params(path)).unwrap();
        assert_eq!(found, read_params_bytes(&name, &bytes).unwrap(), "{name}");
    }
    let (dtype, shape, data) = (DType::U8, [300_000], vec![5; 300_000]);
    let long = [("a", (dtype, &shape[..], &data[..]))];
    let bytes = safetensors_bytes(&long, &[]).unwrap();
    let found = piped(&bytes, |path| read_safetensors(path)).unwrap();
    assert_eq!(found.tensors[0].1.data, data);
    let idx = [0, 0, 8, 1, 0, 0, 0, 3, 1, 2, 3];
    assert_eq!(piped(&idx, |path| read_idx(path)).unwrap().data, [1, 2, 3]);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&idx).unwrap();
    let packed = packed.finish().unwrap();
    assert_eq!(
        piped(&packed, |path| read_idx(path)).unwrap().data,
        [1, 2, 3]
    );
}

#[test]
fn pipes_that_lie_cost_no_memory() {
    let error = |bytes: &[u8]| {
        let read = |path: &Path| frugal(bytes.len(), || read_params(path));
        piped(bytes, read).unwrap_err().to_string()
    };
    let whole = std::fs::read(golden("v2_dict.params")).unwrap();
    for end in (0..whole.len()).step_by(37) {
        let message = error(&whole[..end]);
        assert!(
            message.contains("found the end of the file after"),
            "{message}"
        );
    }
    let trailing = error(&[&whole[..], &[0; 3]].concat());
    assert!(
        trailing.ends_with("expected the end of the file, found more bytes"),
        "{trailing}"
    );
    // Arrays without end, and one of 2^59 bytes.
    let mut many = whole.clone();
    many[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(error(&many).contains("array"), "{}", error(&many));
    let mut large = Vec::new();
    large.extend(0xF993_FAC9u32.to_le_bytes());
    large.extend([0i32, 1].into_iter().flat_map(i32::to_le_bytes));
    large.extend((1i64 << 57).to_le_bytes());
    large.extend([1i32, 0, 0].into_iter().flat_map(i32::to_le_bytes));
    let message = error(&one(&large));
    assert!(
        message.contains("found the end of the file after 64"),
        "{message}"
    );
}
