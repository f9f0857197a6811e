//! What merely looks at an engine changes nothing, and what was pushed into a bulk that is never
//! dropped is not lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread::yield_now;

use crate::watchdog::in_child;
use ferromix_engine::{Counters, Engine, OpSpec};

/// Pushes so many operations that count.
fn push(engine: &Engine, times: u64, count: &Arc<AtomicU64>) {
    for _ in 0..times {
        let count = count.clone();
        engine
            .push_sync(&OpSpec::new("counts"), move |_| {
                count.fetch_add(1, SeqCst);
                Ok(())
            })
            .unwrap();
    }
}

/// What another thread sees, who pushes nothing of ours by looking.
fn seen_by_another_thread(engine: &Engine) -> Counters {
    std::thread::scope(|scope| scope.spawn(|| engine.counters()).join().unwrap())
}

#[test]
fn printing_an_engine_pushes_nothing() {
    let engine = Engine::builder().workers(1).build();
    let count = Arc::new(AtomicU64::new(0));
    let bulk = engine.bulk(100);
    push(&engine, 5, &count);
    assert!(format!("{engine:?}").contains("Engine"));
    assert!(format!("{engine:#?} {bulk:?}").contains("Bulk"));
    assert_eq!(seen_by_another_thread(&engine).pushed, 0);
    drop(bulk);
    engine.wait_for_all().unwrap();
    assert_eq!(count.load(SeqCst), 5);
    assert_eq!(seen_by_another_thread(&engine).pushed, 1);
}

fn wait_until(count: &AtomicU64, right: u64) {
    while count.load(SeqCst) < right {
        yield_now();
    }
}

#[test]
fn what_a_forgotten_bulk_holds_runs_when_its_thread_ends() {
    let name = "what_a_forgotten_bulk_holds_runs_when_its_thread_ends";
    in_child(name, 5, || {
        let engine = Engine::builder().workers(1).build();
        let count = Arc::new(AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let bulk = engine.bulk(100);
                push(&engine, 5, &count);
                std::mem::forget(bulk);
            });
        });
        // The scope may end a little earlier than the thread's own things.
        wait_until(&count, 5);
        engine.wait_for_all().unwrap();
    });
}

#[test]
fn what_a_forgotten_bulk_holds_runs_when_thread_and_handle_are_gone() {
    let name = "what_a_forgotten_bulk_holds_runs_when_thread_and_handle_are_gone";
    in_child(name, 5, || {
        let count = Arc::new(AtomicU64::new(0));
        let counted = count.clone();
        let thread = std::thread::spawn(move || {
            let engine = Engine::builder().workers(1).build();
            let bulk = engine.bulk(100);
            push(&engine, 5, &counted);
            std::mem::forget(bulk);
            drop(engine);
        });
        thread.join().unwrap();
        wait_until(&count, 5);
    });
}

#[test]
fn what_a_forgotten_bulk_holds_runs_when_the_threads_handle_is_gone() {
    let name = "what_a_forgotten_bulk_holds_runs_when_the_threads_handle_is_gone";
    in_child(name, 5, || {
        let engine = Engine::builder().workers(1).build();
        let count = Arc::new(AtomicU64::new(0));
        let bulk = engine.bulk(100);
        push(&engine, 5, &count);
        std::mem::forget(bulk);
        drop(engine);
        wait_until(&count, 5);
    });
}

#[test]
fn a_thread_with_a_forgotten_bulk_may_go_on() {
    let name = "a_thread_with_a_forgotten_bulk_may_go_on";
    in_child(name, 5, || {
        let engine = Engine::builder().workers(1).build();
        let count = Arc::new(AtomicU64::new(0));
        for round in 1..=3 {
            let bulk = engine.bulk(100);
            push(&engine, 5, &count);
            std::mem::forget(bulk);
            push(&engine, 5, &count);
            engine.wait_for_all().unwrap();
            assert_eq!(count.load(SeqCst), 10 * round);
        }
    });
}
