//! What does not wait for a busy worker: operations that only start something, and ends of
//! variables.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use ferromix_engine::{Device, Engine, FnProperty, OpSpec};

/// An engine whose only worker of the lane waits until the sender is used or dropped.
fn busy(device: Device) -> (Engine, Sender<()>) {
    let engine = Engine::builder().workers(1).gpu_workers(1).build();
    let ((open, gate), (say, said)) = (channel::<()>(), channel());
    engine
        .push_sync(&OpSpec::new("gate").on(device), move |_| {
            say.send(())?;
            let _ = gate.recv();
            Ok(())
        })
        .unwrap();
    said.recv().unwrap();
    (engine, open)
}

/// The operation runs while the worker is busy.
fn assert_runs_meanwhile(spec: &OpSpec<'_>, asynchronous: bool) {
    let (engine, open) = busy(spec.device);
    let (var, (send, receive)) = (engine.new_variable(), channel());
    let vars = [var];
    let spec = spec.writes(&vars);
    if asynchronous {
        engine.push_async(&spec, move |_, done| {
            send.send(()).unwrap();
            done.complete(Ok(()));
        })
    } else {
        engine.push_sync(&spec, move |_| Ok(send.send(())?))
    }
    .unwrap();
    let ran = receive.recv_timeout(Duration::from_secs(2));
    drop(open);
    engine.wait_for_all().unwrap();
    assert!(ran.is_ok(), "{spec:?} waited for the worker");
}

#[test]
fn what_only_starts_something_does_not_wait_for_a_worker() {
    let spec = OpSpec::new("starts").property(FnProperty::Async);
    assert_runs_meanwhile(&spec, true);
    assert_runs_meanwhile(&spec, false);
}

#[test]
fn what_only_starts_something_on_a_device_does_not_wait_for_its_worker() {
    let spec = OpSpec::new("starts").property(FnProperty::Async);
    assert_runs_meanwhile(&spec.on(Device::gpu(0)), true);
}

#[test]
fn the_end_of_a_variable_does_not_wait_for_a_worker() {
    let spec = OpSpec::new("ends").property(FnProperty::DeleteVar);
    assert_runs_meanwhile(&spec, false);
    assert_runs_meanwhile(&spec, true);
}

#[test]
fn a_deletion_does_not_wait_for_a_worker() {
    let (engine, open) = busy(Device::CPU);
    let (send, receive) = channel();
    let delete = move || send.send(()).unwrap();
    engine
        .delete_variable(engine.new_variable(), delete)
        .unwrap();
    let ran = receive.recv_timeout(Duration::from_secs(2));
    drop(open);
    assert!(ran.is_ok());
}
