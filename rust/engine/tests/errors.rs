//! Failures: where they are kept, what they skip, who gets them, and that the engine goes on.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used)]

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use ferromix_engine::{
    Engine, Failure, Kind, NeverCompleted, OpSpec, PanicError, PushError, Var, WaitError,
};

#[derive(Debug, PartialEq)]
struct Custom(u32);

impl fmt::Display for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "custom {}", self.0)
    }
}

impl Error for Custom {}

fn engines() -> Vec<Engine> {
    vec![
        Engine::builder().workers(1).build(),
        Engine::builder().workers(3).build(),
        Engine::builder().kind(Kind::Naive).build(),
    ]
}

fn fail(engine: &Engine, writes: &[Var], code: u32) {
    let spec = OpSpec::new("bad").writes(writes).tag(u64::from(code));
    engine
        .push_sync(&spec, move |_| Err(Box::new(Custom(code))))
        .unwrap();
}

/// Pushes an operation and returns a count of how often it ran.
fn tracked(engine: &Engine, reads: &[Var], writes: &[Var]) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let c = count.clone();
    let spec = OpSpec::new("tracked").reads(reads).writes(writes);
    engine
        .push_sync(&spec, move |_| {
            c.fetch_add(1, SeqCst);
            Ok(())
        })
        .unwrap();
    count
}

fn failure(result: Result<(), WaitError>) -> Failure {
    match result {
        Err(WaitError::Failed(failure)) => failure,
        other => panic!("expected a failure, got {other:?}"),
    }
}

fn code(result: Result<(), WaitError>) -> u32 {
    failure(result).error().downcast_ref::<Custom>().unwrap().0
}

#[test]
fn the_original_error_comes_back_with_name_and_tag() {
    for engine in engines() {
        let var = engine.new_variable();
        fail(&engine, &[var], 42);
        let error = engine.wait_for_var(var).unwrap_err();
        let source = error.source().unwrap();
        assert_eq!(source.downcast_ref::<Custom>(), Some(&Custom(42)));
        assert_eq!(error.to_string(), "operation bad failed");
        let failure = failure(Err(error));
        assert_eq!((failure.name.as_str(), failure.tag), ("bad", 42));
        assert_eq!(failure.source().unwrap().downcast_ref(), Some(&Custom(42)));
    }
}

#[test]
fn a_failure_is_returned_once() {
    for engine in engines() {
        let var = engine.new_variable();
        fail(&engine, &[var], 1);
        assert_eq!(code(engine.wait_for_var(var)), 1);
        engine.wait_for_var(var).unwrap();
        engine.wait_for_all().unwrap();

        fail(&engine, &[var], 2);
        assert_eq!(code(engine.wait_for_all()), 2);
        engine.wait_for_var(var).unwrap();
        engine.wait_for_all().unwrap();
    }
}

#[test]
fn dependants_are_skipped_and_inherit_until_a_wait_returned_the_failure() {
    for engine in engines() {
        let [a, b, c, d] = std::array::from_fn(|_| engine.new_variable());
        fail(&engine, &[a], 7);
        let read = tracked(&engine, &[a], &[b]);
        let chained = tracked(&engine, &[b], &[c]);
        let overwrite = tracked(&engine, &[], &[a]);
        let unrelated = tracked(&engine, &[], &[d]);
        assert_eq!(code(engine.wait_for_var(c)), 7);
        for var in [a, b, c, d] {
            engine.wait_for_var(var).unwrap();
        }
        assert_eq!(unrelated.load(SeqCst), 1);
        for skipped in [&read, &chained, &overwrite] {
            assert_eq!(skipped.load(SeqCst), 0);
        }
        // A skipped write is still a finished one, and what is pushed now runs.
        assert_eq!(engine.version(a).unwrap(), 2);
        let again = tracked(&engine, &[a, c], &[b]);
        engine.wait_for_all().unwrap();
        assert_eq!(again.load(SeqCst), 1);
    }
}

#[test]
fn what_was_pushed_before_the_wait_is_skipped_even_if_it_comes_later() {
    let engine = Engine::builder().workers(2).build();
    let [a, b, gate] = std::array::from_fn(|_| engine.new_variable());
    let (send, receive) = std::sync::mpsc::channel::<()>();
    engine
        .push_sync(&OpSpec::new("gate").writes(&[gate]), move |_| {
            receive.recv().unwrap();
            Ok(())
        })
        .unwrap();
    fail(&engine, &[a], 1);
    let before = tracked(&engine, &[a, gate], &[b]); // Held up by the gate.
    assert_eq!(code(engine.wait_for_var(a)), 1);
    let after = tracked(&engine, &[a, b], &[]);
    send.send(()).unwrap();
    engine.wait_for_all().unwrap();
    assert_eq!((before.load(SeqCst), after.load(SeqCst)), (0, 1));
}

#[test]
fn wait_for_all_returns_the_first_in_push_order_and_clears_all() {
    for engine in engines() {
        let [a, b, c] = std::array::from_fn(|_| engine.new_variable());
        fail(&engine, &[a], 1);
        fail(&engine, &[b], 2);
        fail(&engine, &[], 3);
        fail(&engine, &[c], 4);
        assert_eq!(
            code(engine.wait_for_var(a)),
            1,
            "taken, so not the first any more"
        );
        assert_eq!(code(engine.wait_for_all()), 2);
        engine.wait_for_all().unwrap();
        for var in [a, b, c] {
            engine.wait_for_var(var).unwrap();
        }
        let ran = tracked(&engine, &[a, b], &[c]);
        engine.wait_for_all().unwrap();
        assert_eq!(ran.load(SeqCst), 1);
    }
}

#[test]
fn a_success_of_a_later_operation_does_not_hide_an_earlier_failure() {
    for engine in engines() {
        let [a, b] = std::array::from_fn(|_| engine.new_variable());
        fail(&engine, &[a, b], 1);
        assert_eq!(code(engine.wait_for_var(b)), 1);
        // Both variables held the same failure; it was returned once.
        engine.wait_for_var(a).unwrap();
        fail(&engine, &[a], 2);
        let ran = tracked(&engine, &[], &[b]);
        engine.wait_for_var(b).unwrap();
        assert_eq!(ran.load(SeqCst), 1);
        assert_eq!(code(engine.wait_for_var(a)), 2);
    }
}

#[test]
fn a_panic_is_a_failure() {
    for engine in engines() {
        let [a, b] = std::array::from_fn(|_| engine.new_variable());
        let spec = OpSpec::new("boom").writes(&[]);
        let value = 3;
        engine
            .push_sync(&spec.writes(&[a]), move |_| panic!("value was {value}"))
            .unwrap();
        engine
            .push_sync(&spec.writes(&[b]), |_| panic!("plain"))
            .unwrap();
        for (var, message) in [(a, "value was 3"), (b, "plain")] {
            let failure = failure(engine.wait_for_var(var));
            assert_eq!(
                failure
                    .error()
                    .downcast_ref::<PanicError>()
                    .unwrap()
                    .message(),
                message
            );
        }
        let ran = tracked(&engine, &[a], &[b]);
        engine.wait_for_all().unwrap();
        assert_eq!(ran.load(SeqCst), 1);
    }
}

#[test]
fn asynchronous_operations_fail_by_result_by_drop_and_by_panic() {
    for engine in engines() {
        let [a, b, c] = std::array::from_fn(|_| engine.new_variable());
        engine
            .push_async(&OpSpec::new("result").writes(&[a]), |_, done| {
                std::thread::spawn(|| done.complete(Err(Box::new(Custom(5)))));
            })
            .unwrap();
        assert_eq!(code(engine.wait_for_var(a)), 5);
        engine
            .push_async(&OpSpec::new("drop").writes(&[b]), |_, done| drop(done))
            .unwrap();
        let dropped = failure(engine.wait_for_var(b));
        assert!(dropped.error().is::<NeverCompleted>());
        engine
            .push_async(&OpSpec::new("panic").writes(&[c]), |_, done| {
                let _kept = done;
                panic!("in async");
            })
            .unwrap();
        let panicked = failure(engine.wait_for_var(c));
        assert_eq!(
            panicked
                .error()
                .downcast_ref::<PanicError>()
                .unwrap()
                .message(),
            "in async"
        );
        engine.wait_for_all().unwrap();
        // A panic after the completion is the function's, not the operation's.
        engine
            .push_async(&OpSpec::new("late panic").writes(&[c]), |_, done| {
                done.complete(Ok(()));
                panic!("too late");
            })
            .unwrap();
        engine.wait_for_var(c).unwrap();
        engine.stop().unwrap(); // The thread has ended, so the panic is on record.
        engine.start();
        assert!(failure(engine.wait_for_all()).error().is::<PanicError>());
        let ran = tracked(&engine, &[a, b], &[c]);
        engine.wait_for_all().unwrap();
        assert_eq!(ran.load(SeqCst), 1);
    }
}

#[test]
fn a_skipped_function_is_dropped_and_its_operation_counted() {
    for engine in engines() {
        let var = engine.new_variable();
        let owned = Arc::new(());
        fail(&engine, &[var], 1);
        for _ in 0..10 {
            let held = owned.clone();
            let writes = [var];
            let spec = OpSpec::new("skipped").writes(&writes);
            engine
                .push_async(&spec, move |_, done| {
                    let _held = held;
                    done.complete(Ok(()));
                })
                .unwrap();
        }
        assert_eq!(code(engine.wait_for_all()), 1);
        assert_eq!(Arc::strong_count(&owned), 1);
        assert_eq!(engine.version(var).unwrap(), 11);
        assert_eq!(engine.counters().in_flight, 0);
    }
}

#[test]
fn deletion_runs_though_the_variable_failed() {
    for engine in engines() {
        let var = engine.new_variable();
        let ran = Arc::new(AtomicUsize::new(0));
        let r = ran.clone();
        fail(&engine, &[var], 9);
        engine
            .delete_variable(var, move || {
                r.fetch_add(1, SeqCst);
            })
            .unwrap();
        assert_eq!(code(engine.wait_for_all()), 9);
        assert_eq!(ran.load(SeqCst), 1);
        // The slot's next variable is healthy.
        let next = engine.new_variable();
        let used = tracked(&engine, &[], &[next]);
        engine.wait_for_var(next).unwrap();
        assert_eq!(used.load(SeqCst), 1);
    }
}

#[test]
fn a_panicking_deletion_is_a_failure() {
    for engine in engines() {
        let var = engine.new_variable();
        engine
            .delete_variable(var, || panic!("in deletion"))
            .unwrap();
        let failure = failure(engine.wait_for_all());
        assert!(failure.error().is::<PanicError>());
        engine.wait_for_all().unwrap();
    }
}

#[test]
fn a_push_that_races_with_a_deletion_is_refused_or_fails_but_never_runs_after_it() {
    let engine = Engine::builder().workers(2).build();
    for _ in 0..300 {
        let [var, out] = std::array::from_fn(|_| engine.new_variable());
        let deleted = Arc::new(AtomicUsize::new(0));
        std::thread::scope(|scope| {
            let (d, e) = (deleted.clone(), &engine);
            scope.spawn(move || {
                e.delete_variable(var, move || {
                    d.store(1, SeqCst);
                })
                .unwrap();
            });
            for _ in 0..3 {
                let d = deleted.clone();
                let (reads, writes) = ([var], [out]);
                let spec = OpSpec::new("racer").reads(&reads).writes(&writes);
                let pushed = engine.push_sync(&spec, move |_| {
                    assert_eq!(d.load(SeqCst), 0, "ran after the deletion");
                    Ok(())
                });
                assert!(matches!(pushed, Ok(()) | Err(PushError::StaleVariable(_))));
            }
        });
        match engine.wait_for_var(out) {
            Ok(()) => {}
            Err(WaitError::Failed(failure)) => {
                let stale = failure.error().downcast_ref::<PushError>();
                assert_eq!(stale, Some(&PushError::StaleVariable(var)), "{failure}");
            }
            Err(other) => panic!("{other}"),
        }
        let _ = engine.wait_for_all();
        engine.delete_variable(out, || ()).unwrap();
    }
}

#[test]
fn failures_are_not_kept_for_ever() {
    let engine = Engine::builder().workers(1).build();
    let var = engine.new_variable();
    let error = Arc::new(());
    #[derive(Debug)]
    struct Holds(#[allow(dead_code)] Arc<()>);
    impl fmt::Display for Holds {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("holds")
        }
    }
    impl Error for Holds {}
    for _ in 0..100 {
        let held = error.clone();
        let spec = OpSpec::new("bad").writes(std::slice::from_ref(&var));
        engine
            .push_sync(&spec, move |_| Err(Box::new(Holds(held))))
            .unwrap();
        assert!(engine.wait_for_var(var).is_err());
    }
    assert!(
        Arc::strong_count(&error) <= 3,
        "{} kept",
        Arc::strong_count(&error)
    );
    tracked(&engine, &[], &[var]);
    engine.wait_for_all().unwrap();
    // The worker drops what it held when it is through.
    let begin = std::time::Instant::now();
    while Arc::strong_count(&error) > 1 {
        assert!(begin.elapsed().as_secs() < 20);
        std::thread::yield_now();
    }
}
