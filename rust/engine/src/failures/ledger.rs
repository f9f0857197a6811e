//! Failures inside the engine: kept while somebody may still ask for them, inherited through
//! variables, surfaced once.
//!
//! The ledger lists the failures that no wait has returned. A failure leaves it when it surfaces,
//! so recording and surfacing take constant time. One that nobody but `wait_for_all` can ask for,
//! since no variable holds it, is dropped when an earlier one of the same epoch makes sure that it
//! is never the first: so failures that nobody asks for do not pile up either.

use crate::base::sync::{
    Acquire, Arc, AtomicU64, AtomicUsize, MODEL, Mutex, MutexGuard, Relaxed, Release, UnsafeCell,
    lock,
};
use crate::base::unwind::Contained;
use crate::failures::leftovers::Leftovers;
use crate::types::failure::{Failure, OpError};
use crate::types::spec::Name;

/// `surfaced_at` of a failure that no wait has returned yet.
const UNSEEN: u64 = u64::MAX;
/// `place` of a failure that is not in the ledger.
const NOWHERE: usize = usize::MAX;
/// Length at which the ledger is first looked through for what nobody can ask for.
const FIRST_SWEEP: usize = if MODEL { 2 } else { 256 };

/// Which operation failed.
#[derive(Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) name: Name,
    pub(crate) tag: u64,
    /// Its place in the log.
    pub(crate) seq: u64,
    /// Which step, of a program's launch.
    pub(crate) step: u32,
    /// Number of its epoch.
    pub(crate) epoch: u64,
}

/// A failure as variables hold it. It counts for operations in front of the wait that surfaced it.
pub(crate) struct FailureCell {
    /// There until it surfaces. Used under the ledger's lock alone.
    failure: UnsafeCell<Option<Contained<Failure>>>,
    seq: u64,
    step: u32,
    epoch: u64,
    /// Place in the log of the wait that surfaced it. Changed under the ledger's lock.
    surfaced_at: AtomicU64,
    /// Where it is in the ledger. Used under the lock alone.
    place: AtomicUsize,
    alive: Arc<AtomicUsize>,
}

// SAFETY: see `failure`; it is `Send`.
unsafe impl Sync for FailureCell {}

impl FailureCell {
    /// What a wait returns, which nobody else will.
    ///
    /// # Safety
    /// The caller holds the ledger's lock.
    unsafe fn take_failure(&self) -> Option<Contained<Failure>> {
        // SAFETY: by the contract.
        self.failure
            .with_mut(|failure| unsafe { (*failure).take() })
    }

    /// Its place in the order of pushes.
    fn order(&self) -> (u64, u32) {
        (self.seq, self.step)
    }

    /// Whether an operation at place `seq` of the log must be skipped for it.
    pub(crate) fn applies_to(&self, seq: u64) -> bool {
        // Acquire: pairs with `Unseen::take`; nothing else travels with it, but a reader that skips
        // the check because of it must also see what the surfacing thread saw.
        seq < self.surfaced_at.load(Acquire)
    }
}

impl Drop for FailureCell {
    fn drop(&mut self) {
        // Relaxed: the count is a hint that is exact for whoever holds a cell; see `any_alive`.
        self.alive.fetch_sub(1, Relaxed);
    }
}

struct Unseen {
    /// In no order; each cell knows its place.
    cells: Vec<Arc<FailureCell>>,
    sweep_at: usize,
}

impl Unseen {
    fn add(&mut self, cell: Arc<FailureCell>) {
        cell.place.store(self.cells.len(), Relaxed);
        self.cells.push(cell);
    }

    /// Takes out the cell at `place`.
    fn remove(&mut self, place: usize) -> Arc<FailureCell> {
        let cell = self.cells.swap_remove(place);
        cell.place.store(NOWHERE, Relaxed);
        if let Some(moved) = self.cells.get(place) {
            moved.place.store(place, Relaxed);
        }
        cell
    }

    /// Takes out the cell at `place`, for a wait at `seq` to report.
    fn take(&mut self, place: usize, seq: u64) -> Arc<FailureCell> {
        let cell = self.remove(place);
        // Release: pairs with `applies_to`.
        cell.surfaced_at.store(seq, Release);
        cell
    }

    /// Takes out what can never be reported: what no variable holds, and is not the first of its
    /// epoch. `wait_for_all` takes whole epochs, and reports the first of what it takes.
    fn sweep(&mut self) -> Vec<Arc<FailureCell>> {
        // A count of one cannot grow while the lock is held: the ledger has the one handle.
        let nobodys = |cell: &Arc<FailureCell>| Arc::strong_count(cell) == 1;
        let mut orphans: Vec<_> = (0..self.cells.len())
            .filter(|&i| nobodys(&self.cells[i]))
            .map(|i| (self.cells[i].epoch, self.cells[i].order(), i))
            .collect();
        orphans.sort_unstable();
        let mut later: Vec<usize> = orphans
            .windows(2)
            .filter(|pair| pair[0].0 == pair[1].0)
            .map(|pair| pair[1].2)
            .collect();
        // From the end, so that what `remove` moves is not among those still to go.
        later.sort_unstable();
        let gone = later.into_iter().rev().map(|i| self.remove(i)).collect();
        self.sweep_at = FIRST_SWEEP.max(2 * self.cells.len());
        gone
    }
}

/// The failures of one engine.
pub(crate) struct Failures {
    alive: Arc<AtomicUsize>,
    /// Locked only when an operation fails and when a wait surfaces failures.
    unseen: Mutex<Unseen>,
}

impl Failures {
    pub(crate) fn new() -> Self {
        Self {
            alive: Arc::new(AtomicUsize::new(0)),
            unseen: Mutex::new(Unseen {
                cells: Vec::new(),
                sweep_at: FIRST_SWEEP,
            }),
        }
    }

    /// Whether any variable may hold a failure.
    ///
    /// Relaxed is enough: an operation that depends on a failed one acquired tokens that were
    /// released after the count went up, and the count stays up while a variable holds the cell.
    #[inline]
    pub(crate) fn any_alive(&self) -> bool {
        self.alive.load(Relaxed) != 0
    }

    /// Keeps others from the lock until what is returned is dropped.
    pub(crate) fn hold(&self) -> MutexGuard<'_, impl Sized> {
        lock(&self.unseen)
    }

    fn unseen(&self) -> MutexGuard<'_, Unseen> {
        lock(&self.unseen)
    }

    /// Records that an operation failed. What nobody can ask for any more goes to `leftovers`.
    pub(crate) fn record(
        &self,
        origin: Origin,
        error: OpError,
        leftovers: &mut Leftovers,
    ) -> Arc<FailureCell> {
        self.alive.fetch_add(1, Relaxed);
        let cell = Arc::new(FailureCell {
            failure: UnsafeCell::new(Some(Contained::new(Failure::new(
                origin.name,
                origin.tag,
                error,
            )))),
            seq: origin.seq,
            step: origin.step,
            epoch: origin.epoch,
            surfaced_at: AtomicU64::new(UNSEEN),
            place: AtomicUsize::new(NOWHERE),
            alive: self.alive.clone(),
        });
        let mut unseen = self.unseen();
        unseen.add(cell.clone());
        if unseen.cells.len() >= unseen.sweep_at {
            let gone = unseen.sweep();
            gone.into_iter()
                .for_each(|cell| leftovers.add_failure(Some(cell)));
        }
        cell
    }

    /// Claims a failure for a wait at place `seq`, which reports it; for one caller.
    pub(crate) fn surface(&self, cell: &FailureCell, seq: u64) -> Option<Failure> {
        let mut unseen = self.unseen();
        let place = cell.place.load(Relaxed);
        if place == NOWHERE {
            return None;
        }
        // SAFETY: under the lock.
        let failure = unsafe { unseen.take(place, seq).take_failure() };
        failure.map(Contained::into_inner)
    }

    /// Surfaces all failures of operations before place `seq`, in push order.
    pub(crate) fn surface_all(&self, seq: u64) -> Vec<Contained<Failure>> {
        let mut unseen = self.unseen();
        let mut due = Vec::new();
        for place in (0..unseen.cells.len()).rev() {
            if unseen.cells[place].seq <= seq {
                let cell = unseen.take(place, seq);
                // SAFETY: under the lock.
                let failure = unsafe { cell.take_failure() };
                due.push((cell.order(), failure));
            }
        }
        unseen.sweep_at = FIRST_SWEEP.max(2 * unseen.cells.len());
        drop(unseen);
        due.sort_unstable_by_key(|(order, _)| *order);
        due.into_iter().filter_map(|(_, failure)| failure).collect()
    }
}
