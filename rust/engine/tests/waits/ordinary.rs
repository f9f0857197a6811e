//! Waits, from outside and from inside operations.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::engines::{engines, threaded};
use ferromix_engine::{OnComplete, OpSpec, WaitError};

#[test]
fn an_async_operation_that_is_complete_may_wait_for_what_it_wrote() {
    for engine in engines() {
        let var = engine.new_variable();
        let (inner, (send, receive)) = (engine.clone(), channel());
        engine
            .push_async(&OpSpec::new("async").writes(&[var]), move |_, done| {
                let early = inner.wait_for_var(var);
                done.complete(Ok(()));
                for _ in 0..100 {
                    inner
                        .push_sync(&OpSpec::new("more").writes(&[var]), |_| Ok(()))
                        .unwrap();
                }
                send.send((early, inner.wait_for_var(var))).unwrap();
            })
            .unwrap();
        let (early, late) = receive.recv().unwrap();
        assert!(matches!(early, Err(WaitError::SelfDependency(_))));
        late.unwrap();
        assert_eq!(engine.version(var).unwrap(), 101);
    }
}

#[test]
fn waits_end_though_all_workers_are_busy() {
    let engine = threaded(1);
    let (busy, idle) = (engine.new_variable(), engine.new_variable());
    let (send, receive) = channel::<()>();
    engine
        .push_sync(&OpSpec::new("busy").writes(&[busy]), move |_| {
            receive.recv().unwrap();
            Ok(())
        })
        .unwrap();
    engine.wait_for_var(idle).unwrap(); // Would hang if it queued for the worker.
    send.send(()).unwrap();
    engine.wait_for_var(busy).unwrap();
}

#[test]
fn a_wait_inside_an_operation_ends_with_a_single_worker() {
    for engine in engines() {
        let (a, b) = (engine.new_variable(), engine.new_variable());
        let (inner, seen) = (engine.clone(), Arc::new(AtomicU64::new(0)));
        let s = seen.clone();
        engine
            .push_sync(&OpSpec::new("outer").writes(&[a]), move |_| {
                let s2 = s.clone();
                inner.push_sync(&OpSpec::new("inner").writes(&[b]), move |_| {
                    s2.store(1, SeqCst);
                    Ok(())
                })?;
                inner.wait_for_var(b)?;
                s.fetch_add(10, SeqCst);
                Ok(())
            })
            .unwrap();
        engine.wait_for_var(a).unwrap();
        assert_eq!(seen.load(SeqCst), 11);
    }
}

#[test]
fn many_nested_waits_end_or_are_refused() {
    let engine = threaded(2);
    let gate = engine.new_variable();
    let (send, receive) = channel::<OnComplete>();
    engine
        .push_async(&OpSpec::new("gate").writes(&[gate]), move |_, done| {
            send.send(done).unwrap();
        })
        .unwrap();
    let refused = Arc::new(AtomicUsize::new(0));
    for _ in 0..200 {
        let (inner, refused) = (engine.clone(), refused.clone());
        engine
            .push_sync(&OpSpec::new("nested"), move |_| {
                match inner.wait_for_var(gate) {
                    Ok(()) => Ok(()),
                    Err(WaitError::TooManyBlocked) => {
                        refused.fetch_add(1, SeqCst);
                        Ok(())
                    }
                    Err(other) => Err(other.into()),
                }
            })
            .unwrap();
    }
    let done = receive.recv().unwrap();
    while refused.load(SeqCst) == 0 {
        std::thread::yield_now();
    }
    done.complete(Ok(()));
    engine.wait_for_all().unwrap();
    // And afterwards the lane is back to normal.
    let var = engine.new_variable();
    engine
        .push_sync(&OpSpec::new("after").writes(&[var]), |_| Ok(()))
        .unwrap();
    engine.wait_for_var(var).unwrap();
}

#[test]
fn waits_that_cannot_end_are_errors() {
    for engine in engines() {
        let var = engine.new_variable();
        let inner = engine.clone();
        let (send, receive) = channel();
        engine
            .push_sync(&OpSpec::new("self").writes(&[var]), move |_| {
                send.send((inner.wait_for_var(var), inner.wait_for_all(), inner.stop()))
                    .unwrap();
                Ok(())
            })
            .unwrap();
        engine.wait_for_all().unwrap();
        let (one, all, stop) = receive.recv().unwrap();
        assert!(matches!(one, Err(WaitError::SelfDependency(v)) if v == var));
        assert!(matches!(all, Err(WaitError::InsideOperation)));
        assert!(matches!(stop, Err(WaitError::InsideOperation)));
    }
}

#[test]
fn wait_for_all_waits_for_what_was_pushed_before_while_others_push() {
    let engine = threaded(2);
    let stop = Arc::new(AtomicBool::new(false));
    let (pusher, s) = (engine.clone(), stop.clone());
    let noise = std::thread::spawn(move || {
        let var = pusher.new_variable();
        while !s.load(SeqCst) {
            pusher
                .push_sync(&OpSpec::new("noise").writes(&[var]), |_| Ok(()))
                .unwrap();
            if pusher.counters().in_flight > 1000 {
                pusher.wait_for_var(var).unwrap();
            }
        }
    });
    for _ in 0..50 {
        let done = Arc::new(AtomicUsize::new(0));
        for i in 0..20 {
            let d = done.clone();
            engine
                .push_sync(&OpSpec::new("counted"), move |_| {
                    std::thread::sleep(Duration::from_micros(i * 5));
                    d.fetch_add(1, SeqCst);
                    Ok(())
                })
                .unwrap();
        }
        engine.wait_for_all().unwrap();
        assert_eq!(done.load(SeqCst), 20);
    }
    stop.store(true, SeqCst);
    noise.join().unwrap();
}

#[test]
fn concurrent_waits_for_all() {
    let engine = threaded(2);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let engine = &engine;
            scope.spawn(move || {
                for _ in 0..200 {
                    let done = Arc::new(AtomicUsize::new(0));
                    for _ in 0..3 {
                        let d = done.clone();
                        engine
                            .push_sync(&OpSpec::new("op"), move |_| {
                                d.fetch_add(1, SeqCst);
                                Ok(())
                            })
                            .unwrap();
                    }
                    engine.wait_for_all().unwrap();
                    assert_eq!(done.load(SeqCst), 3);
                }
            });
        }
    });
    let counters = engine.counters();
    assert_eq!(
        (counters.pushed, counters.completed, counters.in_flight),
        (2400, 2400, 0)
    );
}
