//! A budget of threads bounds what runs at once, and which slots are in use.

#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use ferromix_kernels::par;

const TASKS: usize = 40;

/// What a loop of [`TASKS`] slow tasks does in a pool of four threads: the most tasks at once, and
/// the value of `threads` outside and inside.
fn watch(budget: u16) -> (usize, usize, usize) {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(4)
        .build()
        .unwrap();
    let (active, most, inside) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    let seen = Mutex::new(Vec::new());
    let in_use: [AtomicUsize; 4] = Default::default();
    let threads = pool.install(|| {
        par::with_budget(budget, || {
            par::for_each_slot(TASKS, |slot, i| {
                assert_eq!(
                    in_use[slot].fetch_add(1, SeqCst),
                    0,
                    "slot {slot} is used twice"
                );
                most.fetch_max(active.fetch_add(1, SeqCst) + 1, SeqCst);
                inside.fetch_max(par::threads(), SeqCst);
                std::thread::sleep(Duration::from_millis(1));
                seen.lock().unwrap().push(i);
                active.fetch_sub(1, SeqCst);
                in_use[slot].fetch_sub(1, SeqCst);
            });
            par::threads()
        })
    });
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..TASKS), "each task once");
    (most.into_inner(), threads, inside.into_inner())
}

#[test]
fn no_more_tasks_than_the_budget_run_at_once() {
    assert_eq!(watch(1), (1, 1, 1));
    for budget in [2, 3] {
        let (most, threads, inside) = watch(budget);
        assert_eq!((threads, inside), (budget.into(), 1));
        assert!(most <= threads, "{most} of {threads}");
    }
    for budget in [0, 4, 9] {
        let (most, threads, inside) = watch(budget);
        assert_eq!((threads, inside), (4, 4));
        assert!(most <= threads, "{most} of {threads}");
    }
}

#[test]
fn a_budget_is_the_threads_own_and_ends_with_its_scope() {
    par::with_budget(3, || {
        assert_eq!(par::budget(), 3);
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(par::budget(), 0));
        });
        assert_eq!(par::with_budget(0, par::budget), 0);
        let panics = std::panic::catch_unwind(|| par::with_budget(1, || panic!("on purpose")));
        assert!(panics.is_err());
        assert_eq!(par::budget(), 3);
        assert_eq!(par::set_budget(2), 3);
        assert_eq!(par::budget(), 2);
    });
    assert_eq!(par::budget(), 0);
}

#[test]
fn the_kernels_own_pool_knows_the_callers_budget() {
    let all = par::set_threads(3);
    let budget = 2.min(all);
    let (outside, inside) = par::with_budget(2, || (par::threads(), par::install(par::threads)));
    assert_eq!((outside, inside), (budget, budget));
    assert_eq!(par::install(par::threads), all);
}
