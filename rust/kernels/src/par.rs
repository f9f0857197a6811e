//! The thread budget of kernels. Work is split by sizes that depend on the problem alone, never
//! on the number of threads, so that results are the same bits for any budget.

use rayon::prelude::*;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// The pool, leaked; null before the first use.
static POOL: AtomicPtr<rayon::ThreadPool> = AtomicPtr::new(ptr::null_mut());
/// The number of threads asked for; 0 while nobody has.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Sets the number of threads that kernels share; the first call, or the first use, decides.
/// Returns the number in force.
pub fn set_threads(n: usize) -> usize {
    pool(n).current_num_threads()
}

/// For the child of a fork, which has none of the pool's threads: the next use makes new ones, as
/// many as before. The old pool's memory is not given back.
pub fn forget_threads() {
    // Release, as in `pool`; the child has one thread yet.
    POOL.store(ptr::null_mut(), Ordering::Release);
}

/// The number of threads that kernels share; inside a rayon pool, the threads of that pool.
pub fn threads() -> usize {
    if rayon::current_thread_index().is_some() {
        rayon::current_num_threads()
    } else {
        pool(default_threads()).current_num_threads()
    }
}

fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn pool(n: usize) -> &'static rayon::ThreadPool {
    // Acquire: pairs with the exchange below, for the pool's contents.
    let current = POOL.load(Ordering::Acquire);
    // SAFETY: null, or a pool that is never freed.
    unsafe { current.as_ref() }.unwrap_or_else(|| make_pool(n))
}

#[cold]
fn make_pool(n: usize) -> &'static rayon::ThreadPool {
    // Relaxed: a number alone; the first one stays.
    let n = match THREADS.compare_exchange(0, n.max(1), Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => n,
        Err(first) => first,
    };
    let made = build(n).unwrap_or_else(|| build(1).unwrap_or_else(|| std::process::abort()));
    let made = Box::into_raw(Box::new(made));
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

/// Runs `task(0..n)`, in parallel where there is more than one task and more than one thread.
/// Called inside a rayon pool it stays in that pool.
pub fn for_each(n: usize, task: impl Fn(usize) + Sync + Send) {
    if n <= 1 || threads() == 1 {
        (0..n).for_each(task);
    } else {
        install(|| (0..n).into_par_iter().with_max_len(1).for_each(task));
    }
}

/// Runs `task(slot, 0..n)` as [`for_each`] does. Tasks that run at the same time have different
/// slots, all below the value of [`threads`] at the time of the call: room for scratch memory that
/// is made once per thread.
pub fn for_each_slot(n: usize, task: impl Fn(usize, usize) + Sync + Send) {
    if n <= 1 || threads() == 1 {
        (0..n).for_each(|i| task(0, i));
    } else {
        install(|| {
            (0..n)
                .into_par_iter()
                .with_max_len(1)
                .for_each(|i| task(rayon::current_thread_index().unwrap_or(0), i));
        });
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
/// pool already, runs it there.
pub fn install<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    if rayon::current_thread_index().is_some() || threads() == 1 {
        f()
    } else {
        pool(1).install(f)
    }
}
