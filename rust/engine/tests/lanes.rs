//! Which threads run what: priorities, devices, and none at rest.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

#[path = "common/engines.rs"]
mod engines;

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engines::threaded;
use ferromix_engine::{Device, Engine, FnProperty, OpSpec};

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
