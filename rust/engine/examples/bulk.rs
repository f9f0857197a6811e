//! What fusing small operations into one would bring: operations pushed one by one, and the same
//! fifteen at a time, as a list of functions behind one push with the union of their variables.
//!
//! `cargo run --release -p ferromix-engine --example bulk`

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use ferromix_engine::{Engine, OpError, OpSpec, RunContext, Var};

const COUNT: usize = 300_000;
const SIZE: usize = 15;

type Work = Box<dyn FnOnce(&RunContext) -> Result<(), OpError> + Send>;

/// Something that takes about `turns` nanoseconds.
fn work(sum: &AtomicU64, turns: u64) {
    for k in 0..turns {
        sum.fetch_add(k & 1, Relaxed);
    }
}

fn single(engine: &Engine, vars: &[Var], sum: &Arc<AtomicU64>, turns: u64) {
    for i in 0..COUNT {
        let (var, sum) = ([vars[i % vars.len()]], sum.clone());
        let done = engine.push_sync(&OpSpec::new("single").writes(&var), move |_| {
            work(&sum, turns);
            Ok(())
        });
        assert!(done.is_ok());
    }
}

fn bulk(engine: &Engine, vars: &[Var], sum: &Arc<AtomicU64>, turns: u64) {
    let mut i = 0;
    while i < COUNT {
        let (mut list, mut writes): (Vec<Work>, Vec<Var>) = (Vec::new(), Vec::new());
        for _ in 0..SIZE.min(COUNT - i) {
            let (var, sum) = (vars[i % vars.len()], sum.clone());
            list.push(Box::new(move |_| {
                work(&sum, turns);
                Ok(())
            }));
            if !writes.contains(&var) {
                writes.push(var);
            }
            i += 1;
        }
        let done = engine.push_sync(&OpSpec::new("bulk").writes(&writes), move |context| {
            list.into_iter().try_for_each(|f| f(context))
        });
        assert!(done.is_ok());
    }
}

fn main() {
    let engine = Engine::builder().workers(2).build();
    let vars: Vec<Var> = (0..64).map(|_| engine.new_variable()).collect();
    let sum = Arc::new(AtomicU64::new(0));
    println!("nanoseconds per operation, best of nine   single    bulk of {SIZE}");
    for (name, used, turns) in [
        ("chain, empty", 1, 0),
        ("64 variables, empty", 64, 0),
        ("chain, 100 additions", 1, 100),
        ("64 variables, 100 additions", 64, 100),
    ] {
        let time = |run: &dyn Fn()| {
            let begin = Instant::now();
            run();
            assert!(engine.wait_for_all().is_ok());
            begin.elapsed().as_nanos() as f64 / COUNT as f64
        };
        let (mut one, mut many) = (f64::MAX, f64::MAX);
        for _ in 0..9 {
            one = one.min(time(&|| single(&engine, &vars[..used], &sum, turns)));
            many = many.min(time(&|| bulk(&engine, &vars[..used], &sum, turns)));
        }
        println!("{name:<40} {one:>7.0} {many:>10.0}");
    }
}
