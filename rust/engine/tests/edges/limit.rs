//! The limit with several pushers, with operations that take long, and with stalls that only a
//! pusher can end.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::watchdog::in_child;
use ferromix_engine::{Engine, OnComplete, OpError, OpSpec, Var, WaitError};

const LIMIT: u64 = 256;
/// How often the registrar looks: what one pusher may add before it knows.
const SLACK: u64 = 64;
const PUSHERS: u64 = 8;

fn engine(workers: usize, limit: u64) -> Engine {
    let builder = Engine::builder().workers(workers);
    builder.max_in_flight(limit as usize).build()
}

fn push_asleep(engine: &Engine, vars: &[Var], time: Duration) {
    engine
        .push_sync(&OpSpec::new("sleeps").writes(vars), move |_| {
            sleep(time);
            Ok(())
        })
        .unwrap();
}

/// So many threads push so many operations each, while `watch` runs.
fn with_pushers(
    engine: &Engine,
    pushers: u64,
    each: u64,
    push: impl Fn() + Sync,
    watch: impl FnOnce(),
) {
    let left = engine.counters().pushed + pushers * each;
    std::thread::scope(|scope| {
        for _ in 0..pushers {
            scope.spawn(|| (0..each).for_each(|_| push()));
        }
        watch();
    });
    assert!(engine.counters().pushed >= left);
}

/// The most that is in flight until `over`.
fn watch(engine: &Engine, over: impl Fn() -> bool) -> u64 {
    let mut most = 0;
    while !over() {
        most = most.max(engine.counters().in_flight);
        sleep(Duration::from_micros(500));
    }
    most
}

fn nothing(_: &ferromix_engine::RunContext) -> Result<(), OpError> {
    Ok(())
}

#[test]
fn operations_that_run_hold_all_pushers_back() {
    in_child("operations_that_run_hold_all_pushers_back", 20, || {
        let engine = engine(2, LIMIT);
        let push = || push_asleep(&engine, &[], Duration::from_millis(2));
        let mut most = 0;
        with_pushers(&engine, PUSHERS, 150, push, || {
            let over = || engine.counters().pushed >= PUSHERS * 150;
            most = watch(&engine, over);
        });
        engine.wait_for_all().unwrap();
        assert!(most <= LIMIT + SLACK * PUSHERS, "{most} were in flight");
    });
}

#[test]
fn an_operation_that_takes_three_seconds_holds_all_pushers_back() {
    let name = "an_operation_that_takes_three_seconds_holds_all_pushers_back";
    in_child(name, 20, || {
        let engine = engine(1, LIMIT);
        let (open, gate) = channel::<()>();
        engine
            .push_sync(&OpSpec::new("gate"), move |_| Ok(gate.recv()?))
            .unwrap();
        let begin = Instant::now();
        let push = || engine.push_sync(&OpSpec::new("quick"), nothing).unwrap();
        let mut most = 0;
        with_pushers(&engine, PUSHERS, 1000, push, || {
            most = watch(&engine, || begin.elapsed() > Duration::from_secs(3));
            open.send(()).unwrap();
        });
        engine.wait_for_all().unwrap();
        assert!(most <= LIMIT + SLACK * PUSHERS, "{most} were in flight");
    });
}

#[test]
fn a_few_long_operations_hold_one_pusher_back() {
    in_child("a_few_long_operations_hold_one_pusher_back", 20, || {
        let engine = engine(1, LIMIT);
        let var = engine.new_variable();
        for _ in 0..3 {
            push_asleep(&engine, &[var], Duration::from_millis(1500));
        }
        let spec = OpSpec::new("quick");
        let push = || engine.push_sync(&spec.reads(&[var]), nothing).unwrap();
        let mut most = 0;
        with_pushers(&engine, 1, 2000, push, || {
            most = watch(&engine, || engine.version(var) == Ok(3));
        });
        engine.wait_for_all().unwrap();
        assert!(most <= LIMIT + SLACK, "{most} were in flight");
    });
}

/// An operation on the variable that ends when the promise is kept.
fn push_held(engine: &Engine, var: Var) -> OnComplete {
    let (send, receive) = channel();
    engine
        .push_async(&OpSpec::new("held").writes(&[var]), move |_, done| {
            send.send(done).unwrap();
        })
        .unwrap();
    receive.recv().unwrap()
}

#[test]
fn what_only_a_pusher_can_finish_holds_none_of_several_for_ever() {
    let name = "what_only_a_pusher_can_finish_holds_none_of_several_for_ever";
    in_child(name, 20, || {
        let engine = engine(1, 64);
        let var = engine.new_variable();
        let done = push_held(&engine, var);
        let push = || {
            let spec = OpSpec::new("behind");
            engine.push_sync(&spec.writes(&[var]), nothing).unwrap();
        };
        std::thread::scope(|scope| {
            let pushers: Vec<_> = (0..PUSHERS)
                .map(|_| scope.spawn(|| (0..1000).for_each(|_| push())))
                .collect();
            for pusher in pushers {
                pusher.join().unwrap();
            }
            // As the last of all that is pushed.
            done.complete(Ok(()));
        });
        engine.wait_for_all().unwrap();
        assert_eq!(engine.version(var), Ok(1 + 1000 * PUSHERS));
    });
}

/// What one pusher may have in flight after so long a stall with a limit of 64: each 10 ms it goes
/// on for 64, 128, 256 and so on, until the registrar looks.
fn after_a_stall_of(time: Duration) -> u64 {
    let times = (time.as_millis() / 10).min(30) as u32;
    64 + 64 * ((1 << times) - 1) + SLACK * (u64::from(times) + 1)
}

#[test]
fn several_pushers_at_one_stall_go_on_no_faster_than_one() {
    let name = "several_pushers_at_one_stall_go_on_no_faster_than_one";
    in_child(name, 20, || {
        let engine = engine(1, 64);
        let var = engine.new_variable();
        let done = push_held(&engine, var);
        let begin = Instant::now();
        let push = || {
            let spec = OpSpec::new("behind");
            engine.push_sync(&spec.writes(&[var]), nothing).unwrap();
        };
        let mut all = Vec::new();
        with_pushers(&engine, PUSHERS, 10_000, push, || {
            while begin.elapsed() < Duration::from_millis(100) {
                let many = engine.counters().in_flight;
                all.push((many, begin.elapsed()));
                sleep(Duration::from_micros(500));
            }
            done.complete(Ok(()));
        });
        engine.wait_for_all().unwrap();
        for (many, time) in all {
            let most = after_a_stall_of(time) + SLACK * PUSHERS;
            assert!(many <= most, "{many} were in flight after {time:?}");
        }
    });
}

#[test]
fn waits_that_are_given_up_do_not_loosen_the_limit() {
    let name = "waits_that_are_given_up_do_not_loosen_the_limit";
    in_child(name, 20, || {
        let engine = engine(1, LIMIT);
        let (open, gate) = channel::<()>();
        engine
            .push_sync(&OpSpec::new("gate"), move |_| Ok(gate.recv()?))
            .unwrap();
        let begin = Instant::now();
        // Slowly, so that there are many waits meanwhile.
        let push = || {
            engine.push_sync(&OpSpec::new("quick"), nothing).unwrap();
            sleep(Duration::from_micros(10));
        };
        let (mut most, closed) = (0, AtomicBool::new(true));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while closed.load(Relaxed) {
                    let wait = engine.wait_for_all_timeout(Duration::from_millis(1));
                    assert!(matches!(wait, Ok(()) | Err(WaitError::GivenUp)), "{wait:?}");
                }
            });
            with_pushers(&engine, 1, 3000, push, || {
                // Shorter than the time that a pusher waits at an engine that runs something.
                most = watch(&engine, || begin.elapsed() > Duration::from_millis(600));
                closed.store(false, Relaxed);
                open.send(()).unwrap();
            });
        });
        engine.wait_for_all().unwrap();
        assert!(most <= LIMIT + SLACK, "{most} were in flight");
    });
}
