//! The pool seen from outside: sizes, reuse, accounts, limits, threads.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use ferromix_base::{Context, DeviceType, Error, ErrorKind, Result};
use ferromix_storage::{Backend, Config, Handle, HostBackend, Pool, RawBlock, bucket_size};
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const MIB: usize = 1 << 20;

fn pool() -> Pool {
    Pool::new(Context::cpu(), HostBackend, Config::default())
}

fn limited(limit: usize) -> Pool {
    Pool::new(
        Context::cpu(),
        HostBackend,
        Config {
            limit: Some(limit),
            ..Config::default()
        },
    )
}

/// The host backend with a register of what is live, and a number for each block.
#[derive(Clone, Default)]
struct Audited {
    live: Arc<Mutex<HashMap<usize, usize>>>,
    count: Arc<AtomicUsize>,
}

// SAFETY: blocks are those of `HostBackend`.
unsafe impl Backend for Audited {
    fn alloc(&self, size: usize, align: usize) -> Result<RawBlock> {
        let block = HostBackend.alloc(size, align)?;
        assert!(
            self.live
                .lock()
                .unwrap()
                .insert(block.ptr.as_ptr() as usize, size)
                .is_none()
        );
        let number = self.count.fetch_add(1, Ordering::Relaxed) as u64 + 1;
        Ok(RawBlock {
            shared_id: NonZeroU64::new(number),
            ..block
        })
    }

    unsafe fn free(&self, block: RawBlock, size: usize) {
        let known = self
            .live
            .lock()
            .unwrap()
            .remove(&(block.ptr.as_ptr() as usize));
        assert_eq!(known, Some(size), "freed as it was allocated, once");
        // SAFETY: the block is one of `HostBackend`, with its size.
        unsafe { HostBackend.free(block, size) };
    }
}

#[test]
fn blocks_have_their_size_and_alignment() {
    let pool = pool();
    for size in [
        1,
        63,
        64,
        65,
        4095,
        4096,
        4097,
        100_000,
        MIB - 1,
        MIB,
        MIB + 1,
        5 * MIB,
    ] {
        let block = pool.alloc(size).unwrap();
        let align = if bucket_size(size).unwrap() >= MIB {
            4096
        } else {
            64
        };
        assert_eq!(block.as_ptr() as usize % align, 0, "size {size}");
        assert_eq!(
            (block.size(), block.context(), block.shared_id()),
            (size, Context::cpu(), None)
        );
        // SAFETY: the block has `size` bytes of which this test is the only user.
        unsafe { block.as_ptr().write_bytes(7, size) };
        pool.free(block);
    }
    assert_eq!(pool.stats().in_use, 0);
}

#[test]
fn zero_bytes_take_nothing() {
    let pool = limited(0);
    let block = pool.alloc(0).unwrap();
    assert_eq!((block.size(), block.as_ptr() as usize % 64), (0, 0));
    assert!(!block.as_ptr().is_null());
    pool.free(block);
    pool.direct_free(pool.alloc(0).unwrap());
    assert_eq!(
        (pool.stats().hits, pool.stats().misses, pool.stats().in_use),
        (0, 0, 0)
    );
}

#[test]
fn freed_blocks_come_back_and_the_accounts_are_exact() {
    let pool = pool();
    let sizes = [10, 5000, 300_000, 9 * MIB];
    let buckets: usize = sizes.iter().map(|&size| bucket_size(size).unwrap()).sum();
    let waste = buckets - sizes.iter().sum::<usize>();
    for round in 0..5u64 {
        let blocks: Vec<Handle> = sizes
            .iter()
            .map(|&size| pool.alloc(size).unwrap())
            .collect();
        let stats = pool.stats();
        assert_eq!(
            (stats.in_use, stats.cached, stats.waste),
            (buckets, 0, waste)
        );
        assert_eq!((stats.misses, stats.hits), (4, 4 * round));
        blocks.into_iter().for_each(|block| pool.free(block));
        let stats = pool.stats();
        assert_eq!((stats.in_use, stats.cached, stats.waste), (0, buckets, 0));
    }
    let stats = pool.stats();
    assert_eq!(stats.peak_reserved, buckets);
    assert!(
        stats.peak <= buckets && stats.peak + MIB > buckets,
        "{stats:?}"
    );
    pool.release_all();
    assert_eq!(pool.stats().cached, 0);
}

#[test]
fn many_blocks_of_one_size_pass_through_the_depot_and_back() {
    let pool = pool();
    for count in [15, 16, 17, 32, 33, 500] {
        let blocks: Vec<Handle> = (0..count).map(|_| pool.alloc(100).unwrap()).collect();
        blocks.into_iter().for_each(|block| pool.free(block));
    }
    let stats = pool.stats();
    assert_eq!((stats.misses, stats.hits), (500, 15 + 16 + 17 + 32 + 33));
    assert_eq!(stats.cached, 500 * 128);
}

#[test]
fn a_limit_trims_first_and_then_says_what_is_held() {
    let pool = limited(10 * MIB);
    pool.free(pool.alloc(6 * MIB).unwrap());
    let held = pool.alloc(5 * MIB).unwrap(); // does not fit beside the kept block
    assert_eq!((pool.stats().cached, pool.stats().in_use), (0, 5 * MIB));
    let error = pool.alloc(6 * MIB - 100).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory);
    let message = error.to_string();
    for part in [
        "6291356 bytes",
        "cpu(0)",
        "in use 5242880",
        "cached 0",
        "limit 10485760",
    ] {
        assert!(message.contains(part), "{part} not in: {message}");
    }
    pool.set_limit(None);
    let more = pool.alloc(6 * MIB).unwrap();
    assert_eq!(pool.stats().limit, None);
    pool.set_limit(Some(0));
    assert!(pool.alloc(1).is_err());
    pool.free(held);
    pool.free(more);
    assert!(
        pool.alloc(usize::MAX)
            .unwrap_err()
            .to_string()
            .contains("largest block")
    );
}

#[test]
fn an_exhausted_system_is_an_error_not_an_abort() {
    let pool = pool();
    pool.free(pool.alloc(100).unwrap());
    let message = pool.alloc(1 << 46).unwrap_err().to_string();
    assert!(
        message.contains("the system refused") && message.contains("limit none"),
        "{message}"
    );
    assert_eq!((pool.stats().cached, pool.stats().in_use), (0, 0));
}

#[test]
fn a_backend_that_recovers_after_a_trim_is_asked_again() {
    struct OneBlock(Audited);
    // SAFETY: blocks are those of `Audited`.
    unsafe impl Backend for OneBlock {
        fn alloc(&self, size: usize, align: usize) -> Result<RawBlock> {
            let free = self.0.live.lock().unwrap().is_empty();
            if free {
                self.0.alloc(size, align)
            } else {
                Err(Error::memory("one is enough"))
            }
        }
        unsafe fn free(&self, block: RawBlock, size: usize) {
            // SAFETY: passed on as it came.
            unsafe { self.0.free(block, size) };
        }
    }
    let audited = Audited::default();
    let pool = Pool::new(Context::cpu(), OneBlock(audited.clone()), Config::default());
    pool.free(pool.alloc(64).unwrap());
    let block = pool.alloc(1000).unwrap();
    assert!(
        pool.alloc(64)
            .unwrap_err()
            .to_string()
            .contains("one is enough")
    );
    pool.free(block);
}

#[test]
fn direct_free_and_an_unpooled_pool_keep_nothing() {
    let audited = Audited::default();
    let pool = Pool::new(Context::cpu(), audited.clone(), Config::default());
    pool.direct_free(pool.alloc(100).unwrap());
    assert_eq!(
        (pool.stats().cached, audited.live.lock().unwrap().len()),
        (0, 0)
    );
    let config = Config {
        pooled: false,
        ..Config::default()
    };
    let pool = Pool::new(Context::cpu(), audited.clone(), config);
    for _ in 0..3 {
        pool.free(pool.alloc(100).unwrap());
        assert_eq!(
            (pool.stats().cached, audited.live.lock().unwrap().len()),
            (0, 0)
        );
    }
    assert_eq!(pool.stats().misses, 3);
}

#[test]
fn a_handle_of_another_pool_is_refused_and_counted() {
    let gpu = Context {
        device_type: DeviceType::Gpu,
        device_id: 1,
    };
    let (one, other) = (pool(), Pool::new(gpu, HostBackend, Config::default()));
    let lost = [other.alloc(100).unwrap(), other.alloc(100).unwrap()];
    let blocks = lost.each_ref().map(|handle| RawBlock {
        ptr: std::ptr::NonNull::new(handle.as_ptr()).unwrap(),
        shared_id: None,
    });
    let [first, second] = lost;
    one.free(first);
    one.direct_free(second);
    for block in blocks {
        // SAFETY: a block of this backend and size, which both pools have forgotten.
        unsafe { HostBackend.free(block, 128) };
    }
    assert_eq!((one.stats().misdirected, one.stats().cached), (2, 0));
    assert_eq!(other.stats().in_use, 256);
}

#[test]
fn the_end_of_a_pool_frees_what_it_and_every_thread_kept() {
    let audited = Audited::default();
    let pool = Pool::new(Context::cpu(), audited.clone(), Config::default());
    let ids = |blocks: &[Handle]| blocks.iter().map(|b| b.shared_id()).collect::<Vec<_>>();
    let blocks: Vec<Handle> = (0..40).map(|i| pool.alloc(i * 997 + 1).unwrap()).collect();
    assert!(ids(&blocks).iter().all(Option::is_some));
    // A second thread keeps blocks of its own and is still alive when the pool ends.
    let (to_thread, from_main) = std::sync::mpsc::channel::<()>();
    let (to_main, from_thread) = std::sync::mpsc::channel::<()>();
    let clone = pool.clone();
    let thread = std::thread::spawn(move || {
        blocks.into_iter().for_each(|block| clone.free(block));
        drop(clone);
        to_main.send(()).unwrap();
        from_main.recv().unwrap();
    });
    from_thread.recv().unwrap();
    assert_eq!(audited.live.lock().unwrap().len(), 40);
    drop(pool);
    assert!(audited.live.lock().unwrap().is_empty());
    to_thread.send(()).unwrap();
    thread.join().unwrap();
}

#[test]
fn many_short_lived_pools_leave_nothing() {
    let audited = Audited::default();
    for size in 1..300 {
        let pool = Pool::new(Context::cpu(), audited.clone(), Config::default());
        pool.free(pool.alloc(size * 50).unwrap());
    }
    assert!(audited.live.lock().unwrap().is_empty());
}

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

fn wait_for(mut done: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if done() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("not done after a second");
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

/// Runs `first` on a thread that then idles, its caches alive, while `then` runs here.
fn beside_idle<R>(first: impl FnOnce() + Send, then: impl FnOnce() -> R) -> R {
    let (done, wait) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            first();
            done.wait();
            wait.wait();
        });
        done.wait();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(then));
        wait.wait();
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
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
fn exhaustion_takes_the_oldest_and_leaves_the_rest() {
    let pool = limited(20 * MIB);
    let blocks = [8 * MIB, 4 * MIB, 6 * MIB].map(|size| pool.alloc(size).unwrap());
    blocks.into_iter().for_each(|block| pool.free(block));
    let block = pool.alloc(5 * MIB).unwrap(); // 18 are kept, 2 are free
    let stats = pool.stats();
    assert_eq!(stats.in_use, 5 * MIB);
    assert!(stats.cached >= 4 * MIB, "not everything went: {stats:?}");
    assert_eq!(
        stats.misses - stats.released,
        1 + (stats.cached / (4 * MIB)) as u64
    );
    pool.free(block);
}

#[test]
fn threads_that_exhaust_the_limit_together_wait_for_each_others_trims() {
    // Two blocks of at most 9 MiB in use, and as much on its way from a slot to the stack.
    let pool = limited(36 * MIB);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let pool = &pool;
            scope.spawn(move || {
                for turn in 0..2000 {
                    let size = (turn * 7 + thread * 3) % 9 * MIB + MIB;
                    pool.free(pool.alloc(size).unwrap());
                }
            });
        }
    });
    let stats = pool.stats();
    assert_eq!(stats.in_use, 0);
    assert!(
        stats.released > 0 && stats.peak_reserved <= 36 * MIB,
        "{stats:?}"
    );
}

#[test]
fn above_the_high_watermark_the_pool_shrinks_to_the_low_one() {
    let config = Config {
        trim_low: 8 * MIB,
        trim_high: Some(64 * MIB),
        ..Config::default()
    };
    let pool = Pool::new(Context::cpu(), HostBackend, config);
    let cycle = |count: usize| {
        let blocks: Vec<Handle> = (0..count).map(|_| pool.alloc(4 * MIB).unwrap()).collect();
        blocks.into_iter().for_each(|block| pool.free(block));
    };
    (0..100).for_each(|_| cycle(16));
    assert_eq!(pool.stats().released, 0, "64 MiB are not above the mark");
    // The pool looks at least once in 256 MiB of large blocks that are freed.
    cycle(150);
    let stats = pool.stats();
    assert!(
        stats.cached <= (8 + 256) * MIB && stats.released > 0,
        "{stats:?}"
    );
    (0..100).for_each(|_| cycle(1));
    assert_eq!(pool.stats().cached, 8 * MIB);
}

#[test]
fn old_blocks_go_while_the_pool_is_in_use() {
    let config = Config {
        trim_age: Some(std::time::Duration::from_millis(2)),
        trim_low: 0,
        ..Config::default()
    };
    let pool = Pool::new(Context::cpu(), HostBackend, config);
    pool.free(pool.alloc(32 * MIB).unwrap());
    pool.free(pool.alloc(5000).unwrap());
    wait_for(|| {
        (0..300).for_each(|_| pool.free(pool.alloc(100).unwrap()));
        pool.stats().cached == 128
    });
    // The block in use went with none of the trims, or came back at once.
    assert!(pool.stats().misses <= 4, "{:?}", pool.stats());
}

#[test]
fn sizes_can_be_rounded_further() {
    let config = Config {
        min_block: 4096,
        round_below: MIB,
        ..Config::default()
    };
    let pool = Pool::new(Context::cpu(), HostBackend, config);
    for (size, bucket) in [
        (1, 4096),
        (5000, 8192),
        (MIB - 1, MIB),
        (9 * MIB / 8, 9 * MIB / 8),
    ] {
        let block = pool.alloc(size).unwrap();
        assert_eq!(
            (pool.stats().in_use, pool.stats().waste),
            (bucket, bucket - size)
        );
        pool.free(block);
        assert_eq!((pool.stats().in_use, pool.stats().waste), (0, 0));
    }
    let config = Config {
        round_below: usize::MAX,
        ..Config::default()
    };
    let pool = Pool::new(Context::cpu(), HostBackend, config);
    assert!(pool.alloc(usize::MAX).is_err());
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
