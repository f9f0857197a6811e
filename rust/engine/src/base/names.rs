//! Texts that are kept for the rest of the process, one per distinct text.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use crate::base::grow_only::GrowOnly;

/// Lists, by hash: enough for the nodes of a large graph, which all have names.
const LISTS: usize = 1 << 14;

static NAMES: [GrowOnly<Box<str>>; LISTS] = [const { GrowOnly::new() }; LISTS];

/// The one copy of a text.
pub(crate) fn intern(text: &str) -> &'static str {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(text);
    NAMES[hash as usize % LISTS].find_or_push(|known| **known == *text, || text.into())
}
