//! safetensors files: named tensors behind a header in JSON.
//!
//! A file is `length: u64`, little-endian, a header of so many bytes, and the elements. The header is an
//! object with, for each name, `{"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}`, where
//! the offsets count from the end of the header, and may have `"__metadata__"`, an object of texts. The
//! tensors' elements cover the rest of the file without gaps and overlaps, in any order.

use crate::atomic_write::atomic_write;
use crate::cursor::{Cursor, Length, byte_count, little_endian};
use crate::json::{Json, quoted};
use crate::params::{MAX_NDIM, Tensor, elements};
use crate::params_write::Part;
use ferromix_base::{DType, Error, Result, Shape};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

/// The name that is no tensor's.
const METADATA: &str = "__metadata__";
/// Most bytes of a header, as in the reference implementation.
const MAX_HEADER: u64 = 100_000_000;

const NAMES: [(DType, &str); 9] = [
    (DType::F32, "F32"),
    (DType::F64, "F64"),
    (DType::F16, "F16"),
    (DType::BF16, "BF16"),
    (DType::U8, "U8"),
    (DType::I8, "I8"),
    (DType::I32, "I32"),
    (DType::I64, "I64"),
    (DType::Bool, "BOOL"),
];

/// What a safetensors file holds, in the order of its header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SafeTensors {
    /// The tensors with their names; none of them is sparse.
    pub tensors: Vec<(String, Tensor)>,
    /// Texts that say something about them.
    pub metadata: Vec<(String, String)>,
}

/// A tensor as the header describes it.
struct Row {
    name: String,
    dtype: DType,
    shape: Shape,
    begin: u64,
    end: u64,
    /// Where the header says so.
    offset: u64,
}

/// Reads a safetensors file.
///
/// # Errors
/// [`ferromix_base::ErrorKind::Io`] where the file cannot be read, is malformed, or has a type that
/// Ferromix lacks: the message names file, offset, what was expected and what was found.
pub fn read_safetensors(path: impl AsRef<Path>) -> Result<SafeTensors> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let failed = |reason| Error::io(format!("{name}: cannot be read: {reason}"));
    let file = File::open(path).map_err(failed)?;
    let length = Length::of(&file).map_err(failed)?;
    parse(&name, Cursor::new(&name, BufReader::new(file), length))
}

/// Reads a safetensors file from memory; errors call it `name`.
///
/// # Errors
/// As [`read_safetensors`].
pub fn read_safetensors_bytes(name: &str, bytes: &[u8]) -> Result<SafeTensors> {
    parse(
        name,
        Cursor::new(name, bytes, Length::Exact(bytes.len() as u64)),
    )
}

fn parse<R: Read>(name: &str, mut cursor: Cursor<'_, R>) -> Result<SafeTensors> {
    let length = cursor.count(1, "length of the header")?;
    if length > MAX_HEADER {
        let expected = format_args!("a header of at most {MAX_HEADER} bytes");
        return Err(cursor.error(0, expected, length));
    }
    let start = cursor.offset();
    let header = cursor.bytes(length, "a header")?;
    if header.first() != Some(&b'{') {
        let found = header
            .first()
            .map_or("nothing".into(), |b| b.escape_ascii().to_string());
        return Err(cursor.error(start, "a header that begins with '{'", found));
    }
    let mut json = Json::new(name, &header, start);
    let (rows, metadata) = rows(&mut json)?;
    json.end()?;
    // In the order of the file, so that it is read once from begin to end.
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&number| (rows[number].begin, rows[number].end));
    let mut tensors: Vec<Option<Tensor>> = rows.iter().map(|_| None).collect();
    for number in order {
        let row = &rows[number];
        let at = cursor.offset() - start - length;
        let bytes = byte_count(&row.shape, row.dtype.size());
        if row.begin != at || row.end.checked_sub(row.begin) != bytes {
            let shape = &row.shape[..];
            let expected = match bytes {
                Some(bytes) => format!(
                    "data_offsets [{at}, {}] of '{}', {} of shape {shape:?}",
                    at.saturating_add(bytes),
                    row.name,
                    row.dtype
                ),
                None => format!("an array that fits into memory as '{}'", row.name),
            };
            let found = format_args!("[{}, {}] for shape {shape:?}", row.begin, row.end);
            return Err(json.error(row.offset, expected, found));
        }
        tensors[number] = Some(elements(&mut cursor, row.dtype, row.shape.clone())?);
    }
    cursor.end()?;
    let names = rows.into_iter().map(|row| row.name);
    Ok(SafeTensors {
        tensors: names.zip(tensors.into_iter().flatten()).collect(),
        metadata,
    })
}

type Metadata = Vec<(String, String)>;

fn rows(json: &mut Json<'_>) -> Result<(Vec<Row>, Metadata)> {
    let (mut rows, mut metadata, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    json.members(|json, name| {
        let offset = json.offset();
        if !seen.insert(name.clone()) {
            return Err(json.error(offset, "each name once", format_args!("'{name}' again")));
        }
        if name == METADATA {
            return json.members(|json, key| {
                let value = json.string()?;
                metadata.push((key, value));
                Ok(())
            });
        }
        rows.push(row(json, name)?);
        Ok(())
    })?;
    Ok((rows, metadata))
}

fn row(json: &mut Json<'_>, name: String) -> Result<Row> {
    let (mut dtype, mut shape, mut offsets) = (None, None, None);
    let start = json.offset();
    json.members(|json, key| {
        match key.as_str() {
            "dtype" => dtype = Some(element(json)?),
            "shape" => shape = Some(extents(json, MAX_NDIM)?),
            "data_offsets" => offsets = Some((json.offset(), extents(json, 2)?)),
            _ => json.skip()?,
        }
        Ok(())
    })?;
    let missing = || json.error(start, "dtype, shape and data_offsets", "not all of them");
    let (offset, offsets) = offsets.ok_or_else(missing)?;
    let [begin, end] = offsets[..] else {
        return Err(json.error(offset, "two data_offsets", offsets.len()));
    };
    let shape = shape.ok_or_else(missing)?.into_iter().map(usize::try_from);
    let shape = shape.collect::<std::result::Result<Shape, _>>();
    Ok(Row {
        name,
        dtype: dtype.ok_or_else(missing)?,
        shape: shape.map_err(|_| json.error(start, "extents that fit into memory", "others"))?,
        begin,
        end,
        offset,
    })
}

fn element(json: &mut Json<'_>) -> Result<DType> {
    let offset = json.offset();
    let name = json.string()?;
    let found = NAMES.iter().find(|row| row.1 == name);
    found.map(|row| row.0).ok_or_else(|| {
        let known = NAMES.map(|row| row.1).join(", ");
        json.error(
            offset,
            format_args!("a dtype that Ferromix has ({known})"),
            format_args!("'{name}'"),
        )
    })
}

fn extents(json: &mut Json<'_>, most: usize) -> Result<Vec<u64>> {
    let offset = json.offset();
    let mut found = Vec::new();
    json.items(|json| {
        if found.len() == most {
            let expected = format_args!("{most} numbers at most");
            return Err(json.error(offset, expected, "more"));
        }
        found.push(json.integer()?);
        Ok(())
    })?;
    Ok(found)
}

/// Writes a safetensors file; the file is replaced as a whole or not at all. Elements begin at
/// multiples of their size.
///
/// # Errors
/// [`ferromix_base::ErrorKind::Value`] where data do not fit a shape, or a name is there twice or
/// reserved; [`ferromix_base::ErrorKind::Io`] where the file cannot be written.
pub fn write_safetensors(
    path: impl AsRef<Path>,
    tensors: &[(&str, Part<'_>)],
    metadata: &[(&str, &str)],
) -> Result<()> {
    let (header, order) = header(tensors, metadata)?;
    atomic_write(path, |file| write(file, &header, tensors, &order))
}

/// The bytes that [`write_safetensors`] writes.
///
/// # Errors
/// As [`write_safetensors`].
pub fn safetensors_bytes(
    tensors: &[(&str, Part<'_>)],
    metadata: &[(&str, &str)],
) -> Result<Vec<u8>> {
    let (header, order) = header(tensors, metadata)?;
    let mut bytes = Vec::new();
    let written = write(&mut bytes, &header, tensors, &order);
    written.map_err(|reason| Error::io(reason.to_string()))?;
    Ok(bytes)
}

/// The header, and the order of the elements.
fn header(tensors: &[(&str, Part<'_>)], metadata: &[(&str, &str)]) -> Result<(String, Vec<usize>)> {
    let mut seen = HashSet::new();
    for &(name, (dtype, shape, data)) in tensors {
        if name == METADATA || !seen.insert(name) {
            let why = if name == METADATA {
                "is reserved"
            } else {
                "is there twice"
            };
            return Err(Error::value(format!(
                "the name '{name}' {why} in a safetensors file"
            )));
        }
        if shape.len() > MAX_NDIM || byte_count(shape, dtype.size()) != Some(data.len() as u64) {
            return Err(Error::value(format!(
                "array '{name}': {} bytes are no {dtype} array of shape {shape:?}",
                data.len()
            )));
        }
    }
    let mut order: Vec<usize> = (0..tensors.len()).collect();
    order.sort_by_key(|&number| std::cmp::Reverse(tensors[number].1.0.size()));
    let mut begins = vec![0; tensors.len()];
    let mut end = 0;
    for &number in &order {
        begins[number] = end;
        end += tensors[number].1.2.len();
    }
    let texts = metadata
        .iter()
        .map(|(key, value)| format!("{}:{}", quoted(key), quoted(value)));
    let texts: Vec<_> = texts.collect();
    let first = (!texts.is_empty()).then(|| format!("\"{METADATA}\":{{{}}}", texts.join(",")));
    let rows = tensors
        .iter()
        .zip(begins)
        .map(|((name, (dtype, shape, data)), begin)| {
            let kind = NAMES
                .iter()
                .find(|row| row.0 == *dtype)
                .map_or("", |row| row.1);
            let extents: Vec<_> = shape.iter().map(ToString::to_string).collect();
            format!(
                "{}:{{\"dtype\":\"{kind}\",\"shape\":[{}],\"data_offsets\":[{begin},{}]}}",
                quoted(name),
                extents.join(","),
                begin + data.len()
            )
        });
    let members: Vec<_> = first.into_iter().chain(rows).collect();
    let mut header = format!("{{{}}}", members.join(","));
    while header.len() % 8 != 0 {
        header.push(' ');
    }
    if header.len() as u64 > MAX_HEADER {
        return Err(Error::value(
            "the names make a header beyond 100 MB".to_owned(),
        ));
    }
    Ok((header, order))
}

fn write(
    out: &mut dyn Write,
    header: &str,
    tensors: &[(&str, Part<'_>)],
    order: &[usize],
) -> io::Result<()> {
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    for &number in order {
        let (dtype, _, data) = tensors[number].1;
        let mut data = Cow::Borrowed(data);
        if cfg!(target_endian = "big") {
            little_endian(data.to_mut(), dtype.size());
        }
        out.write_all(&data)?;
    }
    Ok(())
}
