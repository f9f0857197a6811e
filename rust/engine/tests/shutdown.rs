//! The end of an engine: `shutdown` finishes everything or names what does not end, and dropping the
//! last handle gives up in time.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

#[path = "common/watchdog.rs"]
mod watchdog;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ferromix_engine::{
    Engine, Kind, OnComplete, OpSpec, Program, PushError, ShutdownError, WaitError,
};
use watchdog::in_child;

const LIMIT: Duration = Duration::from_secs(5);
const SOON: Duration = Duration::from_millis(40);

fn engines() -> [Engine; 2] {
    [Kind::Threaded, Kind::Naive].map(|kind| Engine::builder().kind(kind).workers(2).build())
}

fn names(error: &ShutdownError) -> Vec<&'static str> {
    let mut names: Vec<_> = error.names().iter().map(|name| name.as_str()).collect();
    names.sort_unstable();
    names
}

fn count_up(engine: &Engine, ran: &Arc<AtomicU64>, times: u64) {
    let var = engine.new_variable();
    for k in 0..times {
        let ran = ran.clone();
        let spec = OpSpec::new("op").inline(k % 3 == 0);
        let writes = [var];
        let spec = if k % 2 == 0 {
            spec.writes(&writes)
        } else {
            spec
        };
        engine
            .push_sync(&spec, move |_| {
                ran.fetch_add(1, Relaxed);
                Ok(())
            })
            .unwrap();
    }
}

/// A gate that an operation waits behind, without variables.
fn push_stuck(engine: &Engine, name: &'static str) -> Sender<()> {
    let (open, gate) = channel::<()>();
    let (begin, begun) = channel();
    engine
        .push_sync(&OpSpec::new(name), move |_| {
            begin.send(())?;
            Ok(gate.recv()?)
        })
        .unwrap();
    begun.recv().unwrap();
    open
}

#[test]
fn everything_is_finished_and_later_pushes_are_refused() {
    let name = "everything_is_finished_and_later_pushes_are_refused";
    in_child(name, 8, || {
        for engine in engines() {
            let ran = Arc::new(AtomicU64::new(0));
            count_up(&engine, &ran, 1000);
            let bulk = engine.bulk(100);
            count_up(&engine, &ran, 7);
            engine.shutdown(LIMIT).unwrap();
            drop(bulk);
            assert_eq!(ran.load(Relaxed), 1007);
            let late = engine.push_sync(&OpSpec::new("late"), |_| unreachable!());
            assert_eq!(late, Err(PushError::ShutDown));
            let late = engine.push_async(&OpSpec::new("late"), |_, _| unreachable!());
            assert_eq!(late, Err(PushError::ShutDown));
            let program = Program::builder("late").op(&OpSpec::new("x"), |_| Ok(()));
            assert_eq!(engine.launch(&program.build()), Err(PushError::ShutDown));
            assert_eq!(engine.counters().in_flight, 0);
            assert!(matches!(engine.data(1).read(), Err(WaitError::ShutDown)));
            // Again, and after it: nothing is left to do.
            engine.shutdown(LIMIT).unwrap();
            engine.wait_for_all().unwrap();
            engine.shutdown(Duration::ZERO).unwrap();
        }
    });
}

#[test]
fn a_stopped_engine_is_finished_too() {
    let name = "a_stopped_engine_is_finished_too";
    in_child(name, 8, || {
        let engine = Engine::builder().workers(2).build();
        let ran = Arc::new(AtomicU64::new(0));
        engine.stop().unwrap();
        count_up(&engine, &ran, 100);
        engine.shutdown(LIMIT).unwrap();
        assert_eq!(ran.load(Relaxed), 100);
    });
}

#[test]
fn failures_are_still_there_afterwards() {
    let name = "failures_are_still_there_afterwards";
    in_child(name, 8, || {
        for engine in engines() {
            let var = engine.new_variable();
            let spec = OpSpec::new("fails");
            let push = engine.push_sync(&spec.writes(&[var]), |_| Err("no".into()));
            push.unwrap();
            engine.shutdown(LIMIT).unwrap();
            assert!(matches!(
                engine.wait_for_var(var),
                Err(WaitError::Failed(_))
            ));
            engine.wait_for_all().unwrap();
        }
    });
}

#[test]
fn a_stuck_operation_without_variables_is_named() {
    let name = "a_stuck_operation_without_variables_is_named";
    in_child(name, 8, || {
        let engine = Engine::builder().workers(2).build();
        let open = push_stuck(&engine, "stuck");
        let ran = Arc::new(AtomicU64::new(0));
        count_up(&engine, &ran, 10);
        let began = Instant::now();
        let error = engine.shutdown(SOON).unwrap_err();
        assert!(began.elapsed() < 20 * SOON, "{:?}", began.elapsed());
        assert_eq!((names(&error), error.count()), (vec!["stuck"], 1));
        assert!(error.to_string().contains("stuck"), "{error}");
        // Everything else went on, and so does this.
        assert_eq!(ran.load(Relaxed), 10);
        let again = engine.shutdown(SOON).unwrap_err();
        assert_eq!(names(&again), ["stuck"]);
        open.send(()).unwrap();
        engine.shutdown(LIMIT).unwrap();
        assert_eq!(engine.counters().completed, 11);
    });
}

#[test]
fn a_forgotten_promise_is_named_and_what_waits_behind_it_is_counted() {
    let name = "a_forgotten_promise_is_named_and_what_waits_behind_it_is_counted";
    in_child(name, 8, || {
        let engine = Engine::builder().workers(2).build();
        let (var, (send, promises)) = (engine.new_variable(), channel());
        for name in ["first", "second", "first"] {
            let (send, spec) = (send.clone(), OpSpec::new(name));
            let push = engine.push_async(&spec, move |_, done| send.send(done).unwrap());
            push.unwrap();
        }
        let push = engine.push_async(&OpSpec::new("holds").writes(&[var]), move |_, done| {
            send.send(done).unwrap();
        });
        push.unwrap();
        for _ in 0..5 {
            let push = engine.push_sync(&OpSpec::new("behind").writes(&[var]), |_| Ok(()));
            push.unwrap();
        }
        let promises: Vec<OnComplete> = (0..4).map(|_| promises.recv().unwrap()).collect();
        let error = engine.shutdown(SOON).unwrap_err();
        assert_eq!(names(&error), ["first", "holds", "second"]);
        assert_eq!(error.count(), 9);
        for promise in promises {
            promise.complete(Ok(()));
        }
        engine.shutdown(LIMIT).unwrap();
    });
}

#[test]
fn the_program_of_a_stuck_step_is_named() {
    let name = "the_program_of_a_stuck_step_is_named";
    in_child(name, 8, || {
        let engine = Engine::builder().workers(2).build();
        let (var, (open, gate)) = (engine.new_variable(), channel::<()>());
        let gate = std::sync::Mutex::new(gate);
        let program = Program::builder("the program")
            .op(&OpSpec::new("before").writes(&[var]), |_| Ok(()))
            .op(&OpSpec::new("stuck step").writes(&[var]), move |_| {
                Ok(gate.lock().unwrap().recv()?)
            })
            .op(&OpSpec::new("after").writes(&[var]), |_| Ok(()))
            .build();
        engine.launch(&program).unwrap();
        let error = engine.shutdown(SOON).unwrap_err();
        assert_eq!((names(&error), error.count()), (vec!["the program"], 1));
        open.send(()).unwrap();
        engine.shutdown(LIMIT).unwrap();

        let engine = Engine::builder().workers(2).build();
        let (var, (send, promises)) = (engine.new_variable(), channel());
        let program = Program::builder("the program")
            .async_op(
                &OpSpec::new("stuck promise").writes(&[var]),
                move |_, done| {
                    send.send(done).unwrap();
                },
            )
            .op(&OpSpec::new("after").writes(&[var]), |_| Ok(()))
            .build();
        engine.launch(&program).unwrap();
        let promise: OnComplete = promises.recv().unwrap();
        let error = engine.shutdown(SOON).unwrap_err();
        assert_eq!((names(&error), error.count()), (vec!["the program"], 1));
        promise.complete(Ok(()));
        engine.shutdown(LIMIT).unwrap();
    });
}

#[test]
fn inside_of_an_operation_it_is_an_error() {
    let name = "inside_of_an_operation_it_is_an_error";
    in_child(name, 8, || {
        for engine in engines() {
            for small in [false, true] {
                let (inner, spec) = (engine.clone(), OpSpec::new("ends it").inline(small));
                let push = engine.push_sync(&spec, move |_| {
                    let error = inner.shutdown(LIMIT).unwrap_err();
                    assert!(error.to_string().contains("inside") || !error.to_string().is_empty());
                    assert!(error.count() >= 1);
                    Ok(())
                });
                if push.is_ok() {
                    engine.wait_for_all().unwrap();
                }
            }
            engine.shutdown(LIMIT).unwrap();
        }
    });
}

#[test]
fn several_threads_may_shut_down_at_once() {
    let name = "several_threads_may_shut_down_at_once";
    in_child(name, 12, || {
        for _ in 0..50 {
            for engine in engines() {
                let ran = Arc::new(AtomicU64::new(0));
                count_up(&engine, &ran, 100);
                std::thread::scope(|scope| {
                    for _ in 0..3 {
                        scope.spawn(|| engine.shutdown(LIMIT).unwrap());
                    }
                    scope.spawn(
                        || while engine.push_sync(&OpSpec::new("op"), |_| Ok(())).is_ok() {},
                    );
                });
                assert_eq!(ran.load(Relaxed), 100);
                assert_eq!(engine.counters().in_flight, 0);
            }
        }
    });
}

#[test]
fn dropping_gives_up_where_nothing_finishes_and_what_is_left_may_end() {
    let name = "dropping_gives_up_where_nothing_finishes_and_what_is_left_may_end";
    in_child(name, 8, || {
        let engine = Engine::builder().workers(2).drop_limit(SOON).build();
        let ((send, promises), var) = (channel(), engine.new_variable());
        let push = engine.push_async(&OpSpec::new("held").writes(&[var]), move |_, done| {
            send.send(done).unwrap();
        });
        push.unwrap();
        let (say, said): (Sender<u32>, Receiver<u32>) = channel();
        let behind = OpSpec::new("behind");
        let push = engine.push_sync(&behind.writes(&[var]), move |_| Ok(say.send(5)?));
        push.unwrap();
        let began = Instant::now();
        drop(engine);
        let took = began.elapsed();
        assert!(took >= SOON && took < 20 * SOON, "{took:?}");
        let promise: OnComplete = promises.recv().unwrap();
        promise.complete(Ok(()));
        assert_eq!(said.recv_timeout(LIMIT), Ok(5));
    });
}

#[test]
fn dropping_does_not_give_up_while_something_finishes() {
    let name = "dropping_does_not_give_up_while_something_finishes";
    in_child(name, 8, || {
        // Generous, as the machine may be busy with other things.
        let limit = Duration::from_millis(400);
        let engine = Engine::builder().workers(1).drop_limit(limit).build();
        let ran = Arc::new(AtomicU64::new(0));
        for _ in 0..20 {
            let ran = ran.clone();
            let push = engine.push_sync(&OpSpec::new("slow"), move |_| {
                sleep(limit / 10);
                ran.fetch_add(1, Relaxed);
                Ok(())
            });
            push.unwrap();
        }
        drop(engine);
        assert_eq!(ran.load(Relaxed), 20);
    });
}
