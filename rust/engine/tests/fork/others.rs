//! `prepare_fork` while other threads do with the engine what they like.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::bombs::assert_works;
use crate::forks::{fork_child, in_child};
use ferromix_engine::{Engine, Kind, OpSpec};

const LIMIT: Duration = Duration::from_secs(5);

fn engines() -> [Engine; 2] {
    [Kind::Threaded, Kind::Naive].map(|kind| Engine::builder().kind(kind).workers(2).build())
}

/// Forks at rest; the engine works in both.
fn assert_forks(engine: &Engine) {
    engine.prepare_fork(LIMIT).unwrap();
    let child = fork_child(|| {
        engine.resume_in_child();
        assert_works(engine);
    });
    engine.resume_in_parent();
    assert_eq!(child.wait(), 0);
}

/// Says that it is over, also when a test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Calls `f` again and again in three threads while `g` runs.
fn meanwhile(f: impl Fn(u64) + Sync, g: impl FnOnce()) {
    let (over, f) = (AtomicBool::new(false), &f);
    std::thread::scope(|scope| {
        for k in 0..3 {
            let over = &over;
            scope.spawn(move || {
                while !over.load(Relaxed) {
                    f(k);
                }
            });
        }
        let ended = Over(&over);
        g();
        drop(ended);
    });
}

#[test]
fn other_threads_may_ask_anything_while_threads_take_turns() {
    let name = "other_threads_may_ask_anything_while_threads_take_turns";
    in_child(name, 20, || {
        for engine in engines() {
            let ask = |k| match k {
                0 => {
                    assert!(!engine.is_at_rest());
                    assert!(engine.counters().in_flight <= 4);
                }
                1 => {
                    engine.resume_in_parent();
                    engine.resume_in_child();
                    let _ = (engine.trace(), engine.is_tracing());
                    engine.wait_for_all().unwrap();
                }
                _ => {
                    engine.prepare_fork(LIMIT).unwrap();
                    engine.resume_in_parent();
                }
            };
            meanwhile(ask, || {
                for _ in 0..20 {
                    assert_forks(&engine);
                }
            });
            assert_works(&engine);
        }
    });
}

/// Forks at rest work while other threads do this.
fn assert_undisturbed(name: &str, disturb: fn(&Engine)) {
    in_child(name, 20, || {
        for engine in engines() {
            meanwhile(
                |_| disturb(&engine),
                || (0..5).for_each(|_| assert_forks(&engine)),
            );
            engine.start();
            assert_works(&engine);
        }
    });
}

#[test]
fn it_works_while_others_start_the_engine_and_push() {
    let name = "it_works_while_others_start_the_engine_and_push";
    assert_undisturbed(name, |engine| {
        engine.start();
        engine.push_sync(&OpSpec::new("op"), |_| Ok(())).unwrap();
    });
}

#[test]
fn it_works_while_others_stop_and_start_the_engine() {
    let name = "it_works_while_others_stop_and_start_the_engine";
    assert_undisturbed(name, |engine| {
        engine.stop().unwrap();
        engine.start();
    });
}

#[test]
fn it_works_while_others_trace() {
    let name = "it_works_while_others_trace";
    assert_undisturbed(name, |engine| {
        engine.start_trace_of(1000);
        engine
            .push_sync(&OpSpec::new("traced"), |_| Ok(()))
            .unwrap();
        let _ = engine.stop_trace();
    });
}

#[test]
fn it_works_while_others_make_data_and_variables() {
    let name = "it_works_while_others_make_data_and_variables";
    assert_undisturbed(name, |engine| {
        let data = engine.data(vec![1]);
        data.write().unwrap().push(2);
        let var = engine.new_variable();
        engine.delete_variable(var, || ()).unwrap();
    });
}

#[test]
fn threads_that_push_without_a_pause_do_not_keep_it_from_resting() {
    let name = "threads_that_push_without_a_pause_do_not_keep_it_from_resting";
    in_child(name, 20, || {
        let engine = Engine::builder().workers(2).build();
        let push = |_| {
            engine.push_sync(&OpSpec::new("op"), |_| Ok(())).unwrap();
        };
        meanwhile(push, || {
            for _ in 0..20 {
                // The pushers go on, all of them.
                let before = engine.counters().pushed;
                while engine.counters().pushed < before + 10_000 {
                    std::thread::yield_now();
                }
                engine.prepare_fork(LIMIT / 5).unwrap();
                engine.resume_in_parent();
            }
        });
        assert_works(&engine);
    });
}
