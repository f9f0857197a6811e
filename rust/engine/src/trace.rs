//! Tracing: what ran when, on which thread, recorded while it is switched on.
//!
//! Each thread writes into a buffer of its own, a list of chunks that only grows: without a lock,
//! an event is stored and then counted. A snapshot reads what is counted. The number of chunks is
//! bounded; what does not fit is counted and dropped. Off, each place that records costs a relaxed
//! load.
//!
//! Events name an operation by the address of its block. Blocks are used again, but only after the
//! operation is over: so in the order of time, the events of one address tell one operation after
//! another, and `chrome.rs` can tell which push belongs to which run.

use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::thread::ThreadId;
use std::time::Instant;

use crate::lane::LaneKey;
use crate::spec::Name;
use crate::sync::{
    Acquire, Arc, AtomicPtr, AtomicU64, AtomicUsize, Mutex, MutexGuard, Relaxed, Release,
    UnsafeCell, lock, per_thread, plain,
};

/// Events in a chunk.
const CHUNK: usize = if cfg!(loom) { 2 } else { 1024 };
/// The default of [`Engine::start_trace`](crate::Engine::start_trace).
pub(crate) const MOST_EVENTS: usize = 1 << 22;

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// An operation was pushed, or a program launched; on the pushing thread.
    Push,
    /// The function of a synchronous operation ran.
    Run,
    /// The function of an asynchronous operation is about to run. A point in time.
    Begin,
    /// It ran.
    Start,
    /// An asynchronous operation was completed.
    Complete,
    /// The function of a deletion ran.
    Delete,
    /// A step of a program ran.
    Step,
    /// An operation was skipped for a failure.
    Skip,
    /// A thread waited.
    Wait,
    /// Whatever the user says, of this category.
    Span(Name),
    /// A point in time, of this category.
    Mark(Name),
    /// A value, as bits of a `f64`, of this category.
    Count(Name, u64),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) what: What,
    pub(crate) name: Name,
    /// The queue it came from.
    pub(crate) lane: Option<LaneKey>,
    /// Address of the operation, or 0.
    pub(crate) op: usize,
    /// Which asynchronous step of it, or `NO_STEP`.
    pub(crate) step: u32,
    pub(crate) tag: u64,
    pub(crate) begin: Instant,
    pub(crate) end: Instant,
}

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
    thread: ThreadId,
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
    fn new(number: usize) -> Self {
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
    unsafe fn push(&self, event: Event, more: impl FnOnce() -> bool) -> bool {
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

/// One recording, from its start on.
pub(crate) struct Session {
    id: u64,
    pub(crate) began: Instant,
    chunks_left: AtomicUsize,
    dropped: AtomicU64,
    buffers: Mutex<Vec<Arc<Buffer>>>,
}

impl Session {
    fn new(id: u64, most_events: usize) -> Self {
        Self {
            id,
            began: Instant::now(),
            chunks_left: AtomicUsize::new(most_events.div_ceil(CHUNK).max(1)),
            dropped: AtomicU64::new(0),
            buffers: Mutex::new(Vec::new()),
        }
    }

    fn take_chunk(&self) -> bool {
        // Relaxed: a count alone.
        self.chunks_left
            .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1))
            .is_ok()
    }

    /// The calling thread's buffer; `None` if there is no room for one.
    fn buffer(&self) -> Option<Arc<Buffer>> {
        let mut buffers = lock(&self.buffers);
        let me = std::thread::current().id();
        if let Some(mine) = buffers.iter().find(|buffer| buffer.thread == me) {
            return Some(mine.clone());
        }
        if !self.take_chunk() {
            return None;
        }
        let made = Arc::new(Buffer::new(buffers.len() + 1));
        buffers.push(made.clone());
        Some(made)
    }

    pub(crate) fn buffers(&self) -> Vec<Arc<Buffer>> {
        lock(&self.buffers).clone()
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    fn drop_one(&self) {
        self.dropped.fetch_add(1, Relaxed);
    }
}

/// A recording that no thread begins to take part in.
pub(crate) struct HeldSession {
    /// Dropped before what it is in.
    _buffers: MutexGuard<'static, Vec<Arc<Buffer>>>,
    _session: Arc<Session>,
}

impl HeldSession {
    fn new(session: Arc<Session>) -> Self {
        // SAFETY: the guard is dropped before the session that it is in.
        let kept: &'static Session = unsafe { &*Arc::as_ptr(&session) };
        Self {
            _buffers: lock(&kept.buffers),
            _session: session,
        }
    }
}

/// Where a thread recorded last.
struct Desk {
    session: Arc<Session>,
    buffer: Option<Arc<Buffer>>,
}

per_thread! {
    static DESK: RefCell<Option<Desk>> = RefCell::new(None);
}

/// Whether an engine records, and where to.
pub(crate) struct Tracer {
    /// Number of the session that records; 0 when off.
    on: AtomicU64,
    session: Mutex<Option<Arc<Session>>>,
}

impl Tracer {
    pub(crate) fn new() -> Self {
        Self {
            on: AtomicU64::new(0),
            session: Mutex::new(None),
        }
    }

    /// Whether events are recorded.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        // Relaxed: whoever does not see the change yet records a little less, or more.
        self.on.load(Relaxed) != 0
    }

    /// The time, if events are recorded.
    #[inline(always)]
    pub(crate) fn begin(&self) -> Option<Instant> {
        self.is_on().then(Instant::now)
    }

    /// Starts a new recording.
    pub(crate) fn start(&self, most_events: usize) {
        // Of all engines, so that a thread's desk says which session it is at.
        static LAST: plain::AtomicU64 = plain::AtomicU64::new(0);
        let id = LAST.fetch_add(1, Relaxed) + 1;
        *lock(&self.session) = Some(Arc::new(Session::new(id, most_events)));
        self.on.store(id, Relaxed);
    }

    pub(crate) fn pause(&self) {
        self.on.store(0, Relaxed);
    }

    /// Goes on with the recording that was paused, if there is one.
    pub(crate) fn resume(&self) {
        if let Some(session) = &*lock(&self.session) {
            self.on.store(session.id, Relaxed);
        }
    }

    /// Keeps others from the locks until what is returned is dropped.
    pub(crate) fn hold(&self) -> (Option<HeldSession>, MutexGuard<'_, impl Sized>) {
        let session = lock(&self.session);
        (session.clone().map(HeldSession::new), session)
    }

    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        lock(&self.session).clone()
    }

    pub(crate) fn stop(&self) -> Option<Arc<Session>> {
        self.pause();
        lock(&self.session).take()
    }

    /// Records an event, on the calling thread.
    #[cold]
    pub(crate) fn record(&self, event: Event) {
        let id = self.on.load(Relaxed);
        if id == 0 {
            return;
        }
        // Nothing in here runs code of the user's, so the desk is not borrowed already. Without a
        // desk, the thread is ending, and another thread-local's destructor uses the engine.
        let at_desk = DESK.try_with(|desk| {
            let mut desk = desk.borrow_mut();
            if desk.as_ref().is_none_or(|desk| desk.session.id != id) {
                *desk = self.session().map(|session| Desk {
                    buffer: session.buffer(),
                    session,
                });
            }
            if let Some(Desk { session, buffer }) = &*desk {
                // SAFETY: the buffer is this thread's.
                let kept = buffer
                    .as_ref()
                    .is_some_and(|b| unsafe { b.push(event, || session.take_chunk()) });
                if !kept {
                    session.drop_one();
                }
            }
        });
        if let (Err(_), Some(session)) = (at_desk, self.session()) {
            session.drop_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::NO_STEP;

    fn event(tag: u64) -> Event {
        let now = Instant::now();
        Event {
            what: What::Run,
            name: Name::new("x"),
            lane: None,
            op: 0,
            step: NO_STEP,
            tag,
            begin: now,
            end: now,
        }
    }

    /// Reads while the owner writes: what is counted is there, in order.
    fn read_while_written(count: u64) {
        let buffer = Arc::new(Buffer::new(1));
        let writer = buffer.clone();
        let write = move || {
            for tag in 0..count {
                // SAFETY: the one thread that pushes.
                assert!(unsafe { writer.push(event(tag), || true) });
            }
        };
        #[cfg(loom)]
        let thread = loom::thread::spawn(write);
        #[cfg(not(loom))]
        let thread = std::thread::spawn(write);
        let check = |events: &[Event]| {
            for (k, event) in events.iter().enumerate() {
                assert_eq!(event.tag, k as u64);
            }
            events.len() as u64
        };
        let first = check(&buffer.read());
        assert!(check(&buffer.read()) >= first);
        assert!(thread.join().is_ok());
        assert_eq!(check(&buffer.read()), count);
    }

    #[cfg(loom)]
    #[test]
    fn a_buffer_is_read_while_it_is_written() {
        loom::model(|| read_while_written(3));
    }

    #[cfg(not(loom))]
    #[test]
    fn a_buffer_is_read_while_it_is_written() {
        read_while_written(100_000);
    }

    #[cfg(not(loom))]
    #[test]
    fn what_does_not_fit_is_counted() {
        let tracer = Tracer::new();
        tracer.start(CHUNK);
        (0..CHUNK as u64 + 7).for_each(|tag| tracer.record(event(tag)));
        let counts = tracer
            .stop()
            .map(|s| (s.dropped(), s.buffers()[0].read().len()));
        assert_eq!(counts, Some((7, CHUNK)));
        assert!(!tracer.is_on());
        tracer.resume();
        assert!(!tracer.is_on());
    }
}
