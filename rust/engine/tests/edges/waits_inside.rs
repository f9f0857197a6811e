//! Operations that wait inside for others, by a scope or by a look at data: none hangs, however many
//! there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;

use crate::watchdog::in_child;
use ferromix_engine::{Data, Engine, FnProperty, OpSpec};

/// So many operations on one worker, each of which has a scope with an operation of its own.
fn many_with_scopes(name: &str, many: u64, spec: OpSpec<'static>) {
    in_child(name, 8, || {
        let engine = Engine::builder()
            .workers(1)
            .priority_workers(1)
            .max_in_flight(1 << 20)
            .build();
        let (ran, (open, gate)) = (AtomicU64::new(0), channel::<()>());
        engine.scope(|scope| {
            let push = scope.push_sync(&spec, move |_| Ok(gate.recv()?));
            push.unwrap();
            for _ in 0..many {
                let (inner, ran) = (engine.clone(), &ran);
                let push = scope.push_sync(&spec, move |_| {
                    inner.scope(|scope| {
                        scope.push_sync(&spec, |_| {
                            ran.fetch_add(1, Relaxed);
                            Ok(())
                        })
                    })?;
                    Ok(())
                });
                push.unwrap();
            }
            open.send(()).unwrap();
        });
        assert_eq!(ran.load(Relaxed), many);
    });
}

#[test]
fn a_few_operations_with_scopes_end() {
    let spec = OpSpec::new("op").property(FnProperty::CpuPrioritized);
    many_with_scopes("a_few_operations_with_scopes_end", 40, spec);
}

#[test]
fn hundreds_of_operations_with_scopes_end() {
    // As those do that wait for a variable.
    let name = "hundreds_of_operations_with_scopes_end";
    many_with_scopes(name, 300, OpSpec::new("op"));
}

#[test]
fn hundreds_of_operations_with_scopes_end_in_a_lane_of_exact_order() {
    let name = "hundreds_of_operations_with_scopes_end_in_a_lane_of_exact_order";
    let spec = OpSpec::new("op").property(FnProperty::CpuPrioritized);
    many_with_scopes(name, 300, spec);
}

/// Many operations on one worker that look at data of their own.
fn many_look(name: &str, many: u64, spec: OpSpec<'static>) {
    in_child(name, 8, || {
        let engine = Engine::builder()
            .workers(1)
            .priority_workers(1)
            .max_in_flight(1 << 20)
            .build();
        let (open, gate) = channel::<()>();
        engine.push_sync(&spec, move |_| Ok(gate.recv()?)).unwrap();
        let ran = Arc::new(AtomicU64::new(0));
        for k in 0..many {
            let (inner, ran) = (engine.clone(), ran.clone());
            let push = engine.push_sync(&spec, move |_| {
                let data = inner.data(0);
                let (mine, vars): (Data<u64>, _) = (data.clone(), [data.var()]);
                inner.push_sync(&spec.writes(&vars), move |context| {
                    *context.write(&mine)? = k;
                    Ok(())
                })?;
                assert_eq!(*data.read()?, k);
                ran.fetch_add(1, Relaxed);
                Ok(())
            });
            push.unwrap();
        }
        open.send(()).unwrap();
        engine.wait_for_all().unwrap();
        assert_eq!(ran.load(Relaxed), many);
    });
}

#[test]
fn a_few_operations_that_look_at_data_end() {
    let spec = OpSpec::new("op").property(FnProperty::CpuPrioritized);
    many_look("a_few_operations_that_look_at_data_end", 40, spec);
}

#[test]
fn hundreds_of_operations_that_look_at_data_end() {
    // As those do that wait for a variable.
    let name = "hundreds_of_operations_that_look_at_data_end";
    many_look(name, 300, OpSpec::new("op"));
}

#[test]
fn hundreds_of_operations_that_look_at_data_end_in_a_lane_of_exact_order() {
    let name = "hundreds_of_operations_that_look_at_data_end_in_a_lane_of_exact_order";
    let spec = OpSpec::new("op").property(FnProperty::CpuPrioritized);
    many_look(name, 300, spec);
}
