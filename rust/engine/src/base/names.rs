//! Texts that are kept for the rest of the process, one per distinct text and kind.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ptr;

use crate::base::grow_only::GrowOnly;

/// Lists, by hash: enough for the nodes of a large graph, which all have names.
const LISTS: usize = 1 << 14;

struct Kept {
    text: Box<str>,
    kind: Option<Box<str>>,
}

static NAMES: [GrowOnly<Kept>; LISTS] = [const { GrowOnly::new() }; LISTS];

fn list_of(text: &str) -> &'static GrowOnly<Kept> {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(text);
    &NAMES[hash as usize % LISTS]
}

/// The one copy of a text, of a kind or of none.
pub(crate) fn intern(text: &str, kind: Option<&str>) -> &'static str {
    let known = list_of(text).find_or_push(
        |known| known.kind.as_deref() == kind && *known.text == *text,
        || Kept {
            text: text.into(),
            kind: kind.map(Into::into),
        },
    );
    &known.text
}

/// The kind that a copy was made with.
pub(crate) fn kind_of(text: &'static str) -> Option<&'static str> {
    let mut known = list_of(text).iter();
    known.find_map(|known| {
        let same = ptr::eq(&raw const *known.text, ptr::from_ref(text));
        known.kind.as_deref().filter(|_| same && !text.is_empty())
    })
}
