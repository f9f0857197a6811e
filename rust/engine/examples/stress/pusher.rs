//! A thread that pushes everything that can be pushed, and knows what each operation must see.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;

use ferromix_engine::{Device, FnProperty, OpSpec, Program, PushError, Var, WaitError};

use crate::cell::{Cell, Random, violation};
use crate::shared::{Finish, Shared, Transient, count};

/// One operation's use of one shared variable: which, whether it writes, and how many writes of
/// its own pusher came before.
#[derive(Clone, Copy)]
struct Use {
    which: usize,
    writes: bool,
    expected: u64,
}

/// Failing operations that are pushed before the first of them is waited for.
const FRAGILE: usize = 8;

pub(crate) struct Pusher {
    shared: Arc<Shared>,
    me: usize,
    random: Random,
    /// Writes pushed so far to each shared variable.
    written: Vec<u64>,
    /// Variables of its own, to fail on.
    fragile: [Var; FRAGILE],
    inherits: Var,
    /// A variable of its own for operations that may lose to a deletion.
    loser: Var,
    /// A variable of its own for operations that wait inside.
    waits: Var,
    program: Program,
    in_program: Vec<usize>,
    finishers: Vec<Sender<Finish>>,
    tag: u64,
}

/// The variables of a list of uses, by what is done to them.
fn split(shared: &Shared, uses: &[Use]) -> (Vec<Var>, Vec<Var>) {
    let pick = |writes: bool| {
        let of = uses.iter().filter(|one| one.writes == writes);
        of.map(|one| shared.vars[one.which]).collect()
    };
    (pick(false), pick(true))
}

fn enter(shared: &Shared, me: usize, uses: &[Use]) {
    for one in uses {
        let cell = &shared.cells[one.which];
        cell.enter(one.writes);
        if cell.by_pusher(me) != one.expected {
            violation(format_args!(
                "an operation saw {} writes of its pusher, not {}",
                cell.by_pusher(me),
                one.expected
            ));
        }
        let version = shared.engine.version(shared.vars[one.which]);
        if !shared.fits(version, cell.writes()) {
            violation(format_args!(
                "version {version:?} after {} writes",
                cell.writes()
            ));
        }
    }
}

fn leave(shared: &Shared, me: usize, uses: &[Use]) {
    for one in uses {
        shared.cells[one.which].leave(one.writes, me);
    }
}

impl Pusher {
    pub(crate) fn new(
        shared: Arc<Shared>,
        me: usize,
        seed: u64,
        finishers: Vec<Sender<Finish>>,
    ) -> Self {
        let engine = &shared.engine;
        let in_program: Vec<usize> = (0..3).map(|k| (me + k * 5) % shared.vars.len()).collect();
        let program = program(&shared, me, &in_program);
        Self {
            me,
            random: Random(seed ^ (me as u64) << 40),
            written: vec![0; shared.vars.len()],
            fragile: std::array::from_fn(|_| engine.new_variable()),
            inherits: engine.new_variable(),
            loser: engine.new_variable(),
            waits: engine.new_variable(),
            program,
            in_program,
            finishers,
            tag: (me as u64) << 48,
            shared,
        }
    }

    /// Pushes about so many operations.
    pub(crate) fn round(&mut self, operations: usize) {
        let failing = self.shared.failing.load(Relaxed);
        let shared = self.shared.clone();
        let _bulk = shared.engine.bulk(shared.bulk);
        for _ in 0..operations {
            match self.random.below(256) {
                0..=2 if failing => self.failures(),
                3..=9 if failing => self.transient(),
                10 if !failing => self.wait_for_all(),
                11..=12 => self.wait_for_one(),
                13..=14 => self.wait_inside(),
                15..=24 => self.launch(),
                _ => self.crossed(),
            }
        }
    }

    /// One to four shared variables in random order, each read or written.
    fn uses(&mut self) -> Vec<Use> {
        let mut uses: Vec<Use> = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            let which = self.random.below(self.written.len() as u64) as usize;
            if uses.iter().all(|one| one.which != which) {
                let expected = self.written[which];
                uses.push(Use {
                    which,
                    writes: self.random.below(2) == 0,
                    expected,
                });
            }
        }
        for one in &uses {
            self.written[one.which] += u64::from(one.writes);
        }
        uses
    }

    fn crossed(&mut self) {
        let uses = self.uses();
        let (reads, writes) = split(&self.shared, &uses);
        let mut spec = OpSpec::new("crossed").reads(&reads).writes(&writes);
        let pick = self.random.below(128);
        match pick {
            0..=3 => spec = spec.property(FnProperty::CpuPrioritized).priority(1),
            4 => spec = spec.on(Device::gpu((self.me % 2) as u16)),
            5..=20 => spec = spec.priority(pick as i32 % 3 - 1),
            21..=40 => spec = spec.inline(true),
            _ => {}
        }
        let (shared, me) = (self.shared.clone(), self.me);
        let pushed = if pick >= 118 {
            count(&self.shared.figures.asynchronous);
            let finisher = self.finishers[pick as usize % self.finishers.len()].clone();
            self.shared.engine.push_async(&spec, move |_, done| {
                enter(&shared, me, &uses);
                let work = move || leave(&shared, me, &uses);
                if finisher.send((Box::new(work), done)).is_err() {
                    violation(format_args!("the finishing threads have ended"));
                }
            })
        } else {
            self.shared.engine.push_sync(&spec, move |_| {
                enter(&shared, me, &uses);
                leave(&shared, me, &uses);
                Ok(())
            })
        };
        self.pushed(pushed);
    }

    fn pushed(&self, result: Result<(), PushError>) {
        if let Err(error) = result {
            violation(format_args!("a push was refused: {error}"));
        }
        count(&self.shared.figures.operations);
    }

    /// What this pusher has written to a variable must be there now.
    fn check_finished(&self, which: usize) {
        let (seen, pushed) = (
            self.shared.cells[which].by_pusher(self.me),
            self.written[which],
        );
        if seen != pushed {
            violation(format_args!("a wait ended after {seen} of {pushed} writes"));
        }
    }

    fn wait_for_one(&mut self) {
        let which = self.random.below(self.written.len() as u64) as usize;
        if let Err(error) = self.shared.engine.wait_for_var(self.shared.vars[which]) {
            violation(format_args!("wait_for_var: {error}"));
        }
        self.check_finished(which);
        count(&self.shared.figures.waits);
    }

    fn wait_for_all(&mut self) {
        if let Err(error) = self.shared.engine.wait_for_all() {
            violation(format_args!("wait_for_all: {error}"));
        }
        (0..self.written.len()).for_each(|which| self.check_finished(which));
        count(&self.shared.figures.waits);
    }

    /// An operation that waits for a variable that it does not list.
    fn wait_inside(&mut self) {
        let which = self.random.below(self.written.len() as u64) as usize;
        let (shared, me, expected) = (self.shared.clone(), self.me, self.written[which]);
        let writes = [self.waits];
        // Not ordinary, so not in a bulk with what it waits for.
        let spec = OpSpec::new("waits").writes(&writes).priority(1);
        let pushed = self.shared.engine.push_sync(&spec, move |_| {
            match shared.engine.wait_for_var(shared.vars[which]) {
                Ok(()) if shared.cells[which].by_pusher(me) < expected => {
                    violation(format_args!("a wait inside an operation was early"))
                }
                Ok(()) => count(&shared.figures.waits_inside),
                Err(WaitError::TooManyBlocked) => count(&shared.figures.refused),
                Err(other) => violation(format_args!("a wait inside: {other}")),
            }
            Ok(())
        });
        self.pushed(pushed);
    }

    fn launch(&mut self) {
        for &which in &self.in_program {
            self.written[which] += 1;
        }
        self.pushed(self.shared.engine.launch(&self.program));
        count(&self.shared.figures.launches);
    }

    /// Operations that fail, dependants that inherit, and waits that get each failure once.
    fn failures(&mut self) {
        let first = self.tag;
        let most = 1 + self.random.below(FRAGILE as u64) as usize;
        for &var in &self.fragile[..most] {
            let read = self.random.below(self.written.len() as u64) as usize;
            let (reads, writes) = ([self.shared.vars[read]], [var]);
            let spec = OpSpec::new("fails").reads(&reads).writes(&writes);
            let shared = self.shared.clone();
            let pushed = self
                .shared
                .engine
                .push_sync(&spec.tag(self.tag), move |context| {
                    shared.cells[read].enter(false);
                    shared.cells[read].leave(false, 0);
                    count(&shared.figures.failed);
                    Err(format!("failure {}", context.tag()).into())
                });
            self.pushed(pushed);
            self.tag += 1;
        }
        let (reads, writes) = ([self.fragile[0]], [self.inherits]);
        let spec = OpSpec::new("inherits").reads(&reads).writes(&writes);
        self.pushed(self.shared.engine.push_sync(&spec, |_| {
            violation(format_args!("an operation ran though its input failed"))
        }));
        let through_heir = self.random.below(2) == 0;
        if through_heir {
            self.expect(self.inherits, Some(first));
        }
        for k in 0..most {
            let seen = k == 0 && through_heir;
            self.expect(self.fragile[k], (!seen).then_some(first + k as u64));
            self.expect(self.fragile[k], None);
        }
        self.expect(self.inherits, None);
    }

    /// The next wait for the variable returns the failure of this tag, or none.
    fn expect(&self, var: Var, failure: Option<u64>) {
        let got = match self.shared.engine.wait_for_var(var) {
            Ok(()) => None,
            Err(WaitError::Failed(failure)) => {
                count(&self.shared.figures.surfaced);
                Some(failure.tag)
            }
            Err(other) => violation(format_args!("expected {failure:?}, got: {other}")),
        };
        if got != failure {
            violation(format_args!(
                "expected failure {failure:?}, got failure {got:?}"
            ));
        }
    }

    /// Uses a variable that others may be deleting, or deletes it and puts up a new one.
    fn transient(&mut self) {
        let engine = &self.shared.engine;
        let place = &self.shared.transients[self.random.below(4) as usize];
        let lock = || match place.lock() {
            Ok(guard) => guard,
            Err(_) => violation(format_args!("a pusher panicked")),
        };
        if self.random.below(4) == 0 {
            let new = Transient {
                var: engine.new_variable(),
                cell: Arc::new(Cell::new(self.shared.pushers)),
            };
            let old = std::mem::replace(&mut *lock(), new);
            if let Err(error) = engine.delete_variable(old.var, move || old.cell.end()) {
                violation(format_args!("a variable was deleted twice: {error}"));
            }
            count(&self.shared.figures.deleted);
            return;
        }
        let Transient { var, cell } = lock().clone();
        if self.random.below(8) == 0 {
            std::thread::yield_now(); // So that the race is lost now and then.
        }
        let (writes, me) = (self.random.below(2) == 0, self.me);
        let (one, two) = ([var], [self.loser, var]);
        let spec = OpSpec::new("transient");
        let spec = if writes {
            spec.writes(&two)
        } else {
            spec.reads(&one).writes(&two[..1])
        };
        let pushed = engine.push_sync(&spec, move |_| {
            cell.enter(writes);
            cell.leave(writes, me);
            Ok(())
        });
        match pushed {
            Err(PushError::StaleVariable(_)) => count(&self.shared.figures.stale),
            other => self.pushed(other),
        }
        if self.random.below(4) == 0 {
            self.shared
                .tolerate_stale(self.shared.engine.wait_for_var(self.loser));
        }
    }
}

/// Three steps that write a variable each, and a fourth that reads them all.
fn program(shared: &Arc<Shared>, me: usize, which: &[usize]) -> Program {
    let vars: Vec<Var> = which.iter().map(|which| shared.vars[*which]).collect();
    let cells: Vec<Arc<Cell>> = which.iter().map(|k| shared.cells[*k].clone()).collect();
    let mut builder = Program::builder("program");
    for (var, cell) in vars.iter().zip(&cells) {
        let (spec, cell) = (OpSpec::new("step"), cell.clone());
        builder = builder.op(&spec.writes(std::slice::from_ref(var)), move |_| {
            cell.enter(true);
            cell.leave(true, me);
            Ok(())
        });
    }
    let last = OpSpec::new("last").reads(&vars);
    builder = builder.op(&last, move |_| {
        cells.iter().for_each(|cell| cell.enter(false));
        cells.iter().for_each(|cell| cell.leave(false, me));
        Ok(())
    });
    builder.build()
}
