//! Rows of numbers in text: CSV and LibSVM, read a batch at a time from one or several files.

mod csv;
mod libsvm;
mod lines;

pub use csv::CsvReader;
pub use libsvm::{LibsvmReader, LibsvmRows};
pub use lines::{Lines, Place};
