//! Draws from distributions: random words in blocks, what they become, and the driver that all
//! operators share which draw one number for each element.

pub(crate) mod attempts;
pub(crate) mod counts;
pub(crate) mod draw;
pub(crate) mod gamma;
pub(crate) mod standard;
pub(crate) mod words;
