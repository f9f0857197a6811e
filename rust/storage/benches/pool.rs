//! The pool beside `malloc`, by what is asked of it; `benches/pool.py` does the same with other
//! allocators, in one table.

#![allow(missing_docs)] // criterion_group! makes a public function.

mod scenarios;

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use ferromix_storage::Pool;
use scenarios::{Malloc, at_random, fight, hand_over, pool, reuse, step, touched};

const SIZES: [usize; 4] = [64, 4 << 10, 1 << 20, 16 << 20];

type Scenario<A> = fn(&A, usize, u64) -> Duration;

fn bench(
    criterion: &mut Criterion,
    name: &str,
    sizes: &[usize],
    (on_pool, on_malloc): (Scenario<Pool>, Scenario<Malloc>),
) {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(20);
    for &size in sizes {
        let pool = pool();
        group.bench_function(BenchmarkId::new("pool", size), |bencher| {
            bencher.iter_custom(|times| on_pool(&pool, size, times));
        });
        group.bench_function(BenchmarkId::new("malloc", size), |bencher| {
            bencher.iter_custom(|times| on_malloc(&Malloc, size, times));
        });
    }
    group.finish();
}

fn all(criterion: &mut Criterion) {
    bench(criterion, "reuse", &SIZES, (reuse, reuse));
    bench(criterion, "fight", &SIZES, (fight, fight));
    bench(criterion, "at_random", &SIZES, (at_random, at_random));
    bench(criterion, "hand_over", &SIZES, (hand_over, hand_over));
    bench(criterion, "touched", &SIZES[2..], (touched, touched));
    bench(criterion, "step", &[40 << 20], (step, step));
}

criterion_group!(benches, all);
criterion_main!(benches);
