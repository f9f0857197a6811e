//! Records survive, the bytes are those of the format, and damage is an error that says where.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod common;
#[path = "common/watched.rs"]
mod watched;

use common::{Folder, cases};
use ferromix_base::ErrorKind;
use ferromix_io::{RecordReader, RecordWriter, read_index, read_index_bytes};
use proptest::prelude::*;
use std::io::{Cursor, Write};
use watched::frugal;

const MAGIC: [u8; 4] = [0x0A, 0x23, 0xD7, 0xCE];

/// The parts of a record as the format has them, put together byte by byte.
fn expected(record: &[u8]) -> Vec<u8> {
    let mut pieces = vec![Vec::new()];
    for word in record.chunks(4) {
        if word == MAGIC {
            pieces.push(Vec::new());
        } else {
            pieces.last_mut().unwrap().extend_from_slice(word);
        }
    }
    let last = pieces.len() - 1;
    let mut file = Vec::new();
    for (number, piece) in pieces.iter().enumerate() {
        let flag = match number {
            _ if last == 0 => 0,
            0 => 1,
            n if n == last => 3,
            _ => 2u32,
        };
        file.extend(MAGIC);
        file.extend((flag << 29 | piece.len() as u32).to_le_bytes());
        file.extend(piece);
        file.resize(file.len().next_multiple_of(4), 0);
    }
    file
}

fn written(records: &[Vec<u8>]) -> (Vec<u8>, Vec<u64>) {
    let mut writer = RecordWriter::new("some.rec", Vec::new());
    let offsets = records.iter().map(|r| writer.write(r).unwrap()).collect();
    (writer.into_inner(), offsets)
}

fn all(file: &[u8]) -> ferromix_base::Result<Vec<Vec<u8>>> {
    let mut reader = RecordReader::new("some.rec", Cursor::new(file));
    let (mut records, mut record) = (Vec::new(), Vec::new());
    while reader.read_into(&mut record)? {
        records.push(record.clone());
    }
    Ok(records)
}

fn refused(file: &[u8]) -> String {
    let error = frugal(file.len(), || all(file)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    let message = error.to_string();
    for part in ["some.rec: at byte ", "expected ", "found "] {
        assert!(message.contains(part), "{part} not in: {message}");
    }
    message
}

/// Bytes in which the magic is frequent, at multiples of four and elsewhere.
fn record() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        2 => Just(MAGIC.to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..9),
        1 => Just(vec![0; 4]),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(2000), ..ProptestConfig::default() })]

    #[test]
    fn records_survive_and_have_the_bytes_of_the_format(records in proptest::collection::vec(record(), 0..6)) {
        let (file, offsets) = written(&records);
        prop_assert_eq!(&file, &records.iter().flat_map(|r| expected(r)).collect::<Vec<_>>());
        prop_assert_eq!(&all(&file).unwrap(), &records);
        let mut reader = RecordReader::new("some.rec", Cursor::new(&file));
        let mut found = Vec::new();
        for (offset, record) in offsets.iter().zip(&records).rev() {
            reader.seek(*offset).unwrap();
            prop_assert!(reader.read_into(&mut found).unwrap());
            prop_assert_eq!(&found, record);
        }
    }

    #[test]
    fn cut_files_give_the_whole_records_and_then_an_error(
        records in proptest::collection::vec(record(), 1..5), cut in any::<usize>(),
    ) {
        let (file, offsets) = written(&records);
        let cut = cut % file.len();
        let whole = offsets.iter().skip(1).filter(|&&end| end as usize <= cut).count();
        let mut reader = RecordReader::new("some.rec", Cursor::new(&file[..cut]));
        let mut found = Vec::new();
        for record in &records[..whole] {
            prop_assert!(reader.read_into(&mut found).unwrap());
            prop_assert_eq!(&found, record);
        }
        if offsets[whole] as usize == cut {
            prop_assert!(!reader.read_into(&mut found).unwrap());
        } else {
            let error = reader.read_into(&mut found).unwrap_err().to_string();
            prop_assert!(error.contains("the end of the file"), "{}", error);
            prop_assert_eq!(reader.tell(), offsets[whole]);
            // The same again, not what stands further on.
            prop_assert_eq!(error, reader.read_into(&mut found).unwrap_err().to_string());
        }
    }

    #[test]
    fn flipped_bytes_never_panic(
        records in proptest::collection::vec(record(), 1..5),
        flips in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..6),
    ) {
        let (mut file, _) = written(&records);
        for (place, byte) in flips {
            let place = place % file.len();
            file[place] ^= byte;
        }
        if let Ok(found) = frugal(file.len(), || all(&file)) {
            prop_assert!(found.iter().map(Vec::len).sum::<usize>() < file.len());
        }
    }

    #[test]
    fn index_files_never_panic(bytes in proptest::collection::vec(
        prop_oneof![Just(b'\t'), Just(b'\n'), Just(b'7'), any::<u8>()], 0..60,
    )) {
        let _ = frugal(bytes.len(), || read_index_bytes("some.idx", &bytes));
    }
}

#[test]
fn lies_are_found_out() {
    let head = |flag: u32, length: u32| [MAGIC, (flag << 29 | length).to_le_bytes()].concat();
    let (good, _) = written(&[b"abcd".to_vec()]);
    for (file, part) in [
        (
            b"abcd1234".to_vec(),
            "at byte 0: expected the magic of a record, 0xced7230a, found 0x64636261",
        ),
        (
            MAGIC.to_vec(),
            "at byte 0: expected 8 bytes of the head of a record, found the end of the file after 4",
        ),
        (
            head(0, (1 << 29) - 1),
            "at byte 8: expected 536870911 bytes of a record, found the end of the file after 0",
        ),
        (head(5, 0), "at byte 4: expected a flag of 0 to 3, found 5"),
        (
            head(2, 0),
            "at byte 4: expected the beginning of a record (flag 0 or 1), found flag 2",
        ),
        (
            [head(1, 0), head(0, 0)].concat(),
            "at byte 12: expected another part of the record (flag 2 or 3), found flag 0 (record from byte 0)",
        ),
        (
            head(1, 0),
            "at byte 8: expected 8 bytes of the head of a record, found the end of the file after 0",
        ),
        (
            [good.clone(), head(0, 1), vec![7, 0]].concat(),
            "at byte 21: expected 3 bytes that fill up the record, found the end of the file after 1",
        ),
        (
            [good, vec![1]].concat(),
            "at byte 12: expected 8 bytes of the head of a record, found the end of the file after 1",
        ),
    ] {
        let message = refused(&file);
        assert!(message.contains(part), "{part} not in: {message}");
    }
}

#[test]
fn many_empty_parts_cost_little() {
    let mut file = [MAGIC, (1u32 << 29).to_le_bytes()].concat();
    for _ in 0..10_000 {
        file.extend([MAGIC, (2u32 << 29).to_le_bytes()].concat());
    }
    refused(&file);
}

#[test]
fn files_grow_while_they_are_read() {
    let folder = Folder::new("records");
    let path = folder.file("a.rec");
    let mut writer = RecordWriter::create(&path).unwrap();
    writer.write(b"one").unwrap();
    writer.flush().unwrap();
    let (mut reader, mut found) = (RecordReader::open(&path).unwrap(), Vec::new());
    assert!(reader.read_into(&mut found).unwrap());
    assert!(!reader.read_into(&mut found).unwrap());
    let second = writer.write(&[7; 100_000]).unwrap();
    writer.flush().unwrap();
    assert!(reader.read_into(&mut found).unwrap());
    assert_eq!(found, [7; 100_000]);
    reader.seek(second).unwrap();
    let beyond = reader.seek(1 << 40).unwrap_err().to_string();
    assert!(
        beyond.contains("at byte 1099511627776: expected a record, found a file of 100020 bytes"),
        "{beyond}"
    );
    assert!(reader.read_into(&mut found).unwrap());
}

#[test]
fn a_discarded_writer_writes_nothing_more() {
    let folder = Folder::new("discarded");
    let mut writer = RecordWriter::create(folder.file("a.rec")).unwrap();
    writer.write(b"kept").unwrap();
    writer.flush().unwrap();
    writer.write(b"not kept").unwrap();
    writer.discard();
    let kept = std::fs::read(folder.file("a.rec")).unwrap();
    assert_eq!(all(&kept).unwrap(), [b"kept"]);
}

/// A disk with room for so many bytes.
struct Disk(usize);

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        match taken {
            0 => Err(std::io::ErrorKind::StorageFull.into()),
            _ => Ok(taken),
        }
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn after_a_full_disk_nothing_is_written() {
    let mut writer = RecordWriter::new("some.rec", Disk(20));
    writer.write(b"abcd").unwrap();
    let full = writer.write(b"efgh").unwrap_err();
    assert_eq!(full.kind(), ErrorKind::Io);
    assert!(
        full.to_string()
            .contains("some.rec: cannot be written, at about byte 12"),
        "{full}"
    );
    let again = writer.write(b"ijkl").unwrap_err().to_string();
    assert!(again.contains("an earlier record could not"), "{again}");
    writer.flush().unwrap_err();
}

#[test]
fn records_that_are_too_long_are_refused() {
    let record = vec![0; 1 << 29];
    let mut writer = RecordWriter::new("some.rec", std::io::sink());
    let error = writer.write(&record).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Value);
    assert!(
        error
            .to_string()
            .contains("has at most 536870911 bytes, this one has 536870912")
    );
    writer.write(&record[1..]).unwrap();
}

#[test]
fn index_files() {
    let found =
        read_index_bytes("some.idx", b"0\t0\n 3\t 16 \textra\r\nk e\xc3\xbf\t9\n\n").unwrap();
    let expected = [("0", 0), ("3", 16), ("k e\u{ff}", 9)];
    assert_eq!(
        found,
        expected.map(|(key, offset)| (key.to_owned(), offset))
    );
    for (bytes, part) in [
        (
            &b"0\t0\nx\n"[..],
            "some.idx: in line 2: expected a key, a tab and the offset of a record, found \"x\"",
        ),
        (
            b"0\t-4",
            "in line 1: expected a key, a tab and the offset of a record, found \"0\\t-4\"",
        ),
        (b"0\t1.5", "in line 1"),
        (b"0\t18446744073709551616", "in line 1"),
        (
            b"\n\n\xff\t0",
            "in line 3: expected a key, a tab and the offset of a record, found bytes that are no text",
        ),
    ] {
        let error = read_index_bytes("some.idx", bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.to_string().contains(part), "{part} not in: {error}");
    }
    let missing = read_index("/nowhere/some.idx").unwrap_err().to_string();
    assert!(
        missing.contains("/nowhere/some.idx: cannot be read") && missing.contains("os error 2")
    );
}
