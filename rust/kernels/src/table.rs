//! The table of all kernels.

use crate::api::Row;

/// The families' tables; `build.rs` finds them.
const FAMILIES: &[&[Row]] = include!(concat!(env!("OUT_DIR"), "/families.rs"));

/// The kernel of the operator `name`.
pub fn find(name: &str) -> Option<&'static Row> {
    FAMILIES
        .iter()
        .flat_map(|rows| rows.iter())
        .find(|row| row.name == name)
}

/// The names of all kernels.
pub fn names() -> impl Iterator<Item = &'static str> {
    FAMILIES
        .iter()
        .flat_map(|rows| rows.iter())
        .map(|row| row.name)
}
