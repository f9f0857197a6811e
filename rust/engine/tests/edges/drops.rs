//! A panic's payload may panic itself when it is dropped. It goes no further than the operation
//! that panicked, wherever that ran.

use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::bombs::{Bomb, SIZES, assert_inherited, assert_panicked, assert_works, silence};
use crate::engines::engines;
use crate::watchdog::in_child;
use ferromix_engine::{Engine, OpSpec, Program};

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

#[test]
fn a_payload_that_panics_when_dropped_goes_no_further() {
    let name = "a_payload_that_panics_when_dropped_goes_no_further";
    everywhere(name, |engine, size| {
        let var = engine.new_variable();
        let spec = OpSpec::new("explodes");
        engine
            .push_sync(&spec.writes(&[var]), move |_| panic_any(Bomb(size)))
            .unwrap();
        assert_inherited(engine, var);
    });
}

#[test]
fn a_payload_of_a_small_operation_does_not_reach_the_pusher() {
    let name = "a_payload_of_a_small_operation_does_not_reach_the_pusher";
    everywhere(name, |engine, size| {
        let var = engine.new_variable();
        let spec = OpSpec::new("explodes").inline(true);
        engine
            .push_sync(&spec.writes(&[var]), move |_| panic_any(Bomb(size)))
            .unwrap();
        assert_inherited(engine, var);
    });
}

#[test]
fn a_payload_of_an_asynchronous_operation_goes_no_further() {
    let name = "a_payload_of_an_asynchronous_operation_goes_no_further";
    everywhere(name, |engine, size| {
        for small in [false, true] {
            let var = engine.new_variable();
            let spec = OpSpec::new("explodes").inline(small);
            engine
                .push_async(&spec.writes(&[var]), move |_, done| {
                    let _done = done;
                    panic_any(Bomb(size));
                })
                .unwrap();
            assert_inherited(engine, var);
        }
    });
}

#[test]
fn a_payload_of_a_function_whose_operation_is_complete_goes_no_further() {
    let name = "a_payload_of_a_function_whose_operation_is_complete_goes_no_further";
    everywhere(name, |engine, size| {
        let var = engine.new_variable();
        let spec = OpSpec::new("explodes late");
        engine
            .push_async(&spec.writes(&[var]), move |_, done| {
                done.complete(Ok(()));
                panic_any(Bomb(size));
            })
            .unwrap();
        engine.wait_for_var(var).unwrap();
        // The panic is on record as soon as the function is over.
        let panicked = std::iter::repeat_with(|| engine.wait_for_all()).find(Result::is_err);
        assert_panicked(panicked.unwrap());
    });
}

#[test]
fn a_payload_of_a_deletion_goes_no_further() {
    let name = "a_payload_of_a_deletion_goes_no_further";
    everywhere(name, |engine, size| {
        let (idle, used) = (engine.new_variable(), engine.new_variable());
        engine
            .push_sync(&OpSpec::new("use").writes(&[used]), |_| Ok(()))
            .unwrap();
        for var in [idle, used] {
            let explodes = move || panic_any(Bomb(size));
            engine.delete_variable(var, explodes).unwrap();
            assert_panicked(engine.wait_for_all());
            assert!(engine.version(var).is_err());
        }
    });
}

#[test]
fn a_payload_of_an_item_of_a_bulk_goes_no_further() {
    let name = "a_payload_of_an_item_of_a_bulk_goes_no_further";
    everywhere(name, |engine, size| {
        let (var, other) = (engine.new_variable(), engine.new_variable());
        let bulk = engine.bulk(100);
        let ran = Arc::new(AtomicU64::new(0));
        let count = |value: u64| {
            let ran = ran.clone();
            move |_: &_| {
                ran.fetch_add(value, Relaxed);
                Ok(())
            }
        };
        let spec = OpSpec::new("item");
        engine
            .push_sync(&spec.writes(&[var]), move |_| panic_any(Bomb(size)))
            .unwrap();
        engine.push_sync(&spec.writes(&[var]), count(1)).unwrap();
        engine.push_sync(&spec.writes(&[other]), count(10)).unwrap();
        drop(bulk);
        engine.wait_for_var(other).unwrap();
        assert_inherited(engine, var);
        assert_eq!(ran.load(Relaxed), 10);
    });
}

/// Launches a program twice: one step explodes, the next is skipped, another runs.
fn explodes_in_a_step(engine: &Engine, size: u32, asynchronous: bool, small: bool) {
    let (var, other) = (engine.new_variable(), engine.new_variable());
    let (on_var, on_other) = ([var], [other]);
    let ran = Arc::new(AtomicU64::new(0));
    let count = |value: u64| {
        let ran = ran.clone();
        move |_: &_| {
            ran.fetch_add(value, Relaxed);
            Ok(())
        }
    };
    let spec = OpSpec::new("step").inline(small);
    let builder = Program::builder("explodes").inline(small);
    let builder = if asynchronous {
        builder.async_op(&spec.writes(&on_var), move |_, done| {
            let _done = done;
            panic_any(Bomb(size));
        })
    } else {
        builder.op(&spec.writes(&on_var), move |_| panic_any(Bomb(size)))
    };
    let program = builder
        .op(&spec.writes(&on_var), count(1))
        .op(&spec.writes(&on_other), count(10))
        .build();
    for launches in 1..=2 {
        engine.launch(&program).unwrap();
        engine.wait_for_var(other).unwrap();
        assert_inherited(engine, var);
        assert_eq!(ran.load(Relaxed), 10 * launches);
    }
}

#[test]
fn a_payload_of_a_step_goes_no_further() {
    let name = "a_payload_of_a_step_goes_no_further";
    everywhere(name, |engine, size| {
        explodes_in_a_step(engine, size, false, false);
    });
}

#[test]
fn a_payload_of_a_small_step_goes_no_further() {
    let name = "a_payload_of_a_small_step_goes_no_further";
    everywhere(name, |engine, size| {
        explodes_in_a_step(engine, size, false, true);
    });
}

#[test]
fn a_payload_of_an_asynchronous_step_goes_no_further() {
    let name = "a_payload_of_an_asynchronous_step_goes_no_further";
    everywhere(name, |engine, size| {
        explodes_in_a_step(engine, size, true, false);
        explodes_in_a_step(engine, size, true, true);
    });
}

#[test]
fn an_operator_whose_payload_panics_when_dropped_may_be_pushed_again() {
    let name = "an_operator_whose_payload_panics_when_dropped_may_be_pushed_again";
    everywhere(name, |engine, size| {
        let var = engine.new_variable();
        let writes = [var];
        let spec = OpSpec::new("explodes").writes(&writes);
        let operator = engine.new_operator(&spec, move |_| panic_any(Bomb(size)));
        for _ in 0..3 {
            engine
                .push(&operator, ferromix_engine::Device::CPU, 0)
                .unwrap();
            assert_inherited(engine, var);
        }
        engine.delete_operator(operator);
    });
}
