//! The threads that run Python functions for the engine, so that a function that takes long, or
//! waits for the interpreter, occupies none of the engine's workers.
//!
//! They start when there is work, run it by priority and order of push, and hold the interpreter
//! only during the function. While a function waits for the engine, another thread may work in its
//! place. They are daemons: nothing waits for them when the process ends.

mod python_run;

pub(crate) use python_run::PythonRun;

use crate::callback::Job;
use ferromix_engine::FnProperty;
use ferromix_runtime::count_waits_by;
use std::cell::Cell;
use std::collections::BinaryHeap;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Functions of a lane that run at once.
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

/// The settings that say how many functions run at once: of ordinary ones, and of those that are not
/// to wait behind them.
const SETTINGS: [[&str; 2]; 2] = [
    [
        "FERROMIX_CUSTOM_OP_NUM_THREADS",
        "MXNET_CUSTOM_OP_NUM_THREADS",
    ],
    [
        "FERROMIX_CPU_PRIORITY_NTHREADS",
        "MXNET_CPU_PRIORITY_NTHREADS",
    ],
];

/// The lanes of the process; null before their first use, and again in the child of a fork.
static LANES: [AtomicPtr<Lane>; 2] = [const { AtomicPtr::new(ptr::null_mut()) }; 2];

thread_local! {
    /// The lane that the thread belongs to.
    static MEMBER: Cell<Option<&'static Lane>> = const { Cell::new(None) };
}

/// The lane of functions of a kind: prioritized ones, those that only start something, and those that
/// end something, do not wait behind ordinary ones.
pub(crate) fn of(property: FnProperty) -> &'static Lane {
    match property {
        FnProperty::CpuPrioritized
        | FnProperty::GpuPrioritized
        | FnProperty::Async
        | FnProperty::DeleteVar => lane(1),
        _ => lane(0),
    }
}

fn lane(number: usize) -> &'static Lane {
    let place = &LANES[number];
    // Acquire: pairs with the exchange below, for the lane's contents.
    let current = place.load(Ordering::Acquire);
    // SAFETY: null, or a lane that is never freed.
    if let Some(lane) = unsafe { current.as_ref() } {
        return lane;
    }
    count_waits_by(all_wait);
    let made = Box::into_raw(Box::new(Lane::new(size(SETTINGS[number]))));
    let null = ptr::null_mut();
    // Release: the lane's contents. Acquire on failure: those of the other lane.
    match place.compare_exchange(null, made, Ordering::AcqRel, Ordering::Acquire) {
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
    MEMBER.set(None);
    for place in &LANES {
        // Release, as in `lane`; the child has one thread yet.
        place.store(ptr::null_mut(), Ordering::Release);
    }
}

/// All lanes take no more work, and refuse what is queued.
pub(crate) fn close() {
    (0..LANES.len()).for_each(|number| lane(number).close());
}

/// Runs `wait`, which waits for the engine; if a function of a lane is what waits, another thread of
/// the lane may work meanwhile. `None` where too many wait already.
pub(crate) fn wait<R>(wait: impl FnOnce() -> R) -> Option<R> {
    match MEMBER.get() {
        None => Some(wait()),
        Some(lane) => lane.wait(wait),
    }
}

/// How many functions wait for the engine; `None` if others run, or are about to.
pub(crate) fn all_wait() -> Option<usize> {
    let mut waiting = 0;
    for place in &LANES {
        // Acquire, as in `lane`.
        // SAFETY: null, or a lane that is never freed.
        let Some(lane) = (unsafe { place.load(Ordering::Acquire).as_ref() }) else {
            continue;
        };
        let state = lane.lock();
        if !state.queue.is_empty() || state.started != state.waiting + state.idle {
            return None;
        }
        waiting += state.waiting;
    }
    Some(waiting)
}

/// Whether this thread runs functions of a lane.
pub(crate) fn is_member() -> bool {
    MEMBER.get().is_some()
}

fn size(names: [&str; 2]) -> usize {
    names
        .iter()
        .find_map(|name| std::env::var(name).ok()?.trim().parse().ok())
        .filter(|n| (1..=4096).contains(n))
        .unwrap_or(SIZE)
}

impl Lane {
    fn new(size: usize) -> Self {
        Lane {
            size,
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
    fn serve(&'static self) {
        MEMBER.set(Some(self));
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
    fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let jobs = std::mem::take(&mut state.queue);
        drop(state);
        self.called.notify_all();
        jobs.into_iter().for_each(Job::refuse);
    }

    /// As the function of that name, for a thread of this lane.
    fn wait<R>(&'static self, wait: impl FnOnce() -> R) -> Option<R> {
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
