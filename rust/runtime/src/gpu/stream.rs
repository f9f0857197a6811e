//! A stream of a GPU, and what has been enqueued on it.

use super::device::Origin;
use super::driver::Object;
use super::port::Port;
use super::uses::{Ticket, Tickets, add};
use ferromix_base::Result;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Pieces of work that a stream remembers by name, for errors that come to light later.
pub(super) const REMEMBERED: usize = 64;

/// What a stream is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lane {
    Compute,
    CopyIn,
    CopyOut,
}

/// An event on a stream, and what is done when it has come: of this stream and others.
#[derive(Clone)]
pub(crate) struct Mark {
    pub(crate) event: Object,
    pub(super) past: Tickets,
}

impl Mark {
    pub(super) fn covers(&self, ticket: Ticket) -> bool {
        covers(&self.past, ticket)
    }
}

pub(super) fn covers(past: &Tickets, ticket: Ticket) -> bool {
    past.iter()
        .any(|t| t.stream == ticket.stream && t.number >= ticket.number)
}

pub(super) struct State {
    /// How many pieces of work were enqueued.
    pub(super) last: u64,
    /// What this stream has waited for, of each other one, by itself or by way of others.
    pub(super) seen: Tickets,
    pub(super) mark: Mark,
    pub(super) recent: [Option<(u64, Origin)>; REMEMBERED],
}

pub(crate) struct Stream {
    pub(super) number: u32,
    pub(super) raw: Object,
    pub(super) lane: Lane,
    state: Mutex<State>,
    /// All pieces up to this one are known to be done.
    pub(super) done: AtomicU64,
}

// SAFETY: streams and events of the driver may be used from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above; what changes is under the lock.
unsafe impl Sync for Stream {}

impl State {
    /// What is done when everything has come that is enqueued by now.
    pub(super) fn past_of(&self, stream: u32) -> Tickets {
        let mut past = self.seen.clone();
        let number = self.last;
        add(&mut past, Ticket { stream, number });
        past
    }
}

impl Stream {
    pub(super) fn new(port: &Port, number: u32, lane: Lane) -> Result<Self> {
        let state = State {
            last: 0,
            seen: Tickets::new(),
            mark: Mark {
                event: port.new_event()?,
                past: Tickets::new(),
            },
            recent: [None; REMEMBERED],
        };
        Ok(Stream {
            number,
            raw: port.new_stream()?,
            lane,
            state: Mutex::new(state),
            done: AtomicU64::new(0),
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
