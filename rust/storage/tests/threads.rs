//! One pool under several threads.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod common;

use common::{MIB, beside_idle, pool, wait_for};
use ferromix_storage::{Handle, Pool};

#[test]
fn a_thread_that_ends_leaves_its_blocks_to_the_others() {
    let pool = pool();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let blocks: Vec<Handle> = (0..20).map(|_| pool.alloc(1000).unwrap()).collect();
            blocks.into_iter().for_each(|block| pool.free(block));
        });
    });
    wait_for(|| {
        // A scope may end before its threads' destructors have run; then these miss, and the
        // blocks come with the next round.
        let before = pool.stats().hits;
        let blocks: Vec<Handle> = (0..20).map(|_| pool.alloc(1000).unwrap()).collect();
        blocks.into_iter().for_each(|block| pool.direct_free(block));
        pool.stats().hits - before == 20
    });
    let stats = pool.stats();
    assert_eq!((stats.in_use, stats.cached), (0, 0));
}

#[test]
fn blocks_made_here_and_freed_there_balance() {
    let pool = pool();
    let (sender, receiver) = std::sync::mpsc::channel::<Handle>();
    let clone = pool.clone();
    let eater =
        std::thread::spawn(move || receiver.into_iter().for_each(|block| clone.free(block)));
    for i in 0..20_000usize {
        sender.send(pool.alloc(1 + i % 3000).unwrap()).unwrap();
    }
    drop(sender);
    eater.join().unwrap();
    let stats = pool.stats();
    assert_eq!(
        (stats.in_use, stats.waste, stats.hits + stats.misses),
        (0, 0, 20_000)
    );
    pool.release_all();
    assert_eq!(pool.stats().cached, 0);
}

#[test]
fn a_trim_reaches_other_threads_at_their_next_call() {
    let pool = pool();
    let (to_thread, from_main) = std::sync::mpsc::channel::<()>();
    let (to_main, from_thread) = std::sync::mpsc::channel::<()>();
    let clone = pool.clone();
    let thread = std::thread::spawn(move || {
        clone.free(clone.alloc(1000).unwrap());
        to_main.send(()).unwrap();
        from_main.recv().unwrap();
        clone.direct_free(clone.alloc(64).unwrap());
        to_main.send(()).unwrap();
        from_main.recv().unwrap();
    });
    from_thread.recv().unwrap();
    pool.release_all();
    assert_eq!(pool.stats().cached, 1024);
    to_thread.send(()).unwrap();
    from_thread.recv().unwrap();
    pool.release_all();
    assert_eq!(pool.stats().cached, 0);
    to_thread.send(()).unwrap();
    thread.join().unwrap();
}

#[test]
fn an_idle_thread_hoards_no_large_block() {
    let pool = pool();
    let sizes = [MIB, MIB, 16 * MIB, 16 * MIB, 16 * MIB];
    let all = || -> Vec<Handle> {
        sizes
            .iter()
            .map(|&size| pool.alloc(size).unwrap())
            .collect()
    };
    let cycle = || all().into_iter().for_each(|block| pool.free(block));
    beside_idle(cycle, || {
        cycle();
        assert_eq!((pool.stats().misses, pool.stats().hits), (5, 5));
    });
    beside_idle(cycle, || {
        pool.release_all();
        assert_eq!(pool.stats().cached, 0);
    });
}

#[test]
fn the_peak_is_that_of_all_threads_together() {
    let pool = pool();
    let cycle = |size: usize| pool.free(pool.alloc(size).unwrap());
    cycle(16 * MIB);
    // Another thread's peak while this one has a credit of 16 MiB.
    beside_idle(|| cycle(16 * MIB), || ());
    assert_eq!(pool.stats().peak, 16 * MIB, "one after the other");
    // Both at once, on credits that were once reported.
    let held = pool.alloc(16 * MIB).unwrap();
    beside_idle(|| cycle(16 * MIB), || cycle(4 * MIB));
    assert_eq!(pool.stats().peak, 32 * MIB);
    pool.free(held);
    // What one thread takes another gives back: no drift.
    for _ in 0..10 {
        let blocks: Vec<Handle> = (0..3).map(|_| pool.alloc(8 * MIB).unwrap()).collect();
        let free = || blocks.into_iter().for_each(|block| pool.free(block));
        beside_idle(free, || ());
    }
    assert_eq!((pool.stats().peak, pool.stats().in_use), (32 * MIB, 0));
}

#[test]
fn a_pool_can_be_used_while_a_thread_ends() {
    thread_local!(static LAST: std::cell::RefCell<Option<Late>> = const { std::cell::RefCell::new(None) });
    struct Late(Pool, Option<Handle>);
    impl Drop for Late {
        fn drop(&mut self) {
            self.1
                .take()
                .into_iter()
                .for_each(|block| self.0.free(block));
            self.0.free(self.0.alloc(500).unwrap());
        }
    }
    let pool = pool();
    let clone = pool.clone();
    let thread = std::thread::spawn(move || {
        // Set before the pool is used, so that it is destroyed after the thread's cache.
        LAST.with(|last| *last.borrow_mut() = Some(Late(clone.clone(), None)));
        let block = clone.alloc(70).unwrap();
        LAST.with(|last| last.borrow_mut().as_mut().unwrap().1 = Some(block));
    });
    thread.join().unwrap();
    let stats = pool.stats();
    assert_eq!(
        (stats.in_use, stats.waste, stats.hits + stats.misses),
        (0, 0, 2)
    );
    assert_eq!(stats.cached, 128 + 512);
}
