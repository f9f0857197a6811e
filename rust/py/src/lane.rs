//! The threads that run Python functions for the engine, so that a function that takes long, or
//! waits for the interpreter, occupies none of the engine's workers.
//!
//! They start when there is work, run it by priority and order of push, and hold the interpreter
//! only during the function. While a function waits for the engine, another thread may work in its
//! place. They are daemons: nothing waits for them when the process ends.

use crate::callback::Job;
use std::cell::Cell;
use std::collections::BinaryHeap;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Functions that run at once; as MXNet, `MXNET_CUSTOM_OP_NUM_THREADS` sets it.
const SIZE: usize = 4;
/// Further threads while functions wait for the engine.
const SPARE: usize = 256;

#[derive(Default)]
struct State {
    queue: BinaryHeap<Job>,
    /// Threads alive, and those of them whose function waits for the engine.
    started: usize,
    waiting: usize,
    /// Threads asleep that nobody has called, and calls that no thread has heard yet.
    idle: usize,
    calls: usize,
    closed: bool,
}

/// A queue of functions and its threads.
pub(crate) struct Lane {
    size: usize,
    state: Mutex<State>,
    called: Condvar,
}

/// The lane of the process; null before its first use, and again in the child of a fork.
static LANE: AtomicPtr<Lane> = AtomicPtr::new(ptr::null_mut());

thread_local! {
    static MEMBER: Cell<bool> = const { Cell::new(false) };
}

/// The lane of the process.
pub(crate) fn lane() -> &'static Lane {
    // Acquire: pairs with the exchange below, for the lane's contents.
    let current = LANE.load(Ordering::Acquire);
    // SAFETY: null, or a lane that is never freed.
    if let Some(lane) = unsafe { current.as_ref() } {
        return lane;
    }
    let made = Box::into_raw(Box::new(Lane::new()));
    let null = ptr::null_mut();
    // Release: the lane's contents. Acquire on failure: those of the other lane.
    match LANE.compare_exchange(null, made, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: published just now, and never freed.
        Ok(_) => unsafe { &*made },
        Err(first) => {
            // SAFETY: ours alone: another thread was faster, whose lane is never freed.
            unsafe {
                drop(Box::from_raw(made));
                &*first
            }
        }
    }
}

/// For the child of a fork, which has none of the threads: the next use makes a new lane.
pub(crate) fn forget() {
    // Release, as in `lane`; the child has one thread yet.
    LANE.store(ptr::null_mut(), Ordering::Release);
}

fn size() -> usize {
    [
        "FERROMIX_CUSTOM_OP_NUM_THREADS",
        "MXNET_CUSTOM_OP_NUM_THREADS",
    ]
    .iter()
    .find_map(|name| std::env::var(name).ok()?.trim().parse().ok())
    .filter(|n| (1..=4096).contains(n))
    .unwrap_or(SIZE)
}

impl Lane {
    fn new() -> Self {
        Lane {
            size: size(),
            state: Mutex::default(),
            called: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a function, or refuses it where the interpreter is about to end.
    pub(crate) fn submit(&'static self, job: Job) {
        let mut state = self.lock();
        if state.closed {
            drop(state);
            return job.refuse();
        }
        state.queue.push(job);
        self.staff(state);
    }

    /// Calls or starts a thread for queued work, where there may be one more.
    fn staff(&'static self, mut state: MutexGuard<'_, State>) {
        if state.queue.is_empty() {
            return;
        }
        if state.idle > 0 {
            state.idle -= 1;
            state.calls += 1;
            drop(state);
            self.called.notify_one();
        } else if state.started - state.waiting < self.size {
            state.started += 1;
            drop(state);
            let thread = std::thread::Builder::new().name("fmx-python".into());
            if thread.spawn(|| self.serve()).is_err() {
                self.improvise();
            }
        }
    }

    /// There can be no further thread; where there is none at all, this one does the work.
    fn improvise(&self) {
        let mut state = self.lock();
        state.started -= 1;
        while state.started == 0 && !state.closed {
            let Some(job) = state.queue.pop() else { return };
            drop(state);
            job.run();
            state = self.lock();
        }
    }

    /// The life of a thread.
    fn serve(&self) {
        MEMBER.set(true);
        let mut state = self.lock();
        while !state.closed {
            if state.started - state.waiting > self.size {
                break;
            }
            if let Some(job) = state.queue.pop() {
                drop(state);
                job.run();
                state = self.lock();
                continue;
            }
            state.idle += 1;
            while state.calls == 0 && !state.closed {
                state = self
                    .called
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            state.calls = state.calls.saturating_sub(1);
        }
        state.started -= 1;
    }

    /// Takes no more work, and refuses what is queued.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let jobs = std::mem::take(&mut state.queue);
        drop(state);
        self.called.notify_all();
        jobs.into_iter().for_each(Job::refuse);
    }

    /// Runs `wait`, which waits for the engine; if a function of this lane is what waits, another
    /// thread may work meanwhile. `None` where too many wait already.
    pub(crate) fn wait<R>(&'static self, wait: impl FnOnce() -> R) -> Option<R> {
        if !MEMBER.get() {
            return Some(wait());
        }
        let mut state = self.lock();
        if state.waiting >= SPARE {
            return None;
        }
        state.waiting += 1;
        self.staff(state);
        let result = wait();
        self.lock().waiting -= 1;
        Some(result)
    }
}
