//! The limit on operations in flight: it holds, and nobody waits for ever because of it.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ferromix_engine::{Engine, OnComplete, OpSpec, RunContext};

/// How often the registrar looks.
const SLACK: u64 = 64;

#[test]
fn a_pusher_that_runs_ahead_is_held_back() {
    for help in [false, true] {
        let engine = Engine::builder()
            .workers(2)
            .max_in_flight(100)
            .pushers_help(help)
            .build();
        let var = engine.new_variable();
        let mut most = 0;
        for _ in 0..2000 {
            let pause = |_: &RunContext| {
                std::thread::sleep(Duration::from_micros(20));
                Ok(())
            };
            engine
                .push_sync(&OpSpec::new("slow").writes(&[var]), pause)
                .unwrap();
            most = most.max(engine.counters().in_flight);
        }
        engine.wait_for_all().unwrap();
        // On a busy machine the workers may be kept from their cores for 10 ms at a time, and each
        // time the pusher gives up for 64 pushes. Without the limit, nearly all would be in flight.
        assert!(most <= 100 + 8 * SLACK, "{most} were in flight");
        assert_eq!(engine.version(var), Ok(2000));
    }
}

#[test]
fn what_only_the_pusher_can_finish_does_not_hold_it_for_ever() {
    let engine = Engine::builder().workers(1).max_in_flight(16).build();
    let var = engine.new_variable();
    let kept: Arc<Mutex<Option<OnComplete>>> = Arc::default();
    let place = kept.clone();
    engine
        .push_async(&OpSpec::new("held").writes(&[var]), move |_, done| {
            *place.lock().unwrap() = Some(done);
        })
        .unwrap();
    for _ in 0..300 {
        engine
            .push_sync(&OpSpec::new("behind").writes(&[var]), |_| Ok(()))
            .unwrap();
    }
    let begin = Instant::now();
    let done = loop {
        if let Some(done) = kept.lock().unwrap().take() {
            break done;
        }
        assert!(begin.elapsed() < Duration::from_secs(20));
        std::thread::yield_now();
    };
    done.complete(Ok(()));
    engine.wait_for_all().unwrap();
    assert_eq!(engine.version(var), Ok(301));
}

#[test]
fn an_operation_that_pushes_is_not_held_back() {
    let engine = Engine::builder().workers(1).max_in_flight(16).build();
    let count = Arc::new(AtomicU64::new(0));
    let (inner, sum) = (engine.clone(), count.clone());
    engine
        .push_sync(&OpSpec::new("outer"), move |_| {
            for _ in 0..1000 {
                let sum = sum.clone();
                inner.push_sync(&OpSpec::new("inner"), move |_| {
                    sum.fetch_add(1, Relaxed);
                    Ok(())
                })?;
            }
            // The one worker is here, so none of them has run.
            assert_eq!(sum.load(Relaxed), 0);
            Ok(())
        })
        .unwrap();
    engine.wait_for_all().unwrap();
    engine.wait_for_all().unwrap();
    assert_eq!(count.load(Relaxed), 1000);
}

#[test]
fn a_helping_pusher_runs_operations_itself() {
    let engine = Engine::builder()
        .workers(1)
        .max_in_flight(64)
        .pushers_help(true)
        .build();
    let (open, inside) = (Arc::new(AtomicBool::new(false)), Arc::default());
    let (gate, entered): (_, Arc<AtomicBool>) = (open.clone(), Arc::clone(&inside));
    engine
        .push_sync(&OpSpec::new("gate"), move |_| {
            entered.store(true, Relaxed);
            while !gate.load(Relaxed) {
                std::thread::yield_now();
            }
            Ok(())
        })
        .unwrap();
    while !inside.load(Relaxed) {
        std::thread::yield_now();
    }
    let me = std::thread::current().id();
    let mine = Arc::new(AtomicU64::new(0));
    for _ in 0..1000 {
        let mine = mine.clone();
        engine
            .push_sync(&OpSpec::new("op"), move |_| {
                mine.fetch_add(u64::from(std::thread::current().id() == me), Relaxed);
                Ok(())
            })
            .unwrap();
    }
    // The worker is still at the gate.
    assert!(engine.counters().in_flight <= 64 + SLACK + 1);
    assert!(mine.load(Relaxed) > 800);
    open.store(true, Relaxed);
    engine.wait_for_all().unwrap();
}

#[test]
fn bytes_in_flight_are_limited() {
    const EACH: u64 = 1 << 20;
    for asynchronous in [false, true] {
        let engine = Engine::builder()
            .workers(2)
            .max_bytes_in_flight(10 * EACH)
            .build();
        let mut most = 0;
        for _ in 0..500 {
            let spec = OpSpec::new("large").bytes(EACH);
            let work = || std::thread::sleep(Duration::from_micros(50));
            if asynchronous {
                engine.push_async(&spec, move |_, done: OnComplete| {
                    work();
                    done.complete(Ok(()));
                })
            } else {
                engine.push_sync(&spec, move |_| {
                    work();
                    Ok(())
                })
            }
            .unwrap();
            most = most.max(engine.counters().in_flight);
        }
        engine.wait_for_all().unwrap();
        assert!(most <= 11, "{most} MiB were in flight");
        assert!(!engine.is_over_limit());
    }
}

#[test]
fn a_pusher_that_waits_in_vain_waits_ever_less_often() {
    let engine = Engine::builder().workers(1).max_in_flight(16).build();
    let var = engine.new_variable();
    let kept: Arc<Mutex<Option<OnComplete>>> = Arc::default();
    let place = kept.clone();
    engine
        .push_async(&OpSpec::new("held").writes(&[var]), move |_, done| {
            *place.lock().unwrap() = Some(done);
        })
        .unwrap();
    let begin = Instant::now();
    for i in 0..200_000 {
        let spec = OpSpec::new("behind").bytes(i % 2 * 100);
        engine.push_sync(&spec.writes(&[var]), |_| Ok(())).unwrap();
    }
    // 10 ms for each 64 would be half a minute.
    assert!(begin.elapsed() < Duration::from_secs(15));
    while kept.lock().unwrap().is_none() {
        std::thread::yield_now();
    }
    kept.lock().unwrap().take().unwrap().complete(Ok(()));
    engine.wait_for_all().unwrap();
    assert_eq!(engine.version(var), Ok(200_001));
}

#[test]
fn slow_operations_hold_a_pusher_back_as_long_as_they_run() {
    let engine = Engine::builder().workers(2).max_in_flight(64).build();
    let var = engine.new_variable();
    let mut most = 0;
    for _ in 0..200 {
        // Longer than an idle engine is waited for.
        engine
            .push_sync(&OpSpec::new("slow").writes(&[var]), |_| {
                std::thread::sleep(Duration::from_millis(15));
                Ok(())
            })
            .unwrap();
        most = most.max(engine.counters().in_flight);
    }
    engine.wait_for_all().unwrap();
    assert!(most <= 64 + SLACK + 1, "{most} were in flight");
}

#[test]
fn a_pusher_may_ask_instead_of_being_held_back() {
    struct Never;
    impl ferromix_engine::WaitPolicy for Never {
        fn before_sleep(&mut self) -> Option<Duration> {
            None
        }
    }
    let engine = Engine::builder()
        .workers(1)
        .max_in_flight(16)
        .pushers_wait(false)
        .build();
    let open = Arc::new(AtomicBool::new(false));
    let gate = open.clone();
    // An assertion that fails would otherwise leave the engine waiting at its end.
    struct Opens(Arc<AtomicBool>);
    impl Drop for Opens {
        fn drop(&mut self) {
            self.0.store(true, Relaxed);
        }
    }
    let _opens = Opens(open.clone());
    engine
        .push_sync(&OpSpec::new("gate"), move |_| {
            while !gate.load(Relaxed) {
                std::thread::yield_now();
            }
            Ok(())
        })
        .unwrap();
    assert!(!engine.is_over_limit());
    for _ in 0..1000 {
        engine.push_sync(&OpSpec::new("op"), |_| Ok(())).unwrap();
    }
    assert_eq!(engine.counters().in_flight, 1001);
    assert!(engine.is_over_limit());
    assert!(engine.wait_below_limit(&mut Never).is_err());
    open.store(true, Relaxed);
    engine.push_sync(&OpSpec::new("last"), |_| Ok(())).unwrap();
    struct Long;
    impl ferromix_engine::WaitPolicy for Long {
        fn before_sleep(&mut self) -> Option<Duration> {
            Some(Duration::MAX)
        }
    }
    engine.wait_below_limit(&mut Long).unwrap();
    engine.wait_for_all().unwrap();
    assert!(!engine.is_over_limit());
}
