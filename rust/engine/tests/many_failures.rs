//! Failures in numbers: each surfaces once, and those that nobody asks for do not pile up.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use std::time::{Duration, Instant};

use ferromix_engine::{Engine, OpError, OpSpec, RunContext, Var, WaitError};

/// An error that counts how many of its kind are there.
#[derive(Debug)]
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Relaxed);
        Self(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("counted")
    }
}

impl Error for Counted {}

#[test]
fn a_tenth_of_a_million_operations_fails_and_each_failure_surfaces_once() {
    let engine = Engine::builder().workers(2).build();
    let alive = Arc::new(AtomicUsize::new(0));
    let vars: Vec<Var> = (0..1000).map(|_| engine.new_variable()).collect();
    let mut tag = 0;
    for round in 0..100 {
        let first = tag;
        for k in 0..10_000 {
            let var = vars[k % vars.len()];
            let fails = k < vars.len();
            let alive = alive.clone();
            let spec = OpSpec::new("one of many").tag(tag);
            let run = move |_: &RunContext| -> Result<(), OpError> {
                if fails {
                    return Err(Box::new(Counted::new(&alive)));
                }
                Ok(())
            };
            engine.push_sync(&spec.writes(&[var]), run).unwrap();
            tag += u64::from(fails);
        }
        // In an order of their own.
        for k in 0..vars.len() {
            let k = (k * 7 + round) % vars.len();
            match engine.wait_for_var(vars[k]) {
                Err(WaitError::Failed(failure)) => assert_eq!(failure.tag, first + k as u64),
                other => panic!("{other:?} instead of failure {k} of round {round}"),
            }
            assert!(engine.wait_for_var(vars[k]).is_ok(), "surfaced twice");
        }
        engine.wait_for_all().unwrap();
        // What is left is what the variables still hold, once the workers have dropped the others.
        let begin = Instant::now();
        while alive.load(Relaxed) > vars.len() {
            assert!(begin.elapsed() < Duration::from_secs(20));
            std::thread::yield_now();
        }
    }
    assert_eq!(tag, 100_000);
}

#[test]
fn failures_that_nobody_asks_for_do_not_pile_up() {
    let engine = Engine::builder().workers(2).build();
    let alive = Arc::new(AtomicUsize::new(0));
    for tag in 0..100_000 {
        let error = alive.clone();
        let spec = OpSpec::new("unasked").tag(tag);
        engine
            .push_sync(&spec, move |_| Err(Box::new(Counted::new(&error))))
            .unwrap();
        if tag % 10_000 == 9_999 {
            // Finishes what was pushed, and surfaces nothing.
            engine.stop().unwrap();
            engine.start();
            assert!(
                alive.load(Relaxed) <= 2 * 256,
                "twice what is swept at once"
            );
        }
    }
    match engine.wait_for_all() {
        Err(WaitError::Failed(failure)) => assert_eq!(failure.tag, 0),
        other => panic!("{other:?}"),
    }
    engine.wait_for_all().unwrap();
    assert_eq!(alive.load(Relaxed), 0);
}

#[test]
fn the_first_failure_of_each_wait_for_all_survives_among_many() {
    let engine = Engine::builder().workers(2).build();
    let fail = |tag| {
        engine
            .push_sync(&OpSpec::new("fails").tag(tag), |_| Err("x".into()))
            .unwrap();
    };
    for round in 0..20 {
        (0..2000).for_each(|k| fail(round * 10_000 + k));
        // Another wait for all closes the epoch, and surfaces nothing.
        engine.stop().unwrap();
        engine.start();
        (2000..4000).for_each(|k| fail(round * 10_000 + k));
        match engine.wait_for_all() {
            Err(WaitError::Failed(failure)) => assert_eq!(failure.tag, round * 10_000),
            other => panic!("{other:?}"),
        }
        engine.wait_for_all().unwrap();
    }
}
