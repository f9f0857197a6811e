//! Small operations, which run on the thread that finds them ready: who runs them, how many in a
//! row, how deep, and that the order is the usual one.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use ferromix_engine::{Engine, FnProperty, OnComplete, OpSpec, Program, Var};
use proptest::prelude::*;

fn small(var: &Var) -> OpSpec<'_> {
    OpSpec::new("small")
        .writes(std::slice::from_ref(var))
        .inline(true)
}

/// An operation that holds `var` until it is told to finish.
fn gate(engine: &Engine, var: Var) -> OnComplete {
    let (send, receive) = mpsc::channel();
    engine
        .push_async(&OpSpec::new("gate").writes(&[var]), move |_, done| {
            send.send(done).unwrap();
        })
        .unwrap();
    receive.recv().unwrap()
}

#[test]
fn a_ready_one_has_run_when_the_push_returns() {
    let engine = Engine::builder().workers(1).build();
    let a = engine.new_variable();
    let me = thread::current().id();
    let ran = Arc::new(Mutex::new(Vec::new()));
    for property in [FnProperty::Normal, FnProperty::Async] {
        let ran = ran.clone();
        let spec = small(&a).property(property);
        let run = move |_: &_| {
            ran.lock().unwrap().push(thread::current().id());
            Ok(())
        };
        engine.push_sync(&spec, run).unwrap();
    }
    assert_eq!(*ran.lock().unwrap(), [me, me]);
    assert!(engine.is_quiet(a));
    assert_eq!(engine.version(a).unwrap(), 2);
    assert_eq!(engine.counters().in_flight, 0);
}

#[test]
fn other_lanes_ignore_the_mark() {
    let engine = Engine::builder().workers(1).build();
    let a = engine.new_variable();
    let (send, receive) = mpsc::channel();
    let spec = small(&a).property(FnProperty::CpuPrioritized);
    let run = move |_: &_| {
        send.send(thread::current().id()).unwrap();
        Ok(())
    };
    engine.push_sync(&spec, run).unwrap();
    assert_ne!(receive.recv().unwrap(), thread::current().id());
}

#[test]
fn failures_are_inherited_and_surface_once() {
    let engine = Engine::builder().workers(1).build();
    let (a, b) = (engine.new_variable(), engine.new_variable());
    engine
        .push_sync(&small(&a).tag(7), |_| Err("bad".into()))
        .unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let count = ran.clone();
    let spec = small(&b).reads(std::slice::from_ref(&a));
    let run = move |_: &_| {
        count.fetch_add(1, Relaxed);
        Ok(())
    };
    engine.push_sync(&spec, run).unwrap();
    assert!(!engine.is_quiet(b));
    let error = engine.wait_for_var(b).unwrap_err();
    assert_eq!(error.to_string(), "operation small failed");
    engine.wait_for_var(a).unwrap();
    engine.wait_for_all().unwrap();
    assert_eq!(ran.load(Relaxed), 0);
}

#[test]
fn a_stopped_engine_keeps_them() {
    let engine = Engine::builder().workers(1).build();
    let a = engine.new_variable();
    engine.stop().unwrap();
    engine.push_sync(&small(&a), |_| Ok(())).unwrap();
    assert_eq!(engine.version(a).unwrap(), 0);
    assert!(!engine.is_quiet(a));
    engine.start();
    engine.wait_for_var(a).unwrap();
    assert_eq!(engine.version(a).unwrap(), 1);
}

/// Behind a gate: a chain of one variable, or as many readers. Who opens the gate runs some.
fn released_at_once(chain: bool) {
    const COUNT: usize = 100_000;
    let engine = Engine::builder()
        .workers(2)
        .max_in_flight(usize::MAX)
        .build();
    let a = engine.new_variable();
    let done = gate(&engine, a);
    let (all, mine) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let opener = thread::current().id();
    for _ in 0..COUNT {
        let (all, mine) = (all.clone(), mine.clone());
        let (list, none) = ([a], []);
        let (writes, reads): (&[Var], &[Var]) = if chain {
            (&list, &none)
        } else {
            (&none, &list)
        };
        let spec = OpSpec::new("small")
            .writes(writes)
            .reads(reads)
            .inline(true);
        let run = move |_: &_| {
            all.fetch_add(1, Relaxed);
            if thread::current().id() == opener {
                mine.fetch_add(1, Relaxed);
            }
            Ok(())
        };
        engine.push_sync(&spec, run).unwrap();
    }
    done.complete(Ok(()));
    let at_once = mine.load(Relaxed);
    assert!((1..=64).contains(&at_once), "{at_once} ran in one row");
    engine.wait_for_all().unwrap();
    assert_eq!(all.load(Relaxed), COUNT);
}

#[test]
fn a_long_chain_captures_nobody() {
    released_at_once(true);
}

#[test]
fn a_wide_fan_captures_nobody() {
    released_at_once(false);
}

/// Each pushes the next, and would run it inside itself.
fn push_next(engine: &Engine, var: Var, left: usize, ran: Arc<AtomicUsize>) {
    let inner = engine.clone();
    let run = move |_: &_| {
        ran.fetch_add(1, Relaxed);
        if left > 0 {
            let free = inner.new_variable();
            push_next(&inner, free, left - 1, ran);
            inner.delete_variable(free, || {})?;
        }
        Ok(())
    };
    engine.push_sync(&small(&var), run).unwrap();
}

#[test]
fn those_that_push_each_other_do_not_pile_up() {
    let engine = Engine::builder().workers(1).build();
    let a = engine.new_variable();
    let ran = Arc::new(AtomicUsize::new(0));
    push_next(&engine, a, 100_000, ran.clone());
    while ran.load(Relaxed) <= 100_000 {
        engine.wait_for_all().unwrap();
    }
    assert_eq!(ran.load(Relaxed), 100_001);
}

/// A wait inside a small operation, for another that lies on the same thread's hands.
#[test]
fn a_wait_finds_those_on_its_own_hands() {
    let engine = Engine::builder().workers(1).build();
    let (a, b, c) = (
        engine.new_variable(),
        engine.new_variable(),
        engine.new_variable(),
    );
    let done = gate(&engine, a);
    let (inner, cell) = (engine.clone(), Arc::new(AtomicU64::new(0)));
    let seen = cell.clone();
    let spec = small(&b).reads(std::slice::from_ref(&a));
    let wait = move |_: &_| {
        inner.wait_for_var(c)?;
        seen.fetch_add(10, Relaxed);
        Ok(())
    };
    engine.push_sync(&spec, wait).unwrap();
    let seen = cell.clone();
    let spec = small(&c).reads(std::slice::from_ref(&a));
    let run = move |_: &_| {
        seen.fetch_add(1, Relaxed);
        Ok(())
    };
    engine.push_sync(&spec, run).unwrap();
    done.complete(Ok(()));
    engine.wait_for_var(b).unwrap();
    assert_eq!(cell.load(Relaxed), 11);
}

/// Waits that return without a place in the log, against operations that do not.
#[test]
fn waits_see_what_was_pushed_before() {
    const ROUNDS: u64 = 20_000;
    let engine = Engine::builder().workers(2).build();
    thread::scope(|scope| {
        for thread in 0..4 {
            let engine = engine.clone();
            scope.spawn(move || {
                let var = engine.new_variable();
                let cell = Arc::new(AtomicU64::new(0));
                for round in 0..ROUNDS {
                    let cell2 = cell.clone();
                    let spec = OpSpec::new("write").writes(std::slice::from_ref(&var));
                    let run = move |_: &_| {
                        cell2.store(cell2.load(Relaxed) + 1, Relaxed);
                        Ok(())
                    };
                    let spec = spec.inline(round % 3 != thread % 3);
                    engine.push_sync(&spec, run).unwrap();
                    if engine.is_quiet(var) || round % 7 == 0 {
                        engine.wait_for_var(var).unwrap();
                        assert_eq!(cell.load(Relaxed), round + 1);
                    }
                }
            });
        }
    });
    engine.wait_for_all().unwrap();
}

fn fold(old: u64, seen: u64, id: u64) -> u64 {
    (old.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ id).wrapping_add(seen.rotate_left(9))
}

type Listed = (Vec<usize>, Vec<usize>, bool);

const VARS: usize = 5;

fn listed() -> impl Strategy<Value = Vec<Listed>> {
    let vars = || prop::collection::vec(0..VARS, 0..3);
    prop::collection::vec((vars(), vars(), any::<bool>()), 1..60)
}

/// The values that the operations leave, run one after another.
fn replay(list: &[Listed]) -> Vec<u64> {
    let mut values = vec![0; VARS];
    for (id, (reads, writes, _)) in list.iter().enumerate() {
        run(&mut |var| values[var], reads, writes, id)
            .into_iter()
            .for_each(|(var, value)| values[var] = value);
    }
    values
}

fn run(
    get: &mut dyn FnMut(usize) -> u64,
    reads: &[usize],
    writes: &[usize],
    id: usize,
) -> Vec<(usize, u64)> {
    let seen = reads.iter().fold(0, |sum: u64, &var| {
        sum.rotate_left(5).wrapping_add(get(var))
    });
    let mut once = writes.to_vec();
    once.sort_unstable();
    once.dedup();
    let new = once
        .into_iter()
        .map(|var| (var, fold(get(var), seen, id as u64)));
    new.collect()
}

proptest! {
    /// Some of the operations are small; a program of some of them, too; the values are those of
    /// a serial run.
    #[test]
    fn random_mixtures_keep_the_order(list in listed(), launched in any::<bool>()) {
        let engine = Engine::builder().workers(2).build();
        let vars: Vec<Var> = (0..VARS).map(|_| engine.new_variable()).collect();
        let cells: Arc<Vec<AtomicU64>> = Arc::new((0..VARS).map(|_| AtomicU64::new(0)).collect());
        let mut program = Program::builder("all");
        for (id, (reads, writes, inline)) in list.iter().cloned().enumerate() {
            let (r, w): (Vec<Var>, Vec<Var>) = (
                reads.iter().map(|&var| vars[var]).collect(),
                writes.iter().map(|&var| vars[var]).collect(),
            );
            let spec = OpSpec::new("fold").reads(&r).writes(&w).inline(inline);
            let cells = cells.clone();
            let step = move |_: &_| {
                for (var, value) in run(&mut |var| cells[var].load(Relaxed), &reads, &writes, id) {
                    cells[var].store(value, Relaxed);
                }
                Ok(())
            };
            if launched {
                program = program.op(&spec, step);
            } else {
                engine.push_sync(&spec, step).unwrap();
            }
        }
        if launched {
            engine.launch(&program.build()).unwrap();
        }
        for &var in &vars {
            engine.wait_for_var(var).unwrap();
        }
        let values: Vec<u64> = cells.iter().map(|cell| cell.load(Relaxed)).collect();
        prop_assert_eq!(values, replay(&list));
    }
}
