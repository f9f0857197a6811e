//! Who uses a block of device memory: places on streams that others wait for.
//!
//! The engine orders the launches of operations; what was launched runs later. So each block remembers
//! where on which stream its last write stands, and the reads since. The next user's stream waits for these
//! on the device, and the host waits only where somebody asks for values. A block keeps this when it goes
//! back to its pool, so that memory may be reused before its last user has run.

use smallvec::SmallVec;
use std::sync::{Mutex, PoisonError};

/// A place on a stream: after so many pieces of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// The stream, by its number among those of all devices.
    pub(crate) stream: u32,
    pub(crate) number: u64,
}

/// The last of each stream among some tickets.
pub(crate) type Tickets = SmallVec<[Ticket; 4]>;

/// Adds a ticket, which covers earlier ones of its stream.
pub(crate) fn add(tickets: &mut Tickets, ticket: Ticket) {
    match tickets.iter_mut().find(|t| t.stream == ticket.stream) {
        Some(known) => known.number = known.number.max(ticket.number),
        None => tickets.push(ticket),
    }
}

#[derive(Default)]
struct Last {
    write: Option<Ticket>,
    /// Since that write.
    reads: Tickets,
}

/// The last uses of a block.
#[derive(Default)]
pub(crate) struct Uses(Mutex<Last>);

impl Uses {
    /// Adds what a reader must wait for, or, of a writer, readers too.
    pub(crate) fn collect(&self, writes: bool, into: &mut Tickets) {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(write) = last.write {
            add(into, write);
        }
        if writes {
            last.reads.iter().for_each(|&read| add(into, read));
        }
    }

    /// The last write.
    pub(crate) fn last_write(&self) -> Option<Ticket> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write
    }

    /// Notes a user, who waited for what [`collect`](Uses::collect) gave.
    pub(crate) fn note(&self, writes: bool, ticket: Ticket) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if writes {
            last.write = Some(ticket);
            last.reads.clear();
        } else {
            add(&mut last.reads, ticket);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(stream: u32, number: u64) -> Ticket {
        Ticket { stream, number }
    }

    fn wanted(uses: &Uses, writes: bool) -> Vec<Ticket> {
        let mut found = Tickets::new();
        uses.collect(writes, &mut found);
        found.to_vec()
    }

    #[test]
    fn readers_wait_for_the_write_and_writers_for_the_readers_too() {
        let uses = Uses::default();
        assert_eq!(wanted(&uses, true), []);
        uses.note(true, at(0, 3));
        uses.note(false, at(1, 1));
        uses.note(false, at(1, 5));
        uses.note(false, at(0, 4));
        assert_eq!(wanted(&uses, false), [at(0, 3)]);
        assert_eq!(wanted(&uses, true), [at(0, 4), at(1, 5)]);
        uses.note(true, at(1, 6));
        assert_eq!(wanted(&uses, true), [at(1, 6)]);
    }
}
