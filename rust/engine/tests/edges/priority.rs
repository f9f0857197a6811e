//! Priorities against a chain: what a completion makes ready does not overtake what is more urgent.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use ferromix_engine::{Device, Engine, FnProperty, OpSpec};

/// Length of the chain.
const CHAIN: usize = 40;

/// One thread per lane. While the first of a chain of operations of priority `chain` runs, pushes
/// others of the priorities given. Returns the priorities in the order in which they ran.
fn order(device: Device, property: FnProperty, chain: i32, others: &[i32]) -> Vec<i32> {
    let builder = Engine::builder().workers(1).priority_workers(1);
    let engine = builder.gpu_workers(1).gpu_copy_workers(1).build();
    let spec = OpSpec::new("op").on(device).property(property);
    let (var, log) = (engine.new_variable(), Arc::new(Mutex::new(Vec::new())));
    let note = || {
        let log = log.clone();
        move |context: &ferromix_engine::RunContext| {
            log.lock().unwrap().push(context.priority());
            Ok(())
        }
    };
    let ((open, gate), (say, said)) = (channel::<()>(), channel());
    let first = note();
    engine
        .push_sync(&spec.priority(chain).writes(&[var]), move |context| {
            say.send(())?;
            gate.recv()?;
            first(context)
        })
        .unwrap();
    for _ in 1..CHAIN {
        engine
            .push_sync(&spec.priority(chain).writes(&[var]), note())
            .unwrap();
    }
    said.recv().unwrap();
    for &priority in others {
        engine.push_sync(&spec.priority(priority), note()).unwrap();
    }
    open.send(()).unwrap();
    engine.wait_for_all().unwrap();
    log.lock().unwrap().clone()
}

fn assert_urgent_is_next(device: Device, property: FnProperty) {
    let mut right = vec![0; CHAIN + 1];
    right[1] = 100;
    assert_eq!(order(device, property, 0, &[100]), right);
}

fn assert_idle_work_is_last(device: Device, property: FnProperty) {
    let mut right = vec![0; CHAIN + 1];
    right[CHAIN] = -1;
    assert_eq!(order(device, property, 0, &[-1]), right);
    // And a chain of such work waits for all else.
    let mut right = vec![-1; CHAIN + 2];
    right[1..3].fill(0);
    assert_eq!(order(device, property, -1, &[0, 0]), right);
}

#[test]
fn an_urgent_operation_is_next_on_the_ordinary_lane() {
    assert_urgent_is_next(Device::CPU, FnProperty::Normal);
}

#[test]
fn an_urgent_operation_is_next_on_the_priority_lane() {
    assert_urgent_is_next(Device::CPU, FnProperty::CpuPrioritized);
}

#[test]
fn an_urgent_operation_is_next_on_the_lanes_of_a_device() {
    for property in [FnProperty::Normal, FnProperty::GpuPrioritized] {
        assert_urgent_is_next(Device::gpu(0), property);
    }
}

#[test]
fn an_urgent_copy_is_next_on_the_copy_lanes() {
    for property in [FnProperty::CopyToGpu, FnProperty::CopyFromGpu] {
        assert_urgent_is_next(Device::gpu(0), property);
    }
}

#[test]
fn operations_of_negative_priority_are_last_on_every_lane() {
    assert_idle_work_is_last(Device::CPU, FnProperty::Normal);
    assert_idle_work_is_last(Device::CPU, FnProperty::CpuPrioritized);
    assert_idle_work_is_last(Device::gpu(0), FnProperty::Normal);
    assert_idle_work_is_last(Device::gpu(0), FnProperty::CopyToGpu);
    assert_idle_work_is_last(Device::gpu(0), FnProperty::CopyFromGpu);
}

#[test]
fn lanes_with_an_exact_order_keep_it_against_a_chain() {
    for (device, property) in [
        (Device::CPU, FnProperty::CpuPrioritized),
        (Device::gpu(0), FnProperty::CopyToGpu),
    ] {
        let mut right = vec![5; CHAIN + 5];
        right[1..4].copy_from_slice(&[9, 7, 6]);
        right[CHAIN + 3..].copy_from_slice(&[4, 0]);
        assert_eq!(order(device, property, 5, &[6, 4, 9, 0, 7]), right);
    }
}

#[test]
fn an_urgent_chain_is_not_overtaken() {
    for (device, property) in [
        (Device::CPU, FnProperty::Normal),
        (Device::CPU, FnProperty::CpuPrioritized),
    ] {
        let mut right = vec![1; CHAIN + 2];
        right[CHAIN..].fill(0);
        assert_eq!(order(device, property, 1, &[0, 0]), right);
    }
}
