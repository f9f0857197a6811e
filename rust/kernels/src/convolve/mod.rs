//! Products of weights with windows of images, which make up convolutions, their gradients and what is
//! their reverse.

mod ahead;
pub(crate) mod apply;
mod channels;
pub(crate) mod direct;
mod field;
pub(crate) mod finish;
mod gather;
pub(crate) mod geometry;
mod in_place;
mod lines;
mod out;
pub(crate) mod paired;
mod pairs;
mod places;
pub(crate) mod plan;
mod planes;
pub(crate) mod products;
pub(crate) mod summed;
mod tiles;
pub(crate) mod transforms;
pub(crate) mod weight;
mod windows;
pub(crate) mod winograd;
pub(crate) mod winograd_weight;
