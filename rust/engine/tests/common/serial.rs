//! One pusher, random steps, and a serial replay of the contract that says what must come out:
//! values, versions, and the failures that each wait returns.
//!
//! Each operation folds what it reads into what it mutates with a function that does not commute,
//! so any order but the program's shows in the values. The parent module supplies the engine's
//! names and `detach`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use super::{Device, Engine, FnProperty, OpSpec, Program, Var, WaitError, detach};

/// One operation: variables by number.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) reads: Vec<usize>,
    pub(crate) writes: Vec<usize>,
    pub(crate) how: How,
}

/// One step of a program.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Run(Run),
    /// Pushed by an operation, which the pusher waits for.
    Nested(Run),
    /// A program, launched so many times in a row. (Its steps fail or work; the rest is ignored.)
    Launch(Vec<Run>, u64),
    /// Replace the variable by a new one (value 0).
    Delete(usize),
    WaitVar(usize),
    /// A wait inside an operation, which the pusher waits for.
    WaitInside(usize),
    WaitAll,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum How {
    Sync,
    Async,
    /// Completed by another thread.
    Thread,
    Prioritized,
    Gpu,
    Fails,
    Panics,
    /// The completion brings an error, from another thread.
    ThreadFails,
}

impl How {
    fn fails(self) -> bool {
        matches!(self, How::Fails | How::Panics | How::ThreadFails)
    }
}

pub(crate) const VARS: usize = 6;

fn fold(reads: &[u64], old: u64, op: u64) -> u64 {
    let mut value = old.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ op;
    for read in reads {
        value = (value.rotate_left(7) ^ read).wrapping_mul(31);
    }
    value
}

fn once(list: &[usize]) -> Vec<usize> {
    let set: BTreeSet<usize> = list.iter().copied().collect();
    set.into_iter().collect()
}

/// What a program leaves behind: values, versions, and what each wait returned.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Outcome {
    values: Vec<u64>,
    versions: Vec<u64>,
    waits: Vec<Option<u64>>,
    deleted: Vec<u64>,
}

impl Outcome {
    /// What does not depend on how operations are counted.
    #[allow(dead_code)] // Not every test that includes this file counts in its own way.
    pub(crate) fn without_versions(&self) -> Self {
        Self {
            versions: Vec::new(),
            ..self.clone()
        }
    }
}

/// The rules, applied one operation after another. An independent restatement of the contract.
#[derive(Default)]
struct Replay {
    out: Outcome,
    /// Tags of the failures so far.
    failures: Vec<u64>,
    /// The failure that each variable holds.
    held: [Option<usize>; VARS],
    /// Failures that no wait has returned, in push order.
    unseen: Vec<usize>,
}

impl Replay {
    /// The operation folds `id`, its tag, into what it writes.
    fn run(&mut self, id: u64, run: &Run) {
        let uses = run.writes.iter().chain(&run.reads);
        let mut failure = uses
            .filter_map(|var| self.held[*var])
            .find(|held| self.unseen.contains(held));
        if failure.is_none() && run.how.fails() {
            failure = Some(self.failures.len());
            self.unseen.push(self.failures.len());
            self.failures.push(id);
        }
        let seen: Vec<u64> = run.reads.iter().map(|var| self.out.values[*var]).collect();
        for var in once(&run.writes) {
            self.held[var] = failure;
            if failure.is_none() {
                self.out.values[var] = fold(&seen, self.out.values[var], id);
            }
        }
    }

    fn bump(&mut self, runs: &[Run]) {
        let all: Vec<usize> = runs.iter().flat_map(|run| run.writes.clone()).collect();
        for var in once(&all) {
            self.out.versions[var] += 1;
        }
    }

    fn surface(&mut self, failure: Option<usize>) {
        let due = failure.filter(|failure| self.unseen.contains(failure));
        self.unseen.retain(|failure| Some(*failure) != due);
        self.out
            .waits
            .push(due.map(|failure| self.failures[failure]));
    }

    fn step(&mut self, id: u64, step: &Step) {
        match step {
            Step::Run(run) | Step::Nested(run) => {
                self.run(id, run);
                self.bump(std::slice::from_ref(run));
            }
            Step::Launch(runs, times) => {
                for _ in 0..*times {
                    for (k, run) in runs.iter().enumerate() {
                        self.run(id_in_program(id, k), run);
                    }
                    self.bump(runs);
                }
            }
            Step::Delete(var) => {
                self.out.deleted.push(self.out.values[*var]);
                (self.out.values[*var], self.out.versions[*var]) = (0, 0);
                self.held[*var] = None;
            }
            Step::WaitVar(var) | Step::WaitInside(var) => self.surface(self.held[*var]),
            Step::WaitAll => {
                self.surface(self.unseen.first().copied());
                self.unseen.clear();
            }
        }
    }
}

/// What the program must leave behind.
pub(crate) fn replay(program: &[Step]) -> Outcome {
    let mut replay = Replay::default();
    (replay.out.values, replay.out.versions) = (vec![0; VARS], vec![0; VARS]);
    for (id, step) in program.iter().enumerate() {
        replay.step(id as u64, step);
    }
    replay.out
}

fn id_in_program(id: u64, k: usize) -> u64 {
    (id + 1) * 1000 + k as u64
}

type Cells = Vec<Arc<AtomicU64>>;

struct Machine {
    engine: Engine,
    vars: Vec<Var>,
    cells: Cells,
    /// For operations that the pusher waits for.
    own: Var,
    deleted: Cells,
    waits: Vec<Option<u64>>,
}

/// Pushes one operation on these variables.
fn push(engine: &Engine, vars: &[Var], cells: &Cells, id: u64, run: &Run) {
    let pick = |which: &[usize]| which.iter().map(|k| vars[*k]).collect::<Vec<_>>();
    let (reads, writes) = (pick(&run.reads), pick(&run.writes));
    let body = body(cells, id, run);
    let mut spec = OpSpec::new("step").reads(&reads).writes(&writes).tag(id);
    spec = spec.priority((id / 8 % 3) as i32 - 1).inline(id % 5 == 0);
    match run.how {
        How::Prioritized => {
            spec = spec
                .property(FnProperty::CpuPrioritized)
                .priority((id % 5) as i32 - 2);
        }
        How::Gpu => spec = spec.on(Device::gpu((id % 2) as u16)),
        _ => {}
    }
    let pushed = match run.how {
        How::Async => engine.push_async(&spec, move |_, done| {
            body();
            done.complete(Ok(()));
        }),
        How::Thread | How::ThreadFails => {
            let fails = run.how.fails();
            engine.push_async(&spec, move |_, done| {
                detach(move || {
                    if fails {
                        return done.complete(Err("fails late".into()));
                    }
                    body();
                    done.complete(Ok(()));
                });
            })
        }
        How::Fails => engine.push_sync(&spec, |_| Err("fails".into())),
        How::Panics => engine.push_sync(&spec, |_| std::panic::resume_unwind(Box::new(()))),
        _ => engine.push_sync(&spec, move |_| {
            body();
            Ok(())
        }),
    };
    pushed.unwrap();
}

fn body(cells: &Cells, id: u64, run: &Run) -> impl Fn() + Send + Sync + use<> {
    let pick = |which: &[usize]| which.iter().map(|k| cells[*k].clone()).collect::<Cells>();
    let (from, to) = (pick(&run.reads), pick(&once(&run.writes)));
    move || {
        let seen: Vec<u64> = from.iter().map(|cell| cell.load(Relaxed)).collect();
        let old: Vec<u64> = to.iter().map(|cell| cell.load(Relaxed)).collect();
        for (cell, old) in to.iter().zip(old) {
            cell.store(fold(&seen, old, id), Relaxed);
        }
    }
}

impl Machine {
    fn new(engine: Engine) -> Self {
        let vars = (0..VARS).map(|_| engine.new_variable()).collect();
        Self {
            own: engine.new_variable(),
            engine,
            vars,
            cells: (0..VARS).map(|_| Arc::default()).collect(),
            deleted: Vec::new(),
            waits: Vec::new(),
        }
    }

    fn note(&mut self, result: Result<(), WaitError>) {
        self.waits.push(match result {
            Ok(()) => None,
            Err(WaitError::Failed(failure)) => Some(failure.tag),
            Err(other) => panic!("{other}"),
        });
    }

    /// Runs `f` inside an operation, and waits for that.
    fn inside<R: Send + 'static>(&self, f: impl FnOnce() -> R + Send + 'static) -> R {
        let (result, own) = (Arc::new(Mutex::new(None)), [self.own]);
        let place = result.clone();
        // Not ordinary, so not in a bulk with what it waits for.
        let spec = OpSpec::new("outer").writes(&own).priority(1);
        let pushed = self.engine.push_sync(&spec, move |_| {
            *place.lock().unwrap() = Some(f());
            Ok(())
        });
        pushed.unwrap();
        self.engine.wait_for_var(self.own).unwrap();
        let result = result.lock().unwrap().take();
        result.unwrap()
    }

    fn launch(&self, id: u64, runs: &[Run], times: u64) {
        let mut builder = Program::builder("program");
        for (k, run) in runs.iter().enumerate() {
            let pick = |which: &[usize]| which.iter().map(|k| self.vars[*k]).collect::<Vec<_>>();
            let (reads, writes) = (pick(&run.reads), pick(&run.writes));
            let id = id_in_program(id, k);
            let spec = OpSpec::new("step").reads(&reads).writes(&writes).tag(id);
            let (body, fails) = (body(&self.cells, id, run), run.how.fails());
            builder = builder.op(&spec, move |_| {
                if fails {
                    return Err("step fails".into());
                }
                body();
                Ok(())
            });
        }
        let program = builder.build();
        for _ in 0..times {
            self.engine.launch(&program).unwrap();
        }
    }

    fn delete(&mut self, var: usize) {
        let (old, place) = (self.cells[var].clone(), Arc::new(AtomicU64::new(0)));
        self.deleted.push(place.clone());
        let delete = move || place.store(old.load(Relaxed), Relaxed);
        self.engine.delete_variable(self.vars[var], delete).unwrap();
        self.vars[var] = self.engine.new_variable();
        self.cells[var] = Arc::default();
    }

    fn step(&mut self, id: u64, step: &Step) {
        match step {
            Step::Run(run) => push(&self.engine, &self.vars, &self.cells, id, run),
            Step::Nested(run) => {
                let (engine, vars, cells) =
                    (self.engine.clone(), self.vars.clone(), self.cells.clone());
                let run = run.clone();
                self.inside(move || push(&engine, &vars, &cells, id, &run));
            }
            Step::Launch(runs, times) => self.launch(id, runs, *times),
            Step::Delete(var) => self.delete(*var),
            Step::WaitVar(var) => {
                let result = self.engine.wait_for_var(self.vars[*var]);
                self.note(result);
            }
            Step::WaitInside(var) => {
                let (engine, var) = (self.engine.clone(), self.vars[*var]);
                let result = self.inside(move || engine.wait_for_var(var));
                self.note(result);
            }
            Step::WaitAll => {
                let result = self.engine.wait_for_all();
                self.note(result);
            }
        }
    }

    fn finish(self) -> Outcome {
        let _ = self.engine.wait_for_all();
        let counters = self.engine.counters();
        assert_eq!(
            (counters.in_flight, counters.pushed),
            (0, counters.completed)
        );
        assert!(self.engine.wait_for_all().is_ok(), "a failure came twice");
        let version = |var: &Var| self.engine.version(*var).unwrap();
        let values = |cells: &Cells| cells.iter().map(|cell| cell.load(Relaxed)).collect();
        Outcome {
            values: values(&self.cells),
            versions: self.vars.iter().map(version).collect(),
            waits: self.waits,
            deleted: values(&self.deleted),
        }
    }
}

/// Runs the program on an engine, which it drops.
pub(crate) fn run(engine: Engine, program: &[Step]) -> Outcome {
    let mut machine = Machine::new(engine);
    for (id, step) in program.iter().enumerate() {
        machine.step(id as u64, step);
    }
    machine.finish()
}
