//! An `OnComplete` that is dropped: whatever else happens on its thread, the operation ends, with a
//! failure.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::bombs::{assert_panicked, assert_works};
use crate::engines::engines;
use crate::watchdog::in_child;
use ferromix_engine::{
    Engine, NeverCompleted, OnComplete, OpError, OpSpec, Program, RunContext, Var, WaitError,
};

fn assert_never_completed(result: Result<(), WaitError>) {
    match result {
        Err(WaitError::Failed(failure)) => {
            assert!(failure.error().is::<NeverCompleted>(), "{failure}");
        }
        other => panic!("no failure: {other:?}"),
    }
}

/// What a function does with its promise.
type Act = fn(OnComplete);

fn drops(done: OnComplete) {
    drop(done);
}

fn drops_in_a_panic_that_it_catches(done: OnComplete) {
    let caught = catch_unwind(AssertUnwindSafe(move || {
        let _done = done;
        panic!("caught by the function");
    }));
    assert!(caught.is_err());
}

fn drops_in_its_panic(done: OnComplete) {
    let _done = done;
    panic!("of the function");
}

fn drops_before_its_panic(done: OnComplete) {
    drop(done);
    panic!("of the function");
}

fn drops_in_a_caught_panic_before_its_own(done: OnComplete) {
    drops_in_a_panic_that_it_catches(done);
    panic!("of the function");
}

/// Runs the operation, and then something behind it, which is skipped, on all engines.
fn operation(name: &str, act: Act, check: fn(Result<(), WaitError>)) {
    in_child(name, 8, || {
        for engine in engines() {
            for small in [false, true] {
                let var = engine.new_variable();
                let spec = OpSpec::new("drops").inline(small);
                let run = move |_: &_, done| act(done);
                engine.push_async(&spec.writes(&[var]), run).unwrap();
                let ran = push_behind(&engine, var);
                check(engine.wait_for_var(var));
                assert!(!ran.load(Relaxed), "what depends on it is skipped");
                assert_works(&engine);
            }
        }
    });
}

/// A function that says so when it is called.
fn says(
    ran: &Arc<AtomicBool>,
) -> impl Fn(&RunContext) -> Result<(), OpError> + Send + Sync + 'static {
    let ran = ran.clone();
    move |_| {
        ran.store(true, Relaxed);
        Ok(())
    }
}

fn push_behind(engine: &Engine, var: Var) -> Arc<AtomicBool> {
    let ran = Arc::default();
    engine
        .push_sync(&OpSpec::new("behind").writes(&[var]), says(&ran))
        .unwrap();
    ran
}

/// The same, for a step of a program.
fn step(name: &str, act: Act, check: fn(Result<(), WaitError>)) {
    in_child(name, 8, || {
        for engine in engines() {
            for small in [false, true] {
                let var = engine.new_variable();
                let writes = [var];
                let spec = OpSpec::new("drops").inline(small).writes(&writes);
                let ran = Arc::default();
                let program = Program::builder("drops")
                    .inline(small)
                    .async_op(&spec, move |_, done| act(done))
                    .op(&spec, says(&ran))
                    .build();
                for launches in 1..=2 {
                    engine.launch(&program).unwrap();
                    check(engine.wait_for_var(var));
                    assert!(!ran.load(Relaxed), "what depends on it is skipped");
                    assert_eq!(engine.version(var), Ok(launches));
                }
                assert_works(&engine);
            }
        }
    });
}

#[test]
fn a_promise_that_is_dropped_fails() {
    let name = "a_promise_that_is_dropped_fails";
    operation(name, drops, assert_never_completed);
}

#[test]
fn a_promise_of_a_step_that_is_dropped_fails() {
    let name = "a_promise_of_a_step_that_is_dropped_fails";
    step(name, drops, assert_never_completed);
}

#[test]
fn a_promise_that_is_dropped_in_a_caught_panic_fails() {
    let name = "a_promise_that_is_dropped_in_a_caught_panic_fails";
    operation(
        name,
        drops_in_a_panic_that_it_catches,
        assert_never_completed,
    );
}

#[test]
fn a_promise_of_a_step_that_is_dropped_in_a_caught_panic_fails() {
    let name = "a_promise_of_a_step_that_is_dropped_in_a_caught_panic_fails";
    step(
        name,
        drops_in_a_panic_that_it_catches,
        assert_never_completed,
    );
}

#[test]
fn a_panic_that_drops_the_promise_is_the_failure() {
    let name = "a_panic_that_drops_the_promise_is_the_failure";
    operation(name, drops_in_its_panic, assert_panicked);
}

#[test]
fn a_panic_of_a_step_that_drops_the_promise_is_the_failure() {
    let name = "a_panic_of_a_step_that_drops_the_promise_is_the_failure";
    step(name, drops_in_its_panic, assert_panicked);
}

#[test]
fn a_panic_after_the_promise_was_dropped_is_the_failure() {
    let name = "a_panic_after_the_promise_was_dropped_is_the_failure";
    operation(name, drops_before_its_panic, assert_panicked);
}

#[test]
fn a_panic_of_a_step_after_the_promise_was_dropped_is_the_failure() {
    let name = "a_panic_of_a_step_after_the_promise_was_dropped_is_the_failure";
    step(name, drops_before_its_panic, assert_panicked);
}

#[test]
fn a_panic_after_a_caught_one_that_dropped_the_promise_is_the_failure() {
    let name = "a_panic_after_a_caught_one_that_dropped_the_promise_is_the_failure";
    operation(
        name,
        drops_in_a_caught_panic_before_its_own,
        assert_panicked,
    );
}

#[test]
fn a_promise_that_another_thread_drops_in_its_panic_fails() {
    let name = "a_promise_that_another_thread_drops_in_its_panic_fails";
    let elsewhere: Act = |done| {
        std::thread::spawn(move || drops_in_its_panic(done));
    };
    operation(name, elsewhere, assert_never_completed);
}

/// Pushes, during a panic of the thread, an operation that runs within the push.
struct PushesAtTheEnd<'a>(&'a Engine, Var, Act);

impl Drop for PushesAtTheEnd<'_> {
    fn drop(&mut self) {
        let Self(engine, var, act) = *self;
        let spec = OpSpec::new("during a panic").inline(true);
        let run = move |_: &_, done| act(done);
        engine.push_async(&spec.writes(&[var]), run).unwrap();
    }
}

fn during_a_panic(name: &str, act: Act, check: fn(Result<(), WaitError>)) {
    in_child(name, 8, || {
        for engine in engines() {
            let var = engine.new_variable();
            let outer = catch_unwind(AssertUnwindSafe(|| {
                let _pushes = PushesAtTheEnd(&engine, var, act);
                panic!("of the pusher");
            }));
            assert!(outer.is_err());
            let ran = push_behind(&engine, var);
            check(engine.wait_for_var(var));
            assert!(!ran.load(Relaxed), "what depends on it is skipped");
            assert_works(&engine);
        }
    });
}

#[test]
fn a_promise_that_is_dropped_while_the_pusher_panics_fails() {
    let name = "a_promise_that_is_dropped_while_the_pusher_panics_fails";
    during_a_panic(name, drops, assert_never_completed);
}

#[test]
fn a_promise_dropped_in_a_caught_panic_while_the_pusher_panics_fails() {
    let name = "a_promise_dropped_in_a_caught_panic_while_the_pusher_panics_fails";
    during_a_panic(
        name,
        drops_in_a_panic_that_it_catches,
        assert_never_completed,
    );
}

#[test]
fn a_panic_that_drops_the_promise_while_the_pusher_panics_is_the_failure() {
    let name = "a_panic_that_drops_the_promise_while_the_pusher_panics_is_the_failure";
    during_a_panic(name, drops_in_its_panic, assert_panicked);
}
