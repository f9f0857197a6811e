//! Lanes: one queue of ready operations for each (device, class), and the threads that serve it.

use std::ptr;

use crate::base::sync::{
    AcqRel, Acquire, AtomicBool, AtomicPtr, AtomicU32, AtomicU64, JoinHandle, Mutex, MutexGuard,
    SMALL, SeqCst, lock, start_thread,
};
use crate::operation::op::OpPtr;
use crate::scheduling::current_op::CurrentOp;
use crate::scheduling::lanes::Lanes;
use crate::scheduling::park::Idle;
use crate::scheduling::ready_queue::Queue;
use crate::types::device::Device;
use crate::types::options::Sizes;
use crate::types::spec::{FnProperty, Name};

/// Replacement threads that a lane may start while its workers wait inside operations.
const REPLACEMENTS: usize = if SMALL { 2 } else { 64 };

/// What a lane is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Compute,
    Priority,
    CopyIn,
    CopyOut,
    /// For work that only starts something, which should not wait behind what takes time.
    Start,
}

/// Which lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LaneKey {
    /// `None` for the host.
    gpu: Option<u16>,
    class: Class,
}

impl LaneKey {
    /// The lane of ordinary work.
    pub(crate) const CPU: Self = Self {
        gpu: None,
        class: Class::Compute,
    };

    pub(crate) fn new(device: Device, property: FnProperty) -> Self {
        let gpu = device.is_gpu().then_some(device.id);
        let class = match property {
            FnProperty::CpuPrioritized | FnProperty::GpuPrioritized => Class::Priority,
            FnProperty::CopyFromGpu if gpu.is_some() => Class::CopyOut,
            FnProperty::CopyToGpu if gpu.is_some() => Class::CopyIn,
            FnProperty::Async => Class::Start,
            _ => Class::Compute,
        };
        Self { gpu, class }
    }

    /// A device and a kind of work that lead here.
    pub(crate) fn parts(self) -> (Device, FnProperty) {
        let property = match (self.class, self.gpu) {
            (Class::Compute, _) => FnProperty::Normal,
            (Class::Priority, None) => FnProperty::CpuPrioritized,
            (Class::Priority, Some(_)) => FnProperty::GpuPrioritized,
            (Class::CopyIn, _) => FnProperty::CopyToGpu,
            (Class::CopyOut, _) => FnProperty::CopyFromGpu,
            (Class::Start, _) => FnProperty::Async,
        };
        (self.gpu.map_or(Device::CPU, Device::gpu), property)
    }

    /// Whether its operations start something on a device.
    pub(crate) fn launches(self) -> bool {
        self.gpu.is_some() && self.class == Class::Compute
    }

    pub(crate) fn label(self) -> String {
        let class = match self.class {
            Class::Compute => "run",
            Class::Priority => "pri",
            Class::CopyIn => "in",
            Class::CopyOut => "out",
            Class::Start => "start",
        };
        match self.gpu {
            None => format!("fmx-cpu-{class}"),
            Some(id) => format!("fmx-gpu{id}-{class}"),
        }
    }
}

impl Sizes {
    fn of(self, key: LaneKey) -> usize {
        let size = match (key.gpu, key.class) {
            (_, Class::Start) => 1,
            (None, Class::Priority) => self.cpu_priority,
            (None, _) => self.cpu,
            (Some(_), Class::CopyIn | Class::CopyOut) => self.gpu_copy,
            (Some(_), _) => self.gpu,
        };
        size.max(1)
    }
}

const STARTED_ONE: u64 = 1;
const BLOCKED_ONE: u64 = 1 << 32;

#[derive(Clone, Copy)]
struct Crew {
    started: u64,
    blocked: u64,
}

impl From<u64> for Crew {
    fn from(word: u64) -> Self {
        Self {
            started: word & (BLOCKED_ONE - 1),
            blocked: word >> 32,
        }
    }
}

struct Roster {
    free: Vec<usize>,
    threads: Vec<Hired>,
}

/// A thread, and at how many stops of its lane it does not end.
pub(crate) struct Hired {
    stops: u32,
    pub(crate) handle: JoinHandle,
}

/// One queue and its threads, which are started when there is work for them.
pub(crate) struct Lane {
    pub(crate) key: LaneKey,
    pub(crate) queue: Queue,
    pub(crate) idle: Idle,
    size: usize,
    /// Threads started, and those of them that wait inside an operation.
    crew: AtomicU64,
    stopped: AtomicBool,
    /// How often the lane was stopped: threads from before a stop end, whatever comes after it.
    stops: AtomicU32,
    current_ops: Box<[CurrentOp]>,
    roster: Mutex<Roster>,
    /// The lane made before it.
    pub(crate) next: AtomicPtr<Lane>,
}

impl Lane {
    pub(crate) fn new(key: LaneKey, sizes: Sizes, stopped: bool) -> Self {
        let size = sizes.of(key);
        let most = size + REPLACEMENTS;
        let queue = match key.class {
            Class::Compute => Queue::fair(most),
            _ => Queue::exact(),
        };
        Self {
            key,
            queue,
            idle: Idle::new(most),
            size,
            crew: AtomicU64::new(0),
            stopped: AtomicBool::new(stopped),
            stops: AtomicU32::new(0),
            current_ops: (0..most).map(|_| CurrentOp::new()).collect(),
            roster: Mutex::new(Roster {
                free: (0..most).rev().collect(),
                threads: Vec::new(),
            }),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    fn crew(&self) -> Crew {
        Crew::from(self.crew.load(Acquire))
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Whether one of the threads runs something, and does not just wait in it. Approximate.
    pub(crate) fn is_busy(&self) -> bool {
        let crew = self.crew();
        crew.started - crew.blocked > self.idle.count()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Acquire)
    }

    /// How often the lane was stopped.
    pub(crate) fn stops(&self) -> u32 {
        // Acquire: who sees a stop also sees `stopped`, as it was set, or a later start.
        self.stops.load(Acquire)
    }

    /// Whether there are threads.
    pub(crate) fn has_threads(&self) -> bool {
        self.crew().started > 0
    }

    /// Whether workers wait inside operations.
    pub(crate) fn has_blocked(&self) -> bool {
        self.crew().blocked > 0
    }

    /// Where worker `index` says what it runs.
    pub(crate) fn current_op(&self, index: usize) -> &CurrentOp {
        &self.current_ops[index]
    }

    /// The names of what the workers run.
    pub(crate) fn running(&self) -> impl Iterator<Item = Name> {
        self.current_ops.iter().filter_map(CurrentOp::read)
    }

    /// Whether threads may not be started: the lane is stopped, and nobody waits inside an operation
    /// for what is queued.
    fn is_closed(&self, lanes: &Lanes) -> bool {
        self.is_stopped() && !lanes.is_anyone_blocked()
    }

    /// Starts one more thread if the lane is short of them; false if there is none at all. The thread
    /// does `run`, with a handle of the `core`, its lane, its index, and at how many stops it stays.
    pub(crate) fn recruit<C: Send + 'static>(
        &self,
        lanes: &Lanes,
        core: impl FnOnce() -> Option<C>,
        run: impl FnOnce(&C, LanePtr, usize, u32) + Send + 'static,
    ) -> bool {
        let crew = self.crew();
        if crew.started - crew.blocked >= self.size as u64 || self.is_closed(lanes) {
            return true;
        }
        let mut roster = lock(&self.roster);
        let crew = self.crew();
        if crew.started - crew.blocked >= self.size as u64 || self.is_closed(lanes) {
            return true;
        }
        let (Some(index), Some(core)) = (roster.free.pop(), core()) else {
            return crew.started > 0;
        };
        self.crew.fetch_add(STARTED_ONE, AcqRel);
        self.idle.start_search();
        let lane = LanePtr(ptr::from_ref(self));
        let name = format!("{}{index}", self.key.label());
        // One that helps to finish a stopped lane ends like those from before the stop.
        let stops = self.stops() - u32::from(self.is_stopped());
        match start_thread(name, move || run(&core, lane, index, stops)) {
            Ok(handle) => {
                roster.threads.retain(|thread| !thread.handle.has_ended());
                roster.threads.push(Hired { stops, handle });
                true
            }
            Err(_) => {
                let _ = self.idle.stop_search(|| false);
                self.crew.fetch_sub(STARTED_ONE, AcqRel);
                roster.free.push(index);
                crew.started > 0
            }
        }
    }

    /// A worker has nothing to do: may it end, because the lane has more threads than it needs?
    pub(crate) fn retire_surplus(&self, index: usize) -> bool {
        let crew = self.crew();
        if crew.started - crew.blocked <= self.size as u64 {
            return false;
        }
        let mut roster = lock(&self.roster);
        let crew = self.crew();
        // Only replacements end, so that the others keep their rings.
        if crew.started - crew.blocked <= self.size as u64 || index < self.size {
            return false;
        }
        self.crew.fetch_sub(STARTED_ONE, AcqRel);
        roster.free.push(index);
        true
    }

    /// A worker ends because the lane is stopped.
    pub(crate) fn sign_off(&self, index: usize) {
        let mut roster = lock(&self.roster);
        self.crew.fetch_sub(STARTED_ONE, AcqRel);
        roster.free.push(index);
    }

    /// A worker is about to wait inside an operation. False if that could leave nobody to run
    /// what it waits for.
    #[must_use]
    pub(crate) fn enter_blocking(&self) -> bool {
        let old = Crew::from(self.crew.fetch_add(BLOCKED_ONE, AcqRel));
        if old.blocked + 1 >= (self.size + REPLACEMENTS) as u64 {
            self.crew.fetch_sub(BLOCKED_ONE, AcqRel);
            return false;
        }
        true
    }

    /// The end of [`Lane::enter_blocking`].
    pub(crate) fn leave_blocking(&self, lanes: &Lanes) {
        // SeqCst, with the fence in `wake_all`: who goes to sleep in a stopped lane sees that nobody
        // is blocked, or is woken.
        let old = Crew::from(self.crew.fetch_sub(BLOCKED_ONE, SeqCst));
        if old.blocked == 1 && lanes.is_stopped() {
            lanes.wake_all();
        }
    }

    /// Makes the threads end once they are through with what they run, and with what others wait for
    /// inside operations. Returns the number of the stop.
    pub(crate) fn dismiss(&self) -> u32 {
        let stops = {
            // The lock: threads are counted by it as before the stop, or after.
            let _roster = lock(&self.roster);
            self.stopped.store(true, SeqCst);
            self.stops.fetch_add(1, SeqCst) + 1
        };
        self.idle.wake_all();
        stops
    }

    /// A thread that began before a stop, if there still is one.
    pub(crate) fn take_dismissed(&self, stop: u32) -> Option<Hired> {
        let mut roster = lock(&self.roster);
        let place = roster
            .threads
            .iter()
            .position(|thread| thread.stops < stop)?;
        Some(roster.threads.swap_remove(place))
    }

    /// Takes back a thread that has not ended in time.
    pub(crate) fn put_back(&self, thread: Hired) {
        lock(&self.roster).threads.push(thread);
    }

    /// Keeps others from the lane's locks until what is returned is dropped.
    pub(crate) fn hold(&self) -> (MutexGuard<'_, impl Sized>, Vec<MutexGuard<'_, impl Sized>>) {
        (lock(&self.roster), self.queue.hold())
    }

    /// Is made as all lanes are, stopped or not.
    pub(crate) fn follow(&self, stopped: bool) {
        self.stopped.store(stopped, SeqCst);
    }
}

impl Lane {
    /// The lane of an operation; `None` if it runs inline.
    ///
    /// # Safety
    /// The engine of the operation, which owns its lanes, is alive for `'a`.
    #[inline(always)]
    pub(crate) unsafe fn of<'a>(op: OpPtr) -> Option<&'a Lane> {
        // SAFETY: null, or from a lane; see `Core::new_op`.
        unsafe { op.header().lane.cast::<Lane>().as_ref() }
    }

    /// Threads may be started again.
    pub(crate) fn open(&self) {
        {
            let _roster = lock(&self.roster);
            self.stopped.store(false, SeqCst);
        }
        // Those from before the stop that helped to finish it.
        self.idle.wake_all();
    }
}

/// A lane, for a thread that keeps the core alive.
#[derive(Clone, Copy)]
pub(crate) struct LanePtr(*const Lane);

// SAFETY: lanes are `Sync` and live as long as the core.
unsafe impl Send for LanePtr {}

impl LanePtr {
    /// # Safety
    /// The core of the lane stays alive for `'a`.
    pub(crate) unsafe fn get<'a>(self) -> &'a Lane {
        // SAFETY: by the contract.
        unsafe { &*self.0 }
    }
}
