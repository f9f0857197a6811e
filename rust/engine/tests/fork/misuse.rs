//! `prepare_fork` where it cannot work, and out of turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use crate::bombs::assert_works;
use crate::busy::{TWO, hold, while_busy};
use crate::forks::{fork_child, forked, in_child};
use ferromix_engine::{Device, Engine, Kind, OpSpec, WaitError};

const LIMIT: Duration = Duration::from_secs(5);
const SOON: Duration = Duration::from_millis(30);

fn engines() -> [Engine; 2] {
    [Kind::Threaded, Kind::Naive].map(|kind| Engine::builder().kind(kind).workers(2).build())
}

fn is_given_up(result: &Result<(), WaitError>) -> bool {
    matches!(result, Err(WaitError::GivenUp))
}

/// Forks at rest; the engine works in both.
fn assert_forks(engine: &Engine) {
    engine.prepare_fork(LIMIT).unwrap();
    let child = fork_child(|| {
        engine.resume_in_child();
        assert_works(engine);
    });
    engine.resume_in_parent();
    assert_eq!(child.wait(), 0);
}

#[test]
fn inside_of_an_operation_it_is_an_error() {
    let name = "inside_of_an_operation_it_is_an_error";
    in_child(name, 15, || {
        for engine in engines() {
            for small in [false, true] {
                let inner = engine.clone();
                let spec = OpSpec::new("prepares").inline(small);
                let push = engine.push_sync(&spec, move |_| {
                    let result = inner.prepare_fork(LIMIT);
                    assert!(matches!(result, Err(WaitError::InsideOperation)));
                    assert!(!inner.is_at_rest());
                    inner.resume_in_parent();
                    inner.resume_in_child();
                    Ok(())
                });
                push.unwrap();
                engine.wait_for_all().unwrap();
            }
            assert_forks(&engine);
            assert_works(&engine);
        }
    });
}

#[test]
fn it_gives_up_where_an_operation_does_not_end_and_the_engine_works_on() {
    let name = "it_gives_up_where_an_operation_does_not_end_and_the_engine_works_on";
    in_child(name, 15, || {
        for engine in engines() {
            let var = engine.new_variable();
            let (done, pusher) = hold(&engine, var);
            while_busy(&engine, TWO, || {
                for _ in 0..3 {
                    let began = Instant::now();
                    assert!(is_given_up(&engine.prepare_fork(SOON)));
                    assert!(began.elapsed() < 20 * SOON, "{:?}", began.elapsed());
                    assert!(!engine.is_at_rest());
                    // Nor is it of use in a child.
                    let code = forked(|| {
                        engine.resume_in_child();
                        assert!(matches!(engine.wait_for_all(), Err(WaitError::Forked)));
                    });
                    assert_eq!(code, 0);
                    engine.resume_in_parent();
                }
            });
            done.complete(Ok(()));
            pusher.join().unwrap();
            assert_works(&engine);
            assert_forks(&engine);
        }
    });
}

#[test]
fn it_gives_up_where_a_function_runs_on() {
    let name = "it_gives_up_where_a_function_runs_on";
    in_child(name, 15, || {
        let engine = Engine::builder().workers(2).build();
        let open = Arc::new(AtomicBool::new(false));
        for device in [Device::CPU, Device::gpu(1)] {
            open.store(false, Relaxed);
            let gate = open.clone();
            let push = engine.push_sync(&OpSpec::new("runs on").on(device), move |_| {
                while !gate.load(Relaxed) {
                    sleep(Duration::from_micros(100));
                }
                Ok(())
            });
            push.unwrap();
            assert!(is_given_up(&engine.prepare_fork(SOON)));
            engine.push_sync(&OpSpec::new("next"), |_| Ok(())).unwrap();
            open.store(true, Relaxed);
            assert_works(&engine);
            assert_forks(&engine);
        }
    });
}

#[test]
fn twice_is_once_and_a_resume_too_many_is_nothing() {
    let name = "twice_is_once_and_a_resume_too_many_is_nothing";
    in_child(name, 15, || {
        for engine in engines() {
            engine.resume_in_parent();
            engine.resume_in_child();
            assert_works(&engine);
            for _ in 0..2 {
                engine.prepare_fork(LIMIT).unwrap();
                assert!(engine.is_at_rest());
            }
            let child = fork_child(|| {
                engine.resume_in_parent();
                assert!(matches!(engine.wait_for_all(), Err(WaitError::Forked)));
                for _ in 0..3 {
                    engine.resume_in_child();
                }
                assert_works(&engine);
                engine.resume_in_parent();
                assert_forks(&engine);
            });
            // This is no child.
            engine.resume_in_child();
            assert!(engine.is_at_rest());
            for _ in 0..3 {
                engine.resume_in_parent();
                assert!(!engine.is_at_rest());
            }
            engine.resume_in_child();
            assert_works(&engine);
            assert_eq!(child.wait(), 0);
        }
    });
}

#[test]
fn without_a_fork_nothing_is_lost() {
    let name = "without_a_fork_nothing_is_lost";
    in_child(name, 15, || {
        for engine in engines() {
            while_busy(&engine, TWO, || {
                for _ in 0..100 {
                    engine.prepare_fork(LIMIT).unwrap();
                    engine.resume_in_parent();
                }
            });
            assert_works(&engine);
        }
    });
}

#[test]
fn another_thread_cannot_resume_it_and_waits_for_its_own_turn() {
    let name = "another_thread_cannot_resume_it_and_waits_for_its_own_turn";
    in_child(name, 15, || {
        for engine in engines() {
            engine.prepare_fork(LIMIT).unwrap();
            std::thread::scope(|scope| {
                let other = scope.spawn(|| {
                    engine.resume_in_parent();
                    engine.resume_in_child();
                    assert!(!engine.is_at_rest());
                    assert!(is_given_up(&engine.prepare_fork(SOON)));
                });
                other.join().unwrap();
                assert!(engine.is_at_rest());
                // What lies on this thread's stack is not there in the child of another.
                let own = engine.clone();
                let next = scope.spawn(move || assert_forks(&own));
                sleep(SOON);
                assert!(engine.is_at_rest());
                assert_eq!(engine.counters().in_flight, 0);
                engine.resume_in_parent();
                next.join().unwrap();
            });
            assert_works(&engine);
        }
    });
}

#[test]
fn what_others_push_meanwhile_is_the_parents() {
    let name = "what_others_push_meanwhile_is_the_parents";
    in_child(name, 15, || {
        for engine in engines() {
            let (var, ran) = (engine.new_variable(), Arc::new(AtomicU64::new(0)));
            engine.prepare_fork(LIMIT).unwrap();
            let (other, counter) = (engine.clone(), ran.clone());
            let pusher = spawn(move || {
                let data = other.data(0);
                for device in [Device::CPU, Device::gpu(5), Device::gpu(6)] {
                    let (counter, spec) = (counter.clone(), OpSpec::new("kept").on(device));
                    let push = other.push_sync(&spec.writes(&[var]), move |_| {
                        counter.fetch_add(1, Relaxed);
                        Ok(())
                    });
                    push.unwrap();
                }
                *data.write().unwrap() += 1;
                other.wait_for_all().unwrap();
                assert_eq!(counter.load(Relaxed), 3);
            });
            while engine.is_at_rest() {
                sleep(Duration::from_micros(100));
            }
            assert_eq!(ran.load(Relaxed), 0);
            let child = fork_child(|| {
                engine.resume_in_child();
                engine.wait_for_all().unwrap();
                assert_eq!((engine.version(var), ran.load(Relaxed)), (Ok(0), 0));
                assert_works(&engine);
            });
            engine.resume_in_parent();
            pusher.join().unwrap();
            assert_eq!(child.wait(), 0);
            assert_eq!(engine.version(var), Ok(3));
            assert_works(&engine);
        }
    });
}

#[test]
fn a_stopped_engine_is_still_stopped_afterwards() {
    let name = "a_stopped_engine_is_still_stopped_afterwards";
    in_child(name, 15, || {
        let engine = Engine::builder().workers(2).build();
        let ran = Arc::new(AtomicBool::new(false));
        engine.stop().unwrap();
        let stopped = || {
            let ran = ran.clone();
            let push = engine.push_sync(&OpSpec::new("kept"), move |_| {
                ran.store(true, Relaxed);
                Ok(())
            });
            push.unwrap();
        };
        engine.prepare_fork(LIMIT).unwrap();
        let child = fork_child(|| {
            engine.resume_in_child();
            stopped();
            sleep(SOON);
            assert!(!ran.load(Relaxed), "it ran in the child");
            engine.start();
            engine.wait_for_all().unwrap();
            assert!(ran.load(Relaxed));
        });
        engine.resume_in_parent();
        assert_eq!(child.wait(), 0);
        stopped();
        sleep(SOON);
        assert!(!ran.load(Relaxed), "it ran in the parent");
        // What is kept keeps it from resting.
        assert!(is_given_up(&engine.prepare_fork(SOON)));
        assert!(!ran.load(Relaxed), "it ran after the vain attempt");
        engine.start();
        engine.wait_for_all().unwrap();
        assert!(ran.load(Relaxed));
    });
}

#[test]
fn dropping_the_last_handle_at_rest_ends() {
    let name = "dropping_the_last_handle_at_rest_ends";
    in_child(name, 8, || {
        for engine in engines() {
            let other = engine.clone();
            engine.prepare_fork(LIMIT).unwrap();
            drop(engine);
            drop(other);
        }
    });
}
