//! The table of all kernels.

use crate::api::Row;
use crate::elementwise::chain;

/// The families' tables; `build.rs` finds them.
const FAMILIES: &[&[Row]] = include!(concat!(env!("OUT_DIR"), "/families.rs"));

/// The kernel of the operator `name`.
pub fn find(name: &str) -> Option<&'static Row> {
    rows().find(|row| row.name == name)
}

/// The one kernel that is made of others.
const CHAINS: &[Row] =
    &[Row::new("_fused", |a, i, o| chain::prepare(find, a, i, o)).unknown_cost()];

/// All kernels.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    let families = FAMILIES.iter().chain(std::iter::once(&CHAINS));
    families.flat_map(|rows| rows.iter())
}

/// The names of all kernels.
pub fn names() -> impl Iterator<Item = &'static str> {
    rows().map(|row| row.name)
}
