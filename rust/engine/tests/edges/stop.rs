//! `stop` and `start` while other threads push, and while operations wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::watchdog::in_child;
use ferromix_engine::{Engine, OpSpec};

const A_WHILE: Duration = Duration::from_millis(20);

/// Pushes a write that the workers leave for last, and an operation that waits for it.
fn push_pair(engine: &Engine, ran: &Arc<AtomicU64>, before: Duration) {
    let var = engine.new_variable();
    let spec = OpSpec::new("written last").priority(-1);
    engine.push_sync(&spec.writes(&[var]), |_| Ok(())).unwrap();
    let (inner, ran) = (engine.clone(), ran.clone());
    engine
        .push_sync(&OpSpec::new("waits"), move |_| {
            sleep(before);
            inner.wait_for_var(var)?;
            ran.fetch_add(1, Relaxed);
            Ok(())
        })
        .unwrap();
}

#[test]
fn stop_ends_though_an_operation_waits_for_what_is_queued_behind_it() {
    let name = "stop_ends_though_an_operation_waits_for_what_is_queued_behind_it";
    in_child(name, 8, || {
        let engine = Engine::builder().workers(1).build();
        let ran = Arc::new(AtomicU64::new(0));
        for _ in 0..3 {
            let (open, gate) = channel::<()>();
            engine
                .push_sync(&OpSpec::new("gate"), move |_| Ok(gate.recv()?))
                .unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    // The other thread waits inside `stop` by then, and not for these two.
                    sleep(A_WHILE);
                    push_pair(&engine, &ran, A_WHILE);
                    open.send(()).unwrap();
                });
                engine.stop().unwrap();
            });
            engine.start();
            engine.wait_for_all().unwrap();
        }
        assert_eq!(ran.load(Relaxed), 3);
    });
}

#[test]
fn stop_ends_while_another_thread_pushes_operations_that_wait() {
    let name = "stop_ends_while_another_thread_pushes_operations_that_wait";
    in_child(name, 12, || {
        let engine = Engine::builder().workers(1).max_in_flight(64).build();
        let (ran, over) = (Arc::new(AtomicU64::new(0)), AtomicBool::new(false));
        let mut pushed = 0;
        std::thread::scope(|scope| {
            let pusher = scope.spawn(|| {
                let mut pushed = 0;
                while !over.load(Relaxed) {
                    push_pair(&engine, &ran, Duration::ZERO);
                    pushed += 1;
                }
                pushed
            });
            for _ in 0..100 {
                engine.stop().unwrap();
                engine.start();
            }
            over.store(true, Relaxed);
            pushed = pusher.join().unwrap();
        });
        engine.wait_for_all().unwrap();
        assert_eq!(ran.load(Relaxed), pushed);
    });
}

#[test]
fn an_operation_that_waits_while_the_engine_is_stopped_is_finished() {
    let name = "an_operation_that_waits_while_the_engine_is_stopped_is_finished";
    in_child(name, 8, || {
        // Several waiters, more than there are workers, behind one gate.
        let engine = Engine::builder().workers(2).build();
        let ran = Arc::new(AtomicU64::new(0));
        let (open, gate) = channel::<()>();
        engine
            .push_sync(&OpSpec::new("gate"), move |_| Ok(gate.recv()?))
            .unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                sleep(A_WHILE);
                for _ in 0..8 {
                    push_pair(&engine, &ran, A_WHILE / 4);
                }
                open.send(()).unwrap();
            });
            engine.stop().unwrap();
        });
        engine.start();
        engine.wait_for_all().unwrap();
        assert_eq!(ran.load(Relaxed), 8);
    });
}

#[test]
fn stop_ends_though_another_thread_starts_the_engine_meanwhile() {
    let name = "stop_ends_though_another_thread_starts_the_engine_meanwhile";
    in_child(name, 8, || {
        let engine = Engine::builder().workers(1).build();
        let ((open, gate), (open_next, next_gate)) = (channel::<()>(), channel::<()>());
        let (say, said) = channel();
        engine
            .push_sync(&OpSpec::new("gate"), move |_| Ok(gate.recv()?))
            .unwrap();
        let user = &engine;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                sleep(A_WHILE);
                user.push_sync(&OpSpec::new("next gate"), move |_| {
                    // Nobody listens any more if this runs after the next start.
                    let _ = say.send(());
                    Ok(next_gate.recv()?)
                })
                .unwrap();
                open.send(()).unwrap();
                // Unless the worker has ended before it came to that.
                let _ = said.recv_timeout(A_WHILE * 5);
                sleep(A_WHILE);
                // The other thread waits for the worker to end by now.
                user.start();
                open_next.send(()).unwrap();
            });
            engine.stop().unwrap();
        });
        engine.start();
        engine.push_sync(&OpSpec::new("later"), |_| Ok(())).unwrap();
        engine.wait_for_all().unwrap();
        assert_eq!(engine.counters().completed, 3);
    });
}

#[test]
fn stop_and_start_by_several_threads_at_once_end() {
    let name = "stop_and_start_by_several_threads_at_once_end";
    in_child(name, 12, || {
        let engine = Engine::builder().workers(2).build();
        let (ran, end) = (Arc::new(AtomicU64::new(0)), Instant::now() + 100 * A_WHILE);
        let (stoppers, mut pushed) = (AtomicUsize::new(3), 0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while Instant::now() < end {
                        engine.stop().unwrap();
                    }
                    stoppers.fetch_sub(1, Relaxed);
                });
            }
            for _ in 0..2 {
                scope.spawn(|| {
                    // As long as one may wait for what was pushed to the stopped engine.
                    while stoppers.load(Relaxed) > 0 {
                        engine.start();
                        std::thread::yield_now();
                    }
                });
            }
            while Instant::now() < end {
                let ran = ran.clone();
                engine
                    .push_sync(&OpSpec::new("op"), move |_| {
                        ran.fetch_add(1, Relaxed);
                        Ok(())
                    })
                    .unwrap();
                pushed += 1;
                if pushed % 16 == 0 {
                    sleep(Duration::from_micros(50));
                }
            }
        });
        engine.start();
        engine.wait_for_all().unwrap();
        assert_eq!(ran.load(Relaxed), pushed);
    });
}
