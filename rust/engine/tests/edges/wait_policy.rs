//! A wait policy that panics: the panic reaches the caller of the wait, and nothing else is changed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::bombs::{assert_panicked, assert_works};
use crate::watchdog::in_child;
use ferromix_engine::{Engine, OnComplete, OpSpec, Var, WaitError, WaitPolicy};

#[derive(Clone, Copy, PartialEq, Debug)]
enum When {
    Before,
    After,
    Meanwhile,
}

const ALL: [When; 3] = [When::Before, When::After, When::Meanwhile];

/// Panics when it is asked so.
struct Nervous(When);

impl WaitPolicy for Nervous {
    fn meanwhile(&mut self, _ended: &dyn Fn() -> bool) {
        assert!(self.0 != When::Meanwhile, "nervous");
    }

    fn before_sleep(&mut self) -> Option<Duration> {
        assert!(self.0 != When::Before, "nervous");
        Some(Duration::from_micros(100))
    }

    fn after_sleep(&mut self) {
        assert!(self.0 != When::After, "nervous");
    }
}

/// An operation on the variable that ends when the promise is kept.
fn push_held(engine: &Engine, var: Var) -> OnComplete {
    let (send, receive) = channel();
    engine
        .push_async(&OpSpec::new("held").writes(&[var]), move |_, done| {
            send.send(done).unwrap();
        })
        .unwrap();
    receive.recv().unwrap()
}

fn panics(f: impl FnOnce() -> Result<(), WaitError>) -> bool {
    catch_unwind(AssertUnwindSafe(|| drop(f()))).is_err()
}

#[test]
fn a_wait_for_a_variable_passes_the_panic_on_and_takes_no_failure_with_it() {
    let name = "a_wait_for_a_variable_passes_the_panic_on_and_takes_no_failure_with_it";
    in_child(name, 8, || {
        for traced in [false, true] {
            for when in ALL {
                let engine = Engine::builder().workers(1).build();
                if traced {
                    engine.start_trace();
                }
                let var = engine.new_variable();
                let done = push_held(&engine, var);
                assert!(panics(|| engine.wait_for_var_with(var, &mut Nervous(when))));
                done.complete(Err("kept".into()));
                let next = engine.wait_for_var(var);
                assert!(
                    matches!(next, Err(WaitError::Failed(_))),
                    "{when:?} {next:?}"
                );
                assert_works(&engine);
            }
        }
    });
}

#[test]
fn a_wait_for_all_passes_the_panic_on_and_takes_no_failure_with_it() {
    let name = "a_wait_for_all_passes_the_panic_on_and_takes_no_failure_with_it";
    in_child(name, 8, || {
        for when in ALL {
            let engine = Engine::builder().workers(1).build();
            let var = engine.new_variable();
            let done = push_held(&engine, var);
            assert!(panics(|| engine.wait_for_all_with(&mut Nervous(when))));
            assert_eq!(engine.counters().in_flight, 1);
            done.complete(Err("kept".into()));
            let next = engine.wait_for_all();
            assert!(matches!(next, Err(WaitError::Failed(_))), "{next:?}");
            assert_works(&engine);
        }
    });
}

#[test]
fn a_wait_below_the_limit_passes_the_panic_on() {
    let name = "a_wait_below_the_limit_passes_the_panic_on";
    in_child(name, 8, || {
        for when in [When::Before, When::After] {
            let builder = Engine::builder().workers(1).max_in_flight(64);
            let engine = builder.pushers_wait(false).build();
            let var = engine.new_variable();
            let done = push_held(&engine, var);
            for _ in 0..300 {
                engine
                    .push_sync(&OpSpec::new("behind").writes(&[var]), |_| Ok(()))
                    .unwrap();
            }
            assert!(engine.is_over_limit());
            assert!(panics(|| engine.wait_below_limit(&mut Nervous(when))));
            done.complete(Ok(()));
            engine.wait_for_var(var).unwrap();
            assert_works(&engine);
        }
    });
}

#[test]
fn a_wait_inside_an_operation_that_panics_costs_no_worker() {
    let name = "a_wait_inside_an_operation_that_panics_costs_no_worker";
    in_child(name, 8, || {
        for when in ALL {
            let engine = Engine::builder().workers(1).build();
            // More often than workers of a lane may wait.
            for _ in 0..100 {
                let (var, out) = (engine.new_variable(), engine.new_variable());
                let done = push_held(&engine, var);
                let inner = engine.clone();
                engine
                    .push_sync(&OpSpec::new("waits").writes(&[out]), move |_| {
                        inner.wait_for_var_with(var, &mut Nervous(when))?;
                        Ok(())
                    })
                    .unwrap();
                assert_panicked(engine.wait_for_var(out));
                done.complete(Ok(()));
                engine.wait_for_var(var).unwrap();
            }
            assert_works(&engine);
        }
    });
}

#[test]
fn a_panic_inside_blocking_costs_no_worker() {
    let name = "a_panic_inside_blocking_costs_no_worker";
    in_child(name, 8, || {
        let engine = Engine::builder().workers(1).build();
        for _ in 0..100 {
            let (out, inner) = (engine.new_variable(), engine.clone());
            engine
                .push_sync(&OpSpec::new("blocks").writes(&[out]), move |_| {
                    inner.blocking(|| panic!("nervous"))
                })
                .unwrap();
            assert_panicked(engine.wait_for_var(out));
        }
        assert_works(&engine);
    });
}
