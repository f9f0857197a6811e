//! Reuse of a warm block against malloc: alloc and free, on one thread and on two that fight.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed run")]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use ferromix_base::Context;
use ferromix_storage::{Config, HostBackend, Pool};
use std::hint::black_box;
use std::time::{Duration, Instant};

const SIZES: [usize; 5] = [64, 4 << 10, 256 << 10, 1 << 20, 16 << 20];

fn pool() -> Pool {
    Pool::new(Context::cpu(), HostBackend, Config::default())
}

fn malloc_free(size: usize) {
    // SAFETY: the pointer goes straight back; free takes null too.
    unsafe { libc::free(black_box(libc::malloc(black_box(size)))) };
}

fn alloc_free(pool: &Pool, size: usize) {
    let block = pool.alloc(black_box(size)).unwrap();
    black_box(block.as_ptr());
    pool.free(block);
}

fn warm(c: &mut Criterion) {
    let mut group = c.benchmark_group("alloc_free");
    for size in SIZES {
        let pool = pool();
        group.bench_function(BenchmarkId::new("pool", size), |b| {
            b.iter(|| alloc_free(&pool, size));
        });
        group.bench_function(BenchmarkId::new("malloc", size), |b| {
            b.iter(|| malloc_free(size))
        });
    }
    group.finish();
}

/// Seconds that `iterations` take on each of two threads at once.
fn fight(iterations: u64, work: impl Fn() + Sync) -> Duration {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..iterations).for_each(|_| work()));
        }
    });
    start.elapsed()
}

fn two_threads(c: &mut Criterion) {
    let mut group = c.benchmark_group("alloc_free_2_threads");
    for size in SIZES {
        let pool = pool();
        group.bench_function(BenchmarkId::new("pool", size), |b| {
            b.iter_custom(|n| fight(n, || alloc_free(&pool, size)));
        });
        group.bench_function(BenchmarkId::new("malloc", size), |b| {
            b.iter_custom(|n| fight(n, || malloc_free(size)));
        });
    }
    group.finish();
}

/// A block that is written, as a tensor is: the pool spares the page faults.
fn touched(c: &mut Criterion) {
    let mut group = c.benchmark_group("alloc_write_free");
    group.sample_size(20);
    let size = 16 << 20;
    let pool = pool();
    group.bench_function(BenchmarkId::new("pool", size), |b| {
        b.iter(|| {
            let block = pool.alloc(size).unwrap();
            // SAFETY: the block has `size` bytes of which this is the only user.
            unsafe { std::ptr::write_bytes(black_box(block.as_ptr()), 1, size) };
            pool.free(block);
        });
    });
    group.bench_function(BenchmarkId::new("malloc", size), |b| {
        b.iter(|| {
            // SAFETY: written only within `size` bytes, if there are any, then freed.
            unsafe {
                let block = libc::malloc(size);
                assert!(!block.is_null());
                std::ptr::write_bytes(black_box(block.cast::<u8>()), 1, size);
                libc::free(block);
            }
        });
    });
    group.finish();
}

/// What a step of training does: takes blocks of many sizes, writes to each page, gives all back.
fn step(c: &mut Criterion) {
    let mut group = c.benchmark_group("step_of_24_blocks");
    group.sample_size(20);
    let sizes = [64, 4 << 10, 300 << 10, 2 << 20, 9 << 20, 40 << 20].repeat(4);
    let write = |ptr: *mut u8, size: usize| {
        assert!(!ptr.is_null());
        for page in (0..size).step_by(4096) {
            // SAFETY: within the block, of which this is the only user.
            unsafe { ptr.add(page).write_volatile(1) };
        }
    };
    let pool = pool();
    group.bench_function("pool", |b| {
        b.iter(|| {
            let take = |&size: &usize| {
                let block = pool.alloc(size).unwrap();
                write(block.as_ptr(), size);
                block
            };
            let blocks: Vec<_> = sizes.iter().map(take).collect();
            blocks.into_iter().for_each(|block| pool.free(block));
        });
    });
    group.bench_function("malloc", |b| {
        b.iter(|| {
            let take = |&size: &usize| {
                // SAFETY: any size may be asked for; `write` checks the answer.
                let block = unsafe { libc::malloc(size) };
                write(block.cast(), size);
                block
            };
            let blocks: Vec<_> = sizes.iter().map(take).collect();
            for block in blocks {
                // SAFETY: from malloc above, given back once.
                unsafe { libc::free(block) };
            }
        });
    });
    group.finish();
}

criterion_group!(benches, warm, two_threads, touched, step);
criterion_main!(benches);
