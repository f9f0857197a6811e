//! New engines, and names, in the child of a fork: they work, whatever the parent's other threads had
//! in hand when it forked.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::spawn;
use std::time::Duration;

use crate::bombs::assert_works;
use crate::busy::{TWO, while_busy};
use crate::forks::{HUNG, forked, in_child, on_another_thread};
use ferromix_engine::{Engine, Kind, Name, OpSpec, Program, PushError, WaitError};

/// More than the pool of a thread keeps for itself, of blocks of several sizes.
fn push_many(engine: &Engine) {
    let vars: Vec<_> = (0..40).map(|_| engine.new_variable()).collect();
    for k in 0..200 {
        let spec = OpSpec::new("op").inline(k % 4 == 0);
        let writes = &vars[k % 8..][..1 + k % 32];
        engine.push_sync(&spec.writes(writes), |_| Ok(())).unwrap();
    }
    for var in vars {
        engine.delete_variable(var, || ()).unwrap();
    }
}

/// Calls `f` again and again on two threads of its own, while `g` runs here.
fn meanwhile(f: impl Fn(u64) + Sync, g: impl FnOnce()) {
    let (over, round) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Relaxed) {
                    f(round.fetch_add(1, Relaxed));
                }
            });
        }
        g();
        over.store(true, Relaxed);
    });
}

#[test]
fn a_new_engine_in_the_child_works() {
    let name = "a_new_engine_in_the_child_works";
    in_child(name, 20, || {
        for kind in [Kind::Threaded, Kind::Naive] {
            let old = Engine::builder().kind(kind).workers(2).build();
            while_busy(&old, TWO, || {
                for new in [Kind::Threaded, Kind::Naive] {
                    let code = forked(|| {
                        let engine = Engine::builder().kind(new).workers(2).build();
                        assert_works(&engine);
                        push_many(&engine);
                        engine.stop().unwrap();
                        engine.start();
                        assert_works(&engine);
                        engine.shutdown(Duration::from_secs(5)).unwrap();
                        drop(engine);
                        let refused = old.push_sync(&OpSpec::new("old"), |_| Ok(()));
                        assert_eq!(refused, Err(PushError::Forked));
                    });
                    assert_eq!(code, 0, "{new:?} in a child of {kind:?}");
                }
            });
        }
    });
}

#[test]
fn new_engines_work_however_busy_the_pools_were() {
    let name = "new_engines_work_however_busy_the_pools_were";
    in_child(name, 25, || {
        let old = Engine::builder().workers(2).build();
        let push = |_| {
            // Threads that begin and end, as their blocks go from hand to hand then.
            let engine = old.clone();
            spawn(move || push_many(&engine)).join().unwrap();
        };
        meanwhile(push, || {
            for round in 0..200 {
                let code = forked(|| {
                    let engine = Engine::builder().workers(1 + round % 3).build();
                    push_many(&engine);
                    on_another_thread(|| push_many(&engine));
                    engine.wait_for_all().unwrap();
                    assert_eq!(engine.counters().completed, 480);
                });
                assert_eq!(code, 0, "fork {round}");
            }
        });
        old.wait_for_all().unwrap();
        assert_works(&old);
    });
}

#[test]
fn a_program_of_the_parent_runs_in_a_new_engine_of_the_child() {
    let name = "a_program_of_the_parent_runs_in_a_new_engine_of_the_child";
    in_child(name, 20, || {
        let old = Engine::builder().workers(2).build();
        static RAN: AtomicU64 = AtomicU64::new(0);
        let program = Program::builder("without variables")
            .op(&OpSpec::new("step"), |_| {
                RAN.fetch_add(1, Relaxed);
                Ok(())
            })
            .build();
        let launch = |_| old.launch(&program).unwrap();
        meanwhile(launch, || {
            for round in 0..100 {
                let code = forked(|| {
                    let engine = Engine::builder().workers(1).build();
                    let before = RAN.load(Relaxed);
                    for _ in 0..20 {
                        engine.launch(&program).unwrap();
                    }
                    engine.wait_for_all().unwrap();
                    assert_eq!(RAN.load(Relaxed), before + 20);
                });
                assert_eq!(code, 0, "fork {round}");
            }
        });
        old.wait_for_all().unwrap();
    });
}

#[test]
fn a_grandchild_has_neither_engine() {
    let name = "a_grandchild_has_neither_engine";
    in_child(name, 20, || {
        let old = Engine::builder().workers(2).build();
        assert_works(&old);
        let code = forked(|| {
            let engine = Engine::builder().workers(2).build();
            assert_works(&engine);
            let code = forked(|| {
                for engine in [&old, &engine] {
                    assert!(matches!(engine.wait_for_all(), Err(WaitError::Forked)));
                }
                assert_works(&Engine::builder().workers(2).build());
            });
            assert_eq!(code, 0);
            assert_works(&engine);
        });
        assert_eq!(code, 0);
        assert_works(&old);
    });
}

#[test]
fn the_shared_engine_works_where_it_is_first_made_in_the_child() {
    let name = "the_shared_engine_works_where_it_is_first_made_in_the_child";
    in_child(name, 20, || {
        for _ in 0..3 {
            assert_eq!(forked(|| assert_works(Engine::global())), 0);
        }
        // And then here, while this process forks: the child has it as one, or as none of its own.
        std::thread::scope(|scope| {
            scope.spawn(|| assert_works(Engine::global()));
            for _ in 0..20 {
                let code = forked(|| match Engine::global().wait_for_all() {
                    Ok(()) => assert_works(Engine::global()),
                    other => assert!(matches!(other, Err(WaitError::Forked))),
                });
                assert_eq!(code, 0);
            }
        });
        assert_works(Engine::global());
    });
}

#[test]
fn names_are_interned_in_the_child_while_others_intern_in_the_parent() {
    let name = "names_are_interned_in_the_child_while_others_intern_in_the_parent";
    in_child(name, 20, || {
        let kept = Name::intern("kept in parent and child");
        let intern = |round: u64| {
            let text = format!("name {}", round % 5000);
            assert_eq!(Name::intern(&text).as_str(), text);
        };
        meanwhile(intern, || {
            for round in 0..50 {
                let code = forked(|| {
                    assert_eq!(Name::intern("kept in parent and child"), kept);
                    for k in 0..2000 {
                        let text = format!("name {k}");
                        let name = Name::intern(&text);
                        assert_eq!(name.as_str(), text);
                        assert!(std::ptr::eq(name.as_str(), Name::intern(&text).as_str()));
                    }
                });
                assert_ne!(code, HUNG, "fork {round}");
                assert_eq!(code, 0, "fork {round}");
            }
        });
    });
}
