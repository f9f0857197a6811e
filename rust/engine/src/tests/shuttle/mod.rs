//! The whole engine under shuttle: its real code, with workers, several pushers and a thread that
//! completes operations, through many random interleavings of small random programs. Limits are
//! small here (`sync::SMALL`), so that such programs reach them; blocks that were given back are
//! poisoned and counted (`quarantine.rs`); cells notice overlapping use (`sync.rs`).
//!
//! `make shuttle` runs it. The seed is fixed; `FERROMIX_SHUTTLE_SEED` is another, and
//! `FERROMIX_SHUTTLE_FACTOR` multiplies the number of executions. A failure prints its schedule.

#![allow(clippy::unwrap_used)] // A failure to run is a failed test.

#[path = "../../../tests/common/history.rs"]
mod history;
#[path = "../../../tests/common/random.rs"]
mod random;
#[path = "../../../tests/common/serial.rs"]
mod serial;

mod chaos;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use shuttle::scheduler::{PctScheduler, RandomScheduler, Schedule, Scheduler, Task, TaskId};
use shuttle::thread::{JoinHandle, spawn};

use crate::operation::quarantine;
use crate::{
    Device, Engine, FnProperty, Kind, OnComplete, OpSpec, Program, PushError, Var, WaitError,
};
use history::{Finisher, Shape};
use random::Random;
use serial::{How, Run, Step, VARS, replay};

/// A place where other threads may run.
fn pause() {
    shuttle::thread::sleep(std::time::Duration::ZERO);
}

/// What was done, for the record.
#[derive(Default)]
struct Figures {
    executions: AtomicU64,
    steps: AtomicU64,
    operations: AtomicU64,
}

/// A scheduler that counts.
struct Counted<S> {
    inner: S,
    figures: Arc<Figures>,
}

impl<S: Scheduler> Scheduler for Counted<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        let schedule = self.inner.new_execution()?;
        self.figures.executions.fetch_add(1, Relaxed);
        Some(schedule)
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        self.figures.steps.fetch_add(1, Relaxed);
        self.inner.next_task(runnable, current, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.inner.next_u64()
    }
}

fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn run<S: Scheduler + 'static>(
    scheduler: S,
    figures: &Arc<Figures>,
    model: fn(&mut Random) -> usize,
) {
    let mut config = shuttle::Config::new();
    config.stack_size = 0x4_0000;
    config.silence_warnings = true; // Orderings are loom's task.
    let counted = Counted {
        inner: scheduler,
        figures: figures.clone(),
    };
    let counter = figures.clone();
    let runner = shuttle::Runner::new(counted, config);
    runner.run(move || {
        quarantine::begin();
        let mut random = Random(shuttle::rand::Rng::r#gen(&mut shuttle::rand::thread_rng()));
        let operations = model(&mut random);
        counter.operations.fetch_add(operations as u64, Relaxed);
        assert_eq!(quarantine::alive(), 0, "blocks that nobody gave back");
    });
}

/// Explores a model with random schedules, and with few preemptions at random places (PCT).
fn explore(name: &str, executions: u64, model: fn(&mut Random) -> usize) {
    let seed = number("FERROMIX_SHUTTLE_SEED", 0x5EED);
    let executions = (executions * number("FERROMIX_SHUTTLE_FACTOR", 1)) as usize;
    let figures = Arc::new(Figures::default());
    run(
        RandomScheduler::new_from_seed(seed, executions / 2),
        &figures,
        model,
    );
    for depth in [2, 3, 5, 10] {
        let scheduler = PctScheduler::new_from_seed(seed + depth as u64, depth, executions / 8);
        run(scheduler, &figures, model);
    }
    println!(
        "{name}: {} executions, {} scheduling steps, {} operations (seed {seed:#x})",
        figures.executions.load(Relaxed),
        figures.steps.load(Relaxed),
        figures.operations.load(Relaxed),
    );
}

thread_local! {
    /// Threads of the execution that nobody waited for. (Those of a model are one of the system's.)
    static DETACHED: RefCell<Vec<JoinHandle<()>>> = const { RefCell::new(Vec::new()) };
}

/// Starts a thread that ends when it likes.
fn detach(f: impl FnOnce() + Send + 'static) {
    let thread = spawn(f);
    DETACHED.with_borrow_mut(|threads| threads.push(thread));
}

/// A thread that completes what it is sent. It ends with the last sender.
fn finisher() -> (Finisher, JoinHandle<()>) {
    type Finish = (Box<dyn FnOnce() + Send>, OnComplete);
    let (send, receive) = shuttle::sync::mpsc::channel::<Finish>();
    let thread = spawn(move || {
        while let Ok((work, done)) = receive.recv() {
            work();
            done.complete(Ok(()));
        }
    });
    let finish = move |work, done| assert!(send.send((work, done)).is_ok());
    (Arc::new(finish), thread)
}

fn engine(random: &mut Random) -> Engine {
    let builder = Engine::builder().priority_workers(1).gpu_workers(1);
    match random.below(8) {
        0 => builder.kind(Kind::Naive).build(),
        1 => builder.workers(1).max_in_flight(2).build(),
        2 => builder
            .workers(2)
            .max_in_flight(3)
            .pushers_help(true)
            .build(),
        pick => builder.workers(1 + pick as usize % 2).build(),
    }
}

/// Several pushers, with everything but failures and deletions: one total order must explain what
/// all saw, waits must not end early, and an engine that is dropped must finish first.
fn histories(random: &mut Random) -> usize {
    let shape = Shape {
        vars: 2 + random.below(2) as usize,
        pushers: 1 + random.below(3) as usize,
        per_pusher: 1 + random.below(4) as usize,
        drop_early: random.below(4) == 0,
    };
    let (finish, thread) = finisher();
    let count = history::check(engine(random), shape, finish, random);
    assert!(thread.join().is_ok(), "the finishing thread panicked");
    count
}

fn some_vars(random: &mut Random) -> Vec<usize> {
    (0..random.below(3))
        .map(|_| random.below(3) as usize % VARS)
        .collect()
}

fn operation(random: &mut Random) -> Run {
    let how = match random.below(12) {
        0 => How::Async,
        1 | 2 => How::Thread,
        3 => How::Prioritized,
        4 => How::Fails,
        5 => How::ThreadFails,
        6 if random.below(4) == 0 => How::Panics,
        6 if random.below(4) == 0 => How::Gpu,
        _ => How::Sync,
    };
    let (reads, writes) = (some_vars(random), some_vars(random));
    Run { reads, writes, how }
}

fn step(random: &mut Random) -> Step {
    match random.below(16) {
        0 => Step::Nested(operation(random)),
        1 | 2 => {
            let runs = (0..1 + random.below(3))
                .map(|_| operation(random))
                .collect();
            Step::Launch(runs, 1 + random.below(3))
        }
        3 => Step::Delete(random.below(3) as usize),
        4 => Step::WaitVar(random.below(3) as usize),
        5 => Step::WaitInside(random.below(3) as usize),
        6 => Step::WaitAll,
        _ => Step::Run(operation(random)),
    }
}

fn program(random: &mut Random) -> Vec<Step> {
    (0..2 + random.below(8)).map(|_| step(random)).collect()
}

fn join_detached() {
    for thread in DETACHED.take() {
        assert!(thread.join().is_ok(), "a completing thread panicked");
    }
}

/// One pusher, with failures and deletions: exactly what the serial replay says.
fn replays(random: &mut Random) -> usize {
    let program = program(random);
    assert_eq!(serial::run(engine(random), &program), replay(&program));
    join_detached();
    program.len()
}

/// The same in bulks, which count as one operation each.
fn bulks(random: &mut Random) -> usize {
    let (program, engine) = (program(random), engine(random));
    let bulk = engine.bulk(2 + random.below(4) as usize);
    let outcome = serial::run(engine, &program);
    drop(bulk);
    assert_eq!(
        outcome.without_versions(),
        replay(&program).without_versions()
    );
    join_detached();
    program.len()
}

#[test]
fn several_pushers_agree_on_one_total_order() {
    explore("histories", 24_000, histories);
}

#[test]
fn one_pusher_gives_what_the_serial_replay_gives() {
    explore("replays", 24_000, replays);
}

#[test]
fn bulks_give_what_the_serial_replay_gives() {
    explore("bulks", 24_000, bulks);
}

#[test]
fn deletions_and_failures_of_several_pushers() {
    explore("chaos", 24_000, chaos::chaos);
}
