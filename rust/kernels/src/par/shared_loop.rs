//! One loop, run by the thread that wants it and by helpers that come and go. The owner goes on when
//! no task is left and no helper is in; who comes later finds the loop closed.

use std::any::Any;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

#[cfg(loom)]
pub(super) use loom::sync::{Condvar, Mutex, MutexGuard, atomic::AtomicU64};
#[cfg(not(loom))]
pub(super) use std::sync::{Condvar, Mutex, MutexGuard, atomic::AtomicU64};

/// How often the owner looks before it sleeps.
const LOOKS: usize = 64;

/// One task, from the front or from the back.
const FRONT: u64 = 1;
const BACK: u64 = 1 << 32;

/// Most tasks of a loop.
pub(super) const MOST: usize = 1 << 31;

/// What a loop runs, with the slot of the thread and the number of the task.
pub(super) type Task<'a> = dyn Fn(usize, usize) + Sync + 'a;

/// A loop that a thread has begun, and that others may take part in.
pub(super) struct Loop {
    task: *const Task<'static>,
    tasks: usize,
    /// Tasks taken from the front, and, in the upper half, from the back. Relaxed: each is taken once,
    /// whatever the order; `state` publishes the effects.
    taken: AtomicU64,
    state: Mutex<State>,
    left: Condvar,
}

struct State {
    /// Slots that no thread has.
    free: Vec<usize>,
    /// Helpers that are in the loop.
    active: usize,
    /// Whether its owner has gone on, so that `task` is no longer there.
    closed: bool,
    panic: Option<Box<dyn Any + Send>>,
}

// SAFETY: `task` is Sync, and is only called between `enter` and `leave`, while the owner waits.
unsafe impl Send for Loop {}
// SAFETY: as for Send.
unsafe impl Sync for Loop {}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that is locked here is left half done by a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Loop {
    /// A loop that its owner is in.
    ///
    /// # Safety
    /// The owner, who runs and closes it, keeps the task until it is closed.
    pub(super) unsafe fn new(threads: usize, tasks: usize, task: &Task<'_>) -> Self {
        let task: *const Task<'_> = task;
        Loop {
            // SAFETY: only the lifetime changes, for which the caller answers.
            task: unsafe { std::mem::transmute::<*const Task<'_>, *const Task<'static>>(task) },
            tasks,
            taken: AtomicU64::new(0),
            state: Mutex::new(State {
                free: (1..threads).rev().collect(),
                active: 0,
                closed: false,
                panic: None,
            }),
            left: Condvar::new(),
        }
    }

    /// A slot for a helper, where there is something to do.
    pub(super) fn enter(&self) -> Option<usize> {
        let mut state = locked(&self.state);
        if !self.admits(&state) {
            return None;
        }
        state.active += 1;
        state.free.pop()
    }

    /// Whether there is something to do for one more.
    pub(super) fn has_room(&self) -> bool {
        self.admits(&locked(&self.state))
    }

    /// Whether its owner is still in it.
    pub(super) fn is_open(&self) -> bool {
        !locked(&self.state).closed
    }

    fn admits(&self, state: &State) -> bool {
        let full = state.closed || state.free.is_empty();
        !full && self.left(self.taken.load(Ordering::Relaxed)).is_some()
    }

    /// Runs tasks as long as there are some, and `go_on` says so.
    pub(super) fn run(&self, slot: usize, go_on: impl Fn() -> bool) {
        // SAFETY: the owner waits for those that have entered, and is one of them.
        let task = unsafe { &*self.task };
        // From both ends, so that a loop that is run again finds most data where it left them.
        let (one, back) = if slot.is_multiple_of(2) {
            (FRONT, false)
        } else {
            (BACK, true)
        };
        while go_on()
            && let Some(taken) = self.left(self.taken.fetch_add(one, Ordering::Relaxed))
        {
            let next = if back {
                self.tasks - 1 - taken.1
            } else {
                taken.0
            };
            task(slot, next);
        }
    }

    /// How many tasks were taken from the front and from the back, if some are left.
    fn left(&self, taken: u64) -> Option<(usize, usize)> {
        let (front, back) = ((taken % BACK) as usize, (taken / BACK) as usize);
        (front + back < self.tasks).then_some((front, back))
    }

    /// Gives a helper's slot back, with what it panicked with.
    pub(super) fn leave(&self, slot: usize, panic: Option<Box<dyn Any + Send>>) {
        let mut state = locked(&self.state);
        state.active -= 1;
        state.free.push(slot);
        if panic.is_some() {
            state.panic = panic;
        }
        if state.closed {
            self.left.notify_one();
        }
    }

    /// Keeps helpers out from now on, and waits for those that are in; what one panicked with.
    pub(super) fn close(&self) -> Option<Box<dyn Any + Send>> {
        // Tasks that are left after a panic are left out.
        self.taken.store(self.tasks as u64, Ordering::Relaxed);
        for look in 0.. {
            let mut state = locked(&self.state);
            state.closed = true;
            if state.active == 0 {
                return state.panic.take();
            }
            if look > LOOKS || cfg!(loom) {
                drop(self.left.wait(state));
            } else {
                drop(state);
                pause();
            }
        }
        None
    }
}

/// Between two looks.
fn pause() {
    (0..LOOKS).for_each(|_| std::hint::spin_loop());
    std::thread::yield_now();
}

#[cfg(all(test, loom))]
mod loom_model {
    use super::*;
    use loom::cell::UnsafeCell;
    use std::sync::Arc;

    /// A result of a task.
    struct Cell(UnsafeCell<u32>);

    // SAFETY: the loop gives each task to one thread; loom notices if two are in a cell.
    unsafe impl Sync for Cell {}
    // SAFETY: a number.
    unsafe impl Send for Cell {}

    impl Cell {
        fn add(&self, n: u32) -> u32 {
            self.0.with_mut(|cell| {
                // SAFETY: as above.
                unsafe {
                    *cell += n;
                    *cell
                }
            })
        }
    }

    /// Each task runs once, the owner sees what it did, nobody runs one after the end, and nobody else
    /// has a helper's slot meanwhile; helpers take so many tasks each at most.
    fn check(threads: usize, tasks: usize, helpers: usize, most: usize) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let cells: Arc<Vec<_>> =
                Arc::new((0..tasks).map(|_| Cell(UnsafeCell::new(0))).collect());
            let slots: Vec<_> = (0..threads).map(|_| Cell(UnsafeCell::new(0))).collect();
            let results = cells.clone();
            let task = move |slot: usize, i: usize| {
                slots[slot].add(1);
                results[i].add(1);
            };
            // SAFETY: closed below, in front of the end of `task`.
            let this = Arc::new(unsafe { Loop::new(threads, tasks, &task) });
            let help = |_| {
                let this = this.clone();
                loom::thread::spawn(move || {
                    if let Some(slot) = this.enter() {
                        let taken = std::cell::Cell::new(0);
                        this.run(slot, || taken.replace(taken.get() + 1) < most);
                        this.leave(slot, None);
                    }
                })
            };
            let helpers: Vec<_> = (0..helpers).map(help).collect();
            this.run(0, || true);
            assert!(this.close().is_none());
            assert!(cells.iter().all(|cell| cell.add(0) == 1));
            for helper in helpers {
                assert!(helper.join().is_ok());
            }
        });
    }

    #[test]
    fn two_helpers_share_two_tasks() {
        check(3, 2, 2, 2);
    }

    #[test]
    fn one_helper_shares_three_tasks() {
        check(2, 3, 1, 3);
    }

    #[test]
    fn no_more_helpers_than_threads() {
        check(2, 2, 2, 2);
    }

    #[test]
    fn a_helper_that_goes_leaves_its_slot_to_another() {
        check(2, 3, 2, 1);
    }
}
