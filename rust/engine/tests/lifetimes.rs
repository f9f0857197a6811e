//! The ends of variables, operators and engines.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

#[path = "common/engines.rs"]
mod engines;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use engines::{engines, threaded};
use ferromix_engine::{Device, Engine, Name, OpSpec, PushError, Var, WaitError};

#[test]
fn deletion_runs_after_the_last_user_and_makes_the_handle_stale() {
    for engine in engines() {
        let var = engine.new_variable();
        let other = engine.new_variable();
        let uses = Arc::new(AtomicUsize::new(0));
        for _ in 0..20 {
            let u = uses.clone();
            engine
                .push_sync(&OpSpec::new("use").reads(&[var]), move |_| {
                    std::thread::sleep(Duration::from_micros(200));
                    u.fetch_add(1, SeqCst);
                    Ok(())
                })
                .unwrap();
        }
        let (u, at_delete) = (uses.clone(), Arc::new(AtomicUsize::new(0)));
        let at = at_delete.clone();
        engine
            .delete_variable(var, move || at.store(u.load(SeqCst), SeqCst))
            .unwrap();
        let stale = PushError::StaleVariable(var);
        assert_eq!(engine.version(var).unwrap_err(), stale);
        assert_eq!(engine.delete_variable(var, || ()).unwrap_err(), stale);
        let reads = [other, var];
        let spec = OpSpec::new("late").reads(&reads);
        assert_eq!(engine.push_sync(&spec, |_| Ok(())).unwrap_err(), stale);
        assert!(matches!(engine.wait_for_var(var), Err(WaitError::StaleVariable(v)) if v == var));
        engine.wait_for_all().unwrap();
        assert_eq!(at_delete.load(SeqCst), 20);
        assert!(stale.to_string().contains(&var.to_string()), "{stale}");
    }
}

#[test]
fn a_reused_slot_is_another_variable() {
    for engine in engines() {
        let first = engine.new_variable();
        engine
            .push_sync(&OpSpec::new("w").writes(&[first]), |_| Ok(()))
            .unwrap();
        engine.delete_variable(first, || ()).unwrap();
        engine.wait_for_all().unwrap();
        let second = engine.new_variable();
        assert_ne!(first, second);
        assert_eq!(engine.version(second).unwrap(), 0);
        assert!(engine.version(first).is_err());
        assert!(engine.version(Var::from_bits(u64::MAX)).is_err());
        assert_eq!(Var::from_bits(second.to_bits()), second);
    }
}

#[test]
fn operators_are_pushed_many_times_and_outlive_their_deletion() {
    for engine in engines() {
        let (a, b) = (engine.new_variable(), engine.new_variable());
        let count = Arc::new(AtomicUsize::new(0));
        let c = count.clone();
        let (reads, writes) = ([a], [b]);
        let spec = OpSpec::new(Name::intern("my op"))
            .reads(&reads)
            .writes(&writes)
            .tag(3);
        let operator = engine.new_operator(&spec, move |context| {
            assert_eq!(context.tag(), 3);
            c.fetch_add(1, SeqCst);
            Ok(())
        });
        let c = count.clone();
        let asynchronous = engine.new_async_operator(&spec, move |_, done| {
            c.fetch_add(100, SeqCst);
            done.complete(Ok(()));
        });
        assert_eq!(operator.name().as_str(), "my op");
        for _ in 0..10 {
            engine.push(&operator, Device::CPU, 0).unwrap();
            engine.push(&asynchronous, Device::CPU, 0).unwrap();
        }
        engine.delete_operator(operator);
        engine.delete_operator(asynchronous);
        engine.wait_for_all().unwrap();
        assert_eq!(count.load(SeqCst), 1010);
        assert_eq!(
            (engine.version(a).unwrap(), engine.version(b).unwrap()),
            (0, 20)
        );
        // The functions go, that of the asynchronous one when its last call has returned.
        let begin = Instant::now();
        while Arc::strong_count(&count) > 1 {
            assert!(begin.elapsed() < Duration::from_secs(10));
            std::thread::yield_now();
        }
    }
}

#[test]
fn stop_and_start() {
    let engine = threaded(2);
    let count = Arc::new(AtomicUsize::new(0));
    let push = |times: usize| {
        for _ in 0..times {
            let c = count.clone();
            engine
                .push_sync(&OpSpec::new("op"), move |_| {
                    c.fetch_add(1, SeqCst);
                    Ok(())
                })
                .unwrap();
        }
    };
    for round in 0..5 {
        push(10);
        engine.stop().unwrap();
        assert_eq!(count.load(SeqCst), round * 15 + 10);
        push(5);
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(
            count.load(SeqCst),
            round * 15 + 10,
            "nothing runs while stopped"
        );
        engine.start();
        engine.wait_for_all().unwrap();
        assert_eq!(count.load(SeqCst), round * 15 + 15);
    }
}

#[test]
fn shutdown_refuses_pushes_and_finishes_what_was_there() {
    for engine in engines() {
        let var = engine.new_variable();
        engine
            .push_sync(&OpSpec::new("op").writes(&[var]), |_| Ok(()))
            .unwrap();
        engine.notify_shutdown();
        let refused = engine.push_sync(&OpSpec::new("op").writes(&[var]), |_| Ok(()));
        assert_eq!(refused.unwrap_err(), PushError::ShutDown);
        engine.wait_for_var(var).unwrap();
        assert_eq!(engine.version(var).unwrap(), 1);
        engine.delete_variable(var, || ()).unwrap();
    }
}

#[test]
fn dropping_an_engine_finishes_its_work() {
    let count = Arc::new(AtomicUsize::new(0));
    for engine in engines() {
        count.store(0, SeqCst);
        let vars = [engine.new_variable(), engine.new_variable()];
        for i in 0..100 {
            let c = count.clone();
            engine
                .push_sync(&OpSpec::new("op").writes(&vars[i % 2..][..1]), move |_| {
                    c.fetch_add(1, SeqCst);
                    Ok(())
                })
                .unwrap();
        }
        drop(engine);
        assert_eq!(count.load(SeqCst), 100);
    }
}

#[test]
fn the_last_handle_may_be_dropped_by_an_operation() {
    let count = Arc::new(AtomicUsize::new(0));
    let engine = threaded(1);
    let (c, inner) = (count.clone(), engine.clone());
    let (send, receive) = channel::<()>();
    engine
        .push_sync(&OpSpec::new("owner"), move |_| {
            receive.recv().unwrap();
            let c2 = c.clone();
            inner.push_sync(&OpSpec::new("more"), move |_| {
                c2.fetch_add(1, SeqCst);
                Ok(())
            })?;
            drop(inner);
            Ok(())
        })
        .unwrap();
    drop(engine);
    send.send(()).unwrap();
    let begin = Instant::now();
    while Arc::strong_count(&count) > 1 || count.load(SeqCst) == 0 {
        assert!(begin.elapsed() < Duration::from_secs(10));
        std::thread::yield_now();
    }
}

#[test]
fn the_global_engine_is_one() {
    assert!(std::ptr::eq(Engine::global(), Engine::global()));
    let var = Engine::global().new_variable();
    Engine::global()
        .push_sync(&OpSpec::new("op").writes(&[var]), |_| Ok(()))
        .unwrap();
    Engine::global().wait_for_var(var).unwrap();
    assert_eq!(Engine::global().version(var).unwrap(), 1);
}
