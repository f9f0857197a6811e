//! Which workers of a lane are asleep, and who wakes them.
//!
//! One word holds a stack of sleeping workers and the number of workers that are searching for
//! work. The rule that no wake-up is lost:
//!
//! * Whoever makes work available calls [`Idle::announce`] afterwards: a `SeqCst` fence, and then
//!   the top sleeper is woken unless somebody is searching.
//! * A worker that gives up searching ([`Idle::rest`]) leaves that state, then a `SeqCst` fence,
//!   then looks once more at all sources of work; if there is some, it wakes a sleeper (perhaps
//!   itself) before it parks.
//! * A worker that found work ([`Idle::stop_search`]) leaves the searching state; if it was the
//!   last, the same: a fence, another look, and somebody is woken if there is more. So wakers wake
//!   one, and that one wakes the next.
//!
//! Of the two fences one comes first: either the waker sees the worker not searching, or the
//! worker sees the work. ([`Idle::announce_registered`] does the same by an exchange of the word.)

use crate::base::sync::{
    AcqRel, Acquire, AtomicBool, AtomicU32, AtomicU64, Relaxed, Release, SeqCst, Thread,
    UnsafeCell, current, fence, park,
};

const TOP_MASK: u64 = 0xffff;
const SEARCH_ONE: u64 = 1 << 16;
const SEARCH_MASK: u64 = 0xffff << 16;
const TAG_ONE: u64 = 1 << 32;

struct Sleeper {
    /// The sleeper below, plus one; 0 ends the stack.
    below: AtomicU32,
    woken: AtomicBool,
    /// Set by the worker before it enters the stack, cloned by whoever took it out.
    thread: UnsafeCell<Option<Thread>>,
}

// SAFETY: see `thread`: the exchanges on the word order the two.
unsafe impl Sync for Sleeper {}

/// The sleeping and searching workers of one lane.
pub(crate) struct Idle {
    /// Tag (against ABA), number searching, index + 1 of the top sleeper.
    word: crossbeam_utils::CachePadded<AtomicU64>,
    sleepers: Box<[Sleeper]>,
}

/// What [`Idle::wake_one`] found.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wake {
    /// A worker was woken, or one is searching and will find the work.
    Enough,
    /// Nobody is asleep or searching.
    NobodyIdle,
}

impl Idle {
    /// For workers numbered below `most`.
    pub(crate) fn new(most: usize) -> Self {
        assert!(most < TOP_MASK as usize, "a lane has at most 65534 workers");
        let sleeper = |_| Sleeper {
            below: AtomicU32::new(0),
            woken: AtomicBool::new(false),
            thread: UnsafeCell::new(None),
        };
        Self {
            word: crossbeam_utils::CachePadded::new(AtomicU64::new(0)),
            sleepers: (0..most).map(sleeper).collect(),
        }
    }

    /// Workers asleep or searching. Approximate while that changes.
    pub(crate) fn count(&self) -> u64 {
        // Relaxed throughout: a hint. The walk ends even if the stack changes under it.
        let word = self.word.load(Relaxed);
        let mut count = (word & SEARCH_MASK) / SEARCH_ONE;
        let mut top = (word & TOP_MASK) as usize;
        for _ in 0..self.sleepers.len() {
            let Some(sleeper) = top.checked_sub(1).and_then(|k| self.sleepers.get(k)) else {
                break;
            };
            count += 1;
            top = sleeper.below.load(Relaxed) as usize;
        }
        count
    }

    /// Workers that search. Approximate while that changes.
    pub(crate) fn searching(&self) -> u64 {
        // Relaxed: a hint.
        (self.word.load(Relaxed) & SEARCH_MASK) / SEARCH_ONE
    }

    /// A worker begins to search (or is about to be started, searching).
    pub(crate) fn start_search(&self) {
        self.word.fetch_add(SEARCH_ONE, AcqRel);
    }

    /// A worker stops searching, having found work or to end. True if somebody else must be woken
    /// for what is left: the worker was the last that searched, and there is more.
    #[must_use]
    pub(crate) fn stop_search(&self, has_work: impl FnOnce() -> bool) -> bool {
        if self.word.fetch_sub(SEARCH_ONE, AcqRel) & SEARCH_MASK != SEARCH_ONE {
            return false;
        }
        // Pairs with the fence in `announce`.
        fence(SeqCst);
        has_work()
    }

    /// A searching worker that found nothing sleeps until it is woken, and is searching again then.
    /// `is_over` says that it must not sleep any more; `has_work`, that somebody must not.
    pub(crate) fn rest(
        &self,
        index: usize,
        is_over: impl FnOnce() -> bool,
        has_work: impl FnOnce() -> bool,
    ) {
        self.enter(index);
        // Pairs with the fences in `announce` and `wake_all`.
        fence(SeqCst);
        if is_over() {
            self.wake_all(); // Ourselves among them.
        } else if has_work() {
            let _ = self.wake_one(); // Perhaps ourselves.
        }
        self.sleep(index);
    }

    /// Wakes one sleeper, unless somebody is searching. Call after making work available.
    pub(crate) fn announce(&self) -> Wake {
        // Pairs with the fences in `rest` and `stop_search`.
        fence(SeqCst);
        self.wake_one()
    }

    /// The same as [`Idle::announce`], for the thread that makes most of the work available, which
    /// has the word in its cache: an exchange of the word is cheaper than a fence.
    ///
    /// It does not need the fence: the word is changed by read-modify-writes only, and those of a
    /// worker that goes to sleep or stops searching acquire. Either ours comes later, and sees the
    /// worker not searching; or theirs does, and the look that follows it sees the work.
    pub(crate) fn announce_registered(&self) -> Wake {
        // An addition that changes the word: one of zero would be compiled to a fence. Release: the
        // work; pairs with `enter` and `stop_search`. Acquire: as in `wake_one`.
        let word = self.word.fetch_add(TAG_ONE, AcqRel);
        if word & SEARCH_MASK != 0 {
            return Wake::Enough;
        }
        if word & TOP_MASK == 0 {
            return Wake::NobodyIdle;
        }
        self.wake_one()
    }

    /// Wakes everybody. Call after something has changed that all must see before they sleep.
    pub(crate) fn wake_all(&self) {
        // Pairs with the fence in `rest`.
        fence(SeqCst);
        for _ in 0..self.sleepers.len() {
            if !self.wake_top(self.word.load(Acquire), true) {
                return;
            }
        }
    }

    /// A searching worker goes among the sleepers.
    fn enter(&self, index: usize) {
        let sleeper = &self.sleepers[index];
        sleeper.woken.store(false, Relaxed);
        // SAFETY: the worker is not in the stack, so nobody else looks.
        sleeper
            .thread
            .with_mut(|thread| unsafe { *thread = Some(current()) });
        let mut word = self.word.load(Relaxed);
        loop {
            sleeper.below.store((word & TOP_MASK) as u32, Relaxed);
            let new = ((word & !TOP_MASK) - SEARCH_ONE).wrapping_add(TAG_ONE) | (index as u64 + 1);
            // Release: the sleeper's fields; pairs with `wake_one`.
            match self.word.compare_exchange_weak(word, new, AcqRel, Relaxed) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// Parks until woken. The worker is then searching again.
    fn sleep(&self, index: usize) {
        // Acquire: pairs with `wake_one`.
        while !self.sleepers[index].woken.load(Acquire) {
            park();
        }
    }

    fn wake_one(&self) -> Wake {
        // Acquire: the sleepers' fields.
        let word = self.word.load(Acquire);
        if self.wake_top(word, false) {
            Wake::Enough
        } else {
            Wake::NobodyIdle
        }
    }

    /// Wakes the top sleeper, unless somebody is searching and that is enough. False if nobody sleeps
    /// (nor searches).
    fn wake_top(&self, mut word: u64, in_any_case: bool) -> bool {
        loop {
            if word & SEARCH_MASK != 0 && !in_any_case {
                return true;
            }
            let Some(top) = ((word & TOP_MASK) as usize).checked_sub(1) else {
                return false;
            };
            // May be stale if the sleeper left and came back; the tag then makes us fail.
            let below = u64::from(self.sleepers[top].below.load(Relaxed));
            let new = ((word & !TOP_MASK) + SEARCH_ONE).wrapping_add(TAG_ONE) | below;
            match self.word.compare_exchange_weak(word, new, AcqRel, Acquire) {
                Ok(_) => {
                    self.signal(top);
                    return true;
                }
                Err(now) => word = now,
            }
        }
    }

    fn signal(&self, index: usize) {
        let sleeper = &self.sleepers[index];
        // SAFETY: we took the sleeper out, and it does not touch the field until `woken`.
        let thread = sleeper.thread.with(|thread| unsafe { (*thread).clone() });
        // Release: pairs with `sleep`.
        sleeper.woken.store(true, Release);
        if let Some(thread) = thread {
            thread.unpark();
        }
    }
}
