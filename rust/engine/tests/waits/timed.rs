//! Waits that are given up: what they leave behind, and who gets the failures.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use ferromix_engine::{Engine, OpSpec, Var, WaitError, WaitPolicy};

const SOON: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_secs(600);

/// An operation on `var` that ends when something is sent.
fn gate(engine: &Engine, var: Var) -> mpsc::Sender<()> {
    let (go, gate) = mpsc::channel();
    let spec = OpSpec::new("gate");
    let wait = move |_: &_| {
        let _ = gate.recv();
        Ok(())
    };
    engine.push_sync(&spec.writes(&[var]), wait).unwrap();
    go
}

fn given_up(result: Result<(), WaitError>) -> bool {
    matches!(result, Err(WaitError::GivenUp))
}

#[test]
fn a_wait_ends_when_its_time_is_up_and_the_work_goes_on() {
    let engine = Engine::builder().workers(2).build();
    let var = engine.new_variable();
    let go = gate(&engine, var);
    for _ in 0..20 {
        let begin = Instant::now();
        assert!(given_up(engine.wait_for_var_timeout(var, SOON)));
        assert!(begin.elapsed() >= SOON);
        assert!(given_up(engine.wait_for_all_timeout(SOON)));
    }
    assert!(given_up(engine.wait_for_var_timeout(var, Duration::ZERO)));
    assert_eq!(engine.counters().in_flight, 1);
    go.send(()).unwrap();
    engine.wait_for_var_timeout(var, LONG).unwrap();
    engine.wait_for_all_timeout(Duration::MAX).unwrap();
    assert_eq!(engine.version(var), Ok(1));
    assert_eq!(engine.counters().in_flight, 0);
}

#[test]
fn a_failure_is_left_for_a_wait_that_stays() {
    let engine = Engine::builder().workers(2).build();
    let (var, other) = (engine.new_variable(), engine.new_variable());
    for all in [false, true] {
        let go = gate(&engine, var);
        let reads = [var];
        let spec = OpSpec::new("fails").reads(&reads);
        engine
            .push_sync(&spec.writes(&[other]), |_| Err("late".into()))
            .unwrap();
        for _ in 0..5 {
            assert!(given_up(engine.wait_for_var_timeout(other, SOON)));
            assert!(given_up(engine.wait_for_all_timeout(SOON)));
        }
        go.send(()).unwrap();
        let result = if all {
            engine.wait_for_all()
        } else {
            engine.wait_for_var(other)
        };
        assert!(matches!(result, Err(WaitError::Failed(f)) if f.error().to_string() == "late"));
        engine.wait_for_var(other).unwrap();
        engine.wait_for_all().unwrap();
    }
}

#[test]
fn giving_up_at_any_moment_loses_no_failure() {
    let engine = Engine::builder().workers(2).build();
    let var = engine.new_variable();
    let mut given = 0;
    for round in 0..4000_u64 {
        let spec = OpSpec::new("fails").tag(round);
        engine
            .push_sync(&spec.writes(&[var]), move |_| {
                // From nothing to about a wake-up's time.
                (0..round % 400 * 10).for_each(|_| std::hint::spin_loop());
                Err("x".into())
            })
            .unwrap();
        let mut result = engine.wait_for_var_timeout(var, Duration::from_micros(round % 50));
        if given_up(result.clone()) {
            given += 1;
            result = engine.wait_for_var(var);
        }
        assert!(matches!(result, Err(WaitError::Failed(f)) if f.tag == round));
        engine.wait_for_var(var).unwrap();
    }
    engine.wait_for_all().unwrap();
    assert!(given > 0, "no wait was ever given up");
}

#[test]
fn a_policy_is_asked_before_each_sleep_and_told_after() {
    #[derive(Default)]
    struct Counted {
        before: u64,
        after: u64,
    }
    impl WaitPolicy for Counted {
        fn before_sleep(&mut self) -> Option<Duration> {
            assert_eq!(self.before, self.after);
            self.before += 1;
            (self.before <= 5).then_some(Duration::from_micros(100))
        }
        fn after_sleep(&mut self) {
            self.after += 1;
        }
    }
    let engine = Engine::builder().workers(1).build();
    let var = engine.new_variable();
    let go = gate(&engine, var);
    let mut policy = Counted::default();
    assert!(given_up(engine.wait_for_var_with(var, &mut policy)));
    assert_eq!((policy.before, policy.after), (6, 5));
    policy = Counted::default();
    assert!(given_up(engine.wait_for_all_with(&mut policy)));
    assert_eq!((policy.before, policy.after), (6, 5));
    go.send(()).unwrap();
    engine.wait_for_all().unwrap();
}

#[test]
fn a_policy_may_do_something_until_the_wait_is_over() {
    /// Lets the operation go that is waited for, and stays until it is over.
    struct Busy {
        go: Option<mpsc::Sender<()>>,
        times: u32,
    }
    impl WaitPolicy for Busy {
        fn meanwhile(&mut self, ended: &dyn Fn() -> bool) {
            self.times += 1;
            assert!(!ended(), "nobody has let it go");
            self.go.take().unwrap().send(()).unwrap();
            while !ended() {
                std::thread::yield_now();
            }
        }
        fn before_sleep(&mut self) -> Option<Duration> {
            panic!("there is nothing to sleep for");
        }
    }
    let engine = Engine::builder().workers(1).build();
    let var = engine.new_variable();
    for all in [false, true] {
        let mut busy = Busy {
            go: Some(gate(&engine, var)),
            times: 0,
        };
        let result = if all {
            engine.wait_for_all_with(&mut busy)
        } else {
            engine.wait_for_var_with(var, &mut busy)
        };
        result.unwrap();
        assert_eq!(busy.times, 1);
    }
}

#[test]
fn an_operation_may_give_up_waiting() {
    let engine = Engine::builder().workers(1).build();
    let (var, outer) = (engine.new_variable(), engine.new_variable());
    let gave_up = Arc::new(AtomicBool::new(false));
    let go = gate(&engine, var);
    let (inner, seen) = (engine.clone(), gave_up.clone());
    engine
        .push_sync(&OpSpec::new("waits").writes(&[outer]), move |_| {
            seen.store(given_up(inner.wait_for_var_timeout(var, SOON)), SeqCst);
            Ok(())
        })
        .unwrap();
    std::thread::sleep(SOON * 3);
    go.send(()).unwrap();
    engine.wait_for_all().unwrap();
    // With one worker the gate was over before; then there was nothing to wait for.
    assert!(!gave_up.load(SeqCst));

    let go = Arc::new(std::sync::Mutex::new(None));
    let place = go.clone();
    engine
        .push_async(&OpSpec::new("held").writes(&[var]), move |_, done| {
            *place.lock().unwrap() = Some(done);
        })
        .unwrap();
    let (inner, seen) = (engine.clone(), gave_up.clone());
    engine
        .push_sync(&OpSpec::new("waits").writes(&[outer]), move |_| {
            seen.store(given_up(inner.wait_for_var_timeout(var, SOON)), SeqCst);
            Ok(())
        })
        .unwrap();
    engine.wait_for_var(outer).unwrap();
    assert!(gave_up.load(SeqCst));
    go.lock().unwrap().take().unwrap().complete(Ok(()));
    engine.wait_for_all().unwrap();
}

#[test]
fn hasty_and_patient_threads_wait_side_by_side() {
    let engine = Engine::builder().workers(2).build();
    let var = engine.new_variable();
    let sum = Arc::new(AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (engine, sum) = (engine.clone(), sum.clone());
            scope.spawn(move || {
                for i in 0..2000_u64 {
                    let sum = sum.clone();
                    engine
                        .push_sync(&OpSpec::new("add").writes(&[var]), move |_| {
                            sum.fetch_add(1, SeqCst);
                            Ok(())
                        })
                        .unwrap();
                    let time = Duration::from_micros(i % 30);
                    let result = match (thread, i % 2) {
                        (0, _) => engine.wait_for_all(),
                        (1, _) => engine.wait_for_var(var),
                        (_, 0) => engine.wait_for_var_timeout(var, time),
                        _ => engine.wait_for_all_timeout(time),
                    };
                    assert!(result.is_ok() || given_up(result));
                }
            });
        }
    });
    engine.wait_for_all().unwrap();
    assert_eq!(sum.load(SeqCst), 8000);
    assert_eq!(engine.counters().completed, 8000);
}
