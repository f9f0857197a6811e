//! Products of weights with windows of images, which make up convolutions, their gradients and what is
//! their reverse.

mod ahead;
pub(crate) mod apply;
pub(crate) mod blocked;
pub(crate) mod direct;
mod field;
pub(crate) mod finish;
mod gather;
pub(crate) mod geometry;
mod lines;
mod out;
mod places;
pub(crate) mod plan;
mod planes;
pub(crate) mod products;
mod tiles;
pub(crate) mod transforms;
pub(crate) mod weight;
mod windows;
pub(crate) mod winograd;
