//! `prepare_fork`, a fork, and `resume_in_parent` or `resume_in_child`: the engine goes on in both.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::bombs::assert_works;
use crate::busy::{Busy, hold, while_busy};
use crate::forks::{fork_child, forked, in_child};
use ferromix_engine::{Engine, Kind, OpSpec, Program, Var, WaitError};

const LIMIT: Duration = Duration::from_secs(5);

/// Others push, launch and wait meanwhile, and leave failures alone.
const BUSY: Busy = Busy {
    threads: 2,
    wait_for_all: false,
};

fn engines() -> [Engine; 2] {
    [Kind::Threaded, Kind::Naive].map(|kind| Engine::builder().kind(kind).workers(2).build())
}

/// Forks at rest; the child goes on with the engine, and so does the parent.
fn at_rest(engine: &Engine, child: impl FnOnce(), parent: impl FnOnce()) {
    engine.prepare_fork(LIMIT).unwrap();
    let process = fork_child(|| {
        engine.resume_in_child();
        child();
    });
    engine.resume_in_parent();
    parent();
    assert_eq!(process.wait(), 0, "in the child of {engine:?}");
}

fn write(engine: &Engine, var: Var, times: usize) {
    for k in 0..times {
        let spec = OpSpec::new("write").inline(k % 2 == 0);
        engine.push_sync(&spec.writes(&[var]), |_| Ok(())).unwrap();
    }
}

fn fail(engine: &Engine, vars: &[Var]) {
    let push = engine.push_sync(&OpSpec::new("fails").writes(vars), |_| Err("no".into()));
    push.unwrap();
}

fn is_failed(result: &Result<(), WaitError>) -> bool {
    matches!(result, Err(WaitError::Failed(failure)) if failure.name.as_str() == "fails")
}

#[test]
fn both_go_on_with_their_variables() {
    let name = "both_go_on_with_their_variables";
    in_child(name, 25, || {
        for engine in engines() {
            let (var, dead) = (engine.new_variable(), engine.new_variable());
            engine.delete_variable(dead, || ()).unwrap();
            while_busy(&engine, BUSY, || {
                for round in 0..10 {
                    write(&engine, var, 5);
                    let go_on = || {
                        let before = engine.version(var).unwrap();
                        assert_eq!(before, 9 * round + 5);
                        write(&engine, var, 4);
                        engine.wait_for_var(var).unwrap();
                        assert_eq!(engine.version(var), Ok(before + 4));
                        assert!(engine.version(dead).is_err());
                    };
                    let child = || {
                        go_on();
                        // Nobody else is there.
                        engine.wait_for_all().unwrap();
                        assert_works(&engine);
                        engine.stop().unwrap();
                        engine.start();
                        assert_works(&engine);
                    };
                    at_rest(&engine, child, go_on);
                }
            });
            engine.wait_for_all().unwrap();
            assert_eq!(engine.version(var), Ok(90));
            assert_works(&engine);
        }
    });
}

#[test]
fn failures_are_left_on_variables_and_returned_once_in_each() {
    let name = "failures_are_left_on_variables_and_returned_once_in_each";
    in_child(name, 25, || {
        for engine in engines() {
            let (a, b) = (engine.new_variable(), engine.new_variable());
            while_busy(&engine, BUSY, || {
                for round in 0..10 {
                    fail(&engine, &[a, b]);
                    if round % 2 == 0 {
                        fail(&engine, &[]);
                    }
                    let surface = || {
                        // Skipped, as the failure was not returned before.
                        let push = engine.push_sync(&OpSpec::new("skipped").reads(&[a]), |_| {
                            panic!("not skipped")
                        });
                        push.unwrap();
                        assert!(is_failed(&engine.wait_for_var(b)));
                        engine.wait_for_var(b).unwrap();
                        engine.wait_for_var(a).unwrap();
                        write(&engine, a, 1);
                        engine.wait_for_var(a).unwrap();
                    };
                    let child = || {
                        surface();
                        let left = engine.wait_for_all();
                        assert_eq!(is_failed(&left), round % 2 == 0, "{left:?}");
                        engine.wait_for_all().unwrap();
                        assert_works(&engine);
                    };
                    at_rest(&engine, child, surface);
                    let left = engine.wait_for_all();
                    assert_eq!(is_failed(&left), round % 2 == 0, "{left:?}");
                }
            });
            assert_works(&engine);
        }
    });
}

#[test]
fn programs_are_launched_before_and_after() {
    let name = "programs_are_launched_before_and_after";
    in_child(name, 25, || {
        for engine in engines() {
            let (var, ran) = (engine.new_variable(), Arc::new(AtomicU64::new(0)));
            let mut builder = Program::builder("many steps");
            for k in 0..20 {
                let ran = ran.clone();
                let spec = OpSpec::new("step").inline(k % 3 == 0);
                builder = builder.op(&spec.reads(&[var]), move |_| {
                    ran.fetch_add(1, Relaxed);
                    Ok(())
                });
            }
            let last = ran.clone();
            let program = builder
                .async_op(&OpSpec::new("last").writes(&[var]), move |_, done| {
                    last.fetch_add(1, Relaxed);
                    done.complete(Ok(()));
                })
                .build();
            while_busy(&engine, BUSY, || {
                for _ in 0..10 {
                    engine.launch(&program).unwrap();
                    let go_on = || {
                        let before = ran.load(Relaxed);
                        let clone = program.clone();
                        for _ in 0..3 {
                            engine.launch(&clone).unwrap();
                        }
                        engine.wait_for_var(var).unwrap();
                        assert_eq!(ran.load(Relaxed), before + 63);
                        assert_eq!(engine.version(var).unwrap() * 21, before + 63);
                    };
                    at_rest(&engine, go_on, go_on);
                }
            });
            engine.wait_for_all().unwrap();
            assert_eq!(ran.load(Relaxed), 10 * 4 * 21);
        }
    });
}

#[test]
fn a_bulk_of_the_forking_thread_collects_on_in_both() {
    let name = "a_bulk_of_the_forking_thread_collects_on_in_both";
    in_child(name, 25, || {
        for engine in engines() {
            let (var, ran) = (engine.new_variable(), Arc::new(AtomicU64::new(0)));
            let push = |times| {
                for _ in 0..times {
                    let ran = ran.clone();
                    let push = engine.push_sync(&OpSpec::new("op").writes(&[var]), move |_| {
                        ran.fetch_add(1, Relaxed);
                        Ok(())
                    });
                    push.unwrap();
                }
            };
            while_busy(&engine, BUSY, || {
                let mut bulk = Some(engine.bulk(10));
                push(7);
                engine.prepare_fork(LIMIT).unwrap();
                assert_eq!(ran.load(Relaxed), 7);
                let process = fork_child(|| {
                    engine.resume_in_child();
                    push(25);
                    drop(bulk.take());
                    engine.wait_for_var(var).unwrap();
                    assert_eq!(ran.load(Relaxed), 32);
                    assert_works(&engine);
                });
                engine.resume_in_parent();
                push(15);
                drop(bulk.take());
                engine.wait_for_var(var).unwrap();
                assert_eq!(ran.load(Relaxed), 22);
                assert_eq!(process.wait(), 0);
            });
            assert_works(&engine);
        }
    });
}

#[test]
fn traces_data_and_shutdown_work_in_both() {
    let name = "traces_data_and_shutdown_work_in_both";
    in_child(name, 25, || {
        for engine in engines() {
            engine.start_trace();
            let data = engine.data(vec![1]);
            data.write().unwrap().push(2);
            let go_on = || {
                data.write().unwrap().push(3);
                let mine = data.clone();
                let spec = OpSpec::new("pushes on");
                let push = engine.push_sync(&spec.writes(&[data.var()]), move |context| {
                    context.write(&mine)?.push(4);
                    Ok(())
                });
                push.unwrap();
                assert_eq!(*data.read().unwrap(), [1, 2, 3, 4]);
                assert!(engine.stop_trace().is_some_and(|trace| !trace.is_empty()));
                assert_works(&engine);
                engine.shutdown(LIMIT).unwrap();
            };
            at_rest(&engine, go_on, go_on);
        }
    });
}

#[test]
fn the_last_handle_is_dropped_in_the_child_as_anywhere() {
    let name = "the_last_handle_is_dropped_in_the_child_as_anywhere";
    in_child(name, 25, || {
        for engine in engines() {
            let mut mine = Some(engine);
            let (var, ran) = (
                mine.as_ref().unwrap().new_variable(),
                Arc::new(AtomicU64::new(0)),
            );
            mine.as_ref().unwrap().prepare_fork(LIMIT).unwrap();
            let mut end = |resume: fn(&Engine)| {
                let engine = mine.take().unwrap();
                resume(&engine);
                for _ in 0..100 {
                    let ran = ran.clone();
                    let push = engine.push_sync(&OpSpec::new("op").writes(&[var]), move |_| {
                        ran.fetch_add(1, Relaxed);
                        Ok(())
                    });
                    push.unwrap();
                }
                drop(engine);
                assert_eq!(ran.load(Relaxed), 100);
            };
            assert_eq!(forked(|| end(Engine::resume_in_child)), 0);
            end(Engine::resume_in_parent);
        }
    });
}

#[test]
fn grandchildren_go_on_too() {
    let name = "grandchildren_go_on_too";
    in_child(name, 25, || {
        for engine in engines() {
            let var = engine.new_variable();
            let (done, pusher) = hold(&engine, var);
            done.complete(Ok(()));
            pusher.join().unwrap();
            let child = || {
                write(&engine, var, 1);
                at_rest(
                    &engine,
                    || {
                        write(&engine, var, 1);
                        engine.wait_for_all().unwrap();
                        assert_eq!(engine.version(var), Ok(3));
                        assert_works(&engine);
                    },
                    || assert_works(&engine),
                );
            };
            at_rest(&engine, child, || ());
            assert_works(&engine);
        }
    });
}
