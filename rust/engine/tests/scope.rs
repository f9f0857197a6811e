//! `Engine::scope`: operations that borrow from the stack of the pusher, which waits for all of them
//! however the scope is left.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

#[path = "common/engines.rs"]
mod engines;
#[path = "common/watchdog.rs"]
mod watchdog;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread::sleep;
use std::time::Duration;

use engines::{engines, threaded};
use ferromix_engine::{Engine, OnComplete, OpSpec, PushError, Scope, Var, WaitError};
use watchdog::in_child;

const SHORT: Duration = Duration::from_millis(5);

fn everywhere(name: &str, test: impl Fn(&Engine)) {
    in_child(name, 8, || {
        for engine in engines() {
            test(&engine);
            engine.wait_for_all().unwrap();
            assert_eq!(engine.counters().in_flight, 0);
        }
    });
}

/// Adds to the counter, a little later.
fn add<'scope>(scope: &'scope Scope<'scope, '_>, spec: OpSpec<'_>, to: &'scope AtomicU64, n: u64) {
    let push = scope.push_sync(&spec, move |_| {
        sleep(SHORT);
        to.fetch_add(n, Relaxed);
        Ok(())
    });
    push.unwrap();
}

#[test]
fn operations_change_locals_of_the_pusher() {
    everywhere("operations_change_locals_of_the_pusher", |engine| {
        let (mut numbers, mut text) = ([0_u64; 64], String::new());
        let order = engine.new_variable();
        let sum = engine.scope(|scope| {
            for (k, number) in numbers.iter_mut().enumerate() {
                let spec = OpSpec::new("fill").inline(k % 3 == 0);
                let push = scope.push_sync(&spec, move |context| {
                    assert_eq!(context.tag(), 0);
                    *number = k as u64;
                    Ok(())
                });
                push.unwrap();
            }
            7
        });
        assert_eq!(sum, 7);
        assert_eq!(numbers.iter().sum::<u64>(), 63 * 64 / 2);
        // In order, by a variable.
        let words = ["in ", "this ", "order"];
        let shared = std::sync::Mutex::new(&mut text);
        engine.scope(|scope| {
            for word in words {
                let shared = &shared;
                let push = scope.push_sync(&OpSpec::new("append").writes(&[order]), move |_| {
                    shared.lock().unwrap().push_str(word);
                    Ok(())
                });
                push.unwrap();
            }
        });
        assert_eq!(text, "in this order");
        // The functions have run; the last operation may be about to end.
        engine.wait_for_var(order).unwrap();
        assert_eq!(engine.version(order), Ok(3));
    });
}

#[test]
fn a_panic_of_the_closure_waits_first() {
    everywhere("a_panic_of_the_closure_waits_first", |engine| {
        let ran = AtomicU64::new(0);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            engine.scope(|scope| {
                for _ in 0..10 {
                    add(scope, OpSpec::new("op"), &ran, 1);
                }
                resume_unwind(Box::new(5));
            });
        }));
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&5));
        assert_eq!(ran.load(Relaxed), 10);
    });
}

#[test]
fn operations_that_fail_panic_or_are_skipped_are_waited_for() {
    let name = "operations_that_fail_panic_or_are_skipped_are_waited_for";
    everywhere(name, |engine| {
        for panics in [false, true] {
            let (var, ran) = (engine.new_variable(), AtomicU64::new(0));
            let mut dropped = 0;
            struct Says<'a>(&'a mut u64);
            impl Drop for Says<'_> {
                fn drop(&mut self) {
                    sleep(SHORT);
                    *self.0 += 1;
                }
            }
            let says = Says(&mut dropped);
            engine.scope(|scope| {
                let push = scope.push_sync(&OpSpec::new("fails").writes(&[var]), |_| {
                    ran.fetch_add(1, Relaxed);
                    if panics {
                        resume_unwind(Box::new("panics"));
                    }
                    Err("fails".into())
                });
                push.unwrap();
                let push = scope.push_sync(&OpSpec::new("skipped").reads(&[var]), move |_| {
                    drop(says);
                    unreachable!()
                });
                push.unwrap();
                let push = scope.push_async(&OpSpec::new("skipped").reads(&[var]), |_, _| {
                    ran.fetch_add(100, Relaxed);
                });
                push.unwrap();
            });
            assert_eq!((ran.load(Relaxed), dropped), (1, 1));
            assert!(matches!(
                engine.wait_for_var(var),
                Err(WaitError::Failed(_))
            ));
            engine.wait_for_all().unwrap();
        }
    });
}

#[test]
fn scopes_nest() {
    everywhere("scopes_nest", |engine| {
        let total = AtomicU64::new(0);
        engine.scope(|outer| {
            add(outer, OpSpec::new("outer"), &total, 1);
            let inner_total = AtomicU64::new(0);
            engine.scope(|inner| {
                for _ in 0..5 {
                    add(inner, OpSpec::new("inner"), &inner_total, 10);
                    add(outer, OpSpec::new("outer"), &total, 1);
                }
            });
            assert_eq!(inner_total.load(Relaxed), 50);
        });
        assert_eq!(total.load(Relaxed), 6);
    });
}

#[test]
fn an_operation_may_have_a_scope() {
    everywhere("an_operation_may_have_a_scope", |engine| {
        let mut results = [0_u64; 8];
        engine.scope(|scope| {
            for (k, result) in results.iter_mut().enumerate() {
                let inner = engine.clone();
                let push = scope.push_sync(&OpSpec::new("has a scope"), move |_| {
                    let parts = [const { AtomicU64::new(0) }; 4];
                    inner.scope(|scope| {
                        for part in &parts {
                            add(scope, OpSpec::new("part"), part, k as u64);
                        }
                    });
                    *result = parts.iter().map(|part| part.load(Relaxed)).sum();
                    Ok(())
                });
                push.unwrap();
            }
        });
        assert_eq!(results, [0, 4, 8, 12, 16, 20, 24, 28]);
    });
}

/// A sum by halves, each in an operation of the scope that pushes more.
fn sum<'scope>(
    scope: &'scope Scope<'scope, '_>,
    numbers: &'scope [u64],
    total: &'scope AtomicU64,
) -> Result<(), PushError> {
    if numbers.len() <= 8 {
        total.fetch_add(numbers.iter().sum(), Relaxed);
        return Ok(());
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    for half in [left, right] {
        let spec = OpSpec::new("half").inline(half.len() < 20);
        scope.push_sync(&spec, move |_| Ok(sum(scope, half, total)?))?;
    }
    Ok(())
}

#[test]
fn operations_may_push_more_into_the_scope() {
    everywhere("operations_may_push_more_into_the_scope", |engine| {
        let (numbers, total) = ((0..2000).collect::<Vec<u64>>(), AtomicU64::new(0));
        engine.scope(|scope| sum(scope, &numbers, &total)).unwrap();
        assert_eq!(total.load(Relaxed), 1999 * 1000);
    });
}

#[test]
fn promises_may_outlive_the_scope() {
    in_child("promises_may_outlive_the_scope", 8, || {
        let engine = threaded(2);
        let (var, (send, promises)) = (engine.new_variable(), channel::<OnComplete>());
        let ran = AtomicU64::new(0);
        engine.scope(|scope| {
            let (ran, send) = (&ran, send.clone());
            let push = scope.push_async(&OpSpec::new("held").writes(&[var]), move |_, done| {
                sleep(SHORT);
                ran.fetch_add(1, Relaxed);
                send.send(done).unwrap();
            });
            push.unwrap();
        });
        assert_eq!(ran.load(Relaxed), 1, "the function has run");
        assert!(!engine.is_quiet(var), "and the operation is not over");
        promises.recv().unwrap().complete(Err("late".into()));
        assert!(matches!(
            engine.wait_for_var(var),
            Err(WaitError::Failed(_))
        ));
    });
}

#[test]
fn a_bulk_is_pushed_where_the_scope_ends() {
    everywhere("a_bulk_is_pushed_where_the_scope_ends", |engine| {
        let total = AtomicU64::new(0);
        let bulk = engine.bulk(100);
        for panics in [false, true] {
            let end = catch_unwind(AssertUnwindSafe(|| {
                engine.scope(|scope| {
                    for _ in 0..7 {
                        add(scope, OpSpec::new("collected"), &total, 1);
                    }
                    if panics {
                        resume_unwind(Box::new(5));
                    }
                });
            }));
            assert_eq!(end.is_err(), panics);
        }
        assert_eq!(total.load(Relaxed), 14);
        drop(bulk);
        engine.scope(|scope| {
            // Forgotten, and pushed all the same.
            std::mem::forget(engine.bulk(100));
            add(scope, OpSpec::new("collected"), &total, 1);
        });
        assert_eq!(total.load(Relaxed), 15);
    });
}

#[test]
fn a_refused_push_is_not_waited_for() {
    everywhere("a_refused_push_is_not_waited_for", |engine| {
        let (stale, mut local) = (engine.new_variable(), 1);
        engine.delete_variable(stale, || ()).unwrap();
        let refused = engine.scope(|scope| {
            scope.push_sync(&OpSpec::new("stale").reads(&[stale]), |_| {
                local += 1;
                Ok(())
            })
        });
        assert_eq!(refused, Err(PushError::StaleVariable(stale)));
        engine.notify_shutdown();
        let refused = engine.scope(|scope| {
            scope.push_async(&OpSpec::new("late"), |_, done| {
                local += 1;
                done.complete(Ok(()));
            })
        });
        assert_eq!((refused, local), (Err(PushError::ShutDown), 1));
    });
}

#[test]
fn threads_of_the_user_may_push_into_the_scope() {
    everywhere("threads_of_the_user_may_push_into_the_scope", |engine| {
        let (total, vars): (_, Vec<Var>) = (
            AtomicU64::new(0),
            (0..3).map(|_| engine.new_variable()).collect(),
        );
        engine.scope(|scope| {
            std::thread::scope(|threads| {
                for var in &vars {
                    let total = &total;
                    threads.spawn(move || {
                        for _ in 0..10 {
                            add(scope, OpSpec::new("op").writes(&[*var]), total, 1);
                        }
                    });
                }
            });
        });
        assert_eq!(total.load(Relaxed), 30);
    });
}
