//! Loops that the thread which wants them runs itself, with the pool's threads as helpers: it starts
//! at once, and takes what is left if no helper comes. Handing the whole loop to the pool would wait
//! for a sleeping thread first, which takes longer than many a kernel.

use super::shared_loop::{Loop, Mutex, Task, locked};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a helper without work looks for some before it sleeps: about what waking it takes.
const LINGER: Duration = Duration::from_micros(60);

/// How often a thread looks before it considers sleeping.
const LOOKS: usize = 64;

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
        // SAFETY: `Closing` outlasts every use of the task.
        let this = Arc::new(unsafe { Loop::new(threads, tasks, task) });
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
