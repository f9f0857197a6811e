//! Things whose end panics, and what an engine must still be able to do afterwards.
#![allow(dead_code)] // Each file of tests uses some.

use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, set_hook, take_hook};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ferromix_engine::Engine;
use ferromix_engine::{OpSpec, PanicError, Var, WaitError};

/// Panics when it is dropped, with a smaller one as the payload. None at all if it is 0.
#[derive(Debug)]
pub(crate) struct Bomb(pub(crate) u32);

/// One payload; one that has another; one that never comes to an end.
pub(crate) const SIZES: [u32; 3] = [1, 2, u32::MAX];

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0 > 0 {
            panic_any(Bomb(self.0 - 1));
        }
    }
}

/// An error with a bomb in it.
#[derive(Debug)]
pub(crate) struct BadError(pub(crate) Bomb);

impl fmt::Display for BadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bad")
    }
}

impl Error for BadError {}

pub(crate) fn bad(size: u32) -> Box<dyn Error + Send + Sync> {
    Box::new(BadError(Bomb(size)))
}

/// Bombs do not fill the screen.
pub(crate) fn silence() {
    let hook = take_hook();
    set_hook(Box::new(move |info| {
        if !info.payload().is::<Bomb>() {
            hook(info);
        }
    }));
}

/// Drops what may be a bomb.
pub(crate) fn spill<T>(it: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(it))) {
        std::mem::forget(payload);
    }
}

/// The failure that the wait returned is a panic's.
pub(crate) fn assert_panicked(result: Result<(), WaitError>) {
    match result {
        Err(WaitError::Failed(failure)) => assert!(failure.error().is::<PanicError>()),
        other => panic!("no failure: {other:?}"),
    }
}

/// The variable has the failure of a panic. What was pushed behind it before a wait is skipped,
/// what is pushed later runs.
pub(crate) fn assert_inherited(engine: &Engine, var: Var) {
    let ran = Arc::new(AtomicU64::new(0));
    let push = |value: u64| {
        let ran = ran.clone();
        engine
            .push_sync(&OpSpec::new("behind").writes(&[var]), move |_| {
                ran.fetch_add(value, Relaxed);
                Ok(())
            })
            .unwrap();
    };
    push(1);
    assert_panicked(engine.wait_for_var(var));
    push(10);
    engine.wait_for_var(var).unwrap();
    assert_eq!(ran.load(Relaxed), 10);
}

/// The engine takes work, does it and knows when it is done, on this thread and on another.
/// Failures that nobody asked for are gone then.
pub(crate) fn assert_works(engine: &Engine) {
    spill(engine.wait_for_all());
    let work = || {
        let var = engine.new_variable();
        for i in 0..100 {
            let spec = OpSpec::new("work").inline(i % 3 == 0);
            engine.push_sync(&spec.writes(&[var]), |_| Ok(())).unwrap();
        }
        engine.wait_for_var(var).unwrap();
        assert_eq!(engine.version(var), Ok(100));
        engine
            .push_async(&OpSpec::new("far").writes(&[var]), |_, done| {
                std::thread::spawn(move || done.complete(Ok(())));
            })
            .unwrap();
        engine.delete_variable(var, || ()).unwrap();
        engine.wait_for_all().unwrap();
    };
    work();
    std::thread::scope(|scope| {
        scope.spawn(work);
    });
    assert_eq!(engine.counters().in_flight, 0);
}
