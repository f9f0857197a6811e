//! The pool seen from outside: sizes, reuse, accounts.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod common;

use common::{Audited, MIB, limited, pool};
use ferromix_base::{Context, DeviceType};
use ferromix_storage::{Backend, Config, Handle, HostBackend, Pool, RawBlock, bucket_size};

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
