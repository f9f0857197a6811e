//! What runs in which order, and how often.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

#[path = "common/engines.rs"]
mod engines;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use engines::{engines, threaded};
use ferromix_engine::{Engine, Kind, OnComplete, OpSpec, Var};

#[test]
fn writers_of_one_variable_run_in_push_order() {
    for engine in engines() {
        let var = engine.new_variable();
        let seen = Arc::new(Mutex::new(Vec::new()));
        for i in 0..500 {
            let seen = seen.clone();
            let push = move || seen.lock().unwrap().push(i);
            engine
                .push_sync(&OpSpec::new("append").writes(&[var]), move |_| {
                    push();
                    Ok(())
                })
                .unwrap();
        }
        engine.wait_for_var(var).unwrap();
        assert_eq!(*seen.lock().unwrap(), (0..500).collect::<Vec<_>>());
        assert_eq!(engine.version(var).unwrap(), 500);
    }
}

#[test]
fn a_reader_sees_the_writes_before_it_and_not_those_after() {
    for engine in engines() {
        let var = engine.new_variable();
        let value = Arc::new(AtomicU64::new(0));
        let seen = Arc::new(Mutex::new(Vec::new()));
        for i in 0..200_u64 {
            let v = value.clone();
            engine
                .push_sync(&OpSpec::new("write").writes(&[var]), move |_| {
                    v.store(i, SeqCst);
                    Ok(())
                })
                .unwrap();
            for _ in 0..3 {
                let (v, seen) = (value.clone(), seen.clone());
                engine
                    .push_sync(&OpSpec::new("read").reads(&[var]), move |_| {
                        seen.lock().unwrap().push((i, v.load(SeqCst)));
                        Ok(())
                    })
                    .unwrap();
            }
        }
        engine.wait_for_all().unwrap();
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 600);
        assert!(seen.iter().all(|(expected, got)| expected == got));
        assert_eq!(engine.version(var).unwrap(), 200, "reads are not writes");
    }
}

#[test]
fn readers_of_one_variable_run_at_once() {
    let engine = threaded(3);
    let var = engine.new_variable();
    let barrier = Arc::new(Barrier::new(3));
    for _ in 0..3 {
        let barrier = barrier.clone();
        // Would never end if one reader excluded another.
        engine
            .push_sync(&OpSpec::new("meet").reads(&[var]), move |_| {
                barrier.wait();
                Ok(())
            })
            .unwrap();
    }
    engine.wait_for_all().unwrap();
}

#[test]
fn a_variable_listed_twice_counts_once_and_mutation_wins() {
    for engine in engines() {
        let (a, b) = (engine.new_variable(), engine.new_variable());
        let (reads, writes) = ([a, b, a, b, b], [a, a]);
        let spec = OpSpec::new("dup").reads(&reads).writes(&writes);
        for _ in 0..10 {
            engine.push_sync(&spec, |_| Ok(())).unwrap();
        }
        engine.wait_for_all().unwrap();
        assert_eq!(engine.version(a).unwrap(), 10);
        assert_eq!(engine.version(b).unwrap(), 0);
    }
}

#[test]
fn many_variables_in_one_operation() {
    for engine in engines() {
        let vars: Vec<Var> = (0..100).map(|_| engine.new_variable()).collect();
        for _ in 0..20 {
            let spec = OpSpec::new("all").reads(&vars[..50]).writes(&vars[50..]);
            engine.push_sync(&spec, |_| Ok(())).unwrap();
        }
        engine.wait_for_all().unwrap();
        assert!(
            vars[50..]
                .iter()
                .all(|var| engine.version(*var).unwrap() == 20)
        );
    }
}

#[test]
fn large_closures_and_their_destructors() {
    let drops = Arc::new(AtomicUsize::new(0));
    struct Big(#[allow(dead_code)] [u64; 64], Arc<AtomicUsize>);
    impl Drop for Big {
        fn drop(&mut self) {
            self.1.fetch_add(1, SeqCst);
        }
    }
    for engine in engines() {
        drops.store(0, SeqCst);
        for _ in 0..10 {
            let big = Big([7; 64], drops.clone());
            engine
                .push_sync(&OpSpec::new("big"), move |_| {
                    assert_eq!(big.0[63], 7);
                    Ok(())
                })
                .unwrap();
        }
        engine.wait_for_all().unwrap();
        assert_eq!(drops.load(SeqCst), 10);
    }
}

#[test]
fn asynchronous_operations_finish_when_told_from_any_thread() {
    for engine in engines() {
        let var = engine.new_variable();
        let value = Arc::new(AtomicU64::new(0));
        let v = value.clone();
        engine
            .push_async(
                &OpSpec::new("async").writes(&[var]),
                move |_, done: OnComplete| {
                    std::thread::spawn(move || {
                        std::thread::sleep(Duration::from_millis(20));
                        v.store(7, SeqCst);
                        done.complete(Ok(()));
                    });
                },
            )
            .unwrap();
        let (v, seen) = (value.clone(), Arc::new(AtomicU64::new(0)));
        let s = seen.clone();
        engine
            .push_sync(&OpSpec::new("after").reads(&[var]), move |_| {
                s.store(v.load(SeqCst), SeqCst);
                Ok(())
            })
            .unwrap();
        engine.wait_for_all().unwrap();
        assert_eq!(seen.load(SeqCst), 7);
    }
}

#[test]
fn an_async_operation_does_not_hold_its_worker() {
    let engine = threaded(1);
    let (send, receive) = channel::<OnComplete>();
    engine
        .push_async(&OpSpec::new("later"), move |_, done| {
            send.send(done).unwrap()
        })
        .unwrap();
    let ran = Arc::new(AtomicBool::new(false));
    let r = ran.clone();
    let var = engine.new_variable();
    engine
        .push_sync(&OpSpec::new("other").writes(&[var]), move |_| {
            r.store(true, SeqCst);
            Ok(())
        })
        .unwrap();
    engine.wait_for_var(var).unwrap();
    assert!(ran.load(SeqCst));
    receive.recv().unwrap().complete(Ok(()));
    engine.wait_for_all().unwrap();
}

#[test]
fn nested_pushes_that_conflict_run_after_the_operation_that_pushed_them() {
    for engine in engines() {
        let var = engine.new_variable();
        let order = Arc::new(Mutex::new(Vec::new()));
        let (inner, o) = (engine.clone(), order.clone());
        engine
            .push_sync(&OpSpec::new("outer").writes(&[var]), move |_| {
                let o2 = o.clone();
                inner.push_sync(&OpSpec::new("inner").writes(&[var]), move |_| {
                    o2.lock().unwrap().push("inner");
                    Ok(())
                })?;
                o.lock().unwrap().push("outer");
                Ok(())
            })
            .unwrap();
        // The inner push came before outer's end, hence before this wait if that starts after it.
        while engine.version(var).unwrap() < 2 {
            engine.wait_for_all().unwrap();
        }
        assert_eq!(*order.lock().unwrap(), ["outer", "inner"]);
    }
}

#[test]
fn the_naive_engine_has_finished_when_push_returns() {
    let engine = Engine::builder().kind(Kind::Naive).build();
    assert_eq!(engine.num_workers(), 0);
    let here = std::thread::current().id();
    let var = engine.new_variable();
    for version in 1..10 {
        engine
            .push_sync(&OpSpec::new("op").writes(&[var]), move |_| {
                assert_eq!(std::thread::current().id(), here);
                Ok(())
            })
            .unwrap();
        assert_eq!(engine.version(var).unwrap(), version);
    }
    engine
        .push_async(&OpSpec::new("async").writes(&[var]), |_, done| {
            std::thread::spawn(|| {
                std::thread::sleep(Duration::from_millis(5));
                done.complete(Ok(()));
            });
        })
        .unwrap();
    assert_eq!(engine.version(var).unwrap(), 10);
}
