//! Texts that are kept for the rest of the process, one per distinct text: lists that only grow, so
//! that no fork finds them locked.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ptr;

use crate::sync::plain::AtomicPtr;
use crate::sync::{AcqRel, Acquire};

struct Kept {
    text: Box<str>,
    next: *mut Kept,
}

/// Lists, by hash.
const LISTS: usize = 256;

static NAMES: [AtomicPtr<Kept>; LISTS] = [const { AtomicPtr::new(ptr::null_mut()) }; LISTS];

/// The text, in a list from `first` to before `end`.
fn find(text: &str, first: *mut Kept, end: *mut Kept) -> Option<&'static str> {
    let mut kept = first;
    while kept != end {
        // SAFETY: in a list, hence there for good, and not changed any more.
        let this: &'static Kept = unsafe { &*kept };
        if &*this.text == text {
            return Some(&this.text);
        }
        kept = this.next;
    }
    None
}

/// The one copy of a text.
pub(crate) fn intern(text: &str) -> &'static str {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(text);
    let list = &NAMES[hash as usize % LISTS];
    // Acquire, here and below: what is in the list.
    let mut first = list.load(Acquire);
    if let Some(known) = find(text, first, ptr::null_mut()) {
        return known;
    }
    let mut new = Box::new(Kept {
        text: text.into(),
        next: first,
    });
    loop {
        let raw = Box::into_raw(new);
        // Release: its contents.
        match list.compare_exchange(first, raw, AcqRel, Acquire) {
            // SAFETY: in a list for good.
            Ok(_) => return unsafe { &(*raw).text },
            Err(now) => {
                if let Some(known) = find(text, now, first) {
                    // SAFETY: from the box above, and not shared.
                    drop(unsafe { Box::from_raw(raw) });
                    return known;
                }
                // SAFETY: as above.
                new = unsafe { Box::from_raw(raw) };
                new.next = now;
                first = now;
            }
        }
    }
}
