//! What kernels refuse: values that only they see, such as an index that an axis lacks.
//!
//! The launches of a recipe that may refuse share a slot of device memory, for the number of a sentence and
//! a value. The host reads it at its first wait after they ran, and raises the error there.

use super::device::Origin;
use super::driver::Address;
use super::uses::{Ticket, Tickets, add};
use ferromix_base::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a slot, `fm::Refusal` of the sources: a code of four bytes, four that are free, and the value.
pub(crate) const SLOT: usize = 16;
/// Slots that are taken from the driver at a time.
pub(crate) const SLOTS: usize = 1024;

/// Makes an error of a sentence.
type Make = fn(String) -> Error;

/// What kernels refuse with one code.
pub struct Sentence {
    make: Make,
    text: String,
}

impl Sentence {
    /// Of an error of the kind `"index"` or `"value"`; `{}` stands for the value.
    ///
    /// # Errors
    /// Another kind.
    pub fn new(kind: &str, text: String) -> Result<Self, Error> {
        let make: Make = match kind {
            "index" => |text| Error::index(text),
            "value" => |text| Error::value(text),
            _ => return Err(Error::internal(format!("a refusal of the kind '{kind}'"))),
        };
        Ok(Sentence { make, text })
    }
}

/// What the launches of one recipe may refuse, and their slot.
pub(crate) struct Refusals {
    slots: Arc<Slots>,
    pub(crate) slot: Address,
    sentences: Vec<Sentence>,
}

impl Refusals {
    /// The error that a slot holds, if anything was refused.
    fn found(&self, slot: [u8; SLOT]) -> Option<Error> {
        let [a, b, c, d, _, _, _, _, value @ ..] = slot;
        let code = u32::from_ne_bytes([a, b, c, d]) as usize;
        let value = i64::from_ne_bytes(value);
        let sentence = self.sentences.get(code.checked_sub(1)?)?;
        let text = sentence.text.replace("{}", &value.to_string());
        Some((sentence.make)(text))
    }
}

impl Drop for Refusals {
    fn drop(&mut self) {
        self.slots.free().push(self.slot);
    }
}

/// Runs whose slot is to be read, the last of each recipe.
struct Pending {
    refusals: Arc<Refusals>,
    tickets: Tickets,
    origin: Origin,
}

/// The slots of a device.
#[derive(Default)]
pub(crate) struct Slots {
    free: Mutex<Vec<Address>>,
    pending: Mutex<Vec<Pending>>,
    /// How many are pending.
    count: AtomicUsize,
}

impl Slots {
    fn free(&self) -> MutexGuard<'_, Vec<Address>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pending(&self) -> MutexGuard<'_, Vec<Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A slot for sentences; `more` gives the address of further ones, all of them zero.
    pub(crate) fn take(
        self: &Arc<Self>,
        sentences: Vec<Sentence>,
        more: impl FnOnce() -> Result<Address, Error>,
    ) -> Result<Arc<Refusals>, Error> {
        let mut free = self.free();
        if free.is_empty() {
            let first = more()?;
            free.extend((0..SLOTS).rev().map(|i| first + (i * SLOT) as Address));
        }
        let slot = free
            .pop()
            .ok_or_else(|| Error::internal("no slot is free"))?;
        Ok(Arc::new(Refusals {
            slots: self.clone(),
            slot,
            sentences,
        }))
    }

    /// Notes a run that may refuse something.
    pub(crate) fn watch(&self, refusals: &Arc<Refusals>, ticket: Ticket, origin: Origin) {
        let mut pending = self.pending();
        let known = pending
            .iter_mut()
            .find(|p| Arc::ptr_eq(&p.refusals, refusals));
        match known {
            Some(known) => {
                add(&mut known.tickets, ticket);
                known.origin = origin;
            }
            None => {
                let mut tickets = Tickets::new();
                add(&mut tickets, ticket);
                pending.push(Pending {
                    refusals: refusals.clone(),
                    tickets,
                    origin,
                });
            }
        }
        // Relaxed: who waits for a run knows of it from elsewhere, and so of this too.
        self.count.store(pending.len(), Ordering::Relaxed);
    }

    /// The error of one of the runs that are done, as `read` finds their slots and `clear` empties one that
    /// is not; a run of the same recipe that refuses something just then is not told of.
    pub(crate) fn refused(
        &self,
        is_done: impl Fn(Ticket) -> bool,
        read: impl Fn(Address) -> Result<[u8; SLOT], Error>,
        clear: impl Fn(Address) -> Result<(), Error>,
    ) -> Result<(), (Error, Option<Origin>)> {
        // Relaxed: as above.
        while self.count.load(Ordering::Relaxed) > 0 {
            let mut pending = self.pending();
            let done = |p: &Pending| p.tickets.iter().all(|&ticket| is_done(ticket));
            let Some(place) = pending.iter().position(done) else {
                break;
            };
            let one = pending.swap_remove(place);
            self.count.store(pending.len(), Ordering::Relaxed);
            drop(pending);
            let slot = read(one.refusals.slot).map_err(|e| (e, None))?;
            if let Some(error) = one.refusals.found(slot) {
                clear(one.refusals.slot).map_err(|e| (e, None))?;
                let error = error.within(format_args!("operator {}", one.origin.name));
                return Err((error, Some(one.origin)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferromix_engine::Name;

    fn origin(name: &'static str) -> Origin {
        Origin {
            name: Name::new(name),
            tag: 0,
        }
    }

    fn refusing(code: u32, value: i64) -> [u8; SLOT] {
        let mut slot = [0; SLOT];
        slot[..4].copy_from_slice(&code.to_ne_bytes());
        slot[8..].copy_from_slice(&value.to_ne_bytes());
        slot
    }

    fn sentences() -> Vec<Sentence> {
        let index = Sentence::new("index", "index {} is out of bounds".into());
        let value = Sentence::new("value", "matrix {} has no inverse".into());
        vec![index.unwrap(), value.unwrap()]
    }

    #[test]
    fn what_was_refused_is_told_once_when_the_run_is_done() {
        let slots = Arc::new(Slots::default());
        let refusals = slots.take(sentences(), || Ok(4096)).unwrap();
        let ticket = Ticket {
            stream: 0,
            number: 3,
        };
        slots.watch(&refusals, ticket, origin("take"));
        let slot = Mutex::new(refusing(1, -7));
        let read = |address| {
            assert_eq!(address, 4096);
            Ok(*slot.lock().unwrap())
        };
        let clear = |_| {
            *slot.lock().unwrap() = [0; SLOT];
            Ok(())
        };
        assert!(slots.refused(|_| false, read, clear).is_ok());
        let (error, who) = slots.refused(|_| true, read, clear).unwrap_err();
        assert_eq!(error.message(), "operator take: index -7 is out of bounds");
        assert_eq!(who.map(|o| o.name.to_string()), Some("take".into()));
        slots.watch(&refusals, ticket, origin("take"));
        assert!(slots.refused(|_| true, read, clear).is_ok());
        assert!(Sentence::new("other", String::new()).is_err());
    }

    #[test]
    fn slots_are_used_again() {
        let slots = Arc::new(Slots::default());
        let first = slots.take(sentences(), || Ok(0)).unwrap();
        let second = slots
            .take(sentences(), || Err(Error::internal("more")))
            .unwrap();
        assert_ne!(first.slot, second.slot);
        let slot = first.slot;
        drop(first);
        let third = slots.take(sentences(), || Err(Error::internal("more")));
        assert_eq!(third.unwrap().slot, slot);
    }
}
