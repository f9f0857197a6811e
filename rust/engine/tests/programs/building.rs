//! Programs: random ones against a serial replay, and what launches promise.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ferromix_engine::{
    Engine, Kind, OpError, OpSpec, Program, PushError, RunContext, Var, WaitError,
};
use proptest::prelude::*;

const VARS: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Well,
    Fails,
    Panics,
}

/// An operation. Variables by number.
#[derive(Clone, Debug)]
struct Op {
    reads: Vec<usize>,
    writes: Vec<usize>,
    how: How,
}

#[derive(Clone, Debug)]
enum Event {
    Launch(usize),
    Push(Op),
    WaitVar(usize),
    WaitAll,
}

fn op(failing: u32) -> impl Strategy<Value = Op> {
    let vars = || prop::collection::vec(0..VARS, 0..4);
    let how = prop_oneof![
        40 => Just(How::Well),
        failing => Just(How::Fails),
        failing => Just(How::Panics),
    ];
    (vars(), vars(), how).prop_map(|(reads, writes, how)| Op { reads, writes, how })
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0..3_usize).prop_map(Event::Launch),
        6 => op(2).prop_map(Event::Push),
        1 => (0..VARS).prop_map(Event::WaitVar),
        1 => Just(Event::WaitAll),
    ]
}

fn programs(failing: u32) -> impl Strategy<Value = Vec<Vec<Op>>> {
    prop::collection::vec(prop::collection::vec(op(failing), 0..30), 3)
}

fn fold(reads: &[u64], old: u64, tag: u64) -> u64 {
    let mut value = old.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ tag;
    for read in reads {
        value = (value.rotate_left(7) ^ read).wrapping_mul(31);
    }
    value
}

fn distinct(vars: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut once: Vec<usize> = vars.into_iter().collect();
    once.sort_unstable();
    once.dedup();
    once
}

/// What a run leaves behind: values, versions, and the tags that each wait may have returned.
#[derive(Debug, Default)]
struct Expected {
    values: Vec<u64>,
    versions: Vec<u64>,
    waits: Vec<Vec<u64>>,
}

struct Blame {
    place: usize,
    tag: u64,
    seen: bool,
}

/// The rules, applied one operation after another.
#[derive(Default)]
struct Replay {
    out: Expected,
    failures: Vec<Blame>,
    held: Vec<Option<usize>>,
}

impl Replay {
    fn run(&mut self, place: usize, tag: u64, op: &Op) {
        let uses = op.writes.iter().chain(&op.reads);
        let mut held = uses.filter_map(|var| self.held[*var]);
        let result = match held.find(|failure| !self.failures[*failure].seen) {
            Some(failure) => Err(failure),
            None if op.how == How::Well => Ok(()),
            None => {
                let seen = false;
                self.failures.push(Blame { place, tag, seen });
                Err(self.failures.len() - 1)
            }
        };
        let seen: Vec<u64> = op.reads.iter().map(|var| self.out.values[*var]).collect();
        for var in distinct(op.writes.clone()) {
            self.held[var] = result.err();
            if result.is_ok() {
                self.out.values[var] = fold(&seen, self.out.values[var], tag);
            }
        }
    }

    fn bump(&mut self, vars: impl IntoIterator<Item = usize>) {
        for var in distinct(vars) {
            self.out.versions[var] += 1;
        }
    }

    fn event(&mut self, place: usize, event: &Event, programs: &[Vec<Op>]) {
        match event {
            Event::Launch(which) => {
                for (k, op) in programs[*which].iter().enumerate() {
                    self.run(place, tag_of(*which, k), op);
                }
                self.bump(programs[*which].iter().flat_map(|op| op.writes.clone()));
            }
            Event::Push(op) => {
                self.run(place, place as u64, op);
                self.bump(op.writes.clone());
            }
            Event::WaitVar(var) => {
                let due = self.held[*var].filter(|failure| !self.failures[*failure].seen);
                if let Some(failure) = due {
                    self.failures[failure].seen = true;
                }
                let tag = due.map(|failure| self.failures[failure].tag);
                self.out.waits.push(tag.into_iter().collect());
            }
            Event::WaitAll => {
                let unseen = || self.failures.iter().filter(|failure| !failure.seen);
                let first = unseen().map(|failure| failure.place).min();
                // Operations of one launch fail in no particular order.
                let at_first = unseen().filter(|failure| Some(failure.place) == first);
                self.out.waits.push(at_first.map(|f| f.tag).collect());
                self.failures.iter_mut().for_each(|f| f.seen = true);
            }
        }
    }
}

fn replay(programs: &[Vec<Op>], events: &[Event]) -> Expected {
    let mut replay = Replay {
        held: vec![None; VARS],
        ..Default::default()
    };
    replay.out.values = vec![0; VARS];
    replay.out.versions = vec![0; VARS];
    for (place, event) in events.iter().enumerate() {
        replay.event(place, event, programs);
    }
    replay.out
}

fn tag_of(program: usize, step: usize) -> u64 {
    (program as u64 + 1) * 1_000_000 + step as u64
}

type Cells = Vec<Arc<AtomicU64>>;

fn body(op: &Op, cells: &Cells, tag: u64) -> impl Fn(&RunContext) -> Result<(), OpError> + use<> {
    let pick = |which: &[usize]| which.iter().map(|k| cells[*k].clone()).collect::<Vec<_>>();
    let (from, to) = (pick(&op.reads), pick(&distinct(op.writes.clone())));
    let how = op.how;
    move |context| {
        assert_eq!(context.tag(), tag);
        match how {
            How::Fails => return Err("fails".into()),
            How::Panics => std::panic::resume_unwind(Box::new(())),
            How::Well => {}
        }
        let seen: Vec<u64> = from.iter().map(|cell| cell.load(Relaxed)).collect();
        let new: Vec<u64> = to
            .iter()
            .map(|cell| fold(&seen, cell.load(Relaxed), tag))
            .collect();
        for (cell, value) in to.iter().zip(new) {
            cell.store(value, Relaxed);
        }
        Ok(())
    }
}

fn with_spec<R>(vars: &[Var], op: &Op, tag: u64, f: impl FnOnce(&OpSpec<'_>) -> R) -> R {
    let pick = |which: &[usize]| which.iter().map(|k| vars[*k]).collect::<Vec<_>>();
    let (reads, writes) = (pick(&op.reads), pick(&op.writes));
    f(&OpSpec::new("op").reads(&reads).writes(&writes).tag(tag))
}

fn check(engine: &Engine, sources: &[Vec<Op>], events: &[Event]) {
    let vars: Vec<Var> = (0..VARS).map(|_| engine.new_variable()).collect();
    let cells: Cells = (0..VARS).map(|_| Arc::default()).collect();
    let compile = |(which, source): (usize, &Vec<Op>)| {
        let add = |builder: ferromix_engine::ProgramBuilder, (k, op): (usize, &Op)| {
            let tag = tag_of(which, k);
            with_spec(&vars, op, tag, |spec| {
                builder.op(spec, body(op, &cells, tag))
            })
        };
        let empty = Program::builder("random");
        source.iter().enumerate().fold(empty, add).build()
    };
    let programs: Vec<Program> = sources.iter().enumerate().map(compile).collect();
    let expected = replay(sources, events);
    let mut waits = expected.waits.iter();
    let mut wait = |result: Result<(), WaitError>| {
        let may = waits.next().unwrap();
        match result {
            Ok(()) => assert!(may.is_empty(), "no failure, but {may:?} were expected"),
            Err(WaitError::Failed(failure)) => assert!(may.contains(&failure.tag), "{failure:?}"),
            Err(other) => panic!("{other}"),
        }
    };
    for (place, event) in events.iter().enumerate() {
        match event {
            Event::Launch(which) => engine.launch(&programs[*which]).unwrap(),
            Event::Push(op) => with_spec(&vars, op, place as u64, |spec| {
                engine
                    .push_sync(spec, body(op, &cells, place as u64))
                    .unwrap();
            }),
            Event::WaitVar(var) => wait(engine.wait_for_var(vars[*var])),
            Event::WaitAll => wait(engine.wait_for_all()),
        }
    }
    let _ = engine.wait_for_all();
    let values: Vec<u64> = cells.iter().map(|cell| cell.load(Relaxed)).collect();
    assert_eq!(values, expected.values);
    let versions: Vec<u64> = vars
        .iter()
        .map(|var| engine.version(*var).unwrap())
        .collect();
    assert_eq!(versions, expected.versions);
    for var in vars {
        engine.delete_variable(var, || ()).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn launches_and_pushes_agree_with_a_serial_replay(
        programs in programs(0),
        events in prop::collection::vec(event(), 1..60),
        workers in 1..5_usize,
    ) {
        check(&Engine::builder().workers(workers).build(), &programs, &events);
    }

    #[test]
    fn failing_operations_of_programs_are_like_pushed_ones(
        programs in programs(2),
        events in prop::collection::vec(event(), 1..60),
        naive in any::<bool>(),
    ) {
        let kind = if naive { Kind::Naive } else { Kind::Threaded };
        check(&Engine::builder().kind(kind).workers(3).build(), &programs, &events);
    }
}

/// Waits until something becomes true that nothing but time stands in front of.
fn eventually(what: impl Fn() -> bool) {
    let begin = Instant::now();
    while !what() {
        assert!(
            begin.elapsed() < Duration::from_secs(20),
            "it does not happen"
        );
        std::thread::yield_now();
    }
}

#[test]
fn two_launches_overlap() {
    let engine = Engine::builder().workers(2).build();
    let (x, y) = (engine.new_variable(), engine.new_variable());
    let ran = Arc::new(AtomicU64::new(0));
    let (count, look) = (ran.clone(), ran.clone());
    let program = Program::builder("overlap")
        .op(&OpSpec::new("count").writes(&[x]), move |_| {
            count.fetch_add(1, Relaxed);
            Ok(())
        })
        .op(&OpSpec::new("look").writes(&[y]), move |_| {
            // Ends only if the next launch's first operation runs beside this one.
            eventually(|| look.load(Relaxed) >= 2);
            Ok(())
        })
        .build();
    engine.launch(&program).unwrap();
    engine.launch(&program).unwrap();
    engine.wait_for_all().unwrap();
    assert_eq!(ran.load(Relaxed), 2);
}

#[test]
fn independent_operations_run_on_several_threads() {
    let engine = Engine::builder().workers(3).build();
    let here = Arc::new(AtomicU64::new(0));
    let mut builder = Program::builder("meet");
    for _ in 0..3 {
        let here = here.clone();
        builder = builder.op(&OpSpec::new("meet"), move |_| {
            here.fetch_add(1, Relaxed);
            eventually(|| here.load(Relaxed) == 3);
            Ok(())
        });
    }
    engine.launch(&builder.build()).unwrap();
    engine.wait_for_all().unwrap();
    assert_eq!(here.load(Relaxed), 3);
}

#[test]
fn a_program_dropped_in_flight_runs_and_then_goes() {
    let owned = Arc::new(AtomicU64::new(0));
    let engine = Engine::builder().workers(2).build();
    let var = engine.new_variable();
    let mut builder = Program::builder("dropped");
    for _ in 0..100 {
        let owned = owned.clone();
        builder = builder.op(&OpSpec::new("add").writes(&[var]), move |_| {
            owned.fetch_add(1, Relaxed);
            Ok(())
        });
    }
    let program = builder.build();
    engine.launch(&program).unwrap();
    engine.launch(&program).unwrap();
    drop(program);
    engine.wait_for_all().unwrap();
    assert_eq!(owned.load(Relaxed), 200);
    eventually(|| Arc::strong_count(&owned) == 1);
}

#[test]
fn an_engine_dropped_with_launches_in_flight_finishes_them() {
    let count = Arc::new(AtomicU64::new(0));
    for _ in 0..200 {
        let engine = Engine::builder().workers(2).build();
        let vars: Vec<Var> = (0..20).map(|_| engine.new_variable()).collect();
        let mut builder = Program::builder("short");
        for var in &vars {
            let count = count.clone();
            builder = builder.op(&OpSpec::new("add").writes(&[*var]), move |_| {
                count.fetch_add(1, Relaxed);
                Ok(())
            });
        }
        let program = builder.build();
        engine.launch(&program).unwrap();
        engine.launch(&program).unwrap();
    }
    assert_eq!(count.load(Relaxed), 200 * 2 * 20);
}

#[test]
fn stale_variables_are_refused_and_empty_programs_are_nothing() {
    let engine = Engine::builder().workers(1).build();
    let (a, b) = (engine.new_variable(), engine.new_variable());
    let program = Program::builder("stale")
        .op(&OpSpec::new("op").reads(&[a]).writes(&[b]), |_| Ok(()))
        .build();
    engine.launch(&program).unwrap();
    engine.delete_variable(a, || ()).unwrap();
    assert_eq!(engine.launch(&program), Err(PushError::StaleVariable(a)));
    engine.launch(&Program::builder("empty").build()).unwrap();
    engine.wait_for_all().unwrap();
    assert_eq!(engine.version(b), Ok(1));
}

#[test]
fn launches_from_operations_and_many_threads_add_up() {
    let engine = Engine::builder().workers(2).build();
    let var = engine.new_variable();
    let count = Arc::new(AtomicU64::new(0));
    let mut builder = Program::builder("shared");
    for _ in 0..10 {
        let count = count.clone();
        builder = builder.op(&OpSpec::new("add").writes(&[var]), move |_| {
            count.store(count.load(Relaxed) + 1, Relaxed);
            Ok(())
        });
    }
    let program = builder.build();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..200 {
                    engine.launch(&program).unwrap();
                    let (inner, program) = (engine.clone(), program.clone());
                    engine
                        .push_sync(&OpSpec::new("launch"), move |_| Ok(inner.launch(&program)?))
                        .unwrap();
                }
            });
        }
    });
    engine.wait_for_all().unwrap();
    engine.wait_for_all().unwrap();
    assert_eq!(count.load(Relaxed), 3 * 200 * 2 * 10);
    assert_eq!(engine.version(var), Ok(1200));
}

#[test]
fn waiting_inside_for_what_the_program_mutates_is_an_error() {
    let engine = Engine::builder().workers(1).build();
    let var = engine.new_variable();
    let inner = engine.clone();
    let program = Program::builder("waits")
        .op(&OpSpec::new("wait").writes(&[var]), move |_| {
            Ok(inner.wait_for_var(var)?)
        })
        .build();
    engine.launch(&program).unwrap();
    let error = engine.wait_for_var(var).unwrap_err();
    let text = std::error::Error::source(&error).unwrap().to_string();
    assert!(text.contains("which it mutates itself"), "{text}");
    drop(program);
}
