//! Random programs of one pusher against a serial replay, and of several against a history check.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

#[path = "common/history.rs"]
mod history;
#[path = "common/random.rs"]
mod random;
#[path = "common/serial.rs"]
mod serial;

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::{JoinHandle, spawn, yield_now as pause};

use ferromix_engine::{
    Device, Engine, FnProperty, Kind, OnComplete, OpSpec, Program, Var, WaitError,
};
use history::{Finisher, Shape};
use proptest::prelude::*;
use random::Random;
use serial::{How, Run, Step, VARS, replay};

fn how() -> impl Strategy<Value = How> {
    prop_oneof![
        8 => Just(How::Sync),
        2 => Just(How::Async),
        1 => Just(How::Thread),
        1 => Just(How::Prioritized),
        1 => Just(How::Gpu),
        1 => Just(How::Fails),
        1 => Just(How::Panics),
        1 => Just(How::ThreadFails),
    ]
}

fn operation() -> impl Strategy<Value = Run> {
    let vars = || prop::collection::vec(0..VARS, 0..4);
    (vars(), vars(), how()).prop_map(|(reads, writes, how)| Run { reads, writes, how })
}

fn step() -> impl Strategy<Value = Step> {
    let launch = (prop::collection::vec(operation(), 1..8), 1..4_u64);
    prop_oneof![
        20 => operation().prop_map(Step::Run),
        2 => operation().prop_map(Step::Nested),
        3 => launch.prop_map(|(runs, times)| Step::Launch(runs, times)),
        2 => (0..VARS).prop_map(Step::Delete),
        2 => (0..VARS).prop_map(Step::WaitVar),
        1 => (0..VARS).prop_map(Step::WaitInside),
        1 => Just(Step::WaitAll),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.min(96), failure_persistence: None, ..Default::default() })]

    #[test]
    fn one_pusher_gives_what_the_serial_replay_gives(
        program in prop::collection::vec(step(), 1..120),
    ) {
        let expected = replay(&program);
        let builder = Engine::builder;
        for engine in [
            builder().workers(1).build(),
            builder().workers(4).build(),
            builder().workers(2).max_in_flight(8).pushers_help(true).build(),
            builder().kind(Kind::Naive).build(),
        ] {
            prop_assert_eq!(&serial::run(engine, &program), &expected);
        }
    }

    #[test]
    fn bulks_give_what_the_serial_replay_gives(
        program in prop::collection::vec(step(), 1..120),
        size in 0..20_usize,
    ) {
        let expected = replay(&program).without_versions();
        for workers in [1, 4] {
            let engine = Engine::builder().workers(workers).build();
            let bulk = engine.bulk(size);
            let outcome = serial::run(engine, &program);
            drop(bulk);
            // A bulk counts once, so versions are lower.
            prop_assert_eq!(&outcome.without_versions(), &expected);
        }
    }
}

/// Starts a thread that ends when it likes.
fn detach(f: impl FnOnce() + Send + 'static) {
    spawn(f);
}

/// A thread that completes what it is sent. It ends with the last sender.
fn finisher() -> (Finisher, JoinHandle<()>) {
    type Finish = (Box<dyn FnOnce() + Send>, OnComplete);
    let (send, receive) = channel::<Finish>();
    let thread = spawn(move || {
        for (work, done) in receive {
            work();
            done.complete(Ok(()));
        }
    });
    let finish = move |work, done| send.send((work, done)).unwrap();
    (Arc::new(finish), thread)
}

#[test]
fn several_pushers_agree_on_one_total_order() {
    for seed in 0..12 {
        for (workers, pushers) in [(1, 2), (2, 3), (4, 4), (2, 8), (0, 3)] {
            for drop_early in [false, true] {
                let builder = Engine::builder();
                let engine = match workers {
                    0 => builder.kind(Kind::Naive).build(),
                    _ => builder.workers(workers).build(),
                };
                let shape = Shape {
                    vars: 6,
                    pushers,
                    per_pusher: 100,
                    drop_early,
                };
                let (finish, thread) = finisher();
                let count = history::check(engine, shape, finish, &mut Random(seed));
                assert!(count > pushers * 50);
                thread.join().unwrap();
            }
        }
    }
}
