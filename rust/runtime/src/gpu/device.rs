//! One GPU: its streams, and what has been enqueued on them.

use super::Function;
use super::copy::missing_copy;
use super::driver::{Address, Driver, Object};
use super::port::Port;
use super::refusals::{Refusals, SLOT, SLOTS, Sentence, Slots};
use super::stream::{Lane, Mark, REMEMBERED, Stream, covers};
use super::uses::{Ticket, Tickets, Uses, add};
use ferromix_base::{Context, DType, DeviceType, Error, Result};
use ferromix_engine::Name;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// CUDA's numbers of the attributes that are asked for.
const PROCESSORS: i32 = 16;
const MAJOR: i32 = 75;
const MINOR: i32 = 76;

/// What an operation is called in errors, and the line that pushed it.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// The operator.
    pub name: Name,
    /// As [`OpSpec::tag`](ferromix_engine::OpSpec::tag).
    pub tag: u64,
}

/// What a device is.
#[derive(Clone, Debug)]
pub struct Properties {
    /// As its maker calls it.
    pub name: String,
    /// Major and minor version of its instructions.
    pub capability: (i32, i32),
    /// Multiprocessors.
    pub processors: i32,
    /// CUDA's version that the driver is for: 12040 is 12.4.
    pub driver: i32,
}

/// A wait that failed: what the driver said, and who may be to blame.
#[derive(Clone, Debug)]
pub struct DeviceFailure {
    /// What the driver said.
    pub error: Error,
    /// The operation whose result was waited for, if that is still known.
    pub origin: Option<Origin>,
    /// Whether it is to blame for certain.
    pub certain: bool,
}

impl From<Error> for DeviceFailure {
    fn from(error: Error) -> Self {
        DeviceFailure {
            error,
            origin: None,
            certain: false,
        }
    }
}

/// One GPU.
pub(crate) struct Device {
    id: u16,
    port: Port,
    processors: u32,
    copies: OnceLock<HashMap<(DType, DType), Function>>,
    /// Of all devices; this one's are a range of them.
    streams: Vec<Arc<Stream>>,
    next: AtomicU64,
    /// The uses of each block that the pool has from the device, and where it really starts.
    blocks: Mutex<HashMap<usize, (Address, Arc<Uses>)>>,
    /// Events that no wait uses.
    events: Mutex<Vec<usize>>,
    slots: Arc<Slots>,
}

impl Device {
    pub(crate) fn open(driver: &Arc<Driver>, id: u16, compute: usize) -> Result<Self> {
        let port = Port::open(driver, id)?;
        port.enter()?;
        let lanes = std::iter::repeat_n(Lane::Compute, compute.max(1));
        let lanes = lanes.chain([Lane::CopyIn, Lane::CopyOut]);
        let mut streams = Vec::new();
        for (index, lane) in lanes.enumerate() {
            let number = (u32::from(id) << 16) | index as u32;
            streams.push(Arc::new(Stream::new(&port, number, lane)?));
        }
        Ok(Device {
            id,
            processors: port.attribute(PROCESSORS)?.max(1).unsigned_abs(),
            copies: OnceLock::new(),
            port,
            streams,
            next: AtomicU64::new(0),
            blocks: Mutex::default(),
            events: Mutex::default(),
            slots: Arc::default(),
        })
    }

    pub(crate) fn context(&self) -> Context {
        Context {
            device_type: DeviceType::Gpu,
            device_id: self.id,
        }
    }

    pub(crate) fn port(&self) -> &Port {
        &self.port
    }

    /// Sets the kernels that copy. The first call counts.
    pub(crate) fn set_copies(&self, copies: &[(DType, DType, Function)]) {
        self.copies.get_or_init(|| {
            copies
                .iter()
                .map(|&(from, to, f)| ((from, to), f))
                .collect()
        });
    }

    pub(crate) fn has_copies(&self) -> bool {
        self.copies.get().is_some()
    }

    pub(crate) fn copy_function(&self, from: DType, to: DType) -> Result<Function> {
        let known = self.copies.get().and_then(|known| known.get(&(from, to)));
        known.copied().ok_or_else(|| missing_copy(from, to))
    }

    /// Blocks that fill the device a few times over, for kernels that go on in steps of the grid.
    pub(crate) fn most_blocks(&self) -> u32 {
        self.processors * 32
    }

    pub(crate) fn properties(&self) -> Result<Properties> {
        let port = &self.port;
        Ok(Properties {
            name: port.name()?,
            capability: (port.attribute(MAJOR)?, port.attribute(MINOR)?),
            processors: port.attribute(PROCESSORS)?,
            driver: port.version()?,
        })
    }

    fn blocks(&self) -> MutexGuard<'_, HashMap<usize, (Address, Arc<Uses>)>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a block that starts at `address`, within what the driver gave at `raw`.
    pub(crate) fn note_block(&self, address: usize, raw: Address) {
        self.blocks()
            .insert(address, (raw, Arc::new(Uses::default())));
    }

    /// Forgets a block; where the driver's begins.
    pub(crate) fn forget_block(&self, address: usize) -> Option<Address> {
        self.blocks().remove(&address).map(|block| block.0)
    }

    /// The uses of a block of the pool; new ones for memory of others.
    pub(crate) fn uses_of(&self, address: usize) -> Arc<Uses> {
        let known = self.blocks().get(&address).map(|block| block.1.clone());
        known.unwrap_or_default()
    }

    fn stream_of(&self, ticket: Ticket) -> Option<&Arc<Stream>> {
        self.streams.iter().find(|s| s.number == ticket.stream)
    }

    /// The stream for work that must come after `wanted`: where it need wait for no other, or the next
    /// in turn.
    fn choose(&self, lane: Lane, wanted: &Tickets) -> &Arc<Stream> {
        let fits = |stream: &&Arc<Stream>| stream.lane == lane;
        let pending = wanted.iter().filter(|ticket| {
            let stream = self.stream_of(**ticket);
            // Relaxed: an old value costs a wait for what is done.
            stream.is_none_or(|s| s.done.load(Ordering::Relaxed) < ticket.number)
        });
        let latest = pending
            .filter_map(|ticket| self.stream_of(*ticket).filter(fits))
            .last();
        latest.unwrap_or_else(|| {
            let count = self.streams.iter().filter(fits).count() as u64;
            // Relaxed: only spreads the work.
            let turn = self.next.fetch_add(1, Ordering::Relaxed) % count.max(1);
            let mut streams = self.streams.iter().filter(fits);
            // There is one of each lane.
            streams.nth(turn as usize).unwrap_or(&self.streams[0])
        })
    }

    /// Enqueues a piece of work on a stream of `lane`, after everything that those who use the same blocks
    /// have enqueued, on whatever device. `work` gets the stream; where it fails it may have done a part.
    ///
    /// # Errors
    /// What the driver refuses.
    pub(crate) fn enqueue(
        &self,
        all: &super::Gpus,
        lane: Lane,
        origin: Origin,
        uses: &[(&Arc<Uses>, bool)],
        work: impl FnOnce(&Port, Object) -> Result<()>,
    ) -> Result<Ticket> {
        let mut wanted = Tickets::new();
        for (block, writes) in uses {
            block.collect(*writes, &mut wanted);
        }
        let stream = self.choose(lane, &wanted);
        let mut marks: SmallVec<[(Ticket, Mark); 4]> = SmallVec::new();
        for &ticket in wanted.iter().filter(|t| t.stream != stream.number) {
            if let Some(mark) = all.mark_after(ticket)? {
                marks.push((ticket, mark));
            }
        }
        self.port.enter()?;
        let mut state = stream.lock();
        for (i, (ticket, mark)) in marks.iter().enumerate() {
            let later = marks[i + 1..].iter().any(|(_, mark)| mark.covers(*ticket));
            if later || covers(&state.seen, *ticket) {
                continue;
            }
            self.port.wait_on(stream.raw, mark.event)?;
            mark.past.iter().for_each(|&t| add(&mut state.seen, t));
        }
        let done = work(&self.port, stream.raw);
        state.last += 1;
        let number = state.last;
        state.recent[number as usize % REMEMBERED] = Some((number, origin));
        drop(state);
        let ticket = Ticket {
            stream: stream.number,
            number,
        };
        for (block, writes) in uses {
            block.note(*writes, ticket);
        }
        done.map(|()| ticket)
    }

    /// A stream that has waited for everybody who uses a block; those who come later wait for what was
    /// enqueued there by then.
    pub(crate) fn settle(&self, all: &super::Gpus, uses: &Arc<Uses>) -> Result<usize> {
        let origin = Origin {
            name: Name::new("lend"),
            tag: 0,
        };
        let mut lent = std::ptr::null_mut();
        self.enqueue(all, Lane::Compute, origin, &[(uses, true)], |_, stream| {
            lent = stream;
            Ok(())
        })?;
        Ok(lent.expose_provenance())
    }

    /// The stream that memory of others arrives on.
    pub(crate) fn arrivals(&self) -> usize {
        self.streams[0].raw.expose_provenance()
    }

    /// Has the users of a block wait for what that stream waits for by now.
    pub(crate) fn note_arrival(&self, uses: &Uses) {
        let stream = &self.streams[0];
        let mut state = stream.lock();
        state.last += 1;
        let ticket = Ticket {
            stream: stream.number,
            number: state.last,
        };
        drop(state);
        uses.note(true, ticket);
    }

    /// An event after a piece of work that is not known to be done.
    pub(crate) fn mark_after(&self, ticket: Ticket) -> Result<Option<Mark>> {
        let Some(stream) = self.stream_of(ticket) else {
            return Ok(None);
        };
        // Acquire pairs with the release in `wait`: what was done there is over.
        if stream.done.load(Ordering::Acquire) >= ticket.number {
            return Ok(None);
        }
        let mut state = stream.lock();
        if !state.mark.covers(ticket) {
            self.port.enter()?;
            // Who was told of an earlier mark waits for this one instead, which is later on the same
            // stream: too long, at worst, and never for itself, as it has not been enqueued then.
            self.port.record(state.mark.event, stream.raw)?;
            state.mark.past = state.past_of(stream.number);
        }
        Ok(Some(state.mark.clone()))
    }

    /// Waits on the host for a piece of work.
    ///
    /// # Errors
    /// What went wrong on the device by then.
    pub(crate) fn wait(
        &self,
        all: &super::Gpus,
        ticket: Ticket,
    ) -> std::result::Result<(), DeviceFailure> {
        let Some(stream) = self.stream_of(ticket) else {
            return Ok(());
        };
        // Acquire: as above.
        if stream.done.load(Ordering::Acquire) >= ticket.number {
            return Ok(());
        }
        self.wait_on(all, stream).map_err(|error| DeviceFailure {
            error,
            origin: self.origin_of(ticket),
            certain: false,
        })
    }

    /// What a kernel refused that is known to have run, and was not told of; for waits that are there for
    /// somebody who wants values.
    pub(crate) fn refused(&self) -> std::result::Result<(), DeviceFailure> {
        let clear = |slot| {
            let zeros = [0; SLOT];
            self.at_once(Lane::CopyIn, |stream| {
                self.port.copy_in(slot, &zeros, stream)
            })
        };
        self.slots
            .refused(|t| self.is_done(t), |slot| self.read_slot(slot), clear)
            .map_err(|(error, origin)| DeviceFailure {
                error,
                origin,
                certain: origin.is_some(),
            })
    }

    /// Whose work a ticket is, if it was not long ago.
    pub(crate) fn origin_of(&self, ticket: Ticket) -> Option<Origin> {
        let recent = self.stream_of(ticket)?.lock().recent[ticket.number as usize % REMEMBERED];
        let known = recent.filter(|(number, _)| *number == ticket.number);
        known.map(|(_, origin)| origin)
    }

    /// Notes that a piece of this device's work is done.
    pub(crate) fn note_done(&self, ticket: Ticket) {
        if let Some(stream) = self.stream_of(ticket) {
            // Release pairs with the loads of those who then need not wait.
            stream.done.fetch_max(ticket.number, Ordering::Release);
        }
    }

    fn is_done(&self, ticket: Ticket) -> bool {
        let stream = self.stream_of(ticket);
        // Acquire: as above.
        stream.is_none_or(|s| s.done.load(Ordering::Acquire) >= ticket.number)
    }

    /// A slot for what the launches of a recipe may refuse.
    ///
    /// # Errors
    /// What the driver refuses.
    pub(crate) fn refusals(&self, sentences: Vec<Sentence>) -> Result<Arc<Refusals>> {
        self.slots.take(sentences, || {
            self.port.enter()?;
            // The device keeps it: a few pages for all recipes.
            let first = self.port.alloc(SLOT * SLOTS)?;
            let zeros = [0; SLOT * SLOTS];
            self.at_once(Lane::CopyIn, |stream| {
                self.port.copy_in(first, &zeros, stream)
            })?;
            Ok(first)
        })
    }

    /// Notes a run that may refuse something.
    pub(crate) fn watch(&self, refusals: &Arc<Refusals>, ticket: Ticket, origin: Origin) {
        self.slots.watch(refusals, ticket, origin);
    }

    fn read_slot(&self, slot: Address) -> Result<[u8; SLOT]> {
        let mut bytes = [0; SLOT];
        let to = bytes.as_mut_ptr();
        self.at_once(Lane::CopyOut, |stream| {
            self.port.copy_out(to, slot, SLOT, stream)
        })?;
        Ok(bytes)
    }

    /// Enqueues what concerns nobody else, and waits for it.
    fn at_once(&self, lane: Lane, work: impl FnOnce(Object) -> Result<()>) -> Result<()> {
        let stream = self.choose(lane, &Tickets::new());
        self.port.enter()?;
        let event = self.take_event()?;
        let state = stream.lock();
        work(stream.raw)?;
        self.port.record(event, stream.raw)?;
        drop(state);
        self.port.wait_for(event)?;
        self.return_event(event);
        Ok(())
    }

    fn return_event(&self, event: Object) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.push(event.expose_provenance());
    }

    fn wait_on(&self, all: &super::Gpus, stream: &Stream) -> Result<()> {
        self.port.enter()?;
        let event = self.take_event()?;
        let state = stream.lock();
        let past = state.past_of(stream.number);
        self.port.record(event, stream.raw)?;
        drop(state);
        self.port.wait_for(event)?;
        for ticket in past {
            all.note_done(ticket);
        }
        self.return_event(event);
        Ok(())
    }

    fn take_event(&self) -> Result<Object> {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        match events.pop() {
            Some(event) => Ok(std::ptr::with_exposed_provenance_mut(event)),
            None => self.port.new_event(),
        }
    }

    /// Waits for all streams.
    ///
    /// # Errors
    /// As for [`wait`](Device::wait) and [`refused`](Device::refused).
    pub(crate) fn wait_all(&self, all: &super::Gpus) -> std::result::Result<(), DeviceFailure> {
        for stream in &self.streams {
            let last = stream.lock().last;
            let ticket = Ticket {
                stream: stream.number,
                number: last,
            };
            self.wait(all, ticket)?;
        }
        self.refused()
    }
}
