//! Tensors of further distributions from attributes, and of all of them from tensors of parameters.

use crate::api::Row;
use crate::draws::counts::{GeneralizedNegativeBinomial, NegativeBinomial, Poisson};
use crate::draws::draw::{Exponential, Normal, Uniform, prepare_fixed, prepare_rows};
use crate::draws::gamma::Gamma;

/// The row of a law whose parameters are attributes.
macro_rules! fixed {
    ($name:literal, $law:ty, $params:expr) => {
        Row::new($name, |a, i, o| {
            prepare_fixed::<$law>($name, &$params, a, i, o)
        })
        .random()
    };
}

/// The row of a law with so many parameters, which are inputs.
macro_rules! rows {
    ($name:literal, $law:ty, $count:literal) => {
        Row::new($name, |_, i, o| prepare_rows::<$law>($name, $count, i, o)).random()
    };
}

pub(crate) const ROWS: &[Row] = &[
    fixed!("_random_exponential", Exponential, ["lam"]),
    fixed!("_random_gamma", Gamma, ["alpha", "beta"]),
    fixed!("_random_poisson", Poisson, ["lam"]),
    fixed!("_random_negative_binomial", NegativeBinomial, ["k", "p"]),
    fixed!(
        "_random_generalized_negative_binomial",
        GeneralizedNegativeBinomial,
        ["mu", "alpha"]
    ),
    rows!("_sample_uniform", Uniform, 2),
    rows!("_sample_normal", Normal, 2),
    rows!("_sample_exponential", Exponential, 1),
    rows!("_sample_gamma", Gamma, 2),
    rows!("_sample_poisson", Poisson, 1),
    rows!("_sample_negative_binomial", NegativeBinomial, 2),
    rows!(
        "_sample_generalized_negative_binomial",
        GeneralizedNegativeBinomial,
        2
    ),
];
