#![doc = include_str!("../README.md")]

mod atomic_write;
mod cursor;
mod drafts;
mod idx;
mod image;
mod json;
mod params;
mod params_write;
mod recordio;
mod safetensors;
mod text;

pub use atomic_write::atomic_write;
pub use idx::{IdxArray, read_idx, write_idx};
pub use image::{
    Color, Colors, Crop, Detection, Draws, Emit, Fit, ImageDecoder, Interpolation, LABEL_HEAD,
    Overlap, Recipe, Sample, SampleElement, Sampler, Warp, Workspace, resize,
};
pub use params::{Params, Sparse, Tensor, read_params, read_params_bytes};
pub use params_write::{Entry, Part, SparseEntry, params_bytes, write_params};
pub use recordio::{IndexEntry, RecordReader, RecordWriter, read_index, read_index_bytes};
pub use safetensors::{
    SafeTensors, read_safetensors, read_safetensors_bytes, safetensors_bytes, write_safetensors,
};
pub use text::{CsvReader, LibsvmReader, LibsvmRows, Lines, Place};
