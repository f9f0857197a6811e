//! Small things that users make and set: variables that delete themselves, descriptions that grow,
//! streams, threads per worker, local variables, deletions on a device, all failures at once.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

#[path = "common/engines.rs"]
mod engines;
#[path = "common/watchdog.rs"]
mod watchdog;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use engines::{engines, threaded};
use ferromix_engine::{
    Device, Engine, FnProperty, LaunchArgs, LocalVar, OpSpec, OpSpecBuf, Program, PushError,
    WaitError, WaitPolicy,
};
use watchdog::in_child;

fn everywhere(name: &str, test: impl Fn(&Engine)) {
    in_child(name, 8, || {
        for engine in engines() {
            test(&engine);
            engine.wait_for_all().unwrap();
            assert_eq!(engine.counters().in_flight, 0);
        }
    });
}

#[test]
fn an_owned_variable_goes_behind_its_operations() {
    everywhere("an_owned_variable_goes_behind_its_operations", |engine| {
        let ran = Arc::new(AtomicU64::new(0));
        let owned = engine.owned_variable();
        let var = owned.var();
        assert_eq!((*owned, engine.version(*owned)), (var, Ok(0)));
        let bulk = engine.bulk(8);
        for _ in 0..20 {
            let ran = ran.clone();
            let push = engine.push_sync(&OpSpec::new("op").writes(&[*owned]), move |_| {
                ran.fetch_add(1, Relaxed);
                Ok(())
            });
            push.unwrap();
        }
        drop(owned);
        drop(bulk);
        assert_eq!(engine.version(var), Err(PushError::StaleVariable(var)));
        engine.wait_for_all().unwrap();
        assert_eq!(ran.load(Relaxed), 20);
        // Deleted by hand before, and after the end of all other handles.
        let owned = engine.owned_variable();
        engine.delete_variable(*owned, || ()).unwrap();
        drop(owned);
        let last = threaded(1).owned_variable();
        assert!(format!("{last:?}").contains("OwnedVar"));
        drop(last);
    });
}

#[test]
fn a_description_that_grows_says_what_it_was_told() {
    everywhere("a_description_that_grows_says_what_it_was_told", |engine| {
        let vars: Vec<_> = (0..80).map(|_| engine.new_variable()).collect();
        let mut buffer = OpSpecBuf::new("grows");
        for (k, var) in vars.iter().enumerate() {
            if k % 2 == 0 {
                buffer.read(*var);
            } else {
                buffer.write(*var);
            }
        }
        buffer
            .on(Device::gpu(1))
            .property(FnProperty::CopyToGpu)
            .priority(4)
            .bytes(5)
            .tag(6)
            .inline(true)
            .threads(7);
        let spec = buffer.spec();
        assert_eq!((spec.name.as_str(), spec.device), ("grows", Device::gpu(1)));
        assert_eq!((spec.property, spec.priority), (FnProperty::CopyToGpu, 4));
        assert_eq!(
            (spec.bytes, spec.tag, spec.inline, spec.threads),
            (5, 6, true, 7)
        );
        assert_eq!((spec.const_vars.len(), spec.mutate_vars.len()), (40, 40));
        let more = buffer.clone().read(vars[1]).spec().const_vars.len();
        assert_eq!((more, buffer.spec().const_vars.len()), (41, 40));
        for _ in 0..2 {
            let push = engine.push_sync(&buffer.spec(), |context| {
                assert_eq!((context.tag(), context.priority()), (6, 4));
                assert_eq!(context.threads().map(|threads| threads.get()), Some(7));
                Ok(())
            });
            push.unwrap();
        }
        engine.wait_for_all().unwrap();
        for (k, var) in vars.iter().enumerate() {
            assert_eq!(engine.version(*var), Ok(2 * (k as u64 % 2)));
        }
    });
}

#[test]
fn all_failures_come_in_push_order_and_once() {
    everywhere("all_failures_come_in_push_order_and_once", |engine| {
        let (a, b) = (engine.new_variable(), engine.new_variable());
        let fails = |tag: u64, vars: &[_]| {
            let spec = OpSpec::new("fails").tag(tag);
            let push = engine.push_sync(&spec.writes(vars), move |_| Err(tag.to_string().into()));
            push.unwrap();
        };
        for tag in 0..50 {
            fails(tag, &[]);
        }
        fails(50, &[a]);
        fails(51, &[a, b]); // Skipped.
        fails(52, &[b]); // The same.
        let program = Program::builder("program")
            .op(&OpSpec::new("step").tag(53), |_| Err("step".into()))
            .op(&OpSpec::new("step").tag(54), |_| Ok(()));
        engine.launch(&program.build()).unwrap();
        let failures = engine.drain_failures().unwrap();
        let tags: Vec<u64> = failures.iter().map(|failure| failure.tag).collect();
        assert_eq!(tags, (0..51).chain([53]).collect::<Vec<_>>());
        assert_eq!(failures[7].error().to_string(), "7");
        assert!(engine.drain_failures().unwrap().is_empty());
        engine.wait_for_all().unwrap();
        engine.wait_for_var(a).unwrap();
        // One that a wait has returned is not among them.
        fails(60, &[a]);
        fails(61, &[b]);
        assert!(matches!(engine.wait_for_var(b), Err(WaitError::Failed(f)) if f.tag == 61));
        let tags: Vec<u64> = engine
            .drain_failures()
            .unwrap()
            .iter()
            .map(|f| f.tag)
            .collect();
        assert_eq!(tags, [60]);
        engine.wait_for_var(a).unwrap();
        let inner = engine.clone();
        let push = engine.push_sync(&OpSpec::new("asks"), move |_| {
            let result = inner.drain_failures();
            assert!(matches!(result, Err(WaitError::InsideOperation)));
            Ok(())
        });
        push.unwrap();
    });
}

#[test]
fn a_deletion_on_a_device_runs_on_its_thread_behind_all_uses() {
    let name = "a_deletion_on_a_device_runs_on_its_thread_behind_all_uses";
    everywhere(name, |engine| {
        let (var, said) = (engine.new_variable(), Arc::new(Mutex::new(Vec::new())));
        let (used, freed) = (said.clone(), said.clone());
        let push = engine.push_sync(&OpSpec::new("uses").reads(&[var]), move |_| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            used.lock().unwrap().push("used".to_owned());
            Ok(())
        });
        push.unwrap();
        let delete = engine.delete_variable_on(var, Device::gpu(3), move |context| {
            assert_eq!(context.device(), Device::gpu(3));
            let thread = std::thread::current().name().unwrap_or_default().to_owned();
            freed.lock().unwrap().push(thread);
        });
        delete.unwrap();
        assert!(engine.version(var).is_err());
        engine.wait_for_all().unwrap();
        let said = said.lock().unwrap();
        assert_eq!((said.len(), &*said[0]), (2, "used"));
        let naive = engine.num_workers() == 0;
        assert_eq!(said[1].starts_with("fmx-gpu3-run"), !naive, "{said:?}");
        // A panic of it is a failure.
        let var = engine.new_variable();
        let delete = engine.delete_variable_on(var, Device::gpu(3), |_| {
            std::panic::resume_unwind(Box::new("panics"))
        });
        delete.unwrap();
        assert!(matches!(engine.wait_for_all(), Err(WaitError::Failed(_))));
        let stale = engine.delete_variable_on(var, Device::gpu(3), |_| unreachable!());
        assert_eq!(stale, Err(PushError::StaleVariable(var)));
    });
}

#[test]
fn threads_per_worker_count_where_nothing_else_is_said() {
    let name = "threads_per_worker_count_where_nothing_else_is_said";
    everywhere(name, |engine| {
        let ask = |spec: &OpSpec<'_>| {
            let (send, answer) = channel();
            let push = engine.push_sync(spec, move |context| {
                Ok(send.send(context.threads().map_or(0, |threads| threads.get()))?)
            });
            push.unwrap();
            answer.recv().unwrap()
        };
        let (send, answer) = channel();
        let program = Program::builder("asks")
            .op(&OpSpec::new("step"), move |context| {
                Ok(send.send(context.threads().map_or(0, |threads| threads.get()))?)
            })
            .build();
        assert_eq!(
            (engine.num_threads_per_worker(), ask(&OpSpec::new("ask"))),
            (0, 0)
        );
        for most in [1, 3, u16::MAX, 0] {
            engine.set_num_threads_per_worker(most);
            assert_eq!(engine.clone().num_threads_per_worker(), most);
            assert_eq!(ask(&OpSpec::new("ask")), most);
            assert_eq!(ask(&OpSpec::new("ask").threads(2)), 2);
            assert_eq!(ask(&OpSpec::new("ask").inline(true)), most);
            engine.launch(&program).unwrap();
            assert_eq!(answer.recv().unwrap(), most);
            engine
                .launch_with(&program, LaunchArgs::new().threads(5))
                .unwrap();
            assert_eq!(answer.recv().unwrap(), 5);
        }
        // Another engine has its own.
        assert_eq!(threaded(1).num_threads_per_worker(), 0);
    });
}

#[test]
fn each_worker_has_a_stream_of_its_own() {
    in_child("each_worker_has_a_stream_of_its_own", 8, || {
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = calls.clone();
        let engine = Engine::builder()
            .workers(3)
            .gpu_workers(2)
            .streams(move |device, property, worker| {
                counter.fetch_add(1, Relaxed);
                let copy = u64::from(property == FnProperty::CopyToGpu);
                let device = if device.is_gpu() {
                    1 + u64::from(device.id)
                } else {
                    0
                };
                100 * device + 10 * copy + worker as u64
            })
            .build();
        for (many, device, expected) in [(3, Device::CPU, 0), (2, Device::gpu(4), 500)] {
            let (barrier, seen) = (
                Arc::new(Barrier::new(many)),
                Arc::new(Mutex::new(BTreeSet::new())),
            );
            for _ in 0..many {
                let (barrier, seen) = (barrier.clone(), seen.clone());
                let push = engine.push_sync(&OpSpec::new("meet").on(device), move |context| {
                    barrier.wait();
                    seen.lock().unwrap().insert(context.stream().unwrap());
                    Ok(())
                });
                push.unwrap();
            }
            engine.wait_for_all().unwrap();
            let all: BTreeSet<u64> = (expected..expected + many as u64).collect();
            assert_eq!(*seen.lock().unwrap(), all);
        }
        let spec = OpSpec::new("copy")
            .on(Device::gpu(0))
            .property(FnProperty::CopyToGpu);
        let push = engine.push_sync(&spec, |context| {
            assert_eq!(context.stream(), Some(110));
            Ok(())
        });
        push.unwrap();
        engine.wait_for_all().unwrap();
        assert_eq!(calls.load(Relaxed), 6, "once for each worker");
        // Not by a worker: the thread that pushes has none.
        let push = engine.push_sync(&OpSpec::new("small").inline(true), |context| {
            assert_eq!(context.stream(), None);
            Ok(())
        });
        push.unwrap();
        engine.wait_for_all().unwrap();
    });
}

#[test]
fn a_stream_function_that_panics_gives_none() {
    in_child("a_stream_function_that_panics_gives_none", 8, || {
        let engine = Engine::builder()
            .workers(2)
            .streams(|_, _, _| std::panic::resume_unwind(Box::new("no stream")))
            .build();
        for device in [Device::CPU, Device::gpu(0)] {
            let (send, streams) = channel();
            let push = engine.push_sync(&OpSpec::new("ask").on(device), move |context| {
                Ok(send.send(context.stream())?)
            });
            push.unwrap();
            assert_eq!(streams.recv().unwrap(), None);
        }
        engine.wait_for_all().unwrap();
    });
}

#[test]
fn local_variables_order_steps_and_are_each_programs_own() {
    let name = "local_variables_order_steps_and_are_each_programs_own";
    everywhere(name, |engine| {
        let (out, steps) = (engine.new_variable(), 40);
        let make = |name: &'static str| {
            let (seen, mut builder) = (Arc::new(AtomicU64::new(0)), Program::builder(name));
            let all = seen.clone();
            for k in 0..steps {
                let (seen, chain) = (seen.clone(), LocalVar::new(7));
                let spec = OpSpec::new("step").inline(k % 3 == 0);
                let writes = [out];
                let ends = [0, steps - 1].contains(&k);
                let spec = if ends { spec.writes(&writes) } else { spec };
                builder = builder
                    .op(&spec, move |_| {
                        let before = seen.fetch_add(1, Relaxed);
                        assert_eq!(before % steps, k, "out of order");
                        Ok(())
                    })
                    .locals(&[], &[chain]);
            }
            (builder.build(), all)
        };
        let ((first, a), (second, b)) = (make("first"), make("second"));
        for _ in 0..10 {
            engine.launch(&first).unwrap();
            engine.launch(&second).unwrap();
        }
        engine.wait_for_var(out).unwrap();
        assert_eq!((a.load(Relaxed), b.load(Relaxed)), (10 * steps, 10 * steps));
        assert_eq!(engine.version(out), Ok(20));
        assert_eq!(LocalVar::new(7).to_string(), "local variable 7");
        // With no operation to belong to it says nothing.
        let empty = Program::builder("empty")
            .locals(&[LocalVar::new(1)], &[])
            .build();
        assert!(empty.is_empty());
        engine.launch(&empty).unwrap();
    });
}

#[test]
fn devices_are_read_as_they_are_written() {
    for kind in [1, 2, 3, 5, 0, 9, 255] {
        for id in [0, 1, u16::MAX] {
            let device = Device::new(kind, id);
            assert_eq!(device.to_string().parse(), Ok(device));
            assert_eq!(format!(" {device}\n").parse(), Ok(device));
        }
    }
    assert_eq!(Device::new(3, 7).to_string(), "cpu_pinned(7)");
    assert_eq!("cpu_shared".parse(), Ok(Device::new(5, 0)));
    for text in [
        "",
        "gpu(",
        "gpu()",
        "gpu)",
        "gpu(-1)",
        "gpu(+1)",
        "gpu(65536)",
        "gpu(0)(0)",
        "GPU(0)",
        "tpu",
        "kind",
        "kind256",
        "kind-1",
        "(1)",
    ] {
        let error = text.parse::<Device>().unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with(&format!("'{text}' names no device"))
        );
    }
}

/// Gives up at once.
struct Impatient;

impl WaitPolicy for Impatient {
    fn before_sleep(&mut self) -> Option<Duration> {
        None
    }
}

/// As long as it takes.
struct Patient;

impl WaitPolicy for Patient {
    fn before_sleep(&mut self) -> Option<Duration> {
        Some(Duration::from_millis(1))
    }
}

#[test]
fn waits_to_write_and_stops_can_be_given_up() {
    everywhere("waits_to_write_and_stops_can_be_given_up", |engine| {
        let var = engine.new_variable();
        engine.wait_to_write_with(var, &mut Impatient).unwrap();
        if engine.num_workers() > 0 {
            let (go, gate) = channel::<()>();
            let vars = [var];
            let read = OpSpec::new("reads").reads(&vars);
            engine.push_sync(&read, move |_| Ok(gate.recv()?)).unwrap();
            engine.wait_for_var(var).unwrap(); // does not wait for readers
            let given_up = engine.wait_to_write_with(var, &mut Impatient);
            assert!(matches!(given_up, Err(WaitError::GivenUp)));
            let given_up = engine.stop_with(&mut Impatient);
            assert!(matches!(given_up, Err(WaitError::GivenUp)));
            go.send(()).unwrap();
        }
        engine.wait_to_write_with(var, &mut Patient).unwrap();
        let ran = Arc::new(AtomicU64::new(0));
        for round in 1..4 {
            engine.stop_with(&mut Patient).unwrap();
            engine.start();
            let counter = ran.clone();
            let spec = OpSpec::new("counts");
            let push = engine.push_sync(&spec.writes(&[var]), move |_| {
                counter.fetch_add(1, Relaxed);
                Ok(())
            });
            push.unwrap();
            engine.wait_to_write_with(var, &mut Patient).unwrap();
            assert_eq!(ran.load(Relaxed), round);
        }
        let stale = engine.new_variable();
        engine.delete_variable(stale, || ()).unwrap();
        let error = engine.wait_to_write_with(stale, &mut Patient).unwrap_err();
        assert!(matches!(error, WaitError::StaleVariable(_)));
    });
}
