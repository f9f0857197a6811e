//! Random numbers.

pub(crate) mod distributions;
pub(crate) mod integers;
pub(crate) mod leaky;
pub(crate) mod multinomial;
pub(crate) mod pdf;
pub(crate) mod sample;
pub(crate) mod shuffle;
pub(crate) mod zipfian;
