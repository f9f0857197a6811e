//! Rows of text files, whole and in parts; what is no row is an error that says where.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod common;
#[path = "common/watched.rs"]
mod watched;

use common::{Folder, cases};
use ferromix_base::{DType, ErrorKind};
use ferromix_io::{CsvReader, LibsvmReader, Lines};
use proptest::prelude::*;
use std::path::PathBuf;
use watched::frugal;

fn written(folder: &Folder, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.file(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// All lines of part `index` of `parts`, which are not empty.
fn lines(paths: &[PathBuf], parts: u64, index: u64) -> Vec<Vec<u8>> {
    let mut lines = Lines::open(paths.to_vec(), parts, index).unwrap();
    let mut found = Vec::new();
    while let Some(line) = lines.next_line().unwrap() {
        found.push(line.to_vec());
    }
    found
}

fn pieces(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes
        .split(|b| b"\r\n".contains(b))
        .filter(|line| !line.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(
        prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'a'), Just(b'b')],
        0..40,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(1000), ..ProptestConfig::default() })]

    #[test]
    fn parts_have_each_line_once(one in text(), two in text(), parts in 1..6u64) {
        let folder = Folder::new("parts");
        let paths = [written(&folder, "one", &one), written(&folder, "two", &two)];
        let mut expected = pieces(&one);
        expected.extend(pieces(&two));
        prop_assert_eq!(&lines(&paths, 1, 0), &expected);
        let found: Vec<_> = (0..parts).flat_map(|index| lines(&paths, parts, index)).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_place_can_be_gone_back_to(one in text(), two in text(), stop in 0..20usize) {
        let folder = Folder::new("places");
        let paths = vec![written(&folder, "one", &one), written(&folder, "two", &two)];
        let all = lines(&paths, 1, 0);
        let mut lines = Lines::open(paths, 1, 0).unwrap();
        for _ in 0..stop {
            let _ = lines.next_line().unwrap();
        }
        let place = lines.place();
        while lines.next_line().unwrap().is_some() {}
        lines.seek(place);
        let mut rest = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            rest.push(line.to_vec());
        }
        prop_assert_eq!(&rest[..], &all[stop.min(all.len())..]);
    }

    #[test]
    fn numbers_survive(rows in proptest::collection::vec((any::<f32>(), any::<i32>()), 1..20)) {
        let folder = Folder::new("numbers");
        let text: String = rows.iter().map(|(a, b)| format!("{a:e}, {b} \n")).collect();
        let path = written(&folder, "a.csv", text.as_bytes());
        let mut reader = CsvReader::open(vec![path], 2, DType::F32).unwrap();
        let mut bytes = Vec::new();
        prop_assert_eq!(reader.read(100, &mut bytes).unwrap(), rows.len());
        let found: Vec<f32> = bytes.chunks(4).map(|b| f32::from_ne_bytes(b.try_into().unwrap())).collect();
        for (pair, (a, b)) in found.chunks(2).zip(rows) {
            prop_assert!(pair[0] == a || (pair[0].is_nan() && a.is_nan()));
            prop_assert_eq!(pair[1], b as f32);
        }
    }

    #[test]
    fn random_text_never_panics(bytes in proptest::collection::vec(
        prop_oneof![3 => Just(b','), 3 => Just(b':'), 3 => Just(b' '), 2 => Just(b'\n'), 9 => b'0'..=b'9',
                    1 => Just(b'#'), 1 => Just(b'-'), 1 => Just(b'.'), 1 => Just(b'e'), 1 => any::<u8>()],
        0..200,
    ), width in 1..4usize) {
        let folder = Folder::new("random");
        let path = written(&folder, "a", &bytes);
        for dtype in [DType::F32, DType::F64, DType::I32, DType::I64] {
            let mut reader = CsvReader::open(vec![path.clone()], width, dtype).unwrap();
            let mut out = Vec::new();
            let _ = frugal(bytes.len(), || reader.read(1000, &mut out));
        }
        let mut reader = LibsvmReader::open(vec![path], width, 1, 0).unwrap();
        if let Ok(rows) = frugal(bytes.len(), || reader.read(1000)) {
            prop_assert_eq!(rows.indptr.len(), rows.labels.len() + 1);
            prop_assert_eq!(rows.indices.len(), rows.values.len());
            prop_assert!(rows.indptr.is_sorted() && rows.indices.iter().all(|&i| (0..width as i64).contains(&i)));
        }
    }
}

#[test]
fn csv_errors_say_where() {
    let folder = Folder::new("csv");
    for (text, dtype, part) in [
        (
            "1,2\n\n3\n",
            DType::F32,
            "in line 3 (at byte 5): expected 2 numbers, as the shape has, found 1",
        ),
        (
            "1,2,3\n",
            DType::F32,
            "in line 1 (at byte 0): expected 2 numbers, as the shape has, found 3",
        ),
        (
            "1,2\r\n3,x\r\n",
            DType::F32,
            "in line 2 (at byte 5): expected a number that fits float32 as column 2, found \"x\"",
        ),
        ("1,,2\n", DType::F32, "as column 2, found nothing"),
        ("1,0x10\n", DType::F32, "found \"0x10\""),
        ("1 2,3\n", DType::F32, "found \"1 2\""),
        ("\"1\",2\n", DType::F32, "as column 1"),
        ("1,\u{fffd}\n", DType::F32, "as column 2"),
        (
            "1,3000000000\n",
            DType::I32,
            "fits int32 as column 2, found \"3000000000\"",
        ),
        ("1,1e19\n", DType::I64, "fits int64 as column 2"),
        ("1,nan\n", DType::I64, "found \"nan\""),
    ] {
        let path = written(&folder, "a.csv", text.as_bytes());
        let mut reader = CsvReader::open(vec![path], 2, dtype).unwrap();
        let error = reader.read(10, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        let message = error.to_string();
        assert!(
            message.contains(part) && message.contains("a.csv: "),
            "{part} not in: {message}"
        );
    }
    let path = written(&folder, "a.csv", b"1,2\n");
    assert_eq!(
        CsvReader::open(vec![path], 2, DType::U8)
            .unwrap_err()
            .kind(),
        ErrorKind::Type
    );
}

#[test]
fn integers_cut_fractions_off() {
    let folder = Folder::new("integers");
    let path = written(
        &folder,
        "a.csv",
        b"1.9,-1.9,+7,1e2,-9223372036854775808,2147483648\n",
    );
    let mut reader = CsvReader::open(vec![path], 6, DType::I64).unwrap();
    let mut bytes = Vec::new();
    assert_eq!(reader.read(2, &mut bytes).unwrap(), 1);
    let found: Vec<i64> = bytes
        .chunks(8)
        .map(|b| i64::from_ne_bytes(b.try_into().unwrap()))
        .collect();
    assert_eq!(found, [1, -1, 7, 100, i64::MIN, 1 << 31]);
}

#[test]
fn libsvm_rows() {
    let folder = Folder::new("libsvm");
    let text = "# nothing\n1 0:1 3:2.5 # 4:1\n-2:0.5 qid:7 2:1 1:1e1\n\n+3\n";
    let path = written(&folder, "a.svm", text.as_bytes());
    let mut reader = LibsvmReader::open(vec![path], 4, 1, 0).unwrap();
    let rows = reader.read(10).unwrap();
    assert_eq!(rows.labels, [1.0, -2.0, 3.0]);
    assert_eq!(rows.indptr, [0, 2, 4, 4]);
    assert_eq!(rows.indices, [0, 3, 1, 2]);
    assert_eq!(rows.values, [1.0, 2.5, 10.0, 1.0]);
    assert!(reader.read(10).unwrap().labels.is_empty());
}

#[test]
fn libsvm_errors_say_where() {
    let folder = Folder::new("svm-errors");
    for (text, part) in [
        (
            "1 0:1\n\nx 0:1\n",
            "in line 3 (at byte 7): expected a number as label, found \"x\"",
        ),
        (
            "1 4:1\n",
            "expected an index of 0 to 3, as the shape has, found \"4:1\"",
        ),
        ("1 -1:1\n", "expected an index of 0 to 3"),
        ("1 99999999999999999999:1\n", "expected index:value"),
        ("1 0:x\n", "expected index:value, found \"0:x\""),
        ("1 0\n", "expected index:value, found \"0\""),
        ("1 0:1,1:2\n", "expected index:value"),
        (
            "1 2:1 0:2 2:3\n",
            "expected each index once in a row, found 2 twice",
        ),
        ("1:x 0:1\n", "expected a number as label, found \"1:x\""),
        ("1 0:\u{fffd}\n", "expected index:value"),
    ] {
        let path = written(&folder, "a.svm", text.as_bytes());
        let mut reader = LibsvmReader::open(vec![path], 4, 1, 0).unwrap();
        let message = reader.read(10).unwrap_err().to_string();
        assert!(
            message.contains(part) && message.contains("a.svm: "),
            "{part} not in: {message}"
        );
    }
}

#[test]
fn errors_in_a_part_and_in_a_later_file() {
    let folder = Folder::new("later");
    let one = written(&folder, "one", b"1 0:1\n2 0:1\n3 0:1\n4 x\n");
    let two = written(&folder, "two", b"1\nx\n");
    let mut part = LibsvmReader::open(vec![one], 4, 2, 1).unwrap();
    let message = part.read(10).unwrap_err().to_string();
    assert!(
        message.contains("one: at byte 18: expected index:value"),
        "{message}"
    );
    let good = written(&folder, "good", b"1\n2\n");
    let mut both = LibsvmReader::open(vec![good, two.clone()], 4, 1, 0).unwrap();
    let message = both.read(10).unwrap_err().to_string();
    assert!(message.contains("two: in line 2 (at byte 2)"), "{message}");
    std::fs::remove_file(&two).unwrap();
    both.rewind();
    let message = both.read(10).unwrap_err().to_string();
    assert!(
        message.contains("two: cannot be read: ") && message.contains("os error 2"),
        "{message}"
    );
}
