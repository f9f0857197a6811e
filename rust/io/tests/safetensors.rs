//! safetensors files: there and back, and what no file may do.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod common;

use common::{Folder, values};
use ferromix_base::{DType, ErrorKind};
use ferromix_io::{
    Part, read_safetensors, read_safetensors_bytes, safetensors_bytes, write_safetensors,
};
use proptest::prelude::*;

fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let length = (header.len() as u64).to_le_bytes();
    [&length[..], header.as_bytes(), data].concat()
}

fn refusal(bytes: &[u8]) -> String {
    let error = read_safetensors_bytes("some.safetensors", bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    let message = error.to_string();
    for part in ["some.safetensors: at byte ", "expected ", "found "] {
        assert!(message.contains(part), "{part} not in: {message}");
    }
    message
}

fn sample() -> Vec<u8> {
    let data = DType::ALL.map(|dtype| values(dtype, 6));
    let shapes: [&[usize]; 3] = [&[2, 3], &[6], &[1, 6, 1]];
    let names = DType::ALL.map(|dtype| format!("layer.{dtype}"));
    let mut tensors: Vec<(&str, Part<'_>)> = vec![("none", (DType::F32, &[0, 3], &[]))];
    for (number, dtype) in DType::ALL.into_iter().enumerate() {
        tensors.push((&names[number], (dtype, shapes[number % 3], &data[number])));
    }
    tensors.push(("one", (DType::U8, &[], &[7])));
    safetensors_bytes(&tensors, &[("format", "mx"), ("quote\"\n", "\\ü𝄞")]).unwrap()
}

#[test]
fn every_type_goes_there_and_back() {
    let bytes = sample();
    let read = read_safetensors_bytes("sample", &bytes).unwrap();
    assert_eq!(read.tensors[0].0, "none");
    assert_eq!(read.tensors[0].1.shape[..], [0, 3]);
    for (dtype, (name, tensor)) in DType::ALL.into_iter().zip(&read.tensors[1..]) {
        assert_eq!(*name, format!("layer.{dtype}"));
        assert_eq!((tensor.dtype, &tensor.data), (dtype, &values(dtype, 6)));
    }
    assert_eq!(read.tensors[10].1.data, [7]);
    assert!(read.tensors[10].1.shape.is_empty());
    assert_eq!(read.metadata[1], ("quote\"\n".into(), "\\ü𝄞".into()));
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    assert_eq!(header % 8, 0, "the elements are aligned");
}

#[test]
fn files_are_replaced_as_a_whole() {
    let folder = Folder::new("safetensors");
    let path = folder.file("x.safetensors");
    let one: [(&str, Part<'_>); 1] = [("a", (DType::U8, &[2], &[1, 2]))];
    write_safetensors(&path, &one, &[]).unwrap();
    let twice = [one[0], one[0]];
    let error = write_safetensors(&path, &twice, &[]).unwrap_err();
    assert!(error.message().contains("'a' is there twice"));
    let wrong: [(&str, Part<'_>); 1] = [("a", (DType::F32, &[2], &[1, 2]))];
    assert_eq!(
        write_safetensors(&path, &wrong, &[]).unwrap_err().kind(),
        ErrorKind::Value
    );
    let reserved: [(&str, Part<'_>); 1] = [("__metadata__", (DType::U8, &[0], &[]))];
    assert!(
        safetensors_bytes(&reserved, &[])
            .unwrap_err()
            .message()
            .contains("reserved")
    );
    assert_eq!(read_safetensors(&path).unwrap().tensors[0].1.data, [1, 2]);
    assert_eq!(folder.listing(), ["x.safetensors"]);
    assert_eq!(
        read_safetensors("/no/such").unwrap_err().kind(),
        ErrorKind::Io
    );
}

#[test]
fn what_others_write_is_read() {
    let header = r#"{ "__metadata__" : {"a": "b"},
        "w\u0041\ud834\udd1e": {"shape": [2], "data_offsets": [2, 4], "dtype": "U8", "extra":
            [1, -2.5e3, {"x": null, "y": [true, false, "z"]}]},
        "v": {"dtype": "BOOL", "shape": [1, 2], "data_offsets": [0, 2]} }   "#;
    let read = read_safetensors_bytes("other", &file(header, &[0, 1, 8, 9])).unwrap();
    assert_eq!(read.tensors[0].0, "wA𝄞");
    assert_eq!(read.tensors[0].1.data, [8, 9]);
    assert_eq!(read.tensors[1].1.dtype, DType::Bool);
    assert_eq!(read.metadata, [("a".to_owned(), "b".to_owned())]);
    let empty = read_safetensors_bytes("empty", &file("{}", &[])).unwrap();
    assert!(empty.tensors.is_empty());
}

#[test]
fn cut_files_and_trailing_bytes_are_errors() {
    let bytes = sample();
    (0..bytes.len()).for_each(|end| drop(refusal(&bytes[..end])));
    let message = refusal(&[&bytes[..], &[0]].concat());
    assert!(message.contains("expected the end of the file, found 1 more bytes"));
}

#[test]
fn lies_are_found_out() {
    let one = |row: &str| file(&format!("{{\"w\":{row}}}"), &[1; 8]);
    let row = |dtype: &str, shape: &str, offsets: &str| {
        one(&format!(
            "{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":{offsets}}}"
        ))
    };
    let deep = format!("{{\"w\":{{\"x\":{}}}}}", "[".repeat(100_000));
    for (bytes, part) in [
        (
            u64::MAX.to_le_bytes().to_vec(),
            "length of the header of 0 at most",
        ),
        (file("[]", &[]), "a header that begins with '{', found ["),
        (file("", &[]), "begins with '{', found nothing"),
        (
            file("{\"w\"", &[]),
            "expected ':', found the end of the header",
        ),
        (
            file("{} x", &[]),
            "expected the end of the header, found 'x'",
        ),
        (file("{\"w\": 3}", &[]), "expected '{', found '3'"),
        (file("{\"w", &[]), "expected '\"'"),
        (file("{\"a\\x\":1}", &[]), "an escaped character, found 'x'"),
        (
            file("{\"\\ud800\":1}", &[]),
            "the number of a character, found 0xd800",
        ),
        (file("{\"\\u12g4\":1}", &[]), "four hexadecimal digits"),
        (file("{\"a\nb\":1}", &[]), "no control character"),
        (file(&deep, &[]), "32 arrays and objects in each other"),
        (
            one("{}"),
            "dtype, shape and data_offsets, found not all of them",
        ),
        (row("F128", "[2]", "[0,8]"), "found 'F128'"),
        (row("I16", "[4]", "[0,8]"), "found 'I16'"),
        (
            row("F32", "[-2]", "[0,8]"),
            "a number of 0 or more below 2^64, found '-'",
        ),
        (row("F32", "[2.0]", "[0,8]"), "a number of 0 or more"),
        (row("F32", "[02]", "[0,8]"), "a number of 0 or more"),
        (row("F32", "[99999999999999999999]", "[0,8]"), "below 2^64"),
        (row("F32", "2", "[0,8]"), "expected '['"),
        (
            row("F32", "[2]", "[0,8,9]"),
            "2 numbers at most, found more",
        ),
        (row("F32", "[2]", "[8]"), "two data_offsets, found 1"),
        (row("F32", "[2]", "[8,0]"), "[8, 0] for shape [2]"),
        (row("F32", "[2]", "[1,9]"), "data_offsets [0, 8] of 'w'"),
        (row("F32", "[3]", "[0,8]"), "data_offsets [0, 12]"),
        (
            row("F32", "[1]", "[0,4]"),
            "the end of the file, found 4 more bytes",
        ),
        (
            row("F32", "[4]", "[0,16]"),
            "16 bytes of float32 elements of shape [4]",
        ),
        (
            row("F32", "[1099511627776,1099511627776]", "[0,8]"),
            "fits into memory",
        ),
        (
            row("F32", &format!("[{}1]", "1,".repeat(32)), "[0,4]"),
            "32 numbers at most",
        ),
    ] {
        let message = refusal(&bytes);
        assert!(message.contains(part), "{part} not in: {message}");
    }
    let twice = r#"{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},
                    "w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}"#;
    assert!(refusal(&file(twice, &[0; 2])).contains("each name once, found 'w' again"));
    let overlap = r#"{"v":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},
                      "w":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}"#;
    assert!(refusal(&file(overlap, &[0; 3])).contains("data_offsets [2, 4] of 'w'"));
    let bools = r#"{"b":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}}"#;
    assert!(refusal(&file(bools, &[1, 5])).contains("0 or 1 in a bool array, found 5"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_never_panic(
        changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..6),
        cut in any::<usize>(),
    ) {
        let mut bytes = sample();
        for (place, byte) in changes {
            let place = place % bytes.len();
            bytes[place] ^= byte;
        }
        if cut % 3 == 0 {
            bytes.truncate(cut % bytes.len());
        }
        if let Ok(read) = read_safetensors_bytes("damaged", &bytes) {
            let size: usize = read.tensors.iter().map(|(_, tensor)| tensor.data.len()).sum();
            prop_assert!(size < bytes.len());
        }
    }

    #[test]
    fn any_header_never_panics(header in "[\\[\\]{}\",:0-9a-z\\\\ue. -]{0,80}") {
        let _ = read_safetensors_bytes("random", &file(&format!("{{\"w\":{{{header}"), &[0; 16]));
    }
}
