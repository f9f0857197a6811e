//! What operations of some kinds have besides: a launch, a bulk's operations, what one of these
//! uses.

use super::{Op, OpPtr};
use crate::waiters::waiter::Waiter;

/// What some kinds of operations have. Not set until it is needed.
pub(super) union Extra {
    pub(super) logged: Logged,
    /// Of an operation in a bulk.
    uses: Uses,
}

/// Of an operation in the log.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Logged {
    own: Own,
    /// Who is woken when the operation is complete. Lives on that thread's stack.
    pub(super) waiter: *const Waiter,
}

#[derive(Clone, Copy)]
union Own {
    /// The state of a program's launch.
    launch: *const (),
    /// The first operation of a bulk.
    first: *mut Op,
}

/// The variables of an operation in a bulk, by their places among the bulk's accesses: those that
/// it mutates first.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Uses {
    writes: u8,
    len: u8,
    places: [u8; Uses::MOST],
}

impl Uses {
    /// Variables that an operation in a bulk may have.
    pub(crate) const MOST: usize = 14;

    pub(crate) fn add(&mut self, place: u8, writes: bool) {
        self.places[self.len as usize] = place;
        self.len += 1;
        self.writes += u8::from(writes);
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.places[..self.len as usize].iter().map(|k| *k as usize)
    }

    pub(crate) fn written(&self) -> impl Iterator<Item = usize> + '_ {
        self.all().take(self.writes as usize)
    }
}
impl OpPtr {
    /// Gives a program's operation its launch.
    ///
    /// # Safety
    /// The operation is not shared yet.
    pub(crate) unsafe fn set_launch(self, launch: *const ()) {
        // SAFETY: by the contract nobody else looks.
        unsafe { (&raw mut (*self.0.as_ptr()).extra.logged.own.launch).write(launch) }
    }

    /// The state of the launch; alive as long as its users count the caller.
    ///
    /// # Safety
    /// The operation is a program's.
    pub(crate) unsafe fn launch(&self) -> *const () {
        // SAFETY: set before the operation was shared.
        unsafe { self.header().extra.logged.own.launch }
    }

    /// Gives a bulk its operations, linked by `queue_next`.
    ///
    /// # Safety
    /// The bulk is not shared yet.
    pub(crate) unsafe fn set_first(self, first: *mut Op) {
        // SAFETY: by the contract nobody else looks.
        unsafe { (&raw mut (*self.0.as_ptr()).extra.logged.own.first).write(first) }
    }

    /// The operations of a bulk.
    ///
    /// # Safety
    /// The operation is a bulk.
    pub(crate) unsafe fn first(&self) -> *mut Op {
        // SAFETY: set before the bulk was shared.
        unsafe { self.header().extra.logged.own.first }
    }

    /// Says what an operation in a bulk uses.
    ///
    /// # Safety
    /// The operation is in a bulk that is not shared yet.
    pub(crate) unsafe fn set_uses(self, uses: Uses) {
        // SAFETY: by the contract nobody else looks.
        unsafe { (&raw mut (*self.0.as_ptr()).extra.uses).write(uses) }
    }

    /// What an operation in a bulk uses.
    ///
    /// # Safety
    /// The operation is in a bulk.
    pub(crate) unsafe fn uses(&self) -> Uses {
        // SAFETY: set when it came into the bulk.
        unsafe { self.header().extra.uses }
    }
}
