//! The writer of `.params` files: what MXNet 1.9 writes, byte for byte.

use crate::atomic_write::atomic_write;
use crate::cursor::{byte_count, little_endian};
use crate::params::{LIST_MAGIC, MAX_NDIM, V2, V3, index_arrays};
use ferromix_base::{DType, Error, Result, StorageType};
use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

/// Element type, extents, and the elements in C order and native byte order.
pub type Part<'a> = (DType, &'a [usize], &'a [u8]);

/// An array to write.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Its name; empty in a list.
    pub name: &'a str,
    /// The elements; of a sparse array those that are stored.
    pub values: Part<'a>,
    /// What makes it a sparse array.
    pub sparse: Option<SparseEntry<'a>>,
}

/// What a sparse array to write has besides its stored values.
#[derive(Clone, Debug)]
pub struct SparseEntry<'a> {
    /// `RowSparse` or `Csr`.
    pub storage: StorageType,
    /// The extents of the whole array.
    pub shape: &'a [usize],
    /// Row numbers of a row_sparse array; row pointers and columns of a csr array.
    pub indices: Vec<Part<'a>>,
}

impl<'a> Entry<'a> {
    /// A dense array.
    pub fn dense(name: &'a str, dtype: DType, shape: &'a [usize], data: &'a [u8]) -> Self {
        Entry {
            name,
            values: (dtype, shape, data),
            sparse: None,
        }
    }

    /// Its own shape.
    fn shape(&self) -> &'a [usize] {
        self.sparse.as_ref().map_or(self.values.1, |s| s.shape)
    }

    fn indices(&self) -> &[Part<'a>] {
        self.sparse.as_ref().map_or(&[], |sparse| &sparse.indices)
    }
}

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

fn check(entry: &Entry<'_>) -> Result<()> {
    let name = entry.name;
    let storage = entry.sparse.as_ref().map_or(0, |s| index_arrays(s.storage));
    if entry.indices().len() != storage {
        let found = entry.indices().len();
        return Err(Error::value(format!(
            "array '{name}' has {found} index arrays; its storage type has {storage}"
        )));
    }
    let parts = [entry.values].into_iter();
    for (dtype, shape, data) in parts.chain(entry.indices().iter().copied()) {
        let ndim = shape.len().max(entry.shape().len());
        if ndim > MAX_NDIM {
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
    }
    Ok(())
}

fn write(mut out: &mut dyn Write, arrays: &[Entry<'_>], named: bool) -> io::Result<()> {
    // MXNet wants all arrays of a file to be of one version.
    let magic = if arrays.iter().any(|entry| entry.shape().is_empty()) {
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
    for Entry { name, .. } in names {
        put.write_all(&(name.len() as u64).to_le_bytes())?;
        put.write_all(name.as_bytes())?;
    }
    Ok(())
}

fn write_array(out: &mut dyn Write, magic: u32, entry: &Entry<'_>) -> io::Result<()> {
    /// Kind and number of the device: MXNet reads into host memory whatever it says.
    const CPU: [i32; 2] = [1, 0];
    let storage = entry
        .sparse
        .as_ref()
        .map_or(StorageType::Default, |s| s.storage);
    let (dtype, stored, values) = entry.values;
    out.write_all(&magic.to_le_bytes())?;
    out.write_all(&(storage as i32).to_le_bytes())?;
    if storage != StorageType::Default {
        write_shape(out, stored)?;
    }
    write_shape(out, entry.shape())?;
    for word in CPU.into_iter().chain([dtype.code()]) {
        out.write_all(&word.to_le_bytes())?;
    }
    for (dtype, shape, _) in entry.indices() {
        out.write_all(&dtype.code().to_le_bytes())?;
        write_shape(out, shape)?;
    }
    write_elements(out, dtype, values)?;
    let mut indices = entry.indices().iter();
    indices.try_for_each(|&(dtype, _, data)| write_elements(out, dtype, data))
}

fn write_shape(out: &mut dyn Write, shape: &[usize]) -> io::Result<()> {
    out.write_all(&(shape.len() as i32).to_le_bytes())?;
    let mut extents = shape.iter();
    extents.try_for_each(|&extent| out.write_all(&(extent as i64).to_le_bytes()))
}

fn write_elements(out: &mut dyn Write, dtype: DType, data: &[u8]) -> io::Result<()> {
    let mut data = Cow::Borrowed(data);
    if cfg!(target_endian = "big") {
        little_endian(data.to_mut(), dtype.size());
    }
    out.write_all(&data)
}
