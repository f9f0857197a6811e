//! Variables belong to one engine: others know them as strangers.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use ferromix_engine::{Device, Engine, Kind, OpSpec, Program, PushError, Var, WaitError};

/// Two engines, and a variable of the first.
fn pairs() -> Vec<(Engine, Engine, Var)> {
    let make = |kind| Engine::builder().kind(kind).workers(1).build();
    let kinds = [Kind::Threaded, Kind::Naive];
    kinds
        .into_iter()
        .map(|kind| {
            let (one, two) = (make(kind), make(kind));
            let var = one.new_variable();
            let _ = two.new_variable();
            (one, two, var)
        })
        .collect()
}

#[test]
fn variables_of_two_engines_are_never_equal() {
    let mut seen = HashSet::new();
    let mut kept = Vec::new();
    for round in 0..20 {
        let engine = Engine::builder().workers(1).build();
        for i in 0..50 {
            let var = engine.new_variable();
            assert!(seen.insert(var), "{var} was there already");
            if i % 2 == 0 {
                engine.delete_variable(var, || ()).unwrap();
            }
        }
        if round % 2 == 0 {
            kept.push(engine);
        }
    }
}

#[test]
fn a_push_refuses_the_variable_of_another_engine() {
    for (_one, two, var) in pairs() {
        let own = two.new_variable();
        let stale = Err(PushError::StaleVariable(var));
        let spec = OpSpec::new("stray");
        let strange = [own, var];
        for spec in [spec.writes(&strange), spec.reads(&strange)] {
            assert_eq!(two.push_sync(&spec, |_| Ok(())), stale);
            let refused = two.push_async(&spec, |_, done| done.complete(Ok(())));
            assert_eq!(refused, stale);
            let operator = two.new_operator(&spec, |_| Ok(()));
            assert_eq!(two.push(&operator, Device::CPU, 0), stale);
            let bulk = two.bulk(10);
            assert_eq!(two.push_sync(&spec, |_| Ok(())), stale);
            drop(bulk);
        }
        two.wait_for_all().unwrap();
        assert_eq!(two.counters().pushed, 0);
    }
}

#[test]
fn waits_and_questions_refuse_the_variable_of_another_engine() {
    for (_one, two, var) in pairs() {
        let stale = |wait| matches!(wait, Err(WaitError::StaleVariable(v)) if v == var);
        assert!(stale(two.wait_for_var(var)));
        assert!(stale(two.wait_for_var_timeout(var, Duration::from_secs(1))));
        assert!(!two.is_quiet(var));
        assert_eq!(two.version(var), Err(PushError::StaleVariable(var)));
    }
}

#[test]
fn a_deletion_refuses_the_variable_of_another_engine() {
    for (one, two, var) in pairs() {
        let called = Arc::new(AtomicBool::new(false));
        let call = called.clone();
        let refused = two.delete_variable(var, move || call.store(true, SeqCst));
        assert_eq!(refused, Err(PushError::StaleVariable(var)));
        two.wait_for_all().unwrap();
        assert!(!called.load(SeqCst));
        one.push_sync(&OpSpec::new("write").writes(&[var]), |_| Ok(()))
            .unwrap();
        one.wait_for_var(var).unwrap();
        assert_eq!(one.version(var), Ok(1));
    }
}

#[test]
fn a_launch_refuses_the_variable_of_another_engine() {
    for (one, two, var) in pairs() {
        let stale = Err(PushError::StaleVariable(var));
        for writes in [false, true] {
            let vars = [var];
            let spec = OpSpec::new("step");
            let spec = if writes {
                spec.writes(&vars)
            } else {
                spec.reads(&vars)
            };
            let program = Program::builder("stray").op(&spec, |_| Ok(())).build();
            assert_eq!(two.launch(&program), stale);
            assert_eq!(one.launch(&program), Ok(()));
        }
        one.wait_for_all().unwrap();
    }
}

#[test]
fn a_launch_refuses_a_program_rebound_to_another_engine() {
    for (one, two, var) in pairs() {
        let own = two.new_variable();
        let program = Program::builder("moves")
            .op(&OpSpec::new("step").writes(&[own]), |_| Ok(()))
            .build();
        let rebound = program.rebind(&[(own, var)]).unwrap();
        assert_eq!(two.launch(&rebound), Err(PushError::StaleVariable(var)));
        assert_eq!(one.launch(&rebound), Ok(()));
        assert_eq!(two.launch(&program), Ok(()));
        one.wait_for_var(var).unwrap();
        two.wait_for_var(own).unwrap();
        assert_eq!((one.version(var), two.version(own)), (Ok(1), Ok(1)));
    }
}

#[test]
fn a_variable_survives_its_bits_but_not_its_engine() {
    let one = Engine::builder().workers(1).build();
    let var = Var::from_bits(one.new_variable().to_bits());
    assert_eq!(one.version(var), Ok(0));
    drop(one);
    let two = Engine::builder().workers(1).build();
    let _ = two.new_variable();
    assert_eq!(two.version(var), Err(PushError::StaleVariable(var)));
}
