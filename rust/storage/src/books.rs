//! The accounts of a pool: what it took from its backend against the limit, and what is in use.
//!
//! What is taken changes rarely and is one shared word. The rest changes with every call, so each
//! thread writes a ledger of its own and [`Books::stats`] adds them up.
//!
//! The peak needs a sum at all times. A thread *reports* to a shared one, but only when it holds
//! [`STEP`] bytes more than it has reported: what it frees stays as a credit, from which it may take
//! again, so a warm loop writes nothing shared. The shared sum is thus too high, if anything. Only
//! where it passes the peak do all ledgers get added up, which gives the true sum, and all credits
//! are cancelled, so that nobody can reach a new peak on an old credit.

use crate::class::{CLASSES, Class};
use crate::fork;
use crossbeam_utils::CachePadded;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLockReadGuard};

/// How much more than it reported a thread may hold.
const STEP: i64 = 1 << 20;

/// What a pool holds and how it served. Exact whenever no call is under way; a sum over threads,
/// so slightly stale otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Bytes of the blocks handed out, whole buckets.
    pub in_use: usize,
    /// Bytes of the blocks kept for reuse.
    pub cached: usize,
    /// The part of `in_use` that nobody asked for: buckets less sizes.
    pub waste: usize,
    /// Highest `in_use` so far; may miss up to 1 MiB for each thread, and calls that were under way
    /// when a thread reached a new peak.
    pub peak: usize,
    /// Highest `in_use + cached` so far: what the backend had to give.
    pub peak_reserved: usize,
    /// Requests served from kept blocks.
    pub hits: u64,
    /// Requests served by the backend.
    pub misses: u64,
    /// Blocks handed back to the backend.
    pub released: u64,
    /// Handles that were freed into a pool other than their own; their blocks are lost.
    pub misdirected: u64,
    /// Most bytes that `in_use + cached` may reach.
    pub limit: Option<usize>,
}

/// The blocks of one size that a pool has from its backend, in use or kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Bytes of each.
    pub size: usize,
    /// How many there are.
    pub blocks: usize,
}

/// One thread's share of the accounts. Only that thread writes, so a change is a load and a store,
/// not a read-modify-write; but for `reported`, which whoever cancels credits changes too. All
/// Relaxed: each word is a sum of its own and orders nothing.
#[repr(align(128))]
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    hits: AtomicU64,
    misses: AtomicU64,
    in_use: AtomicI64,
    waste: AtomicI64,
    reported: AtomicI64,
}

#[inline]
fn bump(word: &AtomicI64, by: i64) {
    word.store(
        word.load(Ordering::Relaxed).wrapping_add(by),
        Ordering::Relaxed,
    );
}

/// What happened to a block, for the accounts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// Handed out again.
    Hit,
    /// Handed out fresh from the backend.
    Miss,
    /// Given back.
    Free,
}

impl Event {
    fn sign(self) -> i64 {
        if matches!(self, Event::Free) { -1 } else { 1 }
    }

    /// How it changes the bytes in use.
    fn change(self, class: Class) -> i64 {
        self.sign() * class.size as i64
    }
}

impl Ledger {
    /// Notes an event; only for the thread whose ledger it is.
    #[inline]
    fn note(&self, event: Event, class: Class, size: usize) {
        let count = match event {
            Event::Hit => Some(&self.hits),
            Event::Miss => Some(&self.misses),
            Event::Free => None,
        };
        if let Some(count) = count {
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        bump(&self.in_use, event.change(class));
        bump(&self.waste, event.sign() * (class.size - size) as i64);
    }

    /// What it holds beyond what was reported; negative: its credit.
    #[inline]
    fn unreported(&self) -> i64 {
        self.in_use.load(Ordering::Relaxed) - self.reported.load(Ordering::Relaxed)
    }

    fn add_to(&self, sum: &mut Sum) {
        sum.hits += self.hits.load(Ordering::Relaxed);
        sum.misses += self.misses.load(Ordering::Relaxed);
        sum.in_use += self.in_use.load(Ordering::Relaxed);
        sum.waste += self.waste.load(Ordering::Relaxed);
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    hits: u64,
    misses: u64,
    in_use: i64,
    waste: i64,
}

/// The ledgers of living threads and the sum of those of dead ones.
#[derive(Debug, Default)]
struct Threads {
    ledgers: Vec<Arc<Ledger>>,
    past: Sum,
}

/// The ledgers, while nobody else has them. The lock goes before the word that keeps forks away.
struct Locked<'a> {
    threads: MutexGuard<'a, Threads>,
    _no_fork: RwLockReadGuard<'static, ()>,
}

impl Deref for Locked<'_> {
    type Target = Threads;

    fn deref(&self) -> &Threads {
        &self.threads
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Threads {
        &mut self.threads
    }
}

/// The accounts of one pool.
#[derive(Debug)]
pub(crate) struct Books {
    reserved: CachePadded<AtomicUsize>,
    reported: CachePadded<AtomicI64>,
    peak: AtomicI64,
    peak_reserved: AtomicUsize,
    released: AtomicU64,
    limit: AtomicUsize,
    misdirected: AtomicU64,
    /// Blocks of each bucket. They change with calls of the backend only.
    blocks: Box<[AtomicUsize]>,
    threads: Mutex<Threads>,
}

impl Books {
    pub(crate) fn new(limit: Option<usize>) -> Books {
        Books {
            reserved: CachePadded::new(AtomicUsize::new(0)),
            reported: CachePadded::new(AtomicI64::new(0)),
            peak: AtomicI64::new(0),
            peak_reserved: AtomicUsize::new(0),
            released: AtomicU64::new(0),
            limit: AtomicUsize::new(limit.unwrap_or(usize::MAX)),
            misdirected: AtomicU64::new(0),
            blocks: (0..CLASSES).map(|_| AtomicUsize::new(0)).collect(),
            threads: Mutex::default(),
        }
    }

    /// Claims `size` bytes of the limit; `false` where they would exceed it.
    #[must_use]
    pub(crate) fn reserve(&self, size: usize) -> bool {
        let limit = self.limit.load(Ordering::Relaxed);
        let more = |held: usize| held.checked_add(size).filter(|&held| held <= limit);
        self.reserved
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_ok()
    }

    /// Gives `size` claimed bytes back.
    pub(crate) fn unreserve(&self, size: usize) {
        self.reserved.fetch_sub(size, Ordering::Relaxed);
    }

    /// Notes that a claim became a block.
    pub(crate) fn mapped(&self, class: Class) {
        self.blocks[class.index].fetch_add(1, Ordering::Relaxed);
        // Not when it is claimed: the backend may refuse.
        self.peak_reserved
            .fetch_max(self.reserved(), Ordering::Relaxed);
    }

    /// Gives back the claim of a block that went to the backend.
    pub(crate) fn unmapped(&self, class: Class) {
        self.blocks[class.index].fetch_sub(1, Ordering::Relaxed);
        self.released.fetch_add(1, Ordering::Relaxed);
        self.unreserve(class.size);
    }

    /// The blocks of each bucket that has any.
    pub(crate) fn holdings(&self) -> Vec<Holding> {
        let held = |class: Class| Holding {
            size: class.size,
            blocks: self.blocks[class.index].load(Ordering::Relaxed),
        };
        let all = Class::all().map(held);
        all.filter(|held| held.blocks > 0).collect()
    }

    /// Bytes claimed.
    pub(crate) fn reserved(&self) -> usize {
        self.reserved.load(Ordering::Relaxed)
    }

    pub(crate) fn set_limit(&self, limit: Option<usize>) {
        self.limit
            .store(limit.unwrap_or(usize::MAX), Ordering::Relaxed);
    }

    pub(crate) fn note_misdirected(&self) {
        self.misdirected.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes an event in the ledger of the thread that calls.
    #[inline]
    pub(crate) fn note(&self, ledger: &Ledger, event: Event, class: Class, size: usize) {
        // Before a free, where the credit may have been cancelled while it was being used; after
        // anything else.
        let free = matches!(event, Event::Free);
        if free && ledger.unreported() > STEP {
            self.report(ledger);
        }
        ledger.note(event, class, size);
        if !free && ledger.unreported() > STEP {
            self.report(ledger);
        }
    }

    /// Brings the shared sum up to date with one ledger.
    #[cold]
    fn report(&self, ledger: &Ledger) {
        if self.settle(ledger) > self.peak.load(Ordering::Relaxed) {
            self.find_peak();
        }
    }

    /// Adds to the shared sum what a ledger has not reported, and gives the new sum. Two that do so
    /// at once may add it twice; the sum stays that of all `reported`, so the next report of that
    /// ledger mends it.
    fn settle(&self, ledger: &Ledger) -> i64 {
        let by = ledger.unreported();
        ledger.reported.fetch_add(by, Ordering::Relaxed);
        self.reported.fetch_add(by, Ordering::Relaxed) + by
    }

    /// Cancels all credits and takes the true sum for the peak, if it is one.
    fn find_peak(&self) {
        let threads = self.threads();
        let in_use = |ledger: &Arc<Ledger>| ledger.in_use.load(Ordering::Relaxed);
        let now = threads.past.in_use + threads.ledgers.iter().map(in_use).sum::<i64>();
        self.peak.fetch_max(now, Ordering::Relaxed);
        for ledger in &threads.ledgers {
            self.settle(ledger);
        }
    }

    fn threads(&self) -> Locked<'_> {
        let _no_fork = fork::away(fork::Lock::Ledgers);
        // Nothing panics while it is held, and sums stay sums.
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        Locked { threads, _no_fork }
    }

    /// A ledger for a thread that is new to the pool.
    pub(crate) fn open(&self) -> Arc<Ledger> {
        let ledger = Arc::<Ledger>::default();
        self.threads().ledgers.push(Arc::clone(&ledger));
        ledger
    }

    /// Takes over the ledger of a thread that ends.
    pub(crate) fn close(&self, ledger: &Arc<Ledger>) {
        self.report(ledger);
        let mut threads = self.threads();
        ledger.add_to(&mut threads.past);
        threads.ledgers.retain(|other| !Arc::ptr_eq(other, ledger));
    }

    /// Notes an event on a thread that has no ledger any more, because it is ending.
    pub(crate) fn note_late(&self, event: Event, class: Class, size: usize) {
        let ledger = Ledger::default();
        ledger.note(event, class, size);
        ledger.add_to(&mut self.threads().past);
        self.report(&ledger);
    }

    pub(crate) fn stats(&self) -> Stats {
        let threads = self.threads();
        let mut sum = threads.past;
        threads
            .ledgers
            .iter()
            .for_each(|ledger| ledger.add_to(&mut sum));
        drop(threads);
        let reserved = self.reserved.load(Ordering::Relaxed);
        let in_use = usize::try_from(sum.in_use).unwrap_or(0);
        let peak = usize::try_from(self.peak.load(Ordering::Relaxed)).unwrap_or(0);
        let limit = self.limit.load(Ordering::Relaxed);
        Stats {
            in_use,
            cached: reserved.saturating_sub(in_use),
            waste: usize::try_from(sum.waste).unwrap_or(0),
            peak: peak.max(in_use),
            peak_reserved: self.peak_reserved.load(Ordering::Relaxed),
            hits: sum.hits,
            misses: sum.misses,
            released: self.released.load(Ordering::Relaxed),
            misdirected: self.misdirected.load(Ordering::Relaxed),
            limit: (limit != usize::MAX).then_some(limit),
        }
    }
}
