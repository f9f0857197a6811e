//! Loops shared with helpers, seen from threads outside of any pool: every task once, slots of their
//! own, panics that arrive; and threads that help while they wait.

#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferromix_kernels::par;

const THREADS: usize = 3;

/// The tests share the kernels' pool; one at a time has its threads to itself.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    assert_eq!(par::set_threads(THREADS), THREADS);
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a loop of so many tasks, each of which may pause; checks slots and that each ran once.
fn run_loop(tasks: usize, pause: impl Fn(usize) + Sync) {
    let ran: Vec<AtomicUsize> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
    let in_use: [AtomicUsize; THREADS] = Default::default();
    par::for_each_slot(tasks, |slot, i| {
        assert_eq!(
            in_use[slot].fetch_add(1, SeqCst),
            0,
            "slot {slot} is used twice"
        );
        pause(i);
        ran[i].fetch_add(1, SeqCst);
        in_use[slot].fetch_sub(1, SeqCst);
    });
    assert!(
        ran.iter().all(|ran| ran.load(SeqCst) == 1),
        "each task once"
    );
}

#[test]
fn many_threads_share_the_helpers() {
    let _alone = alone();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for round in 0..300 {
                    let slow = round % 50 == thread;
                    run_loop(2 + (round * 7 + thread) % 30, |i| {
                        if slow && i % 3 == 0 {
                            std::thread::sleep(Duration::from_micros(200));
                        }
                    });
                }
            });
        }
    });
}

#[test]
fn helpers_join_a_loop_that_lasts() {
    let _alone = alone();
    let mut all = HashSet::new();
    for _ in 0..5 {
        let threads = Mutex::new(HashSet::new());
        run_loop(60, |_| {
            threads.lock().unwrap().insert(std::thread::current().id());
            std::thread::sleep(Duration::from_millis(1));
        });
        let found = threads.into_inner().unwrap();
        let owner = std::thread::current().id();
        assert!(found.contains(&owner), "the owner takes part");
        // The owner and two of the pool's three threads, which may be others each time.
        assert!(found.len() <= THREADS, "{found:?}");
        all.extend(found);
    }
    assert!(all.len() >= THREADS, "{all:?}");
}

#[test]
fn loops_inside_of_tasks_run_too() {
    let _alone = alone();
    let count = AtomicUsize::new(0);
    par::for_each(8, |_| {
        par::for_each(8, |_| {
            count.fetch_add(1, SeqCst);
        });
    });
    assert_eq!(count.into_inner(), 64);
}

#[test]
fn a_budget_bounds_loops_outside_of_the_pool() {
    let _alone = alone();
    for budget in [1, 2, 3, 0] {
        let (active, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        par::with_budget(budget, || {
            par::for_each(40, |_| {
                most.fetch_max(active.fetch_add(1, SeqCst) + 1, SeqCst);
                std::thread::sleep(Duration::from_micros(300));
                active.fetch_sub(1, SeqCst);
            });
        });
        let limit = if budget == 0 { THREADS } else { budget.into() };
        assert!(most.into_inner() <= limit, "budget {budget}");
    }
}

#[test]
fn a_panic_of_any_task_reaches_the_owner_and_leaves_the_helpers_alive() {
    let _alone = alone();
    for bad in [0, 5, 19] {
        let caught = std::panic::catch_unwind(|| {
            par::for_each(20, |i| {
                std::thread::sleep(Duration::from_micros(300));
                assert_ne!(i, bad, "on purpose");
            });
        });
        assert!(caught.is_err(), "task {bad}");
        run_loop(20, |_| std::thread::sleep(Duration::from_micros(100)));
    }
}

/// Calls `assist` over and over while `work` runs on another thread, and once more afterwards.
fn assist_meanwhile(work: impl FnOnce() + Send) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            work();
            over.store(true, SeqCst);
        });
        while !over.load(SeqCst) {
            par::assist(&|| over.load(SeqCst));
        }
    });
    par::assist(&|| false);
}

#[test]
fn a_thread_that_waits_takes_part() {
    let _alone = alone();
    let waiting = std::thread::current().id();
    let helped = AtomicBool::new(false);
    assist_meanwhile(|| {
        // Whoever comes first helps: sooner or later that is the thread that waits.
        for _ in (0..5000).take_while(|_| !helped.load(SeqCst)) {
            run_loop(THREADS, |_| {
                if std::thread::current().id() == waiting {
                    helped.store(true, SeqCst);
                }
                std::thread::sleep(Duration::from_micros(200));
            });
        }
    });
    assert!(helped.into_inner());
}

#[test]
fn threads_that_wait_run_each_task_once_and_hear_of_no_panic() {
    let _alone = alone();
    assist_meanwhile(|| {
        std::thread::scope(|scope| {
            scope.spawn(|| (0..2000).for_each(|round| run_loop(2 + round % 9, |_| {})));
            scope.spawn(|| {
                for round in 0..300 {
                    let caught = std::panic::catch_unwind(|| {
                        par::for_each(4, |i| assert_ne!(i, round % 4, "on purpose"));
                    });
                    assert!(caught.is_err(), "round {round}");
                }
            });
        });
    });
}

#[test]
fn who_need_not_wait_does_not_help() {
    let _alone = alone();
    let waiting = std::thread::current().id();
    std::thread::scope(|scope| {
        let work = scope.spawn(|| {
            run_loop(30, |_| {
                assert_ne!(std::thread::current().id(), waiting);
                std::thread::sleep(Duration::from_micros(100));
            });
        });
        while !work.is_finished() {
            par::assist(&|| true);
            par::with_budget(1, || par::assist(&|| false));
        }
    });
}

#[test]
fn a_thread_that_waits_leaves_a_long_loop_to_others() {
    let _alone = alone();
    let waiting = std::thread::current().id();
    let came = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let work = scope.spawn(|| {
            run_loop(600, |_| {
                if std::thread::current().id() == waiting {
                    came.fetch_add(1, SeqCst);
                }
                std::thread::sleep(Duration::from_millis(1));
            });
        });
        let mut left_early = false;
        while !work.is_finished() {
            let before = came.load(SeqCst);
            par::assist(&|| false);
            left_early |= came.load(SeqCst) > before && !work.is_finished();
        }
        // Unless it never came in: then there was nothing to leave.
        assert!(left_early || came.load(SeqCst) == 0);
    });
}
