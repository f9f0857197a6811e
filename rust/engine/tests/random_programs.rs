//! Random programs against a serial replay.
//!
//! Each operation folds what it reads into what it mutates with a function that does not commute,
//! so any order but the log's shows in the values. With one pusher the log's order is the program;
//! with several, each records for every operation the versions it saw of its variables, and the
//! check rebuilds the order per variable from these and looks for a contradiction.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use ferromix_engine::{Device, Engine, FnProperty, Kind, OpSpec, Var, WaitError};
use proptest::prelude::*;

/// One operation of a program. Variables by number.
#[derive(Clone, Debug)]
enum Step {
    Run {
        reads: Vec<usize>,
        writes: Vec<usize>,
        how: How,
    },
    /// Replace the variable by a new one (value 0).
    Delete(usize),
    WaitVar(usize),
    WaitAll,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Sync,
    Async,
    Thread,
    Prioritized,
    Gpu,
    Fails,
    Panics,
}

const VARS: usize = 6;

fn how() -> impl Strategy<Value = How> {
    prop_oneof![
        8 => Just(How::Sync),
        2 => Just(How::Async),
        1 => Just(How::Thread),
        1 => Just(How::Prioritized),
        1 => Just(How::Gpu),
        1 => Just(How::Fails),
        1 => Just(How::Panics),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let vars = || prop::collection::vec(0..VARS, 0..4);
    prop_oneof![
        20 => (vars(), vars(), how())
            .prop_map(|(reads, writes, how)| Step::Run { reads, writes, how }),
        2 => (0..VARS).prop_map(Step::Delete),
        2 => (0..VARS).prop_map(Step::WaitVar),
        1 => Just(Step::WaitAll),
    ]
}

fn fold(reads: &[u64], old: u64, op: u64) -> u64 {
    let mut value = old.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ op;
    for read in reads {
        value = (value.rotate_left(7) ^ read).wrapping_mul(31);
    }
    value
}

/// What a program leaves behind: values, versions, and what each wait returned.
#[derive(Debug, PartialEq, Default)]
struct Outcome {
    values: Vec<u64>,
    versions: Vec<u64>,
    waits: Vec<Option<u64>>,
    deleted: Vec<u64>,
}

/// The rules, applied one operation after another. An independent restatement of the contract.
fn replay(program: &[Step]) -> Outcome {
    let mut out = Outcome {
        values: vec![0; VARS],
        versions: vec![0; VARS],
        ..Default::default()
    };
    // Failures by origin; a variable holds at most one; `true` once returned by a wait.
    let mut held: Vec<Option<u64>> = vec![None; VARS];
    let mut unseen: BTreeMap<u64, ()> = BTreeMap::new();
    for (id, step) in program.iter().enumerate() {
        let id = id as u64;
        match step {
            Step::Run { reads, writes, how } => {
                let blame = writes
                    .iter()
                    .chain(reads)
                    .filter_map(|var| held[*var])
                    .find(|origin| unseen.contains_key(origin));
                let result = match (blame, how) {
                    (Some(origin), _) => Err(origin),
                    (None, How::Fails | How::Panics) => {
                        unseen.insert(id, ());
                        Err(id)
                    }
                    (None, _) => Ok(()),
                };
                let seen: Vec<u64> = reads.iter().map(|var| out.values[*var]).collect();
                let mut once = writes.clone();
                once.sort_unstable();
                once.dedup();
                for var in once {
                    out.versions[var] += 1;
                    held[var] = result.err();
                    if result.is_ok() {
                        out.values[var] = fold(&seen, out.values[var], id);
                    }
                }
            }
            Step::Delete(var) => {
                out.deleted.push(out.values[*var]);
                (out.values[*var], out.versions[*var], held[*var]) = (0, 0, None);
            }
            Step::WaitVar(var) => {
                let due = held[*var].filter(|origin| unseen.remove(origin).is_some());
                out.waits.push(due);
            }
            Step::WaitAll => {
                let first = unseen.keys().next().copied();
                unseen.clear();
                out.waits.push(first);
            }
        }
    }
    out
}

struct Machine {
    engine: Engine,
    vars: Vec<Var>,
    cells: Vec<Arc<AtomicU64>>,
    deleted: Vec<Arc<AtomicU64>>,
    waits: Vec<Option<u64>>,
}

impl Machine {
    fn new(engine: Engine) -> Self {
        let vars = (0..VARS).map(|_| engine.new_variable()).collect();
        let cells = (0..VARS).map(|_| Arc::default()).collect();
        Self {
            engine,
            vars,
            cells,
            deleted: Vec::new(),
            waits: Vec::new(),
        }
    }

    fn wait(&mut self, result: Result<(), WaitError>) {
        self.waits.push(match result {
            Ok(()) => None,
            Err(WaitError::Failed(failure)) => Some(failure.tag),
            Err(other) => panic!("{other}"),
        });
    }

    fn run(&self, id: u64, reads: &[usize], writes: &[usize], how: How) {
        let pick = |which: &[usize]| which.iter().map(|k| self.vars[*k]).collect::<Vec<_>>();
        let cells = |which: &[usize]| {
            which
                .iter()
                .map(|k| self.cells[*k].clone())
                .collect::<Vec<_>>()
        };
        let (const_vars, mutate_vars) = (pick(reads), pick(writes));
        let mut once = writes.to_vec();
        once.sort_unstable();
        once.dedup();
        let (from, to) = (cells(reads), cells(&once));
        let body = move || {
            let seen: Vec<u64> = from.iter().map(|cell| cell.load(Relaxed)).collect();
            let new: Vec<u64> = to
                .iter()
                .map(|c| fold(&seen, c.load(Relaxed), id))
                .collect();
            for (cell, value) in to.iter().zip(new) {
                cell.store(value, Relaxed);
            }
        };
        let mut spec = OpSpec::new("step")
            .reads(&const_vars)
            .writes(&mutate_vars)
            .tag(id);
        match how {
            How::Prioritized => {
                spec = spec
                    .property(FnProperty::CpuPrioritized)
                    .priority((id % 5) as i32 - 2);
            }
            How::Gpu => spec = spec.on(Device::gpu((id % 2) as u16)),
            _ => {}
        }
        let pushed = match how {
            How::Async => self.engine.push_async(&spec, move |_, done| {
                body();
                done.complete(Ok(()));
            }),
            How::Thread => self.engine.push_async(&spec, move |_, done| {
                std::thread::spawn(move || {
                    body();
                    done.complete(Ok(()));
                });
            }),
            How::Fails => self.engine.push_sync(&spec, |_| Err("fails".into())),
            How::Panics => self
                .engine
                .push_sync(&spec, |_| std::panic::resume_unwind(Box::new(()))),
            _ => self.engine.push_sync(&spec, move |_| {
                body();
                Ok(())
            }),
        };
        pushed.unwrap();
    }

    fn step(&mut self, id: u64, step: &Step) {
        match step {
            Step::Run { reads, writes, how } => self.run(id, reads, writes, *how),
            Step::Delete(var) => {
                let (old, place) = (self.cells[*var].clone(), Arc::new(AtomicU64::new(0)));
                self.deleted.push(place.clone());
                let delete = move || place.store(old.load(Relaxed), Relaxed);
                self.engine
                    .delete_variable(self.vars[*var], delete)
                    .unwrap();
                self.vars[*var] = self.engine.new_variable();
                self.cells[*var] = Arc::default();
            }
            Step::WaitVar(var) => {
                let result = self.engine.wait_for_var(self.vars[*var]);
                self.wait(result);
            }
            Step::WaitAll => {
                let result = self.engine.wait_for_all();
                self.wait(result);
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
        Outcome {
            values: self.cells.iter().map(|cell| cell.load(Relaxed)).collect(),
            versions: self
                .vars
                .iter()
                .map(|var| self.engine.version(*var).unwrap())
                .collect(),
            waits: self.waits,
            deleted: self.deleted.iter().map(|cell| cell.load(Relaxed)).collect(),
        }
    }
}

fn run(engine: Engine, program: &[Step]) -> Outcome {
    let mut machine = Machine::new(engine);
    for (id, step) in program.iter().enumerate() {
        machine.step(id as u64, step);
    }
    machine.finish()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..Default::default() })]

    #[test]
    fn one_pusher_gives_what_the_serial_replay_gives(
        program in prop::collection::vec(step(), 1..120),
    ) {
        let expected = replay(&program);
        prop_assert_eq!(&run(Engine::builder().workers(1).build(), &program), &expected);
        prop_assert_eq!(&run(Engine::builder().workers(4).build(), &program), &expected);
        let naive = Engine::builder().kind(Kind::Naive).build();
        prop_assert_eq!(&run(naive, &program), &expected);
    }
}

/// What an operation saw: its pusher and number there, and for each variable the number of writes
/// before it, and whether it was a write.
#[derive(Clone, Debug)]
struct Seen {
    pusher: usize,
    number: usize,
    uses: Vec<(usize, u64, bool)>,
}

/// A tiny deterministic generator, so that a failing seed can be named.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn observe(engine: &Engine, pushers: usize, per_pusher: usize, seed: u64) -> Vec<Seen> {
    let vars: Vec<Var> = (0..VARS).map(|_| engine.new_variable()).collect();
    let writes_done: Vec<AtomicU64> = (0..VARS).map(|_| AtomicU64::new(0)).collect();
    let writes_done: Arc<[AtomicU64]> = writes_done.into();
    let seen = Arc::new(Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for pusher in 0..pushers {
            let (vars, writes_done, seen) = (&vars, writes_done.clone(), seen.clone());
            scope.spawn(move || {
                let mut random = Lcg(seed * 1000 + pusher as u64);
                for number in 0..per_pusher {
                    let mut uses = Vec::new();
                    for var in 0..VARS {
                        match random.below(6) {
                            0 => uses.push((var, true)),
                            1 | 2 => uses.push((var, false)),
                            _ => {}
                        }
                    }
                    if random.below(2) == 0 {
                        uses.reverse(); // Crossed orders would deadlock a naive implementation.
                    }
                    let pick = |wanted: bool| {
                        let of = uses.iter().filter(|(_, write)| *write == wanted);
                        of.map(|(var, _)| vars[*var]).collect::<Vec<_>>()
                    };
                    let (reads, writes) = (pick(false), pick(true));
                    let (writes_done, seen) = (writes_done.clone(), seen.clone());
                    let body = move || {
                        let observed = uses
                            .iter()
                            .map(|&(var, write)| (var, writes_done[var].load(Relaxed), write))
                            .collect::<Vec<_>>();
                        for &(var, version, write) in &observed {
                            if write {
                                writes_done[var].store(version + 1, Relaxed);
                            }
                        }
                        seen.lock().unwrap().push(Seen {
                            pusher,
                            number,
                            uses: observed,
                        });
                    };
                    let spec = OpSpec::new("seen").reads(&reads).writes(&writes);
                    let pushed = if random.below(8) == 0 {
                        engine.push_async(&spec, move |_, done| {
                            std::thread::spawn(move || {
                                body();
                                done.complete(Ok(()));
                            });
                        })
                    } else {
                        engine.push_sync(&spec, move |_| {
                            body();
                            Ok(())
                        })
                    };
                    pushed.unwrap();
                }
            });
        }
    });
    engine.wait_for_all().unwrap();
    for (var, count) in vars.iter().zip(writes_done.iter()) {
        assert_eq!(engine.version(*var).unwrap(), count.load(Relaxed));
    }
    let seen = seen.lock().unwrap();
    seen.clone()
}

/// There must be one total order of all operations that agrees with each pusher's program order
/// and with what each operation saw: no cycle among these edges.
fn check_history(seen: &[Seen], total: usize) {
    assert_eq!(seen.len(), total);
    let mut edges: Vec<Vec<usize>> = vec![Vec::new(); total];
    let mut by_program: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut writer: BTreeMap<(usize, u64), usize> = BTreeMap::new();
    for (k, op) in seen.iter().enumerate() {
        by_program.insert((op.pusher, op.number), k);
        for &(var, version, write) in &op.uses {
            if write {
                let twice = writer.insert((var, version), k);
                assert!(
                    twice.is_none(),
                    "two writes made version {} of {var}",
                    version + 1
                );
            }
        }
    }
    for (&(pusher, number), &k) in &by_program {
        if let Some(&next) = by_program.get(&(pusher, number + 1)) {
            edges[k].push(next);
        }
    }
    for (k, op) in seen.iter().enumerate() {
        for &(var, version, write) in &op.uses {
            if version > 0 {
                edges[writer[&(var, version - 1)]].push(k);
            }
            if let Some(&next) = writer.get(&(var, version)).filter(|_| !write) {
                edges[k].push(next);
            }
        }
    }
    let mut incoming = vec![0; total];
    edges.iter().flatten().for_each(|&to| incoming[to] += 1);
    let mut free: Vec<usize> = (0..total).filter(|&k| incoming[k] == 0).collect();
    let mut done = 0;
    while let Some(k) = free.pop() {
        done += 1;
        for &to in &edges[k] {
            incoming[to] -= 1;
            if incoming[to] == 0 {
                free.push(to);
            }
        }
    }
    assert_eq!(
        done, total,
        "no total order explains what the operations saw"
    );
}

#[test]
fn several_pushers_agree_on_one_total_order() {
    for seed in 0..12 {
        for (workers, pushers) in [(1, 2), (2, 3), (4, 4)] {
            let engine = Engine::builder().workers(workers).build();
            let seen = observe(&engine, pushers, 150, seed);
            check_history(&seen, pushers * 150);
        }
        let engine = Engine::builder().kind(Kind::Naive).build();
        check_history(&observe(&engine, 3, 100, seed), 300);
    }
}
