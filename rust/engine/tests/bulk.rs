//! Bulks: collected operations run in order and fail as if pushed one by one, and nothing that
//! their thread does overtakes them. (Random programs in bulks: random_programs.rs.)
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use ferromix_engine::{
    Device, Engine, FnProperty, Kind, LaunchArgs, OpSpec, Program, PushError, Var, WaitError,
};

type Log = Arc<Mutex<Vec<u64>>>;

/// Pushes an operation that notes `k`.
fn note(engine: &Engine, spec: &OpSpec<'_>, log: &Log, k: u64) -> Result<(), PushError> {
    let log = log.clone();
    engine.push_sync(spec, move |_| {
        log.lock().unwrap().push(k);
        Ok(())
    })
}

#[test]
fn collected_operations_are_one() {
    let engine = Engine::builder().workers(2).build();
    let vars: Vec<Var> = (0..3).map(|_| engine.new_variable()).collect();
    let log = Log::default();
    let bulk = engine.bulk(4);
    for k in 0..10 {
        let spec = OpSpec::new("one");
        note(&engine, &spec.writes(&vars[k % 3..=k % 3]), &log, k as u64).unwrap();
    }
    engine.wait_for_var(vars[0]).unwrap();
    assert_eq!(engine.counters().pushed, 3, "4, 4 and 2");
    engine.wait_for_all().unwrap();
    // Each bulk uses a variable of the one before.
    assert_eq!(*log.lock().unwrap(), (0..10).collect::<Vec<_>>());
    assert_eq!(engine.version(vars[0]).unwrap(), 3, "once per bulk");
    drop(bulk);
    note(&engine, &OpSpec::new("alone"), &log, 0).unwrap();
    assert_eq!(engine.counters().pushed, 4);
}

#[test]
fn nothing_of_the_same_thread_overtakes_a_collected_operation() {
    type Act = fn(&Engine, Var, &Log);
    let acts: [(&str, Act); 6] = [
        ("priority", |engine, var, log| {
            note(engine, &OpSpec::new("x").writes(&[var]).priority(1), log, 1).unwrap();
        }),
        ("lane", |engine, var, log| {
            let spec = OpSpec::new("x");
            let spec = spec.property(FnProperty::CpuPrioritized);
            note(engine, &spec.writes(&[var]), log, 1).unwrap();
        }),
        ("device", |engine, var, log| {
            let spec = OpSpec::new("x").on(Device::gpu(0));
            note(engine, &spec.writes(&[var]), log, 1).unwrap();
        }),
        ("bytes", |engine, var, log| {
            note(engine, &OpSpec::new("x").writes(&[var]).bytes(8), log, 1).unwrap();
        }),
        ("launch", |engine, var, log| {
            let log = log.clone();
            let program = Program::builder("x").op(&OpSpec::new("x").writes(&[var]), move |_| {
                log.lock().unwrap().push(1);
                Ok(())
            });
            let program = program.build();
            engine.launch_with(&program, LaunchArgs::new()).unwrap();
        }),
        ("delete", |engine, var, log| {
            let log = log.clone();
            engine
                .delete_variable(var, move || log.lock().unwrap().push(1))
                .unwrap();
        }),
    ];
    for (name, act) in acts {
        let engine = Engine::builder().workers(2).build();
        let (var, log) = (engine.new_variable(), Log::default());
        let bulk = engine.bulk(8);
        note(&engine, &OpSpec::new("first").writes(&[var]), &log, 0).unwrap();
        act(&engine, var, &log);
        drop(bulk);
        engine.wait_for_all().unwrap();
        assert_eq!(*log.lock().unwrap(), [0, 1], "{name}");
    }
}

#[test]
fn a_look_at_anything_pushes_what_was_collected() {
    let engine = Engine::builder().workers(1).build();
    let var = engine.new_variable();
    let spec = [var];
    let spec = OpSpec::new("small").writes(&spec).inline(true);
    let bulk = engine.bulk(8);
    engine.push_sync(&spec, |_| Ok(())).unwrap();
    assert_eq!(engine.version(var).unwrap(), 1);
    engine.push_sync(&spec, |_| Ok(())).unwrap();
    assert!(engine.is_quiet(var));
    engine.push_sync(&spec, |_| Ok(())).unwrap();
    assert_eq!(engine.counters().completed, 3);
    engine.push_sync(&spec, |_| Ok(())).unwrap();
    engine.blocking(|| assert_eq!(engine.version(var).unwrap(), 4));
    engine.push_sync(&spec, |_| Ok(())).unwrap();
    engine.stop().unwrap();
    assert_eq!(engine.version(var).unwrap(), 5);
    engine.start();
    engine.push_sync(&spec, |_| Ok(())).unwrap();
    engine.notify_shutdown();
    let refused = engine.push_sync(&spec, |_| Ok(()));
    assert_eq!(refused, Err(PushError::ShutDown));
    drop(bulk);
    engine.wait_for_all().unwrap();
    assert_eq!(engine.version(var).unwrap(), 6);
}

#[test]
fn each_failure_keeps_its_own_operation_and_binds_what_depends_on_it_alone() {
    let engine = Engine::builder().workers(1).build();
    let (a, b, c) = (
        engine.new_variable(),
        engine.new_variable(),
        engine.new_variable(),
    );
    let log = Log::default();
    let bulk = engine.bulk(8);
    let fails = OpSpec::new("fails");
    engine
        .push_sync(&fails.writes(&[a]).tag(7), |_| Err("no".into()))
        .unwrap();
    note(
        &engine,
        &OpSpec::new("skipped").reads(&[a]).writes(&[b]),
        &log,
        1,
    )
    .unwrap();
    note(&engine, &OpSpec::new("free").writes(&[c]), &log, 2).unwrap();
    engine.wait_for_var(c).unwrap();
    let Err(WaitError::Failed(failure)) = engine.wait_for_var(b) else {
        panic!("b depends on what failed");
    };
    assert_eq!((failure.name.as_str(), failure.tag), ("fails", 7));
    assert_eq!(*log.lock().unwrap(), [2]);
    note(&engine, &OpSpec::new("again").writes(&[a, b]), &log, 3).unwrap();
    drop(bulk);
    engine.wait_for_all().unwrap();
    assert_eq!(*log.lock().unwrap(), [2, 3]);
}

#[test]
fn a_bulk_takes_64_variables_and_operations_of_14() {
    let engine = Engine::builder().workers(2).build();
    let vars: Vec<Var> = (0..200).map(|_| engine.new_variable()).collect();
    let log = Log::default();
    let bulk = engine.bulk(1000);
    for (k, some) in vars.chunks(10).enumerate() {
        note(&engine, &OpSpec::new("ten").writes(some), &log, k as u64).unwrap();
    }
    note(&engine, &OpSpec::new("many").reads(&vars[..15]), &log, 20).unwrap();
    // Variables whose places in the table are the same.
    for (k, var) in [0, 128, 0, 128, 64, 192].into_iter().enumerate() {
        let var = [vars[var]];
        note(
            &engine,
            &OpSpec::new("same").writes(&var),
            &log,
            30 + k as u64,
        )
        .unwrap();
    }
    drop(bulk);
    engine.wait_for_all().unwrap();
    assert_eq!(engine.counters().pushed, 4 + 1 + 1, "6, 6, 6 and 2 by tens");
    let mut log = log.lock().unwrap();
    assert!(log.ends_with(&[30, 31, 32, 33, 34, 35]));
    log.sort_unstable();
    assert_eq!(*log, (0..21).chain(30..36).collect::<Vec<_>>());
}

#[test]
fn the_end_of_a_variable_deleted_elsewhere_comes_after_its_operations() {
    let engine = Engine::builder().workers(1).build();
    let (a, b) = (engine.new_variable(), engine.new_variable());
    let log = Log::default();
    let bulk = engine.bulk(8);
    note(&engine, &OpSpec::new("last").writes(&[a]), &log, 1).unwrap();
    note(&engine, &OpSpec::new("there").writes(&[b]), &log, 2).unwrap();
    std::thread::scope(|scope| {
        let (engine, log) = (&engine, log.clone());
        scope.spawn(move || {
            let end = move || log.lock().unwrap().push(3);
            engine.delete_variable(a, end).unwrap();
            assert!(engine.delete_variable(a, || ()).is_err());
            engine.wait_for_all().unwrap();
        });
    });
    let stale = note(&engine, &OpSpec::new("stale").writes(&[b, a]), &log, 4);
    assert_eq!(stale, Err(PushError::StaleVariable(a)));
    assert_eq!(*log.lock().unwrap(), [], "nothing is pushed yet");
    drop(bulk);
    engine.wait_for_all().unwrap();
    assert_eq!(*log.lock().unwrap(), [1, 2, 3]);
    assert_ne!(engine.new_variable(), a);
}

#[test]
fn a_variable_in_bulks_of_several_threads_ends_after_all() {
    let engine = Engine::builder().workers(1).build();
    let (a, log) = (engine.new_variable(), Log::default());
    let (filled, all_filled) = channel();
    let (first, others): (Vec<_>, Vec<_>) = (0..3).map(|_| channel::<()>()).unzip();
    std::thread::scope(|scope| {
        for (k, over) in others.into_iter().enumerate() {
            let (engine, log, filled) = (&engine, log.clone(), filled.clone());
            scope.spawn(move || {
                let bulk = engine.bulk(8);
                note(engine, &OpSpec::new("one").writes(&[a]), &log, k as u64).unwrap();
                filled.send(()).unwrap();
                over.recv().unwrap();
                drop(bulk);
                engine.wait_for_all().unwrap();
                filled.send(()).unwrap();
            });
        }
        (0..3).for_each(|_| all_filled.recv().unwrap());
        let end = log.clone();
        engine
            .delete_variable(a, move || end.lock().unwrap().push(9))
            .unwrap();
        for k in [1, 2, 0] {
            assert!(!log.lock().unwrap().contains(&9));
            first[k].send(()).unwrap();
            all_filled.recv().unwrap();
        }
    });
    engine.wait_for_all().unwrap();
    assert_eq!(*log.lock().unwrap(), [1, 2, 0, 9]);
}

#[test]
fn functions_that_never_run_are_dropped() {
    let engine = Engine::builder().workers(1).build();
    let (a, whole) = (engine.new_variable(), Arc::new(()));
    let bulk = engine.bulk(8);
    engine
        .push_sync(&OpSpec::new("fails").writes(&[a]), |_| Err("no".into()))
        .unwrap();
    for _ in 0..5 {
        let part = whole.clone();
        let keeps = move |_: &_| {
            drop(part);
            Ok(())
        };
        engine
            .push_sync(&OpSpec::new("skipped").writes(&[a]), keeps)
            .unwrap();
    }
    drop(bulk);
    assert!(engine.wait_for_all().is_err());
    assert_eq!(Arc::strong_count(&whole), 1);
}

#[test]
fn bulks_nest_and_end_in_any_order() {
    let engine = Engine::builder().workers(1).build();
    let other = Engine::builder().workers(1).build();
    let log = Log::default();
    let push = |engine: &Engine, k| note(engine, &OpSpec::new("one"), &log, k).unwrap();
    let outer = engine.bulk(10);
    push(&engine, 0);
    let elsewhere = other.bulk(10);
    push(&other, 1);
    let inner = engine.bulk(2);
    push(&engine, 2);
    drop(outer);
    push(&engine, 3);
    push(&engine, 4);
    assert_eq!(
        engine.counters().pushed,
        3,
        "0; 2 and 3 of two; 4 by the look"
    );
    drop((inner, elsewhere));
    push(&engine, 5);
    engine.wait_for_all().unwrap();
    other.wait_for_all().unwrap();
    assert_eq!((engine.counters().pushed, other.counters().pushed), (4, 1));
    let mut log = log.lock().unwrap();
    log.sort_unstable();
    assert_eq!(*log, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn operations_in_a_bulk_may_push_and_know_that_waiting_for_it_cannot_end() {
    let engine = Engine::builder().workers(1).build();
    let (a, b) = (engine.new_variable(), engine.new_variable());
    let (send, receive) = channel();
    let bulk = engine.bulk(4);
    let inner = engine.clone();
    engine
        .push_sync(&OpSpec::new("waits").reads(&[b]), move |_| {
            send.send(inner.wait_for_var(a)).unwrap();
            inner.push_sync(&OpSpec::new("pushed").writes(&[b]), |_| Ok(()))?;
            Ok(())
        })
        .unwrap();
    engine
        .push_sync(&OpSpec::new("mutates").writes(&[a]), |_| Ok(()))
        .unwrap();
    drop(bulk);
    // Once for the bulk, and once for what it pushed.
    engine.wait_for_all().unwrap();
    engine.wait_for_all().unwrap();
    assert!(matches!(
        receive.recv().unwrap(),
        Err(WaitError::SelfDependency(var)) if var == a
    ));
    assert_eq!(engine.version(b).unwrap(), 1);
}

#[test]
fn nothing_joins_with_the_naive_engine() {
    let engine = Engine::builder().kind(Kind::Naive).build();
    let ran = Arc::new(AtomicUsize::new(0));
    let _bulk = engine.bulk(8);
    for k in 1..5 {
        let counter = ran.clone();
        let count = move |_: &_| {
            counter.fetch_add(1, Relaxed);
            Ok(())
        };
        engine.push_sync(&OpSpec::new("one"), count).unwrap();
        assert_eq!(ran.load(Relaxed), k);
    }
}

#[test]
fn threads_fill_bulks_of_their_own() {
    let engine = Engine::builder().workers(2).build();
    let shared = engine.new_variable();
    let counts: Vec<_> = (0..4).map(|_| Arc::new(AtomicUsize::new(0))).collect();
    std::thread::scope(|scope| {
        for count in &counts {
            let engine = &engine;
            scope.spawn(move || {
                let own = engine.new_variable();
                let _bulk = engine.bulk(15);
                for k in 0..10_000 {
                    let count = count.clone();
                    let (reads, writes) = ([shared], [own]);
                    let spec = match k % 100 {
                        0 => OpSpec::new("shared").writes(&reads),
                        _ => OpSpec::new("own").reads(&reads).writes(&writes),
                    };
                    let f = move |_: &_| {
                        let before = count.load(Relaxed);
                        assert_eq!(before, k, "a thread's own operations stay in order");
                        count.store(before + 1, Relaxed);
                        Ok(())
                    };
                    // All use `own` or come before all that do: so they are in order.
                    let spec = if k % 100 == 0 {
                        engine.push_sync(&spec.reads(&writes), f)
                    } else {
                        engine.push_sync(&spec, f)
                    };
                    spec.unwrap();
                }
            });
        }
    });
    engine.wait_for_all().unwrap();
    assert!(counts.iter().all(|count| count.load(Relaxed) == 10_000));
}
