//! Ends: of engines with work in a bulk, of engines that drop each other, of failures that were
//! returned, of handles whose engine is gone; and deep recursion by scopes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::watchdog::in_child;
use ferromix_engine::{Engine, OpSpec, WaitError};

const LONG: Duration = Duration::from_secs(10);

#[test]
fn what_a_bulk_has_collected_runs_after_a_shutdown() {
    in_child("what_a_bulk_has_collected_runs_after_a_shutdown", 8, || {
        let engine = Engine::builder().workers(2).build();
        let (var, ran) = (engine.new_variable(), Arc::new(AtomicU64::new(0)));
        let bulk = engine.bulk(8);
        for _ in 0..3 {
            let ran = ran.clone();
            let run = move |_: &_| {
                ran.fetch_add(1, Relaxed);
                Ok(())
            };
            engine
                .push_sync(&OpSpec::new("joins").writes(&[var]), run)
                .unwrap();
        }
        let other = engine.clone();
        let ended = std::thread::spawn(move || other.shutdown(LONG)).join();
        assert!(ended.unwrap().is_ok());
        drop(bulk);
        engine.wait_for_var(var).unwrap();
        assert_eq!(ran.load(Relaxed), 3);
    });
}

#[test]
fn engines_may_drop_each_other() {
    in_child("engines_may_drop_each_other", 8, || {
        for _ in 0..20 {
            let [a, b] = [(); 2].map(|()| Engine::builder().workers(1).build());
            let gone = channel::<()>();
            for (one, other) in [(&a, b.clone()), (&b, a.clone())] {
                let end = gone.0.clone();
                one.push_sync(&OpSpec::new("drops the other"), move |_| {
                    drop(other);
                    drop(end);
                    Ok(())
                })
                .unwrap();
            }
            drop((a, b, gone.0));
            assert!(gone.1.recv_timeout(LONG).is_err(), "nothing is sent");
        }
    });
}

#[derive(Debug)]
struct Holds(#[expect(dead_code, reason = "held for its destructor")] Arc<()>);

impl fmt::Display for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("holds something")
    }
}

impl std::error::Error for Holds {}

#[test]
fn a_failure_that_was_returned_is_the_callers_alone() {
    let engine = Engine::builder().workers(1).build();
    let (var, thing) = (engine.new_variable(), Arc::new(()));
    let held = thing.clone();
    engine
        .push_sync(&OpSpec::new("fails").writes(&[var]), move |_| {
            Err(Box::new(Holds(held)))
        })
        .unwrap();
    let failure = engine.wait_for_var(var);
    assert!(matches!(failure, Err(WaitError::Failed(_))));
    assert_eq!(Arc::strong_count(&thing), 2);
    drop(failure);
    assert_eq!(Arc::strong_count(&thing), 1, "the variable still has it");
}

#[test]
fn handles_of_an_engine_that_is_gone_are_stale_in_those_that_follow() {
    let old = Engine::builder().workers(1).build().new_variable();
    for _ in 0..10_000 {
        let engine = Engine::builder().workers(1).build();
        let new = engine.new_variable();
        assert_ne!(old, new);
        assert!(engine.version(old).is_err());
    }
}

fn fibonacci(engine: &Engine, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (mut a, mut b) = (0, 0);
    engine.scope(|scope| {
        for (place, n) in [(&mut a, n - 1), (&mut b, n - 2)] {
            let work = move |_: &_| {
                *place = fibonacci(engine, n);
                Ok(())
            };
            scope.push_sync(&OpSpec::new("half"), work).unwrap();
        }
    });
    a + b
}

#[test]
fn scopes_in_operations_nest_without_end() {
    in_child("scopes_in_operations_nest_without_end", 20, || {
        for workers in [1, 2, 4] {
            let engine = Engine::builder().workers(workers).build();
            let begin = Instant::now();
            assert_eq!(fibonacci(&engine, 16), 987);
            assert!(begin.elapsed() < LONG);
        }
    });
}
