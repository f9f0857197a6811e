//! The threads that run Python functions for the engine, so that a function that takes long, or
//! waits for the interpreter, occupies none of the engine's workers.
//!
//! They start when there is work, run it by priority and order of push, and hold the interpreter
//! only during the function. While a function waits for the engine, another thread may work in its
//! place. A function that waits for something else, such as a thread of its own, looks like one that
//! computes; so where none ends for a while, there are more threads, up to a limit. They are daemons:
//! nothing waits for them when the process ends.

mod python_run;
mod queue;

pub(crate) use python_run::PythonRun;

use crate::callback::Job;
use ferromix_engine::FnProperty;
use ferromix_runtime::count_waits_by;
use queue::Queue;
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Functions of a lane that run at once, and how many where none of them ends for a while.
const SIZE: usize = 4;
const MOST: usize = 16;
/// That while.
const STALL: Duration = Duration::from_millis(100);
/// Further threads while functions wait for the engine.
const SPARE: usize = 4096;

/// The thread that sees whether functions end.
#[derive(Default, PartialEq)]
enum Watch {
    #[default]
    Absent,
    Asleep,
    Awake,
}

#[derive(Default)]
struct State {
    queue: Queue,
    /// Threads alive, and those of them whose function waits for the engine.
    started: usize,
    waiting: usize,
    /// Threads asleep that nobody has called, and calls that no thread has heard yet.
    idle: usize,
    calls: usize,
    /// Functions begun and ended, and how many may run at once beyond `Lane::size`, since none did.
    progress: u64,
    extra: usize,
    watch: Watch,
    closed: bool,
}

/// A queue of functions and its threads.
pub(crate) struct Lane {
    size: usize,
    most: usize,
    state: Mutex<State>,
    called: Condvar,
    /// Wakes the thread that watches.
    crowded: Condvar,
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
    /// How deep what it pushes is nested: 0 outside of functions, 1 in a function pushed from there.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// How deep a function that this thread pushes is nested in functions that push each other.
pub(crate) fn depth() -> u32 {
    DEPTH.get()
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
    let made = Box::into_raw(Box::new(Lane::new(sizes(SETTINGS[number]))));
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
    DEPTH.set(0);
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

/// How many functions run at once, as a rule and at most; whoever sets a number gets that.
fn sizes(names: [&str; 2]) -> (usize, usize) {
    names
        .iter()
        .find_map(|name| std::env::var(name).ok()?.trim().parse().ok())
        .filter(|n| (1..=4096).contains(n))
        .map_or((SIZE, MOST), |n| (n, n))
}

impl Lane {
    fn new((size, most): (usize, usize)) -> Self {
        Lane {
            size,
            most,
            state: Mutex::default(),
            called: Condvar::new(),
            crowded: Condvar::new(),
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
        } else if state.started - state.waiting < self.size + state.extra {
            self.hire(state);
        } else if self.size < self.most && state.watch != Watch::Awake {
            let is_absent = state.watch == Watch::Absent;
            state.watch = Watch::Awake;
            drop(state);
            if is_absent {
                let thread = std::thread::Builder::new().name("fmx-watch".into());
                if thread.spawn(|| self.watch()).is_err() {
                    self.lock().watch = Watch::Absent;
                }
            } else {
                self.crowded.notify_one();
            }
        }
    }

    fn hire(&'static self, mut state: MutexGuard<'_, State>) {
        state.started += 1;
        drop(state);
        let thread = std::thread::Builder::new().name("fmx-python".into());
        if thread.spawn(|| self.serve()).is_err() {
            self.improvise();
        }
    }

    /// As long as functions are queued, lets one more run whenever none has begun or ended for a while.
    fn watch(&'static self) {
        let mut state = self.lock();
        while !state.closed {
            if state.queue.is_empty() {
                state.watch = Watch::Asleep;
                state = self
                    .crowded
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.watch = Watch::Awake;
            let before = state.progress;
            state = self
                .crowded
                .wait_timeout(state, STALL)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            let stalled = state.progress == before && !state.queue.is_empty() && !state.closed;
            if stalled && self.size + state.extra < self.most {
                state.extra += 1;
                self.hire(state);
                state = self.lock();
            }
        }
    }

    /// There can be no further thread; where there is none at all, this one does the work.
    fn improvise(&self) {
        let mut state = self.lock();
        state.started -= 1;
        while state.started == 0 && !state.closed {
            let functions_wait = state.waiting > 0;
            let Some(job) = state.queue.pop(functions_wait) else {
                return;
            };
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
            if state.queue.is_empty() {
                state.extra = 0;
            }
            if state.started - state.waiting > self.size + state.extra {
                break;
            }
            let functions_wait = state.waiting > 0;
            if let Some(job) = state.queue.pop(functions_wait) {
                state.progress += 1;
                drop(state);
                DEPTH.set(job.work.depth + 1);
                job.run();
                state = self.lock();
                state.progress += 1;
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
        let jobs = state.queue.take();
        drop(state);
        self.called.notify_all();
        self.crowded.notify_all();
        jobs.for_each(Job::refuse);
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
