//! Rows of which some are stored: their parts, as kernels read them.

use crate::api::{Desc, View};
use ferromix_base::{DType, Error, Result};

/// The elements of a row, if the array has rows of one length.
pub(crate) fn width_of(desc: &Desc) -> usize {
    desc.shape.get(1..).map_or(0, |rest| rest.iter().product())
}

/// The error for arrays of these shapes.
pub(crate) fn misfit(name: &str, ins: &[Desc], outs: &[Desc]) -> Error {
    let shapes: Vec<_> = ins.iter().chain(outs).map(|d| &d.shape[..]).collect();
    Error::value(format!(
        "{name}: arrays of shapes {shapes:?} do not go together"
    ))
}

/// Checks rows, their numbers and their count, as they follow each other.
pub(crate) fn check_parts(name: &str, parts: &[Desc], ins: &[Desc], outs: &[Desc]) -> Result<()> {
    let [values, rows, count] = parts else {
        return Err(misfit(name, ins, outs));
    };
    let fits = values.shape.first() == rows.shape.first()
        && rows.shape.len() == 1
        && count.shape.len() == 1
        && count.shape[0] == 1
        && rows.dtype == DType::I64
        && count.dtype == DType::I64;
    if fits {
        Ok(())
    } else {
        Err(misfit(name, ins, outs))
    }
}

/// The numbers of the rows in use, all below `most`.
pub(crate) fn in_use<'a>(
    name: &str,
    rows: &'a View,
    count: &View,
    most: usize,
) -> Result<&'a [i64]> {
    let (rows, count) = (rows.read::<i64>()?, count.read::<i64>()?[0]);
    let used = usize::try_from(count)
        .ok()
        .and_then(|count| rows.get(..count));
    let used = used.ok_or_else(|| {
        Error::value(format!("{name}: {count} rows of {} are in use", rows.len()))
    })?;
    match used
        .iter()
        .find(|&&row| usize::try_from(row).map_or(true, |row| row >= most))
    {
        None => Ok(used),
        Some(row) => Err(Error::value(format!(
            "{name}: the row_sparse array has a row {row}, but there are {most} rows; \
             check_format() tells whether a structure is right"
        ))),
    }
}
