//! Operators on graphs, which are csr arrays and are dealt with before anything gets here.

use crate::api::{Attrs, Desc, Kernel, Row};
use ferromix_base::{Error, Result};

fn prepare(_: &Attrs, _: &[Desc], _: &[Desc]) -> Result<Box<dyn Kernel>> {
    Err(Error::value(
        "a graph must be a csr array, got a dense one; use tostype('csr')",
    ))
}

pub(crate) const ROWS: &[Row] = &[Row::new("_needs_csr", prepare)];
