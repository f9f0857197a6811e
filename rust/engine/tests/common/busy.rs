//! An engine that other threads use all the time.
#![allow(dead_code)] // Each file of tests uses some.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread::{JoinHandle, spawn, yield_now};
use std::time::Duration;

use ferromix_engine::{Engine, OnComplete, OpSpec, Program, Var};

/// How an engine is used meanwhile.
#[derive(Clone, Copy)]
pub(crate) struct Busy {
    pub(crate) threads: u64,
    /// That takes failures with it.
    pub(crate) wait_for_all: bool,
}

pub(crate) const TWO: Busy = Busy {
    threads: 2,
    wait_for_all: true,
};

/// Says that it is over, also when a test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Counts one operation.
fn count(engine: &Engine, var: Var, ran: &Arc<AtomicU64>, spec: &OpSpec<'_>) {
    let ran = ran.clone();
    engine
        .push_sync(&spec.writes(&[var]), move |_| {
            ran.fetch_add(1, Relaxed);
            Ok(())
        })
        .unwrap();
}

/// Pushes, launches and waits, until told that it is over. Returns how many operations these were.
fn use_it(engine: &Engine, how: Busy, over: &AtomicBool, ran: &Arc<AtomicU64>, k: u64) -> u64 {
    let (var, counter) = (engine.new_variable(), ran.clone());
    let program = Program::builder("launched")
        .op(&OpSpec::new("step").writes(&[var]), move |_| {
            counter.fetch_add(1, Relaxed);
            Ok(())
        })
        .build();
    let mut pushed = 0;
    while !over.load(Relaxed) {
        count(
            engine,
            var,
            ran,
            &OpSpec::new("push").inline(pushed % 3 == k % 3),
        );
        pushed += 1;
        if pushed % 5 == 0 {
            engine.launch(&program).unwrap();
            pushed += 1;
        }
        match pushed % 16 {
            3 => engine.wait_for_var(var).unwrap(),
            // Something else may never end.
            11 if how.wait_for_all => drop(engine.wait_for_all_timeout(Duration::from_millis(1))),
            _ => yield_now(),
        }
    }
    engine.wait_for_var(var).unwrap();
    pushed
}

/// Calls `f` while other threads push to the engine, launch, and wait; what they pushed has run in
/// the end.
pub(crate) fn while_busy(engine: &Engine, how: Busy, f: impl FnOnce()) {
    let (over, ran) = (AtomicBool::new(false), Arc::new(AtomicU64::new(0)));
    std::thread::scope(|scope| {
        let start = |k| {
            let (over, ran) = (&over, &ran);
            scope.spawn(move || use_it(engine, how, over, ran, k))
        };
        let threads: Vec<_> = (0..how.threads).map(start).collect();
        let told = Over(&over);
        f();
        drop(told);
        let pushed: u64 = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum();
        assert_eq!(ran.load(Relaxed), pushed, "operations were lost");
    });
}

/// An operation on the variable that ends when the promise is kept, and the thread that pushed it.
pub(crate) fn hold(engine: &Engine, var: Var) -> (OnComplete, JoinHandle<()>) {
    let (send, receive) = channel();
    let engine = engine.clone();
    let pusher = spawn(move || {
        let spec = OpSpec::new("held");
        let pushed = engine.push_async(&spec.writes(&[var]), move |_, done| {
            send.send(done).unwrap();
        });
        pushed.unwrap();
    });
    (receive.recv().unwrap(), pusher)
}
