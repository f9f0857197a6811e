//! What a push costs, and an operation of a launched program, from the first to the last
//! completion, for five shapes of dependency.
//!
//! The payload is one relaxed addition. One pusher, two workers, 200,000 operations a run; divide
//! the time by that.

#![allow(clippy::unwrap_used)]

mod shapes;

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ferromix_engine::{Engine, OpSpec, Program, Var};
use shapes::{Shape, VARS};

const OPS: usize = 200_000;

fn run(engine: &Engine, vars: &[Var], shape: &Shape, count: &Arc<AtomicU64>) -> Duration {
    let list = shape.list(vars);
    let begin = Instant::now();
    for (reads, writes) in shape.ops(&list) {
        let count: *const AtomicU64 = Arc::as_ptr(count);
        // A plain address, as the peers pass: cloning the Arc would measure the Arc.
        let count = count as usize;
        let spec = OpSpec::new("add").reads(reads).writes(writes);
        let pushed = engine.push_sync(&spec, move |_| {
            // SAFETY: the counter lives until all operations have been waited for.
            unsafe { &*(count as *const AtomicU64) }.fetch_add(1, Relaxed);
            Ok(())
        });
        black_box(pushed.is_ok());
    }
    engine.wait_for_all().unwrap();
    begin.elapsed()
}

fn push(criterion: &mut Criterion) {
    let engine = Engine::builder().workers(2).build();
    let vars: Vec<Var> = (0..VARS).map(|_| engine.new_variable()).collect();
    let count = Arc::new(AtomicU64::new(0));
    let mut group = criterion.benchmark_group("push");
    group.throughput(Throughput::Elements(OPS as u64));
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(3));
    for shape in &Shape::all(OPS) {
        group.bench_function(BenchmarkId::from_parameter(shape.name), |bencher| {
            bencher
                .iter_custom(|times| (0..times).map(|_| run(&engine, &vars, shape, &count)).sum());
        });
    }
    group.finish();
}

/// Launches of a program of 10,000 operations, 20 in a run.
fn replay(criterion: &mut Criterion) {
    const LEN: usize = 10_000;
    let engine = Engine::builder().workers(2).build();
    let vars: Vec<Var> = (0..VARS).map(|_| engine.new_variable()).collect();
    let count = Arc::new(AtomicU64::new(0));
    let mut group = criterion.benchmark_group("launch");
    group.throughput(Throughput::Elements(OPS as u64));
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(3));
    for shape in &Shape::all(LEN) {
        let list = shape.list(&vars);
        let mut builder = Program::builder(shape.name);
        for (reads, writes) in shape.ops(&list) {
            let count = count.clone();
            let spec = OpSpec::new("add").reads(reads).writes(writes);
            builder = builder.op(&spec, move |_| {
                count.fetch_add(1, Relaxed);
                Ok(())
            });
        }
        let program = builder.build();
        group.bench_function(BenchmarkId::from_parameter(shape.name), |bencher| {
            bencher.iter(|| {
                for _ in 0..OPS / LEN {
                    engine.launch(&program).unwrap();
                }
                engine.wait_for_all().unwrap();
            });
        });
    }
    group.finish();
}

fn wait(criterion: &mut Criterion) {
    let engine = Engine::builder().workers(2).build();
    let var = engine.new_variable();
    criterion.bench_function("push and wait_for_var", |bencher| {
        bencher.iter(|| {
            engine
                .push_sync(&OpSpec::new("op").writes(&[var]), |_| Ok(()))
                .unwrap();
            engine.wait_for_var(var).unwrap();
        });
    });
    criterion.bench_function("wait_for_var on an idle variable", |bencher| {
        bencher.iter(|| engine.wait_for_var(black_box(var)).unwrap());
    });
    criterion.bench_function("new and delete variable", |bencher| {
        bencher.iter(|| {
            engine
                .delete_variable(engine.new_variable(), || ())
                .unwrap()
        });
    });
}

criterion_group!(benches, push, replay, wait);
criterion_main!(benches);
