//! RecordIO, MXNet's format for a file of many records of bytes: a head of two little-endian words,
//! the magic and a word of flag (3 bits) and length (29 bits), the bytes, and zeros up to a multiple
//! of four.
//!
//! The magic never stands at a multiple of four inside of data, so that a reader who comes from
//! anywhere finds the next record. A writer cuts data there, leaves the magic out, and writes the
//! pieces as parts of one record; a reader puts it back between them.

mod index;
mod reader;
mod writer;

pub use index::{IndexEntry, read_index, read_index_bytes};
pub use reader::RecordReader;
pub use writer::RecordWriter;

/// The first word of each part.
const MAGIC: [u8; 4] = 0xCED7_230A_u32.to_le_bytes();

/// The bits of the length in the second word; the flag is above them.
const LENGTH_BITS: u32 = 29;

/// The longest part, and the longest record that is written.
const MOST: u32 = (1 << LENGTH_BITS) - 1;

/// Which part of its record a part is, and its flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Whole = 0,
    First = 1,
    Middle = 2,
    Last = 3,
}

impl Part {
    fn from_flag(flag: u32) -> Option<Self> {
        [Part::Whole, Part::First, Part::Middle, Part::Last]
            .into_iter()
            .find(|&part| part as u32 == flag)
    }
}

/// How many bytes follow data of this length, up to a multiple of four.
fn padding(length: u32) -> u32 {
    length.wrapping_neg() % 4
}
