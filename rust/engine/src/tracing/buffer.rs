//! The events of one thread: a list of chunks that only grows.

use std::mem::MaybeUninit;
use std::ptr;
use std::thread::ThreadId;

use crate::base::sync::{Acquire, AtomicPtr, AtomicUsize, Relaxed, Release, UnsafeCell};
use crate::tracing::event::Event;

/// Events in a chunk.
pub(crate) const CHUNK: usize = if cfg!(loom) { 2 } else { 1024 };

struct Chunk {
    events: Box<[UnsafeCell<MaybeUninit<Event>>]>,
    /// Events that are there. Written by the owner of the buffer alone.
    len: AtomicUsize,
    next: AtomicPtr<Chunk>,
}

impl Chunk {
    fn new() -> *mut Self {
        let place = || UnsafeCell::new(MaybeUninit::uninit());
        Box::into_raw(Box::new(Self {
            events: (0..CHUNK).map(|_| place()).collect(),
            len: AtomicUsize::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
        }))
    }
}

/// The events of one thread.
pub(crate) struct Buffer {
    pub(crate) thread: ThreadId,
    name: String,
    first: *mut Chunk,
    /// The chunk being filled; the owner's.
    last: AtomicPtr<Chunk>,
}

// SAFETY: chunks live as long as the buffer; an event is written once, by the owner, before `len`
// counts it, and read only after.
unsafe impl Sync for Buffer {}

// SAFETY: as above; events are plain data.
unsafe impl Send for Buffer {}

impl Buffer {
    pub(crate) fn new(number: usize) -> Self {
        let thread = std::thread::current();
        let first = Chunk::new();
        Self {
            thread: thread.id(),
            name: thread
                .name()
                .map_or_else(|| format!("thread {number}"), str::to_owned),
            first,
            last: AtomicPtr::new(first),
        }
    }

    /// Adds an event; `more` says whether there may be one more chunk. False if there is no room.
    ///
    /// # Safety
    /// The caller is the owner.
    pub(crate) unsafe fn push(&self, event: Event, more: impl FnOnce() -> bool) -> bool {
        // SAFETY: chunks live as long as the buffer. Relaxed: the owner's own.
        let mut chunk = unsafe { &*self.last.load(Relaxed) };
        let mut len = chunk.len.load(Relaxed);
        if len == CHUNK {
            if !more() {
                return false;
            }
            let next = Chunk::new();
            // Release: the chunk's contents; pairs with `read`.
            chunk.next.store(next, Release);
            self.last.store(next, Relaxed);
            // SAFETY: as above.
            (chunk, len) = (unsafe { &*next }, 0);
        }
        // SAFETY: nobody reads what is not counted yet, and the owner alone writes.
        chunk.events[len].with_mut(|place| unsafe { (*place).write(event) });
        // Release: the event; pairs with `read`.
        chunk.len.store(len + 1, Release);
        true
    }

    /// What is there.
    pub(crate) fn read(&self) -> Vec<Event> {
        let mut events = Vec::new();
        let mut chunk: *const Chunk = self.first;
        // SAFETY: null, or a chunk, which lives as long as the buffer.
        while let Some(this) = unsafe { chunk.as_ref() } {
            // Acquire: pairs with `push`.
            let len = this.len.load(Acquire);
            for place in &this.events[..len] {
                // SAFETY: counted, hence written, and never again.
                events.push(place.with(|event| unsafe { (*event).assume_init() }));
            }
            if len < CHUNK {
                break; // If there is a next chunk now, this one was filled after the look at it.
            }
            // Acquire: pairs with `push`.
            chunk = this.next.load(Acquire);
        }
        events
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut chunk = self.first;
        while !chunk.is_null() {
            // SAFETY: the buffer owns its chunks, and this is the last anybody sees of it.
            let owned = unsafe { Box::from_raw(chunk) };
            chunk = owned.next.load(Relaxed);
        }
    }
}
