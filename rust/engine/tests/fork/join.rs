//! Operations that push others and wait for them inside: none is refused, however many there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;

use crate::watchdog::in_child;
use ferromix_engine::{Engine, FnProperty, OpError, OpSpec};

type Spec = OpSpec<'static>;

fn engine(workers: usize) -> Engine {
    let builder = Engine::builder().workers(workers);
    builder
        .priority_workers(workers)
        .max_in_flight(1 << 20)
        .build()
}

/// Work of a lane that keeps the exact order: what is pushed last runs last.
fn exact() -> Spec {
    OpSpec::new("op").property(FnProperty::CpuPrioritized)
}

/// Pushes two operations in a row and waits for them: three times `value`.
fn parent(engine: &Engine, spec: Spec, value: u64) -> Result<u64, OpError> {
    let (var, cell) = (engine.new_variable(), Arc::new(AtomicU64::new(0)));
    for factor in [1, 3] {
        let cell = cell.clone();
        engine.push_sync(&spec.writes(&[var]), move |_| {
            let so_far = cell.load(Relaxed);
            let next = if factor == 1 { value } else { so_far * factor };
            cell.store(next, Relaxed);
            Ok(())
        })?;
    }
    engine.wait_for_var(var)?;
    engine.delete_variable(var, || ())?;
    Ok(cell.load(Relaxed))
}

/// So many parents on one worker, all of them there before the first begins.
fn parents(name: &str, many: u64, parents: Spec, children: Spec) {
    in_child(name, 15, || {
        let engine = engine(1);
        let (open, gate) = channel::<()>();
        engine
            .push_sync(&parents, move |_| Ok(gate.recv()?))
            .unwrap();
        let cells: Vec<Arc<AtomicU64>> = (0..many).map(|_| Arc::default()).collect();
        for (value, cell) in (0..).zip(&cells) {
            let (inner, cell) = (engine.clone(), cell.clone());
            engine
                .push_sync(&parents, move |_| {
                    cell.store(parent(&inner, children, value)?, Relaxed);
                    Ok(())
                })
                .unwrap();
        }
        open.send(()).unwrap();
        engine.wait_for_all().unwrap();
        for (value, cell) in (0..).zip(&cells) {
            assert_eq!(cell.load(Relaxed), 3 * value);
        }
    });
}

#[test]
fn hundreds_of_parents_wait_for_their_children() {
    let spec = OpSpec::new("op");
    let name = "hundreds_of_parents_wait_for_their_children";
    parents(name, 500, spec, spec);
}

#[test]
fn thousands_of_parents_wait_for_their_children() {
    let spec = OpSpec::new("op");
    let name = "thousands_of_parents_wait_for_their_children";
    parents(name, 5000, spec, spec);
}

#[test]
fn parents_on_a_lane_of_exact_order_wait_for_their_children() {
    let name = "parents_on_a_lane_of_exact_order_wait_for_their_children";
    parents(name, 500, exact(), exact());
}

#[test]
fn urgent_parents_wait_for_children_that_are_not() {
    let spec = OpSpec::new("op");
    let name = "urgent_parents_wait_for_children_that_are_not";
    parents(name, 500, spec.priority(1), spec);
}

/// Pushes two operations that do the same for smaller numbers, and waits for both.
fn fib(engine: &Engine, spec: Spec, n: u64) -> Result<u64, OpError> {
    if n < 2 {
        return Ok(n);
    }
    let mut halves = Vec::new();
    for k in [n - 1, n - 2] {
        let (var, cell) = (engine.new_variable(), Arc::new(AtomicU64::new(0)));
        let (inner, result) = (engine.clone(), cell.clone());
        engine.push_sync(&spec.writes(&[var]), move |_| {
            result.store(fib(&inner, spec, k)?, Relaxed);
            Ok(())
        })?;
        halves.push((var, cell));
    }
    let mut sum = 0;
    for (var, cell) in halves {
        engine.wait_for_var(var)?;
        sum += cell.load(Relaxed);
        engine.delete_variable(var, || ())?;
    }
    Ok(sum)
}

fn recursion(name: &str, workers: usize, spec: Spec) {
    in_child(name, 15, || {
        let engine = engine(workers);
        let cell = Arc::new(AtomicU64::new(0));
        let (inner, result) = (engine.clone(), cell.clone());
        engine
            .push_sync(&spec, move |_| {
                result.store(fib(&inner, spec, 12)?, Relaxed);
                Ok(())
            })
            .unwrap();
        engine.wait_for_all().unwrap();
        assert_eq!(cell.load(Relaxed), 144);
    });
}

#[test]
fn recursion_by_fork_and_join_ends_on_one_worker() {
    let name = "recursion_by_fork_and_join_ends_on_one_worker";
    recursion(name, 1, OpSpec::new("op"));
}

#[test]
fn recursion_by_fork_and_join_ends_on_two_workers() {
    let name = "recursion_by_fork_and_join_ends_on_two_workers";
    recursion(name, 2, OpSpec::new("op"));
}

#[test]
fn recursion_by_fork_and_join_ends_on_a_lane_of_exact_order() {
    let name = "recursion_by_fork_and_join_ends_on_a_lane_of_exact_order";
    recursion(name, 1, exact());
}

#[test]
fn an_outside_thread_may_fork_and_join() {
    assert_eq!(fib(&engine(1), OpSpec::new("op"), 8).unwrap(), 21);
}
