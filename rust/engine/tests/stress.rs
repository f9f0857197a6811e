//! Load: many pushers, crossed variables, waits, deletions and idle phases, for bounded times.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use ferromix_engine::{Engine, Kind, OnComplete, OpSpec, PushError, Var};

#[test]
fn crossed_pushes_neither_deadlock_nor_overlap() {
    const PER_PUSHER: u64 = 20_000;
    for pushers in [2, 4] {
        let engine = Engine::builder().workers(2).build();
        let (a, b) = (engine.new_variable(), engine.new_variable());
        let inside = Arc::new(AtomicBool::new(false));
        let count = Arc::new(AtomicU64::new(0));
        std::thread::scope(|scope| {
            for pusher in 0..pushers {
                let (engine, inside, count) = (&engine, inside.clone(), count.clone());
                scope.spawn(move || {
                    let own = engine.new_variable();
                    for i in 0..PER_PUSHER {
                        let writes = if (i + pusher) % 2 == 0 {
                            [a, b, own]
                        } else {
                            [own, b, a]
                        };
                        let (inside, count) = (inside.clone(), count.clone());
                        engine
                            .push_sync(&OpSpec::new("cross").writes(&writes), move |_| {
                                assert!(!inside.swap(true, SeqCst), "two writers at once");
                                count.store(count.load(Relaxed) + 1, Relaxed);
                                inside.store(false, SeqCst);
                                Ok(())
                            })
                            .unwrap();
                    }
                    engine.wait_for_var(own).unwrap();
                    assert_eq!(engine.version(own).unwrap(), PER_PUSHER);
                });
            }
        });
        assert_eq!(count.load(SeqCst), PER_PUSHER * pushers);
        assert_eq!(engine.version(a).unwrap(), PER_PUSHER * pushers);
    }
}

#[test]
fn variables_come_and_go() {
    let engine = Engine::builder().workers(3).build();
    let deleted = Arc::new(AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (engine, deleted) = (&engine, deleted.clone());
            scope.spawn(move || {
                for round in 0..3_000 {
                    let vars: [Var; 3] = std::array::from_fn(|_| engine.new_variable());
                    let value = Arc::new(AtomicU64::new(0));
                    for i in 0..3 {
                        let v = value.clone();
                        let (reads, writes) = ([vars[i]], [vars[(i + 1) % 3]]);
                        let spec = OpSpec::new("use").reads(&reads).writes(&writes);
                        engine
                            .push_sync(&spec, move |_| {
                                v.fetch_add(1, SeqCst);
                                Ok(())
                            })
                            .unwrap();
                    }
                    if round % 50 == 0 {
                        engine.wait_for_var(vars[0]).unwrap();
                    }
                    for var in vars {
                        let (d, v) = (deleted.clone(), value.clone());
                        engine
                            .delete_variable(var, move || {
                                assert!(v.load(SeqCst) >= 2, "both users of it have run");
                                d.fetch_add(1, SeqCst);
                            })
                            .unwrap();
                    }
                }
            });
        }
    });
    engine.wait_for_all().unwrap();
    assert_eq!(deleted.load(SeqCst), 4 * 3_000 * 3);
    // Slots are reused: far fewer than 36,000 were ever made. (Indices are dense.)
    assert!((engine.new_variable().to_bits() as u32) < 36_000);
}

#[test]
fn variables_go_while_others_collect_operations_on_them() {
    const ROUNDS: usize = 20_000;
    let engine = Engine::builder().workers(2).build();
    let ended = Arc::new(AtomicUsize::new(0));
    let used = AtomicUsize::new(0);
    // Variables on their way to the threads that use them, while the one that made them deletes.
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..3).map(|_| sync_channel(4)).unzip();
    std::thread::scope(|scope| {
        for (k, receiver) in receivers.into_iter().enumerate() {
            let (engine, used) = (&engine, &used);
            scope.spawn(move || {
                let own = engine.new_variable();
                let _bulk = engine.bulk(3 + 2 * k);
                for (var, alive) in receiver {
                    let (reads, writes): ([Var; 1], _) = ([var], [own]);
                    let alive: Arc<AtomicBool> = alive;
                    let spec = OpSpec::new("use").reads(&reads).writes(&writes);
                    let pushed = engine.push_sync(&spec, move |_| {
                        assert!(alive.load(SeqCst), "the deletion comes after its users");
                        Ok(())
                    });
                    match pushed {
                        Ok(()) => used.fetch_add(1, Relaxed),
                        Err(refused) => {
                            assert_eq!(refused, PushError::StaleVariable(var));
                            0
                        }
                    };
                }
            });
        }
        for round in 0..ROUNDS {
            let var = engine.new_variable();
            let alive = Arc::new(AtomicBool::new(true));
            for sender in &senders {
                sender.send((var, alive.clone())).unwrap();
            }
            (0..round % 200).for_each(|_| std::hint::spin_loop());
            let ended = ended.clone();
            engine
                .delete_variable(var, move || {
                    assert!(alive.swap(false, SeqCst), "once");
                    ended.fetch_add(1, SeqCst);
                })
                .unwrap();
        }
        drop(senders);
    });
    engine.wait_for_all().unwrap();
    assert_eq!(ended.load(SeqCst), ROUNDS);
    assert!(used.into_inner() > 0, "some came in time");
    // Slots are reused, those of variables that were held, too.
    assert!((engine.new_variable().to_bits() as u32) < ROUNDS as u32);
}

#[test]
fn single_operations_wake_sleeping_workers() {
    // Each round starts from an idle engine, where a lost wake-up would hang.
    let engine = Engine::builder().workers(3).build();
    let vars: [Var; 4] = std::array::from_fn(|_| engine.new_variable());
    let begin = Instant::now();
    let mut round = 0;
    while begin.elapsed() < Duration::from_secs(2) {
        for var in &vars[..1 + round % 4] {
            let spec = OpSpec::new("one").writes(std::slice::from_ref(var));
            engine.push_sync(&spec, |_| Ok(())).unwrap();
        }
        engine.wait_for_var(vars[0]).unwrap();
        if round % 7 == 0 {
            engine.wait_for_all().unwrap();
        }
        if round % 64 == 0 {
            std::thread::sleep(Duration::from_micros(50));
        }
        round += 1;
    }
}

#[test]
fn a_blocked_worker_does_not_hide_work_from_the_others() {
    // One operation keeps a worker until all the others, pushed in bursts, have run.
    let engine = Engine::builder().workers(2).build();
    for _ in 0..200 {
        let left = Arc::new(AtomicUsize::new(40));
        let l = left.clone();
        engine
            .push_sync(&OpSpec::new("long"), move |_| {
                let begin = Instant::now();
                while l.load(SeqCst) > 0 {
                    assert!(
                        begin.elapsed() < Duration::from_secs(20),
                        "work was left lying"
                    );
                    std::thread::yield_now();
                }
                Ok(())
            })
            .unwrap();
        let var = engine.new_variable();
        let root = OpSpec::new("root").writes(std::slice::from_ref(&var));
        engine.push_sync(&root, |_| Ok(())).unwrap();
        for i in 0..40 {
            let l = left.clone();
            let spec = OpSpec::new("short").priority(i % 3 - 1);
            let reads = [var];
            let spec = if i % 2 == 0 { spec } else { spec.reads(&reads) };
            engine
                .push_sync(&spec, move |_| {
                    l.fetch_sub(1, SeqCst);
                    Ok(())
                })
                .unwrap();
        }
        engine.wait_for_all().unwrap();
    }
}

#[test]
fn engines_are_made_and_dropped_by_the_hundred() {
    for round in 0..300 {
        let kind = if round % 4 == 0 {
            Kind::Naive
        } else {
            Kind::Threaded
        };
        let engine = Engine::builder().kind(kind).workers(1 + round % 3).build();
        let var = engine.new_variable();
        let (send, receive) = std::sync::mpsc::channel::<OnComplete>();
        let finisher = std::thread::spawn(move || {
            while let Ok(done) = receive.recv() {
                done.complete(Ok(()));
            }
        });
        for _ in 0..10 {
            engine
                .push_sync(&OpSpec::new("op").writes(&[var]), |_| Ok(()))
                .unwrap();
            let send = send.clone();
            engine
                .push_async(&OpSpec::new("async").writes(&[var]), move |_, done| {
                    send.send(done).unwrap();
                })
                .unwrap();
        }
        drop(engine);
        drop(send);
        finisher.join().unwrap();
    }
}

#[test]
fn waiters_from_many_threads() {
    let engine = Engine::builder().workers(2).build();
    let vars: Vec<Var> = (0..8).map(|_| engine.new_variable()).collect();
    std::thread::scope(|scope| {
        for thread in 0..6_usize {
            let (engine, vars) = (&engine, &vars);
            scope.spawn(move || {
                for i in 0..2_000_usize {
                    let var = vars[(i * 7 + thread) % 8];
                    let before = engine.version(var).unwrap();
                    engine
                        .push_sync(&OpSpec::new("op").writes(&[var]), |_| Ok(()))
                        .unwrap();
                    engine.wait_for_var(var).unwrap();
                    assert!(engine.version(var).unwrap() > before);
                }
            });
        }
    });
    assert_eq!(
        vars.iter()
            .map(|var| engine.version(*var).unwrap())
            .sum::<u64>(),
        12_000
    );
}
