//! What a push costs, from the first push to the last completion, for five shapes of dependency.
//!
//! The payload is one relaxed addition. One pusher, two workers, 200,000 operations a run; divide
//! the time by that. `independent`: operation i mutates variable i mod 1024. `chain`: all mutate
//! one variable. `fan`: a writer, then 63 readers. `random`: 2 reads and 1 write of 128 variables.
//! `wide`: 8 reads and 1 write of 1024 variables.

#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ferromix_engine::{Engine, OpSpec, Var};

const OPS: usize = 200_000;

/// Reads and writes of each operation, as ranges of one list.
struct Pattern {
    name: &'static str,
    vars: Vec<usize>,
    ops: Vec<(usize, usize, usize)>,
}

/// xorshift: the patterns are the same in every run.
fn random(state: &mut u64, below: usize) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as usize % below
}

fn pattern(name: &'static str, mut op: impl FnMut(usize, &mut Vec<usize>) -> usize) -> Pattern {
    let (mut vars, mut ops) = (Vec::new(), Vec::new());
    for i in 0..OPS {
        let begin = vars.len();
        let reads = op(i, &mut vars);
        ops.push((begin, begin + reads, vars.len()));
    }
    Pattern { name, vars, ops }
}

fn distinct(state: &mut u64, count: usize, of: usize, into: &mut Vec<usize>) {
    let begin = into.len();
    while into.len() < begin + count {
        let var = random(state, of);
        if !into[begin..].contains(&var) {
            into.push(var);
        }
    }
}

fn patterns() -> Vec<Pattern> {
    let (mut a, mut b) = (88_172_645_463_325_252_u64, 1_181_783_497_276_652_981_u64);
    vec![
        pattern("independent", |i, vars| {
            vars.push(i % 1024);
            0
        }),
        pattern("chain", |_, vars| {
            vars.push(0);
            0
        }),
        pattern("fan", |i, vars| {
            vars.push(0);
            usize::from(i % 64 != 0)
        }),
        pattern("random", |_, vars| {
            distinct(&mut a, 3, 128, vars);
            2
        }),
        pattern("wide", |_, vars| {
            distinct(&mut b, 9, 1024, vars);
            8
        }),
    ]
}

fn run(engine: &Engine, vars: &[Var], pattern: &Pattern, count: &Arc<AtomicU64>) -> Duration {
    let list: Vec<Var> = pattern.vars.iter().map(|k| vars[*k]).collect();
    let begin = Instant::now();
    for &(from, middle, to) in &pattern.ops {
        let count: *const AtomicU64 = Arc::as_ptr(count);
        // A plain address, as the peers pass: cloning the Arc would measure the Arc.
        let count = count as usize;
        let spec = OpSpec::new("add")
            .reads(&list[from..middle])
            .writes(&list[middle..to]);
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
    let vars: Vec<Var> = (0..1024).map(|_| engine.new_variable()).collect();
    let count = Arc::new(AtomicU64::new(0));
    let mut group = criterion.benchmark_group("push");
    group.throughput(Throughput::Elements(OPS as u64));
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(3));
    for pattern in &patterns() {
        group.bench_function(BenchmarkId::from_parameter(pattern.name), |bencher| {
            bencher.iter_custom(|times| {
                (0..times)
                    .map(|_| run(&engine, &vars, pattern, &count))
                    .sum()
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

criterion_group!(benches, push, wait);
criterion_main!(benches);
