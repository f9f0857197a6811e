//! The reader of MXNet's `.params` files: a list of arrays and a list of their names.
//!
//! All numbers are little-endian. The file is `magic: u64 = 0x112, reserved: u64, count: u64`, the
//! arrays, `count: u64` and the names, each `length: u64` and UTF-8. There are no names, or one for
//! each array. An array is, by version,
//!
//! | version | begins with | then, for all: |
//! |---|---|---|
//! | 0 | `ndim: u32`, extents `u32` | device kind and number `i32`, |
//! | 1 | `0xF993FAC8: u32`, `ndim: i32`, extents `i64` | dtype code `i32`, |
//! | 2 | `0xF993FAC9: u32`, storage kind `i32`, `ndim: i32`, extents `i64` | elements in C order |
//! | 3 | as 2 with `0xF993FACA`; 0-d arrays are possible | |
//!
//! A sparse array, storage kind 1 or 2 of versions 2 and 3, has the shape of its stored values before
//! its own, dtype code and shape of each index array after its dtype, and their elements at the end:
//! for `row_sparse` the numbers of the rows, for `csr` the row pointers, then the columns.
//!
//! The format was worked out from files that MXNet 1.9.1 writes and reads.

use crate::cursor::{Cursor, Length, byte_count, little_endian};
use ferromix_base::{DType, Error, Result, Shape, StorageType};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// Begins the list.
pub(crate) const LIST_MAGIC: u64 = 0x112;
/// Begins an array of version 1.
const V1: u32 = 0xF993_FAC8;
/// Begins an array of version 2.
pub(crate) const V2: u32 = 0xF993_FAC9;
/// Begins an array of version 3.
pub(crate) const V3: u32 = 0xF993_FACA;
/// Most dimensions that MXNet and NumPy 1 know.
pub(crate) const MAX_NDIM: usize = 32;
/// Bytes of the smallest array: version 0, one dimension of extent 0.
const SMALLEST: u64 = 20;

/// A dense array, or the stored values of a sparse one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// The type of the elements.
    pub dtype: DType,
    /// The extents; empty for a 0-d array.
    pub shape: Shape,
    /// The elements in C order, native byte order.
    pub data: Vec<u8>,
    /// What makes it a sparse array.
    pub sparse: Option<Box<Sparse>>,
}

/// What a sparse array has besides its stored values. Whether the indices make sense is not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sparse {
    /// `RowSparse` or `Csr`.
    pub storage: StorageType,
    /// The extents of the whole array, which no bytes of the file stand for.
    pub shape: Shape,
    /// Row numbers, or row pointers and columns, in the order of the file.
    pub indices: Vec<Tensor>,
}

/// How many index arrays an array of this storage type has.
pub(crate) fn index_arrays(storage: StorageType) -> usize {
    match storage {
        StorageType::Default => 0,
        StorageType::RowSparse => 1,
        StorageType::Csr => 2,
    }
}

/// What a `.params` file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params {
    /// A name for each array, or none at all where a list was saved.
    pub names: Vec<String>,
    /// The arrays.
    pub tensors: Vec<Tensor>,
}

/// Reads a `.params` file of any version.
///
/// # Errors
/// [`ferromix_base::ErrorKind::Io`] where the file cannot be read, is malformed, or holds what
/// Ferromix lacks: the message names file, offset, what was expected and what was found.
pub fn read_params(path: impl AsRef<Path>) -> Result<Params> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let failed = |reason| Error::io(format!("{name}: cannot be read: {reason}"));
    let file = File::open(path).map_err(failed)?;
    let length = Length::of(&file).map_err(failed)?;
    parse(Cursor::new(&name, BufReader::new(file), length))
}

/// Reads a `.params` file from memory; errors call it `name`.
///
/// # Errors
/// As [`read_params`].
pub fn read_params_bytes(name: &str, bytes: &[u8]) -> Result<Params> {
    parse(Cursor::new(name, bytes, Length::Exact(bytes.len() as u64)))
}

fn parse<R: Read>(mut cursor: Cursor<'_, R>) -> Result<Params> {
    let magic = cursor.u64("list magic")?;
    if magic != LIST_MAGIC {
        let expected = format_args!("the magic of a .params file, {LIST_MAGIC:#x}");
        return Err(cursor.error(0, expected, format_args!("{magic:#x}")));
    }
    // MXNet writes 0 and ignores what it reads.
    cursor.u64("reserved word")?;
    let count = cursor.count(SMALLEST, "number of arrays")?;
    let tensors = (0..count)
        .map(|number| {
            tensor(&mut cursor)
                .map_err(|e| Error::io(format!("{} (array {number} of {count})", e.message())))
        })
        .collect::<Result<Vec<Tensor>>>()?;
    let names = names(&mut cursor, tensors.len())?;
    cursor.end()?;
    Ok(Params { names, tensors })
}

fn names<R: Read>(cursor: &mut Cursor<'_, R>, tensors: usize) -> Result<Vec<String>> {
    let offset = cursor.offset();
    let count = cursor.count(8, "number of names")?;
    if count != 0 && count != tensors as u64 {
        let expected = format_args!("no names, or one for each of {tensors} arrays");
        return Err(cursor.error(offset, expected, format_args!("{count} names")));
    }
    let one = |_| {
        let length = cursor.count(1, "length of a name")?;
        let offset = cursor.offset();
        let bytes = cursor.bytes(length, "a name")?;
        String::from_utf8(bytes).map_err(|error| cursor.error(offset, "a name in UTF-8", error))
    };
    (0..count).map(one).collect()
}

fn tensor<R: Read>(cursor: &mut Cursor<'_, R>) -> Result<Tensor> {
    let start = cursor.offset();
    let magic = cursor.u32("array magic")?;
    let (storage, shape) = match magic {
        V1 => (StorageType::Default, shape(cursor)?),
        V2 | V3 => (storage(cursor)?, shape(cursor)?),
        ndim if ndim as usize <= MAX_NDIM => (StorageType::Default, legacy_shape(cursor, ndim)?),
        _ => {
            let expected = format_args!(
                "an array: {V1:#x}, {V2:#x}, {V3:#x} or at most {MAX_NDIM} dimensions"
            );
            return Err(cursor.error(start, expected, format_args!("{magic:#x}")));
        }
    };
    if shape.is_empty() && magic != V3 {
        let found = "none: it was saved before it was given one";
        return Err(cursor.error(start, "an array that has a shape", found));
    }
    if storage != StorageType::Default {
        return sparse(cursor, storage, shape);
    }
    // Where the array lived matters no more.
    cursor.u64("device")?;
    let dtype = dtype(cursor)?;
    elements(cursor, dtype, shape)
}

/// The rest of a sparse array, whose stored values have the shape `stored`.
fn sparse<R: Read>(
    cursor: &mut Cursor<'_, R>,
    storage: StorageType,
    stored: Shape,
) -> Result<Tensor> {
    let shape = shape(cursor)?;
    cursor.u64("device")?;
    let kind = dtype(cursor)?;
    let headers = (0..index_arrays(storage))
        .map(|_| Ok((dtype(cursor)?, self::shape(cursor)?)))
        .collect::<Result<Vec<_>>>()?;
    let mut values = elements(cursor, kind, stored)?;
    let indices = headers
        .into_iter()
        .map(|(dtype, shape)| elements(cursor, dtype, shape))
        .collect::<Result<Vec<_>>>()?;
    values.sparse = Some(Box::new(Sparse {
        storage,
        shape,
        indices,
    }));
    Ok(values)
}

fn storage<R: Read>(cursor: &mut Cursor<'_, R>) -> Result<StorageType> {
    let offset = cursor.offset();
    let code = cursor.i32("storage kind")?;
    let known = StorageType::ALL.into_iter().find(|s| *s as i32 == code);
    let expected = "storage kind 0, 1 or 2: a dense, row_sparse or csr array";
    known.ok_or_else(|| cursor.error(offset, expected, code))
}

fn shape<R: Read>(cursor: &mut Cursor<'_, R>) -> Result<Shape> {
    let offset = cursor.offset();
    let ndim = cursor.i32("number of dimensions")?;
    if !(0..=MAX_NDIM as i32).contains(&ndim) {
        let expected = format_args!("0 to {MAX_NDIM} dimensions");
        return Err(cursor.error(offset, expected, ndim));
    }
    let extent = |_| {
        let offset = cursor.offset();
        let extent = cursor.i64("extent")?;
        usize::try_from(extent).map_err(|_| cursor.error(offset, "an extent of 0 or more", extent))
    };
    (0..ndim).map(extent).collect()
}

fn legacy_shape<R: Read>(cursor: &mut Cursor<'_, R>, ndim: u32) -> Result<Shape> {
    (0..ndim)
        .map(|_| cursor.u32("extent").map(|extent| extent as usize))
        .collect()
}

fn dtype<R: Read>(cursor: &mut Cursor<'_, R>) -> Result<DType> {
    let offset = cursor.offset();
    let code = cursor.i32("dtype code")?;
    let name = match code {
        8 => " (int16)",
        9 => " (uint16)",
        10 => " (uint32)",
        11 => " (uint64)",
        _ => "",
    };
    DType::from_code(code).map_err(|error| {
        cursor.error(
            offset,
            "a dtype that Ferromix has",
            format_args!("{code}{name}; {error}"),
        )
    })
}

pub(crate) fn elements<R: Read>(
    cursor: &mut Cursor<'_, R>,
    dtype: DType,
    shape: Shape,
) -> Result<Tensor> {
    let offset = cursor.offset();
    let count = byte_count(&shape, dtype.size()).ok_or_else(|| {
        let found = format_args!("shape {:?}", &shape[..]);
        cursor.error(offset, "an array that fits into memory", found)
    })?;
    let what = format!("{dtype} elements of shape {:?}", &shape[..]);
    let mut data = cursor.bytes(count, &what)?;
    // A byte that is neither would be no value of `bool` at all.
    if let Some(at) = data
        .iter()
        .position(|&byte| byte > 1)
        .filter(|_| dtype == DType::Bool)
    {
        return Err(cursor.error(offset + at as u64, "0 or 1 in a bool array", data[at]));
    }
    little_endian(&mut data, dtype.size());
    Ok(Tensor {
        dtype,
        shape,
        data,
        sparse: None,
    })
}
