//! `Builder::survives_forks`: a plain fork, by any thread, leaves an engine that works in both.
//!
//! In the child only the stack of the thread that forked is there, so a forking thread has handles of
//! its own.

use std::sync::mpsc::channel;
use std::thread::spawn;
use std::time::{Duration, Instant};

use crate::bombs::assert_works;
use crate::busy::{TWO, hold, while_busy};
use crate::forks::{end, fork_child, fork_here, forked, in_child};
use ferromix_engine::{Engine, Kind, OpSpec, WaitError};

const LIMIT: Duration = Duration::from_secs(5);
const SOON: Duration = Duration::from_millis(30);

fn survivors(limit: Duration) -> [Engine; 2] {
    [Kind::Threaded, Kind::Naive].map(|kind| {
        let builder = Engine::builder().kind(kind).workers(2);
        builder.survives_forks(limit).build()
    })
}

/// Forks; the engine works in both.
fn assert_survives(engine: &Engine) {
    let child = fork_child(|| assert_works(engine));
    assert_works(engine);
    assert_eq!(child.wait(), 0, "in the child of {engine:?}");
}

fn assert_forked(engine: &Engine) {
    let code = forked(|| assert!(matches!(engine.wait_for_all(), Err(WaitError::Forked))));
    assert_eq!(code, 0);
}

#[test]
fn a_plain_fork_leaves_an_engine_that_works_in_both() {
    let name = "a_plain_fork_leaves_an_engine_that_works_in_both";
    in_child(name, 20, || {
        for engine in survivors(LIMIT) {
            assert_survives(&engine);
            while_busy(&engine, TWO, || {
                for _ in 0..10 {
                    assert_eq!(forked(|| assert_works(&engine)), 0);
                }
            });
            let code = forked(|| assert_survives(&engine));
            assert_eq!(code, 0, "in a grandchild");
        }
    });
}

#[test]
fn any_thread_may_fork_and_several_at_once() {
    let name = "any_thread_may_fork_and_several_at_once";
    in_child(name, 25, || {
        for engine in survivors(LIMIT) {
            let forks = |engine: Engine| {
                spawn(move || {
                    for _ in 0..10 {
                        let code = forked(|| assert_works(&engine));
                        assert_eq!(code, 0);
                    }
                })
            };
            let threads = [(); 3].map(|()| forks(engine.clone()));
            for thread in threads {
                thread.join().unwrap();
            }
            assert_works(&engine);
        }
    });
}

#[test]
fn all_engines_survive_together_and_others_do_not() {
    let name = "all_engines_survive_together_and_others_do_not";
    in_child(name, 20, || {
        let survivors = survivors(LIMIT);
        let mortal = Engine::builder().workers(2).build();
        assert_works(&mortal);
        // Gone before the fork.
        drop(Engine::builder().survives_forks(LIMIT).build());
        let child = fork_child(|| {
            survivors.iter().for_each(assert_works);
            assert!(matches!(mortal.wait_for_all(), Err(WaitError::Forked)));
            let new = Engine::builder().workers(2).survives_forks(LIMIT).build();
            assert_survives(&new);
            survivors.iter().for_each(assert_survives);
        });
        assert_works(&mortal);
        assert_eq!(child.wait(), 0);
    });
}

#[test]
fn an_engine_that_does_not_come_to_rest_is_lost_in_the_child_only() {
    let name = "an_engine_that_does_not_come_to_rest_is_lost_in_the_child_only";
    in_child(name, 20, || {
        for engine in survivors(SOON) {
            let var = engine.new_variable();
            let (done, pusher) = hold(&engine, var);
            let began = Instant::now();
            assert_forked(&engine);
            assert!(began.elapsed() < 20 * SOON, "{:?}", began.elapsed());
            done.complete(Ok(()));
            pusher.join().unwrap();
            assert_survives(&engine);
        }
    });
}

#[test]
fn a_fork_inside_of_an_operation_loses_it_in_the_child_only() {
    let name = "a_fork_inside_of_an_operation_loses_it_in_the_child_only";
    in_child(name, 20, || {
        for engine in survivors(LIMIT) {
            for small in [false, true] {
                let (inner, (send, children)) = (engine.clone(), channel());
                let spec = OpSpec::new("forks").inline(small);
                let push = engine.push_sync(&spec, move |_| {
                    match fork_here() {
                        Some(child) => send.send(child)?,
                        None => {
                            let forked = matches!(inner.wait_for_all(), Err(WaitError::Forked));
                            end(if forked { 7 } else { 1 });
                        }
                    }
                    Ok(())
                });
                push.unwrap();
                assert_eq!(children.recv().unwrap().wait(), 7);
                engine.wait_for_all().unwrap();
            }
            assert_survives(&engine);
        }
    });
}

#[test]
fn forks_between_prepare_and_resume_are_one() {
    let name = "forks_between_prepare_and_resume_are_one";
    in_child(name, 20, || {
        for engine in survivors(LIMIT) {
            engine.prepare_fork(LIMIT).unwrap();
            let child = fork_child(|| {
                engine.resume_in_child();
                assert_works(&engine);
            });
            engine.resume_in_parent();
            assert_works(&engine);
            assert_eq!(child.wait(), 0);
        }
    });
}

#[test]
fn engines_that_are_made_and_dropped_meanwhile_do_not_disturb_forks() {
    let name = "engines_that_are_made_and_dropped_meanwhile_do_not_disturb_forks";
    in_child(name, 25, || {
        let engine = Engine::builder().workers(2).survives_forks(LIMIT).build();
        let (stop, stopped) = channel::<()>();
        let other = spawn(move || {
            while stopped.try_recv().is_err() {
                let engine = Engine::builder().workers(1).survives_forks(LIMIT).build();
                engine.push_sync(&OpSpec::new("op"), |_| Ok(())).unwrap();
                drop(engine);
            }
        });
        let end = Instant::now() + LIMIT / 4;
        while Instant::now() < end {
            assert_eq!(forked(|| ()), 0);
        }
        assert_survives(&engine);
        let _ = stop.send(());
        other.join().unwrap();
    });
}

#[test]
fn the_children_of_commands_are_nothing_special() {
    let name = "the_children_of_commands_are_nothing_special";
    in_child(name, 20, || {
        for engine in survivors(LIMIT) {
            while_busy(&engine, TWO, || {
                for _ in 0..10 {
                    let status = std::process::Command::new("true").status().unwrap();
                    assert!(status.success());
                }
            });
            assert_works(&engine);
        }
    });
}
