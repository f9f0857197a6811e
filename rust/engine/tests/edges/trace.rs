//! A trace that is stopped when all operations are over has them all, also those whose functions
//! have not returned.

use std::thread::sleep;
use std::time::Duration;

use ferromix_engine::{Engine, OnComplete, OpSpec, Program, Trace};

const A_WHILE: Duration = Duration::from_millis(50);

/// How many of this name the table has.
fn count(trace: &Trace, name: &str) -> u64 {
    let rows = trace.summary();
    let mut rows = rows.iter().filter(|row| row.name == name);
    let count = rows.next().map_or(0, |row| row.count);
    assert!(rows.next().is_none(), "one row per name");
    count
}

fn completes_and_lingers(done: OnComplete) {
    done.complete(Ok(()));
    sleep(A_WHILE);
}

#[test]
fn an_operation_that_completes_and_lingers_is_in_the_trace_once() {
    let engine = Engine::builder().workers(1).build();
    engine.start_trace();
    let spec = OpSpec::new("lingers");
    engine
        .push_async(&spec, |_, done| completes_and_lingers(done))
        .unwrap();
    engine.wait_for_all().unwrap();
    let trace = engine.stop_trace().unwrap();
    assert_eq!(count(&trace, "lingers"), 1);
}

#[test]
fn an_operation_that_lingers_is_once_in_a_later_look_as_well() {
    let engine = Engine::builder().workers(1).build();
    engine.start_trace();
    let spec = OpSpec::new("lingers");
    engine
        .push_async(&spec, |_, done| completes_and_lingers(done))
        .unwrap();
    engine.wait_for_all().unwrap();
    assert_eq!(count(&engine.trace().unwrap(), "lingers"), 1);
    sleep(2 * A_WHILE);
    assert_eq!(count(&engine.stop_trace().unwrap(), "lingers"), 1);
}

#[test]
fn a_step_that_completes_and_lingers_is_in_the_trace_once() {
    let engine = Engine::builder().workers(1).build();
    let program = Program::builder("program")
        .async_op(&OpSpec::new("lingers"), |_, done| {
            completes_and_lingers(done);
        })
        .build();
    engine.start_trace();
    engine.launch(&program).unwrap();
    engine.wait_for_all().unwrap();
    let trace = engine.stop_trace().unwrap();
    assert_eq!(count(&trace, "lingers"), 1);
}

#[test]
fn an_operation_that_completes_at_its_end_is_in_the_trace_once() {
    let engine = Engine::builder().workers(1).build();
    engine.start_trace();
    for _ in 0..100 {
        engine
            .push_async(&OpSpec::new("quick"), |_, done| done.complete(Ok(())))
            .unwrap();
        engine.wait_for_all().unwrap();
    }
    let trace = engine.stop_trace().unwrap();
    assert_eq!(count(&trace, "quick"), 100);
}
