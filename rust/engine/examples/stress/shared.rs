//! What the pushers share: the engine, the variables with their data, and the figures.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex};

use ferromix_engine::{Engine, OnComplete, PushError, Var, WaitError};

use crate::cell::{Cell, violation};

/// What happened so far.
#[derive(Default)]
pub(crate) struct Figures {
    pub(crate) operations: AtomicU64,
    pub(crate) asynchronous: AtomicU64,
    pub(crate) launches: AtomicU64,
    pub(crate) waits: AtomicU64,
    pub(crate) waits_inside: AtomicU64,
    /// Waits inside operations that the engine refused, as too many were waiting.
    pub(crate) refused: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) surfaced: AtomicU64,
    pub(crate) deleted: AtomicU64,
    /// Operations that lost a race with a deletion.
    pub(crate) stale: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

/// A variable that is deleted and replaced all the time.
#[derive(Clone)]
pub(crate) struct Transient {
    pub(crate) var: Var,
    pub(crate) cell: Arc<Cell>,
}

/// What a foreign thread does to complete an operation.
pub(crate) type Finish = (Box<dyn FnOnce() + Send>, OnComplete);

pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) pushers: usize,
    /// Operations that pushers join; 0 for none.
    pub(crate) bulk: usize,
    /// Never deleted, and never failed on.
    pub(crate) vars: Vec<Var>,
    pub(crate) cells: Vec<Arc<Cell>>,
    pub(crate) transients: Vec<Mutex<Transient>>,
    pub(crate) figures: Figures,
    pub(crate) barrier: Barrier,
    pub(crate) stop: AtomicBool,
    /// Operations of a round may fail; nobody calls `wait_for_all` then.
    pub(crate) failing: AtomicBool,
}

impl Shared {
    pub(crate) fn new(engine: Engine, pushers: usize, variables: usize, bulk: usize) -> Self {
        let cell = |_| Arc::new(Cell::new(pushers));
        let transient = |_| {
            let (var, cell) = (engine.new_variable(), Arc::new(Cell::new(pushers)));
            Mutex::new(Transient { var, cell })
        };
        Self {
            vars: (0..variables).map(|_| engine.new_variable()).collect(),
            cells: (0..variables).map(cell).collect(),
            transients: (0..4).map(transient).collect(),
            pushers,
            bulk,
            engine,
            figures: Figures::default(),
            barrier: Barrier::new(pushers),
            stop: AtomicBool::new(false),
            failing: AtomicBool::new(false),
        }
    }

    /// Whether a version fits so many writes: it is their number, or less, as a bulk counts once.
    pub(crate) fn fits(&self, version: Result<u64, PushError>, writes: u64) -> bool {
        match version {
            Ok(version) if self.bulk > 0 => version <= writes,
            other => other == Ok(writes),
        }
    }

    /// At rest between rounds: everything has finished, and every version fits the writes.
    pub(crate) fn check_rest(&self) {
        self.tolerate_stale(self.engine.wait_for_all());
        let counters = self.engine.counters();
        if counters.in_flight != 0 {
            violation(format_args!("after wait_for_all: {counters:?}"));
        }
        for (&var, cell) in self.vars.iter().zip(&self.cells) {
            let writes: u64 = (0..self.pushers).map(|p| cell.by_pusher(p)).sum();
            let version = self.engine.version(var);
            if !self.fits(version, writes) || writes != cell.writes() {
                violation(format_args!(
                    "version {version:?}, writes {} and {writes}",
                    cell.writes()
                ));
            }
        }
    }

    /// The only failures that are nobody's own come from races with deletions.
    pub(crate) fn tolerate_stale(&self, result: Result<(), WaitError>) {
        match result {
            Ok(()) | Err(WaitError::StaleVariable(_)) => {}
            Err(WaitError::Failed(failure)) if failure.error().is::<PushError>() => {
                count(&self.figures.stale);
            }
            Err(other) => violation(format_args!("a wait returned: {other}")),
        }
    }
}

/// Threads that complete asynchronous operations.
pub(crate) fn finishers(threads: usize) -> Vec<Sender<Finish>> {
    let finisher = |_| {
        let (send, receive): (Sender<Finish>, Receiver<Finish>) = channel();
        std::thread::spawn(move || {
            for (work, done) in receive {
                work();
                done.complete(Ok(()));
            }
        });
        send
    };
    (0..threads).map(finisher).collect()
}

/// The most memory that the process ever had, in MiB, where the system tells.
pub(crate) fn peak_memory() -> Option<u64> {
    memory("VmHWM:")
}

/// The memory that the process has now, in MiB.
pub(crate) fn memory_now() -> Option<u64> {
    memory("VmRSS:")
}

fn memory(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}
