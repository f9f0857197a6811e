//! Under loom: an operation that waits for two others, which two threads complete at once. Whoever
//! comes last starts it, and must bring along what the other one has done.
//!
//! Run with `make loom`.
#![allow(clippy::unwrap_used)]
#![cfg(loom)]

use ferromix_engine::{Engine, Kind, OnComplete, OpSpec};
use loom::cell::UnsafeCell;
use loom::sync::{Arc, Mutex};
use loom::thread;

/// Data that loom watches: an unordered pair of accesses, one a write, is an error.
struct Data(UnsafeCell<u32>);

// SAFETY: the engine orders the accesses, which is what is being checked.
unsafe impl Sync for Data {}
// SAFETY: as above.
unsafe impl Send for Data {}

impl Data {
    fn set(&self, new: u32) {
        // SAFETY: called with write access only.
        self.0.with_mut(|value| unsafe { *value = new });
    }
    fn get(&self) -> u32 {
        // SAFETY: called with an access, or after a wait.
        self.0.with(|value| unsafe { *value })
    }
}

#[test]
fn the_last_of_two_completions_brings_the_effects_of_both() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let engine = Engine::builder().kind(Kind::Naive).build();
        let vars = [engine.new_variable(), engine.new_variable()];
        let data = [0, 1].map(|_| Arc::new(Data(UnsafeCell::new(0))));
        let started: Arc<Mutex<Vec<OnComplete>>> = Arc::default();
        let (inner, list, sources) = (engine.clone(), started.clone(), data.clone());
        // Pushed by an operation, so that the naive engine does not wait for them.
        let outer = engine.push_sync(&OpSpec::new("outer"), move |_| {
            for var in vars {
                let list = list.clone();
                inner.push_async(&OpSpec::new("write").writes(&[var]), move |_, done| {
                    list.lock().unwrap().push(done);
                })?;
            }
            inner.push_sync(&OpSpec::new("sum").reads(&vars), move |_| {
                assert_eq!(sources[0].get() + sources[1].get(), 3);
                Ok(())
            })?;
            Ok(())
        });
        outer.unwrap();
        let started = std::mem::take(&mut *started.lock().unwrap());
        let threads: Vec<_> = started
            .into_iter()
            .zip(data.clone())
            .zip([1, 2])
            .map(|((done, data), value)| {
                thread::spawn(move || {
                    data.set(value);
                    done.complete(Ok(()));
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        engine.wait_for_all().unwrap();
        assert_eq!(data[0].get() + data[1].get(), 3);
    });
}
