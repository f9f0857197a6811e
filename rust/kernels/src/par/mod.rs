//! The thread budget of kernels. Work is split by sizes that depend on the problem alone, never
//! on the number of threads, so that results are the same bits for any budget.

mod shared_loop;
mod team;

use rayon::prelude::*;
use shared_loop::Task;
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use team::Team;

/// The pool, leaked; null before the first use.
static POOL: AtomicPtr<Team> = AtomicPtr::new(ptr::null_mut());
/// The number of threads asked for; 0 while nobody has.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static BUDGET: Cell<u16> = const { Cell::new(0) };
}

/// Sets the number of threads that kernels share; the first call, or the first use, decides.
/// Returns the number in force.
pub fn set_threads(n: usize) -> usize {
    team(|| n).pool.current_num_threads()
}

/// For the child of a fork, which has none of the pool's threads: the next use makes new ones, as
/// many as before. The old pool's memory is not given back.
pub fn forget_threads() {
    // Release, as in `pool`; the child has one thread yet.
    POOL.store(ptr::null_mut(), Ordering::Release);
}

/// The number of threads that a kernel called now would use: those of the kernels' pool (inside a
/// rayon pool, of that pool), or the calling thread's [`budget`] if that is less.
pub fn threads() -> usize {
    let budget = match BUDGET.get() {
        0 => usize::MAX,
        1 => return 1,
        most => usize::from(most),
    };
    let all = if rayon::current_thread_index().is_some() {
        rayon::current_num_threads()
    } else {
        team(default_threads).pool.current_num_threads()
    };
    all.min(budget)
}

fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn team(n: impl FnOnce() -> usize) -> &'static Team {
    // Acquire: pairs with the exchange below, for the pool's contents.
    let current = POOL.load(Ordering::Acquire);
    // SAFETY: null, or a pool that is never freed.
    unsafe { current.as_ref() }.unwrap_or_else(|| make_pool(n()))
}

#[cold]
fn make_pool(n: usize) -> &'static Team {
    // Relaxed: a number alone; the first one stays.
    let n = match THREADS.compare_exchange(0, n.max(1), Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => n,
        Err(first) => first,
    };
    let made = build(n).unwrap_or_else(|| build(1).unwrap_or_else(|| std::process::abort()));
    let made = Box::into_raw(Box::new(Team::new(made)));
    // Release: the pool's contents. Acquire on failure: those of the other pool.
    match POOL.compare_exchange(ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: published just now, and never freed.
        Ok(_) => unsafe { &*made },
        Err(first) => {
            // SAFETY: ours alone: another thread was faster, whose pool is never freed.
            unsafe {
                drop(Box::from_raw(made));
                &*first
            }
        }
    }
}

fn build(n: usize) -> Option<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(n.max(1))
        .thread_name(|i| format!("ferromix-kernel-{i}"))
        .build()
        .ok()
}

/// The calling thread's budget: how many threads a kernel that it runs may use, 0 for all there are.
pub fn budget() -> u16 {
    BUDGET.get()
}

/// Sets the calling thread's budget; returns the one before.
pub fn set_budget(most: u16) -> u16 {
    BUDGET.replace(most)
}

/// Runs `f` with that budget.
pub fn with_budget<R>(most: u16, f: impl FnOnce() -> R) -> R {
    struct Restore(u16);
    impl Drop for Restore {
        fn drop(&mut self) {
            BUDGET.set(self.0);
        }
    }
    let _restore = Restore(BUDGET.replace(most));
    f()
}

/// Runs `task(0..n)`, in parallel where there is more than one task and more than one thread.
/// Called inside a rayon pool it stays in that pool.
pub fn for_each(n: usize, task: impl Fn(usize) + Sync + Send) {
    for_each_slot(n, |_, i| task(i));
}

/// Runs `task(slot, 0..n)` as [`for_each`] does. Tasks that run at the same time have different
/// slots, all below the value of [`threads`] at the time of the call: room for scratch memory that
/// is made once per thread.
pub fn for_each_slot(n: usize, task: impl Fn(usize, usize) + Sync + Send) {
    run(n, &task);
}

/// Behind one type of task: there are more than a thousand loops, and a copy of all this, and of what
/// rayon needs, for each would be most of the library.
fn run(n: usize, task: &Task<'_>) {
    // Asked last, as it costs more than many a task.
    let threads = if n <= 1 { 1 } else { threads() };
    if threads == 1 {
        return (0..n).for_each(|i| task(0, i));
    }
    // A thread that waits for its part may run parts of other operations, so each sets the budget
    // of its own: nothing more in parallel where the budget is less than the pool.
    if rayon::current_thread_index().is_none() && n <= shared_loop::MOST {
        let team = team(default_threads);
        let inner = u16::from(threads < team.pool.current_num_threads());
        return team.run(threads, n, &|slot, i| with_budget(inner, || task(slot, i)));
    }
    if rayon::current_thread_index().is_none() {
        return install(|| run(n, task));
    }
    if threads < rayon::current_num_threads() {
        return share(threads, n, task);
    }
    let run = |i| with_budget(0, || task(rayon::current_thread_index().unwrap_or(0), i));
    (0..n).into_par_iter().with_max_len(1).for_each(run);
}

/// `threads` tasks that take what there is in turn. What they call in parallel runs in order.
fn share(threads: usize, n: usize, task: &Task<'_>) {
    // Relaxed: each number is taken once, whatever the order; the pool publishes the effects.
    let next = AtomicUsize::new(0);
    let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < n);
    let run = |slot| with_budget(1, || std::iter::from_fn(take).for_each(|i| task(slot, i)));
    (0..threads).into_par_iter().with_max_len(1).for_each(run);
}

/// For a thread that waits until `ended`: helps with the loops of other threads, and comes back when
/// that is so, when there was no loop for a while, or after some 40 ms and a task.
pub fn assist(ended: &dyn Fn() -> bool) {
    if rayon::current_thread_index().is_none() && threads() > 1 {
        team(default_threads).assist(ended);
    }
}

/// Splits `0..n` into ranges of `grain` (the last may be shorter) and runs `task` on each.
pub fn for_ranges(n: usize, grain: usize, task: impl Fn(std::ops::Range<usize>) + Sync + Send) {
    let grain = grain.max(1);
    for_each(n.div_ceil(grain), |i| {
        task(i * grain..((i + 1) * grain).min(n))
    });
}

/// Runs `f` inside the kernels' thread pool, for libraries that use rayon's current pool; inside a
/// pool already, or where one thread is to do it, runs it there.
pub fn install<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    if rayon::current_thread_index().is_some() || threads() == 1 {
        return f();
    }
    let budget = budget();
    team(default_threads)
        .pool
        .install(|| with_budget(budget, f))
}
