//! What joining small operations brings, and costs: the same operations pushed one by one, and in
//! bulks of fifteen.
//!
//! `cargo run --release -p ferromix-engine --example bulk`

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use ferromix_engine::{Engine, OpSpec, Var};

const COUNT: usize = 300_000;
const SIZE: usize = 15;

/// Something that takes about `turns` nanoseconds.
fn work(sum: &AtomicU64, turns: u64) {
    for k in 0..turns {
        sum.fetch_add(k & 1, Relaxed);
    }
}

/// Nanoseconds per operation, from the first push to the last completion.
fn time(engine: &Engine, vars: &[Var], turns: u64) -> f64 {
    let sum = Arc::new(AtomicU64::new(0));
    let begin = Instant::now();
    for i in 0..COUNT {
        let (var, sum) = ([vars[i % vars.len()]], sum.clone());
        let done = engine.push_sync(&OpSpec::new("small").writes(&var), move |_| {
            work(&sum, turns);
            Ok(())
        });
        assert!(done.is_ok());
    }
    assert!(engine.wait_for_all().is_ok());
    begin.elapsed().as_nanos() as f64 / COUNT as f64
}

fn main() {
    let engine = Engine::builder().workers(2).build();
    let vars: Vec<Var> = (0..64).map(|_| engine.new_variable()).collect();
    println!("nanoseconds per operation, best of nine   single   bulks of {SIZE}");
    for (name, used, turns) in [
        ("chain, empty", 1, 0),
        ("64 variables, empty", 64, 0),
        ("chain, 100 additions", 1, 100),
        ("64 variables, 100 additions", 64, 100),
    ] {
        let (mut single, mut joined) = (f64::MAX, f64::MAX);
        for _ in 0..9 {
            single = single.min(time(&engine, &vars[..used], turns));
            let _bulk = engine.bulk(SIZE);
            joined = joined.min(time(&engine, &vars[..used], turns));
        }
        println!("{name:<40} {single:>7.0} {joined:>12.0}");
    }
}
