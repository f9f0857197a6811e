//! The limit, exhaustion, watermarks and age.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod common;

use common::{Audited, MIB, limited, pool, wait_for};
use ferromix_base::{Context, Error, ErrorKind, Result};
use ferromix_storage::{Backend, Config, Handle, HostBackend, Pool, RawBlock};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

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
fn an_error_says_which_blocks_hold_the_memory() {
    let pool = limited(10 * MIB);
    let large: Vec<Handle> = (0..2).map(|_| pool.alloc(4 * MIB).unwrap()).collect();
    let small: Vec<Handle> = (0..3).map(|_| pool.alloc(1000).unwrap()).collect();
    let error = pool.alloc(2 * MIB).unwrap_err().to_string();
    let expected = "blocks (number and bytes): 2 of 4194304, 3 of 1024";
    assert!(error.contains(expected), "{error}");
    let held: Vec<(usize, usize)> = pool.holdings().iter().map(|h| (h.size, h.blocks)).collect();
    assert_eq!(held, [(1024, 3), (4 * MIB, 2)]);
    large.into_iter().for_each(|block| pool.direct_free(block));
    small.into_iter().for_each(|block| pool.free(block));
    assert_eq!(pool.holdings().len(), 1);
    pool.release_all();
    assert_eq!(pool.holdings(), []);
}

/// Each call of the last resort gives one block back, as a deletion does when its time comes.
#[test]
fn what_is_about_to_be_freed_is_waited_for() {
    let pool = limited(6 * MIB);
    let pending = Arc::new(Mutex::new(Vec::new()));
    let calls = Arc::new(AtomicUsize::new(0));
    for size in [2 * MIB, MIB, 3 * MIB] {
        pending.lock().unwrap().push(pool.alloc(size).unwrap());
    }
    let (weak, list, count) = (Arc::new(pool.clone()), pending.clone(), calls.clone());
    let weak_pool = Arc::downgrade(&weak);
    pool.on_exhaustion(move || {
        count.fetch_add(1, Ordering::Relaxed);
        let next = list.lock().unwrap().pop();
        let (Some(pool), Some(block)) = (weak_pool.upgrade(), next) else {
            return false;
        };
        pool.free(block);
        true
    });
    // 3 MiB and 1 MiB come back, which together with what is trimmed is enough.
    let block = pool.alloc(4 * MIB).unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    assert_eq!(pool.stats().in_use, 6 * MIB);
    // A block of the very bucket is taken as it is.
    let released = pool.stats().released;
    let again = pool.alloc(2 * MIB).unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    assert_eq!(pool.stats().released, released);
    let error = pool.alloc(MIB).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory);
    assert_eq!(calls.load(Ordering::Relaxed), 4);
    pool.free(block);
    pool.free(again);
}
