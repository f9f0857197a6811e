//! Loops shared with helpers, seen from threads outside of any pool: every task once, slots of their
//! own, panics that arrive; and outputs so large that they go past the caches.

#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferromix_base::DType;
use ferromix_kernels::{Attrs, Call, Desc, Req, View, find, par};

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

/// `-x` of a matrix of so many rows and columns, from and to memory that begins `skip` elements late
/// and has rows of `pitch`.
fn negative(rows: usize, columns: usize, pitch: usize, skip: usize) {
    let len = skip + rows * pitch;
    let mut input: Vec<f32> = (0..len).map(|i| (i % 8191) as f32 - 4000.0).collect();
    let mut output = vec![7.0f32; len];
    let view = |memory: &mut [f32]| {
        let start = memory[skip..].as_mut_ptr().cast();
        let strides = [pitch as isize, 1];
        // SAFETY: the rows lie within the vector, which outlives the view.
        unsafe {
            View::from_raw(
                start,
                DType::F32,
                [rows, columns][..].into(),
                strides[..].into(),
            )
        }
    };
    let desc = [Desc::new(&[rows, columns], DType::F32)];
    let kernel = find("negative").unwrap();
    let kernel = (kernel.prepare)(&Attrs::default(), &desc, &desc).unwrap();
    let mut call = Call {
        inputs: &[view(&mut input)],
        outputs: &mut [view(&mut output)],
        reqs: &[Req::Write],
        workspace: &mut [],
        scalars: &[],
        random: None,
    };
    kernel.run(&mut call).unwrap();
    for (i, (&y, &x)) in output.iter().zip(&input).enumerate() {
        let inside = i >= skip && (i - skip) % pitch < columns;
        assert_eq!(y, if inside { -x } else { 7.0 }, "at {i}");
    }
}

#[test]
fn large_outputs_past_the_caches_are_whole() {
    let _alone = alone();
    for (rows, columns, pitch, skip) in [(1, 4_500_001, 4_500_001, 3), (5000, 1111, 1113, 1)] {
        negative(rows, columns, pitch, skip);
    }
}
