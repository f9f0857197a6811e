//! Tracing: what ran when, on which thread, recorded while it is switched on.
//!
//! Each thread writes into a buffer of its own, a list of chunks that only grows: without a lock,
//! an event is stored and then counted. A snapshot reads what is counted. The number of chunks is
//! limited; what does not fit is counted and dropped. Off, each place that records costs a relaxed
//! load.
//!
//! Events name an operation by the address of its block. Blocks are used again, but only after the
//! operation is over: so in the order of time, the events of one address tell one operation after
//! another, and `chrome.rs` can tell which push belongs to which run.

use std::cell::RefCell;
use std::time::Instant;

use crate::base::sync::{
    Arc, AtomicU64, AtomicUsize, Mutex, MutexGuard, Relaxed, lock, per_thread, plain,
};
use crate::tracing::buffer::{Buffer, CHUNK};
use crate::tracing::event::Event;

/// The default of [`Engine::start_trace`](crate::Engine::start_trace).
pub(crate) const MOST_EVENTS: usize = 1 << 22;

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
        let lasting: &'static Session = unsafe { &*Arc::as_ptr(&session) };
        Self {
            _buffers: lock(&lasting.buffers),
            _session: session,
        }
    }
}

/// Where a thread recorded last.
struct LastUsed {
    session: Arc<Session>,
    buffer: Option<Arc<Buffer>>,
}

per_thread! {
    static LAST_USED: RefCell<Option<LastUsed>> = RefCell::new(None);
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
        // Of all engines, so that a thread knows which session it recorded last.
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
        // Nothing in here runs code of the user's, so the cell is not borrowed already. Without
        // it, the thread is ending, and another thread-local's destructor uses the engine.
        let recorded = LAST_USED.try_with(|last| {
            let mut last = last.borrow_mut();
            if last.as_ref().is_none_or(|last| last.session.id != id) {
                *last = self.session().map(|session| LastUsed {
                    buffer: session.buffer(),
                    session,
                });
            }
            if let Some(LastUsed { session, buffer }) = &*last {
                // SAFETY: the buffer is this thread's.
                let stored = buffer
                    .as_ref()
                    .is_some_and(|b| unsafe { b.push(event, || session.take_chunk()) });
                if !stored {
                    session.drop_one();
                }
            }
        });
        if let (Err(_), Some(session)) = (recorded, self.session()) {
            session.drop_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::op::NO_STEP;
    use crate::tracing::event::What;
    use crate::types::spec::Name;

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
