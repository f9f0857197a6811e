//! The idx format of the MNIST files, gzipped or not: two zero bytes, a type code, the number of
//! dimensions, the extents and the elements, all big-endian.

use crate::atomic_write::atomic_write;
use crate::cursor::{Cursor, Length, big_endian, byte_count};
use ferromix_base::{DType, Error, Result, Shape};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// The element types, with their codes in the format. Code 0x0b, 16-bit integers, has no
/// counterpart.
const TYPES: [(u8, DType); 5] = [
    (0x08, DType::U8),
    (0x09, DType::I8),
    (0x0C, DType::I32),
    (0x0D, DType::F32),
    (0x0E, DType::F64),
];

/// Deflate packs 258 bytes into two bits at best.
const MOST_UNPACKED: u64 = 1032;

/// An array of an idx file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdxArray {
    /// The type of the elements: u8, i8, i32, f32 or f64.
    pub dtype: DType,
    /// The extents.
    pub shape: Shape,
    /// The elements in C order, native byte order.
    pub data: Vec<u8>,
}

/// Reads an idx file. Whether it is gzipped is told by its first bytes, not by its name.
///
/// # Errors
/// [`ferromix_base::ErrorKind::Io`] where the file cannot be read or is no idx file: the message
/// names file, offset, what was expected and what was found.
pub fn read_idx(path: impl AsRef<Path>) -> Result<IdxArray> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let failed = |reason| Error::io(format!("{name}: cannot be read: {reason}"));
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let length = Length::of(file.get_ref()).map_err(failed)?;
    let mut magic = Vec::new();
    file.by_ref()
        .take(2)
        .read_to_end(&mut magic)
        .map_err(failed)?;
    let file = magic.as_slice().chain(file);
    if magic == [0x1f, 0x8b] {
        let length = Length::AtMost(length.bound().saturating_mul(MOST_UNPACKED));
        parse(Cursor::new(&name, MultiGzDecoder::new(file), length))
    } else {
        parse(Cursor::new(&name, file, length))
    }
}

fn parse<R: Read>(mut cursor: Cursor<'_, R>) -> Result<IdxArray> {
    let [zero, zero_too, code, ndim] = cursor.array("idx magic")?;
    if (zero, zero_too) != (0, 0) {
        let expected = "the magic of an idx file (00 00, type, dimensions) or of gzip (1f 8b)";
        let found = format!("{zero:02x} {zero_too:02x} {code:02x} {ndim:02x}");
        return Err(cursor.error(0, expected, found));
    }
    let dtype = TYPES
        .into_iter()
        .find(|&(known, _)| known == code)
        .map(|(_, dtype)| dtype);
    let dtype = dtype.ok_or_else(|| {
        let int16 = if code == 0x0B {
            " (int16, which Ferromix has no type for)"
        } else {
            ""
        };
        let expected =
            "an idx type: 08 (uint8), 09 (int8), 0c (int32), 0d (float32) or 0e (float64)";
        cursor.error(2, expected, format_args!("{code:02x}{int16}"))
    })?;
    let shape = (0..ndim)
        .map(|_| {
            cursor
                .array("extent")
                .map(|bytes| u32::from_be_bytes(bytes) as usize)
        })
        .collect::<Result<Shape>>()?;
    let count = byte_count(&shape, dtype.size()).ok_or_else(|| {
        cursor.error(
            4,
            "extents of an array that fits into memory",
            format_args!("{shape:?}"),
        )
    })?;
    let mut data = cursor.bytes(
        count,
        &format!("{dtype} elements of shape {:?}", &shape[..]),
    )?;
    cursor.end()?;
    big_endian(&mut data, dtype.size());
    Ok(IdxArray { dtype, shape, data })
}

/// Writes an idx file, not gzipped.
///
/// # Errors
/// [`ferromix_base::ErrorKind::Type`] for an element type that the format lacks,
/// [`ferromix_base::ErrorKind::Value`] where the data do not fit the shape or an extent exceeds 32
/// bits, [`ferromix_base::ErrorKind::Io`] where the file cannot be written.
pub fn write_idx(path: impl AsRef<Path>, array: &IdxArray) -> Result<()> {
    let IdxArray { dtype, shape, data } = array;
    let code = TYPES
        .into_iter()
        .find(|(_, known)| known == dtype)
        .map(|(code, _)| code);
    let code = code.ok_or_else(|| {
        Error::dtype(format!(
            "idx files hold uint8, int8, int32, float32 or float64, not {dtype}: convert the array"
        ))
    })?;
    if byte_count(shape, dtype.size()) != Some(data.len() as u64) {
        let (shape, bytes) = (&shape[..], data.len());
        return Err(Error::value(format!(
            "{bytes} bytes are no {dtype} array of shape {shape:?}"
        )));
    }
    let too_large = |_| Error::value(format!("shape {shape:?} does not fit an idx file"));
    let mut header = vec![0, 0, code, u8::try_from(shape.len()).map_err(too_large)?];
    for &extent in shape {
        header.extend(u32::try_from(extent).map_err(too_large)?.to_be_bytes());
    }
    let mut data = data.clone();
    big_endian(&mut data, dtype.size());
    atomic_write(path, |file| {
        file.write_all(&header)?;
        file.write_all(&data)
    })
}
