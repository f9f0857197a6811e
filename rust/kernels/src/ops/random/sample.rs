//! Uniform and normal tensors, from attributes: each element depends on the seed, the number of the
//! run and its position alone.

use crate::api::Row;
use crate::draws::draw::{Normal, Uniform, prepare_fixed};

pub(crate) const ROWS: &[Row] = &[
    Row::new("_random_uniform", |a, i, o| {
        prepare_fixed::<Uniform>("_random_uniform", &["low", "high"], a, i, o)
    })
    .random(),
    Row::new("_random_normal", |a, i, o| {
        prepare_fixed::<Normal>("_random_normal", &["loc", "scale"], a, i, o)
    })
    .random(),
];
