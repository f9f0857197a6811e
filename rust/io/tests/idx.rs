//! idx files: the layout of its author's description, every type, plain and gzipped.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod common;

use common::{Folder, values};
use ferromix_base::{DType, ErrorKind};
use ferromix_io::{IdxArray, read_idx, write_idx};
use std::io::Write;

#[test]
fn the_bytes_are_those_of_the_format() {
    let folder = Folder::new("idx-bytes");
    let path = folder.file("a.idx");
    let bytes = [
        0, 0, 0x0C, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 1, 2, 0xFF, 0xFF, 0xFF, 0xFE,
    ];
    std::fs::write(&path, bytes).unwrap();
    let array = read_idx(&path).unwrap();
    assert_eq!((array.dtype, &array.shape[..]), (DType::I32, &[1, 2][..]));
    assert_eq!(
        array.data,
        [258i32.to_ne_bytes(), (-2i32).to_ne_bytes()].concat()
    );
    write_idx(&path, &array).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn every_type_and_shape_survives_plain_and_gzipped() {
    let folder = Folder::new("idx-types");
    // Misleading names: the contents decide.
    let (plain, packed) = (folder.file("plain.gz"), folder.file("packed.idx"));
    for dtype in [DType::U8, DType::I8, DType::I32, DType::F32, DType::F64] {
        for shape in [&[][..], &[5], &[2, 3, 4], &[0], &[3, 0, 2]] {
            let data = values(dtype, shape.iter().product());
            let array = IdxArray {
                dtype,
                shape: shape.iter().copied().collect(),
                data,
            };
            write_idx(&plain, &array).unwrap();
            assert_eq!(read_idx(&plain).unwrap(), array);
            let file = std::fs::File::create(&packed).unwrap();
            let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
            encoder.write_all(&std::fs::read(&plain).unwrap()).unwrap();
            encoder.finish().unwrap();
            assert_eq!(read_idx(&packed).unwrap(), array);
        }
    }
}

#[test]
fn what_the_format_lacks_is_refused() {
    let folder = Folder::new("idx-refused");
    let array = |dtype, shape: &[usize], bytes| IdxArray {
        dtype,
        shape: shape.iter().copied().collect(),
        data: vec![0; bytes],
    };
    let path = folder.file("a.idx");
    let error = write_idx(&path, &array(DType::F16, &[1], 2)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Type);
    assert!(
        error.to_string().contains("not float16: convert"),
        "{error}"
    );
    let error = write_idx(&path, &array(DType::F32, &[2], 7)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "7 bytes are no float32 array of shape [2]"
    );
    let error = write_idx(&path, &array(DType::U8, &[1 << 32, 0], 0)).unwrap_err();
    assert!(
        error.to_string().contains("does not fit an idx file"),
        "{error}"
    );
    assert!(folder.listing().is_empty());
}
