//! Steps of optimizers on the rows of a row_sparse gradient; the other rows stay as they are. Inputs and
//! outputs are those of the steps on all rows, but for the gradient, of which only the stored rows come,
//! and two more inputs: the numbers of these and how many are in use.

use crate::api::Row;
use crate::update::group::prepare_group_adagrad;
use crate::update::rows::prepare_rows;
use crate::update::rules::{AdaGrad, Adam, Ftrl, Momentum, Sgd};

pub(crate) const ROWS: &[Row] = &[
    Row::new("_rows_sgd_update", |a, i, o| {
        prepare_rows::<Sgd, _, _, _>("_rows_sgd_update", a, i, o)
    }),
    Row::new("_rows_sgd_mom_update", |a, i, o| {
        prepare_rows::<Momentum, _, _, _>("_rows_sgd_mom_update", a, i, o)
    }),
    Row::new("_rows_adam_update", |a, i, o| {
        prepare_rows::<Adam, _, _, _>("_rows_adam_update", a, i, o)
    }),
    Row::new("_rows_ftrl_update", |a, i, o| {
        prepare_rows::<Ftrl, _, _, _>("_rows_ftrl_update", a, i, o)
    }),
    Row::new("_rows_adagrad_update", |a, i, o| {
        prepare_rows::<AdaGrad, _, _, _>("_rows_adagrad_update", a, i, o)
    }),
    Row::new("_rows_group_adagrad_update", |a, i, o| {
        prepare_group_adagrad("_rows_group_adagrad_update", a, i, o)
    }),
];
