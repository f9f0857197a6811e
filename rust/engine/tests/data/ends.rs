//! The end of `Data`: of its handles, of its value, of its guards, of the operations on it; and looks
//! at it from inside of operations.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread::sleep;
use std::time::Duration;

use crate::bombs::{Bomb, SIZES, assert_works, silence, spill};
use crate::engines::{engines, threaded};
use crate::watchdog::in_child;
use ferromix_engine::{Engine, OnComplete, OpSpec, Program, WaitError};

const SHORT: Duration = Duration::from_millis(10);

fn everywhere(name: &str, test: impl Fn(&Engine)) {
    in_child(name, 12, || {
        for engine in engines() {
            test(&engine);
            engine.wait_for_all().unwrap();
            assert_eq!(engine.counters().in_flight, 0);
        }
    });
}

/// Counts its ends.
struct Counted(Arc<AtomicU64>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn the_value_goes_with_the_last_handle_once() {
    everywhere("the_value_goes_with_the_last_handle_once", |engine| {
        let dropped = Arc::new(AtomicU64::new(0));
        for operations in [0, 1, 10] {
            dropped.store(0, Relaxed);
            let data = engine.data(Counted(dropped.clone()));
            let var = data.var();
            for k in 0..operations {
                let (mine, vars) = (data.clone(), [var]);
                let spec = OpSpec::new("uses");
                let spec = if k % 2 == 0 {
                    spec.reads(&vars)
                } else {
                    spec.writes(&vars)
                };
                let push = engine.push_sync(&spec, move |context| {
                    assert_eq!(context.read(&mine)?.0.load(Relaxed), 0);
                    Ok(())
                });
                push.unwrap();
            }
            drop(data);
            engine.wait_for_all().unwrap();
            assert_eq!(dropped.load(Relaxed), 1);
            assert!(engine.version(var).is_err());
        }
    });
}

#[test]
fn operations_that_only_list_the_variable_do_not_need_a_handle() {
    let name = "operations_that_only_list_the_variable_do_not_need_a_handle";
    in_child(name, 8, || {
        let (engine, dropped) = (threaded(2), Arc::new(AtomicU64::new(0)));
        let ((send, promises), data) = (channel(), engine.data(Counted(dropped.clone())));
        let vars = [data.var()];
        let push = engine.push_async(&OpSpec::new("held").writes(&vars), move |_, done| {
            send.send(done).unwrap();
        });
        push.unwrap();
        let push = engine.push_sync(&OpSpec::new("behind").reads(&vars), |_| Ok(()));
        push.unwrap();
        let promise: OnComplete = promises.recv().unwrap();
        drop(data);
        assert!(
            engine
                .push_sync(&OpSpec::new("late").reads(&vars), |_| Ok(()))
                .is_err()
        );
        promise.complete(Ok(()));
        engine.wait_for_all().unwrap();
        assert_eq!(dropped.load(Relaxed), 1);
    });
}

#[test]
fn into_inner_needs_the_only_handle() {
    everywhere("into_inner_needs_the_only_handle", |engine| {
        let data = engine.data(String::from("mine"));
        let var = data.var();
        let refused = data.clone().into_inner();
        assert!(
            matches!(refused, Err(WaitError::InUse(v)) if v == var),
            "{refused:?}"
        );
        let dropped = Arc::new(AtomicU64::new(0));
        let mine = (data.clone(), Counted(dropped.clone()));
        let program = Program::builder("has one")
            .op(&OpSpec::new("step").writes(&[var]), move |context| {
                let (data, _) = &mine;
                context.write(data)?.push('!');
                Ok(())
            })
            .build();
        engine.launch(&program).unwrap();
        assert_eq!(*data.read().unwrap(), "mine!");
        assert!(matches!(
            data.clone().into_inner(),
            Err(WaitError::InUse(_))
        ));
        engine.wait_for_all().unwrap();
        drop(program);
        // A worker may have been asked to take part, and come too late.
        while dropped.load(Relaxed) == 0 {
            std::thread::yield_now();
        }
        assert_eq!(data.into_inner().unwrap(), "mine!");
        assert!(engine.version(var).is_err());
    });
}

#[test]
fn a_value_that_panics_when_dropped_harms_nobody() {
    in_child("a_value_that_panics_when_dropped_harms_nobody", 12, || {
        silence();
        for size in SIZES {
            for engine in engines() {
                spill(engine.data(Bomb(size)));
                // By an operation, which has the last handle, called or skipped.
                for fails in [false, true] {
                    let (data, var) = (engine.data(Bomb(size)), engine.new_variable());
                    if fails {
                        let spec = OpSpec::new("fails");
                        let push = engine.push_sync(&spec.writes(&[var]), |_| Err("no".into()));
                        push.unwrap();
                    }
                    let vars = [data.var(), var];
                    let push =
                        engine.push_sync(&OpSpec::new("last").writes(&vars), move |context| {
                            assert_eq!(context.read(&data)?.0, size);
                            Ok(())
                        });
                    push.unwrap();
                    spill(engine.wait_for_all());
                }
                // Replaced, taken, and left inside of a guard's thread.
                let data = engine.data(Bomb(0));
                *data.write().unwrap() = Bomb(size);
                let bomb = data.into_inner().unwrap();
                assert_eq!(bomb.0, size);
                spill(bomb);
                assert_works(&engine);
            }
        }
    });
}

#[test]
fn data_of_no_size_is_data() {
    everywhere("data_of_no_size_is_data", |engine| {
        let data = engine.data(());
        let (a, b) = (data.clone(), data.clone());
        let vars = [data.var()];
        let push = engine.push_sync(&OpSpec::new("writes").writes(&vars), move |context| {
            *context.write(&a)? = ();
            Ok(())
        });
        push.unwrap();
        let push = engine.push_sync(&OpSpec::new("reads").reads(&vars), move |context| {
            let () = *context.read(&b)?;
            assert!(context.write(&b).is_err());
            Ok(())
        });
        push.unwrap();
        let () = *data.read().unwrap();
        *data.write().unwrap() = ();
        engine.wait_for_all().unwrap();
        let () = data.into_inner().unwrap();
    });
}

#[test]
fn an_operation_cannot_look_from_outside_at_what_it_holds() {
    let name = "an_operation_cannot_look_from_outside_at_what_it_holds";
    everywhere(name, |engine| {
        let (held, read) = (engine.data(1), engine.data(2));
        let (a, b) = (held.clone(), read.clone());
        let (reads, writes) = ([read.var()], [held.var()]);
        let spec = OpSpec::new("looks").reads(&reads).writes(&writes);
        let is_own = |result: Result<(), WaitError>| {
            assert!(
                matches!(result, Err(WaitError::SelfDependency(_))),
                "{result:?}"
            );
        };
        let push = engine.push_sync(&spec, move |context| {
            is_own(a.read().map(drop));
            is_own(a.write().map(drop));
            is_own(a.clone().into_inner().map(drop));
            is_own(b.write().map(drop));
            is_own(b.clone().into_inner().map(drop));
            assert_eq!(*b.read()?, 2);
            *context.write(&a)? += *context.read(&b)?;
            Ok(())
        });
        push.unwrap();
        assert_eq!(*held.read().unwrap(), 3);
    });
}

#[test]
fn a_guard_that_is_leaked_leaves_an_operation_in_flight_and_nothing_worse() {
    let name = "a_guard_that_is_leaked_leaves_an_operation_in_flight_and_nothing_worse";
    in_child(name, 8, || {
        let limit = Duration::from_millis(30);
        let engine = Engine::builder().workers(1).drop_limit(limit).build();
        let (data, leaked) = (engine.data(1), engine.data(2));
        std::mem::forget(leaked.read().unwrap());
        assert_eq!(*leaked.read().unwrap(), 2);
        *data.write().unwrap() += 1;
        // References of operations that are leaked are an error for those behind.
        let (mine, vars) = (data.clone(), [data.var()]);
        let push = engine.push_sync(&OpSpec::new("leaks").writes(&vars), move |context| {
            std::mem::forget(context.write(&mine)?);
            Ok(())
        });
        push.unwrap();
        assert!(matches!(data.read().map(drop), Err(WaitError::InUse(_))));
        assert!(matches!(data.write().map(drop), Err(WaitError::InUse(_))));
        assert_eq!(data.into_inner().unwrap(), 2);
        assert_eq!(engine.shutdown(limit).unwrap_err().count(), 1);
    });
}

#[test]
fn guards_hold_others_back_until_they_are_dropped() {
    in_child("guards_hold_others_back_until_they_are_dropped", 8, || {
        for engine in [threaded(1), threaded(4)] {
            let (data, ran) = (engine.data(1), Arc::new(AtomicBool::new(false)));
            let vars = [data.var()];
            let push = |spec: &OpSpec<'_>| {
                let ran = ran.clone();
                let push = engine.push_sync(spec, move |_| {
                    ran.store(true, Relaxed);
                    Ok(())
                });
                push.unwrap();
            };
            let (first, second) = (data.read().unwrap(), data.read().unwrap());
            push(&OpSpec::new("reads").reads(&vars));
            engine.wait_for_all_timeout(SHORT).unwrap_err();
            // Readers go on.
            while !ran.swap(false, Relaxed) {
                sleep(SHORT / 10);
            }
            push(&OpSpec::new("writes").writes(&vars));
            drop(first);
            sleep(SHORT);
            assert!(!ran.load(Relaxed));
            assert_eq!(*second, 1);
            drop(second);
            engine.wait_for_all().unwrap();
            assert!(ran.swap(false, Relaxed));
            let mut guard = data.write().unwrap();
            push(&OpSpec::new("reads").reads(&vars));
            sleep(SHORT);
            *guard += 1;
            assert!(!ran.load(Relaxed));
            // By another thread, as guards may go anywhere.
            std::thread::scope(|scope| scope.spawn(move || drop(guard)).join().unwrap());
            engine.wait_for_all().unwrap();
            assert!(ran.load(Relaxed));
            assert_eq!(*data.read().unwrap(), 2);
        }
    });
}
