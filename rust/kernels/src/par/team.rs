//! Loops that the thread which wants them runs itself, with the pool's threads as helpers: it starts
//! at once, and takes what is left if no helper comes. Handing the whole loop to the pool would wait
//! for a sleeping thread first, which takes longer than many a kernel.

use std::any::Any;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a helper without work looks for some before it sleeps: about what waking it takes.
const LINGER: Duration = Duration::from_micros(60);

/// How often a thread looks before it considers sleeping.
const LOOKS: usize = 64;

/// One task, from the front or from the back.
const FRONT: u64 = 1;
const BACK: u64 = 1 << 32;

/// Most tasks of a loop.
pub(super) const MOST: usize = 1 << 31;

/// A pool and the loops that its threads may help with.
pub(super) struct Team {
    pub(super) pool: rayon::ThreadPool,
    open: Mutex<Vec<Arc<Loop>>>,
    // The three below are Relaxed throughout: hints, which the mutex of `open` backs.
    /// Loops in `open`.
    count: AtomicUsize,
    /// Helpers that look for a loop, or will when the pool starts them.
    idle: AtomicUsize,
    /// All helpers.
    helpers: AtomicUsize,
}

type Task<'a> = dyn Fn(usize, usize) + Sync + 'a;

/// A loop that has tasks left.
struct Loop {
    task: *const Task<'static>,
    tasks: usize,
    threads: usize,
    /// Tasks taken from the front, and, in the upper half, from the back. Relaxed: each is taken once,
    /// whatever the order; `state` publishes the effects.
    taken: AtomicU64,
    state: Mutex<State>,
    left: Condvar,
}

struct State {
    /// Threads that have taken part; the next one's slot.
    slots: usize,
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

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that is locked here is left half done by a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Loop {
    /// A slot for a helper, where there is something to do.
    fn enter(&self) -> Option<usize> {
        let mut state = locked(&self.state);
        let full = state.closed || state.slots == self.threads;
        if full || self.left(self.taken.load(Ordering::Relaxed)).is_none() {
            return None;
        }
        state.slots += 1;
        state.active += 1;
        Some(state.slots - 1)
    }

    /// Runs tasks as long as there are some.
    fn run(&self, slot: usize) {
        // SAFETY: the owner waits for those that have entered, and is one of them.
        let task = unsafe { &*self.task };
        // From both ends, so that a loop that is run again finds most data where it left them.
        let (one, back) = if slot.is_multiple_of(2) {
            (FRONT, false)
        } else {
            (BACK, true)
        };
        while let Some(taken) = self.left(self.taken.fetch_add(one, Ordering::Relaxed)) {
            task(
                slot,
                if back {
                    self.tasks - 1 - taken.1
                } else {
                    taken.0
                },
            );
        }
    }

    /// How many tasks were taken from the front and from the back, if some are left.
    fn left(&self, taken: u64) -> Option<(usize, usize)> {
        let (front, back) = ((taken % BACK) as usize, (taken / BACK) as usize);
        (front + back < self.tasks).then_some((front, back))
    }

    fn leave(&self, panic: Option<Box<dyn Any + Send>>) {
        let mut state = locked(&self.state);
        state.active -= 1;
        if panic.is_some() {
            state.panic = panic;
        }
        if state.closed {
            self.left.notify_one();
        }
    }

    /// Keeps helpers out from now on, and waits for those that are in; what one panicked with.
    fn close(&self) -> Option<Box<dyn Any + Send>> {
        // Tasks that are left after a panic are left out.
        self.taken.store(self.tasks as u64, Ordering::Relaxed);
        for look in 0.. {
            let mut state = locked(&self.state);
            state.closed = true;
            if state.active == 0 {
                return state.panic.take();
            }
            if look > LOOKS {
                drop(self.left.wait(state));
            } else {
                drop(state);
                (0..LOOKS).for_each(|_| std::hint::spin_loop());
                std::thread::yield_now();
            }
        }
        None
    }
}

/// Ends a loop however its owner leaves it.
struct Closing<'a>(&'a Team, &'a Arc<Loop>);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let Closing(team, this) = self;
        let mut open = locked(&team.open);
        open.retain(|other| !Arc::ptr_eq(other, this));
        team.count.store(open.len(), Ordering::Relaxed);
        drop(open);
        if let Some(panic) = this.close()
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Team {
    pub(super) fn new(pool: rayon::ThreadPool) -> Self {
        Team {
            pool,
            open: Mutex::new(Vec::new()),
            count: AtomicUsize::new(0),
            idle: AtomicUsize::new(0),
            helpers: AtomicUsize::new(0),
        }
    }

    /// Runs `task(slot, 0..tasks)` on this thread and at most `threads - 1` helpers.
    pub(super) fn run(&'static self, threads: usize, tasks: usize, task: &Task<'_>) {
        let task: *const Task<'_> = task;
        let this = Arc::new(Loop {
            // SAFETY: only the lifetime changes; `Closing` outlasts every use.
            task: unsafe { std::mem::transmute::<*const Task<'_>, *const Task<'static>>(task) },
            tasks,
            threads,
            taken: AtomicU64::new(0),
            state: Mutex::new(State {
                slots: 1,
                active: 0,
                closed: false,
                panic: None,
            }),
            left: Condvar::new(),
        });
        let mut open = locked(&self.open);
        open.push(this.clone());
        self.count.store(open.len(), Ordering::Relaxed);
        drop(open);
        let _closing = Closing(self, &this);
        self.call(threads.min(tasks) - 1);
        this.run(0);
    }

    /// Sees that so many helpers look for work, as far as there are threads.
    fn call(&'static self, wanted: usize) {
        let most = self.pool.current_num_threads();
        while self.idle.load(Ordering::Relaxed) < wanted
            && self.helpers.load(Ordering::Relaxed) < most
        {
            self.idle.fetch_add(1, Ordering::Relaxed);
            self.helpers.fetch_add(1, Ordering::Relaxed);
            self.pool.spawn(|| self.help());
        }
    }

    /// What a helper does: loops that are open, until there was none for a while.
    fn help(&self) {
        let mut last = Instant::now();
        for look in 0_usize.. {
            if let Some((this, slot)) = self.find() {
                self.idle.fetch_sub(1, Ordering::Relaxed);
                let run = std::panic::AssertUnwindSafe(|| this.run(slot));
                this.leave(std::panic::catch_unwind(run).err());
                self.idle.fetch_add(1, Ordering::Relaxed);
                last = Instant::now();
            }
            std::hint::spin_loop();
            if look % LOOKS == 0 {
                rayon::yield_now();
                std::thread::yield_now();
                if last.elapsed() > LINGER {
                    break;
                }
            }
        }
        self.idle.fetch_sub(1, Ordering::Relaxed);
        self.helpers.fetch_sub(1, Ordering::Relaxed);
    }

    fn find(&self) -> Option<(Arc<Loop>, usize)> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let open = locked(&self.open);
        open.iter()
            .find_map(|this| this.enter().map(|slot| (this.clone(), slot)))
    }
}
