//! Loops that the thread which wants them runs itself, with helpers: the pool's threads, and threads
//! that wait for a result. It starts at once, and takes what is left if no helper comes. Handing the
//! whole loop to the pool would wait for a sleeping thread first, which takes longer than many a kernel.

use super::shared_loop::{Loop, Mutex, Task, locked};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a helper without work looks for some before it sleeps: about what waking it takes.
const LINGER: Duration = Duration::from_micros(60);

/// How long it looks, at most, while the loop that it was in goes on: its owner has a task left, and often begins
/// another loop then.
const STAY: Duration = Duration::from_millis(1);

/// How long a thread that waits helps with a loop: it may have to look for signals.
const VISIT: Duration = Duration::from_millis(40);

thread_local! {
    /// Whether this thread of the pool looks for loops already.
    static SERVES: Cell<bool> = const { Cell::new(false) };
}

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
    /// Helpers of the pool.
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
        this.run(0, || true);
    }

    /// Sees that so many helpers look for work, as far as there are threads.
    fn call(&'static self, wanted: usize) {
        let most = self.pool.current_num_threads();
        while self.idle.load(Ordering::Relaxed) < wanted
            && self.helpers.load(Ordering::Relaxed) < most
        {
            self.idle.fetch_add(1, Ordering::Relaxed);
            self.helpers.fetch_add(1, Ordering::Relaxed);
            self.pool.spawn(|| self.serve());
        }
    }

    /// Helps with loops until there was none for a while, or until `ended`, as long as `go_on`. The
    /// caller has counted this thread as idle.
    fn help(&'static self, ended: &dyn Fn() -> bool, go_on: &dyn Fn() -> bool) {
        let mut before = None;
        loop {
            let found = self.look(ended, before.as_deref(), go_on);
            self.idle.fetch_sub(1, Ordering::Relaxed);
            // Who opened a loop before this has counted on this thread.
            let found = found.or_else(|| self.last_look(ended));
            let Some((this, slot)) = found else { return };
            // Whoever was called for another place may have been this very thread.
            self.replace();
            let run = std::panic::AssertUnwindSafe(|| this.run(slot, go_on));
            let panic = std::panic::catch_unwind(run).err();
            let stays = go_on();
            if stays {
                // In front of the end, so that the owner's next loop calls nobody else.
                self.idle.fetch_add(1, Ordering::Relaxed);
            }
            this.leave(slot, panic);
            if !stays {
                return self.replace();
            }
            before = Some(this);
        }
    }

    /// As a thread of the pool.
    fn serve(&'static self) {
        if SERVES.replace(true) {
            // It let other work of the pool's run, and that was this.
            self.idle.fetch_sub(1, Ordering::Relaxed);
        } else {
            self.help(&|| false, &|| true);
            SERVES.set(false);
        }
        self.helpers.fetch_sub(1, Ordering::Relaxed);
    }

    /// As a thread that waits for something.
    pub(super) fn assist(&'static self, ended: &dyn Fn() -> bool) {
        self.idle.fetch_add(1, Ordering::Relaxed);
        let begin = Instant::now();
        self.help(ended, &|| begin.elapsed() < VISIT);
    }

    /// A loop, if one opens soon, or soon after that which the thread was in `before`.
    fn look(
        &self,
        ended: &dyn Fn() -> bool,
        before: Option<&Loop>,
        go_on: &dyn Fn() -> bool,
    ) -> Option<(Arc<Loop>, usize)> {
        let begin = Instant::now();
        let mut until = begin + LINGER;
        for look in 1_usize.. {
            if ended() {
                break;
            }
            let found = self.find();
            if found.is_some() {
                return found;
            }
            std::hint::spin_loop();
            if look % LOOKS == 0 {
                rayon::yield_now();
                std::thread::yield_now();
                let now = Instant::now();
                if now < begin + STAY && before.is_some_and(Loop::is_open) {
                    until = now + LINGER;
                }
                if now > until || !go_on() {
                    break;
                }
            }
        }
        None
    }

    /// A loop that is open already, for a thread that is no longer idle; if it has `ended`, others are
    /// called instead.
    fn last_look(&'static self, ended: &dyn Fn() -> bool) -> Option<(Arc<Loop>, usize)> {
        if !ended() {
            return self.enter();
        }
        self.replace();
        None
    }

    /// Calls another helper if there is a loop for it and nobody looks for one.
    fn replace(&'static self) {
        let wanted = locked(&self.open).iter().any(|this| this.has_room());
        if wanted {
            self.call(1);
        }
    }

    fn find(&self) -> Option<(Arc<Loop>, usize)> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.enter()
    }

    fn enter(&self) -> Option<(Arc<Loop>, usize)> {
        let open = locked(&self.open);
        open.iter()
            .find_map(|this| this.enter().map(|slot| (this.clone(), slot)))
    }
}
