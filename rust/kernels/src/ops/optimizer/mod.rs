//! Steps of optimizers.

pub(crate) mod adaptive;
pub(crate) mod lamb;
pub(crate) mod multi_adaptive;
pub(crate) mod multi_sgd;
pub(crate) mod optimizer;
pub(crate) mod row_updates;
