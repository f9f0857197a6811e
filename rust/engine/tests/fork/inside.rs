//! Forks inside of operations: the child is for `exec` or `_exit`. It may also return from the
//! operation, and then it ends, or goes on in whoever pushed. And forks of threads that have a bulk
//! and a guard open.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use crate::bombs::assert_works;
use crate::forks::{Child, HUNG, end, fork_here, forked, in_child};
use ferromix_engine::{Device, Engine, FnProperty, Kind, OpSpec, Program, PushError, WaitError};

/// What an operation does that forks.
type Body = fn(&Engine);

/// Forks, and sends the child to whoever watches it. The child runs `body`.
fn split(engine: &Engine, children: &Sender<Child>, body: Body) {
    match fork_here() {
        Some(child) => children.send(child).unwrap(),
        None => body(engine),
    }
}

/// An operation that forks, pushed in so many ways; each child ends in time.
fn all_ways(engine: &Engine, body: Body) -> Vec<i32> {
    let (send, children) = channel();
    let var = engine.new_variable();
    let vars = [var];
    let normal = OpSpec::new("forks").writes(&vars);
    let specs = [
        normal,
        normal.inline(true),
        normal.property(FnProperty::CpuPrioritized),
        normal.on(Device::gpu(0)),
    ];
    for spec in &specs {
        let (inner, send) = (engine.clone(), send.clone());
        let push = engine.push_sync(spec, move |_| {
            split(&inner, &send, body);
            Ok(())
        });
        push.unwrap();
        let behind = engine.push_sync(&OpSpec::new("behind").writes(&vars), |_| Ok(()));
        behind.unwrap();
    }
    let (inner, sender) = (engine.clone(), send.clone());
    let push = engine.push_async(&normal, move |_, done| {
        split(&inner, &sender, body);
        done.complete(Ok(()));
    });
    push.unwrap();
    let (inner, sender) = (engine.clone(), send.clone());
    let program = Program::builder("forks")
        .op(&normal, move |_| {
            split(&inner, &sender, body);
            Ok(())
        })
        .op(&OpSpec::new("next").reads(&vars), |_| Ok(()))
        .build();
    engine.launch(&program).unwrap();
    drop(program);
    let bulk = engine.bulk(4);
    for k in 0..3 {
        let (inner, sender) = (engine.clone(), send.clone());
        let push = engine.push_sync(&normal, move |_| {
            if k == 1 {
                split(&inner, &sender, body);
            }
            Ok(())
        });
        push.unwrap();
    }
    drop(bulk);
    let (inner, sender) = (engine.clone(), send.clone());
    let delete = move || split(&inner, &sender, body);
    engine.delete_variable(var, delete).unwrap();
    engine.wait_for_all().unwrap();
    drop(send);
    children.iter().map(Child::wait).collect()
}

const WAYS: usize = 8;

#[test]
fn a_child_that_ends_inside_of_the_operation_disturbs_nobody() {
    let name = "a_child_that_ends_inside_of_the_operation_disturbs_nobody";
    in_child(name, 20, || {
        for kind in [Kind::Threaded, Kind::Naive] {
            let engine = Engine::builder().kind(kind).workers(2).build();
            assert_eq!(all_ways(&engine, |_| end(7)), [7; WAYS], "{kind:?}");
            assert_works(&engine);
        }
    });
}

#[test]
fn the_engine_refuses_everything_inside_of_the_operation_in_the_child() {
    let name = "the_engine_refuses_everything_inside_of_the_operation_in_the_child";
    let body: Body = |engine| {
        let var = engine.new_variable();
        let refused = engine.push_sync(&OpSpec::new("in the child"), |_| Ok(()));
        assert_eq!(refused, Err(PushError::Forked));
        assert!(matches!(engine.wait_for_all(), Err(WaitError::Forked)));
        assert!(engine.delete_variable(var, || ()).is_err());
        assert_eq!(engine.blocking(|| 3), 3);
        assert_works(&Engine::builder().workers(2).build());
        end(7)
    };
    in_child(name, 20, || {
        for kind in [Kind::Threaded, Kind::Naive] {
            let engine = Engine::builder().kind(kind).workers(2).build();
            assert_eq!(all_ways(&engine, body), [7; WAYS], "{kind:?}");
            assert_works(&engine);
        }
    });
}

#[test]
fn a_child_that_returns_from_the_operation_of_a_worker_ends() {
    let name = "a_child_that_returns_from_the_operation_of_a_worker_ends";
    in_child(name, 30, || {
        // All pushed by one worker, so that no child goes on with the test.
        let engine = Engine::builder().workers(1).build();
        let (send, codes) = channel();
        let (inner, var) = (engine.clone(), engine.new_variable());
        std::thread::spawn(move || send.send(all_ways_of_workers(&inner)).unwrap());
        let codes = codes.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(codes.iter().all(|code| *code != HUNG), "{codes:?}");
        engine.delete_variable(var, || ()).unwrap();
        assert_works(&engine);
    });
}

/// Operations on lanes, whose children return.
fn all_ways_of_workers(engine: &Engine) -> Vec<i32> {
    let (send, children) = channel();
    let var = engine.new_variable();
    let vars = [var];
    let normal = OpSpec::new("forks").writes(&vars);
    let lanes = [
        normal,
        normal.property(FnProperty::CpuPrioritized),
        normal.on(Device::gpu(0)),
    ];
    for spec in &lanes {
        for fails in [false, true] {
            let (inner, send) = (engine.clone(), send.clone());
            let push = engine.push_sync(spec, move |_| {
                split(&inner, &send, |_| ());
                if fails { Err("no".into()) } else { Ok(()) }
            });
            push.unwrap();
            let behind = engine.push_sync(&OpSpec::new("behind").writes(&vars), |_| Ok(()));
            behind.unwrap();
            assert_eq!(engine.wait_for_var(var).is_err(), fails);
        }
    }
    for late in [false, true] {
        let (inner, sender) = (engine.clone(), send.clone());
        let push = engine.push_async(&normal, move |_, done| {
            split(&inner, &sender, |_| ());
            if late {
                std::thread::spawn(move || done.complete(Ok(())));
            } else {
                done.complete(Ok(()));
            }
        });
        push.unwrap();
        engine.wait_for_var(var).unwrap();
    }
    let (inner, sender) = (engine.clone(), send.clone());
    let mut program = Program::builder("forks").op(&normal, move |_| {
        split(&inner, &sender, |_| ());
        Ok(())
    });
    for _ in 0..50 {
        program = program.op(&OpSpec::new("next").reads(&vars), |_| Ok(()));
    }
    engine.launch(&program.build()).unwrap();
    let bulk = engine.bulk(40);
    for k in 0..40 {
        let (inner, sender) = (engine.clone(), send.clone());
        let push = engine.push_sync(&normal, move |_| {
            if k == 1 {
                split(&inner, &sender, |_| ());
            }
            Ok(())
        });
        push.unwrap();
    }
    drop(bulk);
    engine.wait_for_all().unwrap();
    drop(send);
    children.iter().map(Child::wait).collect()
}

#[test]
fn a_child_that_returns_from_an_operation_of_the_naive_engine_goes_on_behind_the_push() {
    let name = "a_child_that_returns_from_an_operation_of_the_naive_engine_goes_on_behind_the_push";
    in_child(name, 20, || {
        let engine = Engine::builder().kind(Kind::Naive).build();
        let inline = Engine::builder().workers(1).build();
        for (engine, how) in [&engine, &inline]
            .into_iter()
            .flat_map(|e| [(e, 0), (e, 1), (e, 2)])
        {
            let (send, children) = channel();
            let (inner, parent) = (engine.clone(), std::process::id());
            let spec = OpSpec::new("forks").inline(true);
            let push = engine.push_sync(&spec, move |_| {
                split(&inner, &send, |_| ());
                match how {
                    0 => Ok(()),
                    1 => Err("fails".into()),
                    _ => std::panic::resume_unwind(Box::new(())),
                }
            });
            push.unwrap();
            if std::process::id() != parent {
                // This is the child, behind the push.
                let late = engine.push_sync(&OpSpec::new("late"), |_| Ok(()));
                let refused = late == Err(PushError::Forked);
                drop(engine.clone());
                end(if refused { 7 } else { 1 });
            }
            let codes: Vec<i32> = children.iter().map(Child::wait).collect();
            assert_eq!(codes, [7]);
            assert_works(engine);
        }
    });
}

#[test]
fn what_the_forking_thread_has_open_may_be_dropped_in_the_child() {
    let name = "what_the_forking_thread_has_open_may_be_dropped_in_the_child";
    in_child(name, 25, || {
        for kind in [Kind::Threaded, Kind::Naive] {
            let engine = Engine::builder().kind(kind).workers(2).build();
            let (var, ran) = (engine.new_variable(), Arc::new(AtomicU64::new(0)));
            let data = engine.data(vec![1]);
            let (mut bulk, mut guard) = (Some(engine.bulk(100)), Some(data.write().unwrap()));
            for _ in 0..5 {
                let ran = ran.clone();
                let push = engine.push_sync(&OpSpec::new("collected").writes(&[var]), move |_| {
                    ran.fetch_add(1, Relaxed);
                    Ok(())
                });
                push.unwrap();
            }
            let code = forked(|| {
                guard.as_mut().unwrap().push(2);
                drop(guard.take());
                let late = engine.push_sync(&OpSpec::new("late"), |_| unreachable!());
                assert_eq!(late, Err(PushError::Forked));
                drop(bulk.take());
                let late = engine.push_sync(&OpSpec::new("late"), |_| unreachable!());
                assert_eq!(late, Err(PushError::Forked));
            });
            assert_eq!(code, 0);
            drop(guard.take());
            drop(bulk.take());
            engine.wait_for_all().unwrap();
            assert_eq!((ran.load(Relaxed), data.read().unwrap().len()), (5, 1));
        }
    });
}
