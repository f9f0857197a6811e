//! Each clause of the engine's contract, on its own, for both kinds of engine where it applies.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use ferromix_engine::{
    Device, Engine, FnProperty, Kind, Name, OnComplete, OpSpec, PushError, Var, WaitError,
};

fn engines() -> Vec<Engine> {
    vec![
        Engine::builder().workers(1).build(),
        Engine::builder().workers(4).build(),
        Engine::builder().kind(Kind::Naive).build(),
    ]
}

fn threaded(workers: usize) -> Engine {
    Engine::builder().workers(workers).build()
}

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
fn priority_lane_keeps_exact_order() {
    let engine = Engine::builder().workers(1).priority_workers(1).build();
    let (send, receive) = channel::<()>();
    let spec = OpSpec::new("prio").property(FnProperty::CpuPrioritized);
    engine
        .push_sync(&spec, move |_| {
            receive.recv().unwrap();
            Ok(())
        })
        .unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let priorities = [0, 5, -3, 5, 9, 0, 1];
    for (i, priority) in priorities.into_iter().enumerate() {
        let order = order.clone();
        engine
            .push_sync(&spec.priority(priority), move |_| {
                order.lock().unwrap().push((priority, i));
                Ok(())
            })
            .unwrap();
    }
    send.send(()).unwrap();
    engine.wait_for_all().unwrap();
    let mut expected: Vec<_> = priorities.into_iter().zip(0..).collect();
    expected.sort_by_key(|(priority, i)| (-priority, *i));
    assert_eq!(*order.lock().unwrap(), expected);
}

#[test]
fn ordinary_lane_prefers_positive_and_defers_negative_priorities() {
    let engine = threaded(1);
    let (send, receive) = channel::<()>();
    engine
        .push_sync(&OpSpec::new("gate"), move |_| {
            receive.recv().unwrap();
            Ok(())
        })
        .unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    for priority in [-1, 0, 1] {
        let order = order.clone();
        engine
            .push_sync(&OpSpec::new("op").priority(priority), move |_| {
                order.lock().unwrap().push(priority);
                Ok(())
            })
            .unwrap();
    }
    send.send(()).unwrap();
    engine.wait_for_all().unwrap();
    assert_eq!(*order.lock().unwrap(), [1, 0, -1]);
}

#[test]
fn each_device_and_class_has_its_own_threads() {
    let engine = threaded(1);
    let (send, receive) = channel::<()>();
    engine
        .push_sync(&OpSpec::new("hold the CPU"), move |_| {
            receive.recv().unwrap();
            Ok(())
        })
        .unwrap();
    let specs = [
        OpSpec::new("p").property(FnProperty::CpuPrioritized),
        OpSpec::new("g").on(Device::gpu(0)),
        OpSpec::new("g").on(Device::gpu(1)),
        OpSpec::new("in")
            .on(Device::gpu(0))
            .property(FnProperty::CopyToGpu),
        OpSpec::new("out")
            .on(Device::gpu(0))
            .property(FnProperty::CopyFromGpu),
    ];
    let (names, all) = channel();
    for spec in specs {
        let names = names.clone();
        engine
            .push_sync(&spec, move |context| {
                let name = std::thread::current().name().unwrap().to_owned();
                names.send((name, context.device())).unwrap();
                Ok(())
            })
            .unwrap();
    }
    let mut got: Vec<String> = (0..specs.len()).map(|_| all.recv().unwrap().0).collect();
    got.sort();
    got.dedup();
    assert_eq!(got.len(), specs.len(), "{got:?}");
    send.send(()).unwrap();
    engine.wait_for_all().unwrap();
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

#[test]
fn idle_workers_use_no_cpu_time() {
    let engine = threaded(4);
    for _ in 0..100 {
        engine.push_sync(&OpSpec::new("op"), |_| Ok(())).unwrap();
    }
    engine.wait_for_all().unwrap();
    std::thread::sleep(Duration::from_millis(5));
    let before = cpu_ticks();
    std::thread::sleep(Duration::from_millis(300));
    if let (Some(before), Some(after)) = (before, cpu_ticks()) {
        // Ticks are 10 ms; other tests of this process run beside, but workers that spin would
        // burn 120 ticks here. Only meaningful when this test runs alone.
        if std::env::args().any(|arg| arg.contains("idle_workers")) {
            assert!(after - before <= 2, "{} ticks at rest", after - before);
        }
    }
}

/// User and system time of this process in clock ticks.
fn cpu_ticks() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}
