//! The writer of `.params` files: what MXNet 1.9 writes, byte for byte.

use crate::atomic_write::atomic_write;
use crate::cursor::{byte_count, little_endian};
use crate::params::{LIST_MAGIC, MAX_NDIM, V2, V3};
use ferromix_base::{DType, Error, Result};
use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

/// An array to write: name, element type, extents, and the elements in C order and native byte
/// order.
pub type Entry<'a> = (&'a str, DType, &'a [usize], &'a [u8]);

/// Writes a `.params` file: version 2, which every MXNet from 1.0 on reads; version 3 if an array
/// is 0-d, as version 2 has no such thing (MXNet reads it under `np_shape`). Without `named` the
/// names are left out, and MXNet loads a list. The file is replaced as a whole or not at all.
///
/// # Errors
/// [`ferromix_base::ErrorKind::Value`] where an array's data do not fit its shape, or it has more
/// than 32 dimensions; [`ferromix_base::ErrorKind::Io`] where the file cannot be written.
pub fn write_params(path: impl AsRef<Path>, arrays: &[Entry<'_>], named: bool) -> Result<()> {
    arrays.iter().try_for_each(check)?;
    atomic_write(path, |file| write(file, arrays, named))
}

/// The bytes that [`write_params`] writes.
///
/// # Errors
/// As [`write_params`].
pub fn params_bytes(arrays: &[Entry<'_>], named: bool) -> Result<Vec<u8>> {
    arrays.iter().try_for_each(check)?;
    let mut bytes = Vec::new();
    write(&mut bytes, arrays, named).map_err(|reason| Error::io(reason.to_string()))?;
    Ok(bytes)
}

fn check(&(name, dtype, shape, data): &Entry<'_>) -> Result<()> {
    if shape.len() > MAX_NDIM {
        let ndim = shape.len();
        return Err(Error::value(format!(
            "array '{name}' has {ndim} dimensions; {MAX_NDIM} fit"
        )));
    }
    if byte_count(shape, dtype.size()) != Some(data.len() as u64) {
        let bytes = data.len();
        return Err(Error::value(format!(
            "array '{name}': {bytes} bytes are no {dtype} array of shape {shape:?}"
        )));
    }
    Ok(())
}

fn write(mut out: &mut dyn Write, arrays: &[Entry<'_>], named: bool) -> io::Result<()> {
    // MXNet wants all arrays of a file to be of one version.
    let magic = if arrays.iter().any(|(_, _, shape, _)| shape.is_empty()) {
        V3
    } else {
        V2
    };
    let put = &mut out;
    for word in [LIST_MAGIC, 0, arrays.len() as u64] {
        put.write_all(&word.to_le_bytes())?;
    }
    for array in arrays {
        write_array(put, magic, array)?;
    }
    let names = if named { arrays } else { &[] };
    put.write_all(&(names.len() as u64).to_le_bytes())?;
    for (name, ..) in names {
        put.write_all(&(name.len() as u64).to_le_bytes())?;
        put.write_all(name.as_bytes())?;
    }
    Ok(())
}

fn write_array(
    out: &mut dyn Write,
    magic: u32,
    &(_, dtype, shape, data): &Entry<'_>,
) -> io::Result<()> {
    const DENSE: i32 = 0;
    /// Kind and number of the device: MXNet reads into host memory whatever it says.
    const CPU: [i32; 2] = [1, 0];
    out.write_all(&magic.to_le_bytes())?;
    out.write_all(&DENSE.to_le_bytes())?;
    out.write_all(&(shape.len() as i32).to_le_bytes())?;
    for &extent in shape {
        out.write_all(&(extent as i64).to_le_bytes())?;
    }
    for word in CPU.into_iter().chain([dtype.code()]) {
        out.write_all(&word.to_le_bytes())?;
    }
    let mut data = Cow::Borrowed(data);
    if cfg!(target_endian = "big") {
        little_endian(data.to_mut(), dtype.size());
    }
    out.write_all(&data)
}
