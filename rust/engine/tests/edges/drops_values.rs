//! What an operation leaves behind may panic when it is dropped: errors, arguments, functions that
//! were never called. The engine drops it where that harms nobody.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use crate::bombs::{Bomb, SIZES, assert_panicked, assert_works, bad, silence, spill};
use crate::engines::{engines, threaded};
use crate::watchdog::in_child;
use ferromix_engine::{Engine, LaunchArgs, LocalVar, OpSpec, Program, Var, WaitError};

/// Tries all engines and bombs, in a child process.
fn everywhere(name: &str, test: impl Fn(&Engine, u32)) {
    in_child(name, 8, || {
        silence();
        for size in SIZES {
            for engine in engines() {
                test(&engine, size);
                assert_works(&engine);
            }
        }
    });
}

fn assert_failed(result: Result<(), WaitError>) {
    assert!(matches!(result, Err(WaitError::Failed(_))), "{result:?}");
    spill(result);
}

fn push_failing(engine: &Engine, vars: &[Var], size: u32) {
    engine
        .push_sync(&OpSpec::new("fails").writes(vars), move |_| Err(bad(size)))
        .unwrap();
}

#[test]
fn an_error_that_panics_when_dropped_is_replaced_by_a_later_write() {
    let name = "an_error_that_panics_when_dropped_is_replaced_by_a_later_write";
    everywhere(name, |engine, size| {
        let var = engine.new_variable();
        for small in [false, true] {
            push_failing(engine, &[var], size);
            assert_failed(engine.wait_for_var(var));
            let spec = OpSpec::new("later").inline(small);
            engine.push_sync(&spec.writes(&[var]), |_| Ok(())).unwrap();
            engine.wait_for_var(var).unwrap();
        }
        assert_eq!(engine.version(var), Ok(4));
    });
}

#[test]
fn an_error_that_panics_when_dropped_ends_with_its_variable() {
    let name = "an_error_that_panics_when_dropped_ends_with_its_variable";
    everywhere(name, |engine, size| {
        let var = engine.new_variable();
        push_failing(engine, &[var], size);
        assert_failed(engine.wait_for_var(var));
        engine.delete_variable(var, || ()).unwrap();
        engine.wait_for_all().unwrap();
        let again = engine.new_variable();
        assert_eq!(engine.version(again), Ok(0));
    });
}

#[test]
fn an_error_that_panics_when_dropped_may_come_by_any_way() {
    let name = "an_error_that_panics_when_dropped_may_come_by_any_way";
    everywhere(name, |engine, size| {
        let var = engine.new_variable();
        let writes = [var];
        let spec = OpSpec::new("fails").writes(&writes);
        let program = Program::builder("fails")
            .op(&OpSpec::new("inside"), move |_| Err(bad(size)))
            .locals(&[], &[LocalVar::new(0)])
            .op(&spec, move |_| Err(bad(size)))
            .async_op(&spec, move |_, done| done.complete(Err(bad(size))))
            .build();
        for way in 0..6 {
            let bulk = engine.bulk(if way % 3 == 0 { 10 } else { 1 });
            match way % 3 {
                0 => push_failing(engine, &writes, size),
                1 => engine
                    .push_async(&spec, move |_, done| {
                        std::thread::spawn(move || done.complete(Err(bad(size))));
                    })
                    .unwrap(),
                _ => engine.launch(&program).unwrap(),
            }
            drop(bulk);
            assert_failed(engine.wait_for_var(var));
        }
    });
}

#[test]
fn errors_that_panic_when_dropped_are_swept_from_the_ledger() {
    let name = "errors_that_panic_when_dropped_are_swept_from_the_ledger";
    everywhere(name, |engine, size| {
        for _ in 0..1500 {
            push_failing(engine, &[], size);
        }
        assert_failed(engine.wait_for_all());
        engine.wait_for_all().unwrap();
    });
}

#[test]
fn wait_for_all_forgets_errors_that_panic_when_dropped() {
    let name = "wait_for_all_forgets_errors_that_panic_when_dropped";
    everywhere(name, |engine, size| {
        for _ in 0..5 {
            push_failing(engine, &[], size);
        }
        assert_failed(engine.wait_for_all());
        engine.wait_for_all().unwrap();
    });
}

#[test]
fn errors_that_panic_when_dropped_end_with_the_engine() {
    let name = "errors_that_panic_when_dropped_end_with_the_engine";
    in_child(name, 8, || {
        silence();
        for size in SIZES {
            for surfaced in [false, true] {
                for engine in engines() {
                    for _ in 0..3 {
                        let var = engine.new_variable();
                        push_failing(&engine, &[var], size);
                        if surfaced {
                            assert_failed(engine.wait_for_var(var));
                        }
                        push_failing(&engine, &[], size);
                    }
                    drop(engine); // Here a panic would come out.
                }
            }
        }
    });
}

#[test]
fn an_argument_that_panics_when_dropped_goes_no_further() {
    let name = "an_argument_that_panics_when_dropped_goes_no_further";
    everywhere(name, |engine, size| {
        let var = engine.new_variable();
        let program = Program::builder("given")
            .op(&OpSpec::new("look").writes(&[var]), |context| {
                assert!(context.argument::<Bomb>().is_some());
                Ok(())
            })
            .build();
        for _ in 0..5 {
            let args = LaunchArgs::new().argument(Arc::new(Bomb(size)));
            engine.launch_with(&program, args).unwrap();
        }
        engine.wait_for_var(var).unwrap();
        assert_eq!(engine.version(var), Ok(5));
    });
}

#[test]
fn a_skipped_function_may_own_what_panics_when_dropped() {
    let name = "a_skipped_function_may_own_what_panics_when_dropped";
    everywhere(name, |engine, size| {
        let var = engine.new_variable();
        for way in 0..4 {
            engine
                .push_sync(&OpSpec::new("fails").writes(&[var]), |_| Err("no".into()))
                .unwrap();
            let bulk = engine.bulk(if way == 1 { 10 } else { 1 });
            let bomb = Bomb(size);
            let spec = OpSpec::new("skipped").inline(way == 3);
            if way == 2 {
                engine
                    .push_async(&spec.writes(&[var]), move |_, done| {
                        std::mem::forget(bomb);
                        done.complete(Ok(()));
                    })
                    .unwrap();
            } else {
                engine
                    .push_sync(&spec.writes(&[var]), move |_| {
                        std::mem::forget(bomb);
                        Ok(())
                    })
                    .unwrap();
            }
            drop(bulk);
            assert_failed(engine.wait_for_var(var));
            engine
                .push_sync(&OpSpec::new("later").writes(&[var]), |_| Ok(()))
                .unwrap();
            engine.wait_for_var(var).unwrap();
        }
    });
}

#[test]
fn a_called_function_that_owns_what_panics_when_dropped_fails() {
    let name = "a_called_function_that_owns_what_panics_when_dropped_fails";
    everywhere(name, |engine, size| {
        let var = engine.new_variable();
        let bomb = Bomb(size);
        engine
            .push_sync(&OpSpec::new("owner").writes(&[var]), move |_| {
                let _bomb = &bomb;
                Ok(())
            })
            .unwrap();
        assert_panicked(engine.wait_for_var(var));
    });
}

#[test]
fn a_refused_push_leaves_the_engine_whole() {
    let name = "a_refused_push_leaves_the_engine_whole";
    everywhere(name, |engine, size| {
        let (var, gone) = (engine.new_variable(), engine.new_variable());
        engine.delete_variable(gone, || ()).unwrap();
        for bytes in [0, 100] {
            let bomb = Bomb(size);
            let spec = OpSpec::new("late").bytes(bytes);
            // The function is the caller's still: so the panic may be his, too.
            let refused = catch_unwind(AssertUnwindSafe(|| {
                engine.push_sync(&spec.writes(&[var, gone]), move |_| {
                    let _bomb = &bomb;
                    Ok(())
                })
            }));
            spill(refused);
        }
        engine
            .push_sync(&OpSpec::new("good").writes(&[var]), |_| Ok(()))
            .unwrap();
        engine.wait_for_var(var).unwrap();
    });
}

/// Drops the last handle of a program in flight, with so many steps that own a bomb.
fn drops_a_program_in_flight(engine: &Engine, size: u32, bombs: usize) {
    let var = engine.new_variable();
    let writes = [var];
    let (open, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let spec = OpSpec::new("step").writes(&writes);
    let mut builder = Program::builder("short-lived").op(&spec, move |_| {
        gate.lock().unwrap().recv()?;
        Ok(())
    });
    for _ in 0..bombs {
        let bomb = Bomb(size);
        builder = builder.op(&spec, move |_| {
            let _bomb = &bomb;
            Ok(())
        });
    }
    let program = builder.build();
    engine.launch(&program).unwrap();
    drop(program);
    open.send(()).unwrap();
    engine.wait_for_var(var).unwrap();
    assert_eq!(engine.version(var), Ok(1));
}

#[test]
fn a_program_that_panics_when_dropped_ends_with_its_last_launch() {
    let name = "a_program_that_panics_when_dropped_ends_with_its_last_launch";
    in_child(name, 8, || {
        silence();
        for size in SIZES {
            for engine in [threaded(1), threaded(4)] {
                drops_a_program_in_flight(&engine, size, 1);
                assert_works(&engine);
            }
        }
    });
}

#[test]
fn a_program_with_several_steps_that_panic_when_dropped_ends_as_well() {
    let name = "a_program_with_several_steps_that_panic_when_dropped_ends_as_well";
    in_child(name, 8, || {
        silence();
        for size in SIZES {
            for engine in [threaded(1), threaded(4)] {
                drops_a_program_in_flight(&engine, size, 3);
                assert_works(&engine);
            }
        }
    });
}
