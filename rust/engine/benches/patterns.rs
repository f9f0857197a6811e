//! What a push costs, and an operation of a launched program, from the first to the last
//! completion, by shape of dependency.
//!
//! The payload is one relaxed addition. One pusher, two workers, 100,000 operations a run; criterion
//! shows the operations per second.

#![allow(clippy::unwrap_used)]
#![allow(missing_docs)] // criterion_group! makes a public function.

mod shapes;

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use ferromix_engine::{Engine, OpSpec, Program};
use shapes::{Binding, FIVE, GRAPHS, GRIDS, Shape};

const OPS: usize = 100_000;
/// Operations of a program.
const LENGTH: usize = 10_000;

static COUNT: AtomicU64 = AtomicU64::new(0);

fn push_all(engine: &Engine, binding: &Binding<'_>) {
    for (reads, writes) in binding.ops() {
        let spec = OpSpec::new("add").reads(reads).writes(writes);
        let pushed = engine.push_sync(&spec, |_| {
            COUNT.fetch_add(1, Relaxed);
            Ok(())
        });
        black_box(pushed.is_ok());
    }
    engine.wait_for_all().unwrap();
}

fn program(binding: &Binding<'_>) -> Program {
    let mut builder = Program::builder("bench");
    for (reads, writes) in binding.ops() {
        builder = builder.op(&OpSpec::new("add").reads(reads).writes(writes), |_| {
            COUNT.fetch_add(1, Relaxed);
            Ok(())
        });
    }
    builder.build()
}

/// Runs `bench` for each shape of so many operations, on an engine of its own.
fn each_shape(
    criterion: &mut Criterion,
    name: &str,
    ops: usize,
    bench: impl Fn(&mut BenchmarkGroup<'_, WallTime>, BenchmarkId, &Engine, &Binding<'_>),
) {
    let mut group = criterion.benchmark_group(name);
    group
        .throughput(Throughput::Elements(OPS as u64))
        .sample_size(10)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(2));
    for shape in FIVE.iter().chain(&GRAPHS).chain(&GRIDS) {
        let engine = Engine::builder().workers(2).build();
        let id = BenchmarkId::from_parameter(shape);
        let shape = Shape::named(shape, ops).unwrap();
        bench(&mut group, id, &engine, &shape.on(&engine));
    }
    group.finish();
}

fn push(criterion: &mut Criterion) {
    each_shape(criterion, "push", OPS, |group, id, engine, binding| {
        group.bench_function(id, |bencher| bencher.iter(|| push_all(engine, binding)));
    });
}

fn replay(criterion: &mut Criterion) {
    each_shape(criterion, "replay", LENGTH, |group, id, engine, binding| {
        let program = program(binding);
        group.bench_function(id, |bencher| {
            bencher.iter(|| {
                for _ in 0..OPS / LENGTH {
                    engine.launch(&program).unwrap();
                }
                engine.wait_for_all().unwrap();
            });
        });
    });
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
