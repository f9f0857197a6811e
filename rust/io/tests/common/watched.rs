//! Memory that a reader asks for, beside the size of its file.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, noting the largest request of each thread.
struct Watched;

thread_local!(static LARGEST: Cell<usize> = const { Cell::new(0) });

fn note(size: usize) {
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(size)));
}

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(ptr, layout) }
    }
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// Runs `read` and checks that no request exceeded a fixed part (buffers of files and
/// decompressors) and a small multiple of the file.
pub(crate) fn frugal<R>(file: usize, read: impl FnOnce() -> R) -> R {
    LARGEST.set(0);
    let result = read();
    let largest = LARGEST.get();
    assert!(
        largest <= 64 * 1024 + 16 * file,
        "{largest} bytes at once for a file of {file}"
    );
    result
}
