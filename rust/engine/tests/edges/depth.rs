//! However long a chain of operations that run inline, one within the other as users see it, the
//! stack stays short.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::yield_now;

use crate::engines::{engines, threaded};
use crate::watchdog::in_child;
use ferromix_engine::{Engine, Kind, OnComplete, OpSpec, Var};

/// Runs the body in a child process, on a thread with an ordinary stack.
fn on_an_ordinary_stack(name: &str, body: impl FnOnce() + Send + 'static) {
    in_child(name, 15, || {
        let builder = std::thread::Builder::new().stack_size(2 << 20);
        builder.spawn(body).unwrap().join().unwrap();
    });
}

fn naive() -> Engine {
    Engine::builder().kind(Kind::Naive).build()
}

fn wait_until(count: &AtomicUsize, right: usize) {
    while count.load(SeqCst) < right {
        yield_now();
    }
}

/// Deletes the variable at `at`, in whose function the next one is deleted.
fn delete_from(engine: &Engine, vars: &Arc<Vec<Var>>, at: usize, count: &Arc<AtomicUsize>) {
    let Some(&var) = vars.get(at) else {
        return;
    };
    let (inner, vars, count) = (engine.clone(), vars.clone(), count.clone());
    engine
        .delete_variable(var, move || {
            count.fetch_add(1, SeqCst);
            delete_from(&inner, &vars, at + 1, &count);
        })
        .unwrap();
}

#[test]
fn deletions_that_delete_do_not_nest() {
    on_an_ordinary_stack("deletions_that_delete_do_not_nest", || {
        for engine in engines() {
            let vars: Vec<Var> = (0..100_000).map(|_| engine.new_variable()).collect();
            let count = Arc::new(AtomicUsize::new(0));
            delete_from(&engine, &Arc::new(vars), 0, &count);
            wait_until(&count, 100_000);
            engine.wait_for_all().unwrap();
        }
    });
}

/// An operation whose promise lies in the place when the function is over.
fn push_held(engine: &Engine, vars: &[Var], place: &Arc<Mutex<Option<OnComplete>>>) {
    let place = place.clone();
    engine
        .push_async(&OpSpec::new("held").writes(vars), move |_, done| {
            *place.lock().unwrap() = Some(done);
        })
        .unwrap();
}

/// Pushes 100,000 operations behind a promise and keeps it, on the naive engine.
fn completes_within(chain: bool) {
    let (engine, count) = (naive(), Arc::new(AtomicUsize::new(0)));
    let (inner, total) = (engine.clone(), count.clone());
    let run = move |_: &_| {
        let (var, place) = (inner.new_variable(), Arc::default());
        let vars = [var];
        push_held(&inner, &vars, &place);
        let spec = OpSpec::new("behind");
        let spec = if chain {
            spec.writes(&vars)
        } else {
            spec.reads(&vars)
        };
        for _ in 0..100_000 {
            let total = total.clone();
            inner.push_async(&spec, move |_, done| {
                total.fetch_add(1, SeqCst);
                done.complete(Ok(()));
            })?;
        }
        assert_eq!(total.load(SeqCst), 0);
        let done = place.lock().unwrap().take();
        done.unwrap().complete(Ok(()));
        Ok(())
    };
    // An operation that pushes to the naive engine does not wait for what it pushed.
    engine.push_sync(&OpSpec::new("pusher"), run).unwrap();
    engine.wait_for_all().unwrap();
    assert_eq!(count.load(SeqCst), 100_000);
}

#[test]
fn a_chain_of_operations_that_complete_within_their_functions_does_not_nest() {
    let name = "a_chain_of_operations_that_complete_within_their_functions_does_not_nest";
    on_an_ordinary_stack(name, || completes_within(true));
}

#[test]
fn readers_that_complete_within_their_functions_do_not_nest() {
    let name = "readers_that_complete_within_their_functions_do_not_nest";
    on_an_ordinary_stack(name, || completes_within(false));
}

/// Pushes an operation that pushes the next.
fn push_from(engine: &Engine, left: usize, small: bool, count: &Arc<AtomicUsize>) {
    let (inner, count) = (engine.clone(), count.clone());
    engine
        .push_sync(&OpSpec::new("pushes").inline(small), move |_| {
            count.fetch_add(1, SeqCst);
            if left > 1 {
                push_from(&inner, left - 1, small, &count);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn operations_of_the_naive_engine_that_push_do_not_nest() {
    let name = "operations_of_the_naive_engine_that_push_do_not_nest";
    on_an_ordinary_stack(name, || {
        let (engine, count) = (naive(), Arc::new(AtomicUsize::new(0)));
        push_from(&engine, 20_000, false, &count);
        engine.wait_for_all().unwrap();
        assert_eq!(count.load(SeqCst), 20_000);
    });
}

#[test]
fn small_operations_that_push_do_not_nest() {
    on_an_ordinary_stack("small_operations_that_push_do_not_nest", || {
        let (engine, count) = (threaded(1), Arc::new(AtomicUsize::new(0)));
        push_from(&engine, 20_000, true, &count);
        wait_until(&count, 20_000);
        engine.wait_for_all().unwrap();
    });
}

#[test]
fn promises_kept_by_deletions_that_promises_release_do_not_nest() {
    const LENGTH: usize = 20_000;
    let name = "promises_kept_by_deletions_that_promises_release_do_not_nest";
    on_an_ordinary_stack(name, || {
        let engine = threaded(1);
        let vars: Vec<Var> = (0..LENGTH).map(|_| engine.new_variable()).collect();
        let places: Vec<Arc<Mutex<Option<OnComplete>>>> =
            (0..LENGTH).map(|_| Arc::default()).collect();
        let places = Arc::new(places);
        for (place, var) in places.iter().zip(&vars) {
            push_held(&engine, &[*var], place);
        }
        for place in places.iter() {
            while place.lock().unwrap().is_none() {
                yield_now();
            }
        }
        let count = Arc::new(AtomicUsize::new(0));
        for (k, var) in vars.into_iter().enumerate() {
            let (places, count) = (places.clone(), count.clone());
            engine
                .delete_variable(var, move || {
                    count.fetch_add(1, SeqCst);
                    if let Some(place) = places.get(k + 1) {
                        let done = place.lock().unwrap().take();
                        done.unwrap().complete(Ok(()));
                    }
                })
                .unwrap();
        }
        let first = places[0].lock().unwrap().take();
        first.unwrap().complete(Ok(()));
        wait_until(&count, LENGTH);
        engine.wait_for_all().unwrap();
    });
}
