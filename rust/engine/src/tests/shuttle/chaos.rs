//! Several pushers whose operations fail, who delete each other's variables, and who wait at any
//! time. No replay can say what must come out; but nothing may overlap, nothing may run after a
//! deletion, every function must be called or dropped, and every failure must surface once.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use super::{
    Engine, Finisher, OpSpec, Program, PushError, Random, Var, WaitError, engine, finisher, pause,
    spawn,
};

const WRITER: u32 = 1 << 31;

#[derive(Default)]
struct Data {
    inside: AtomicU32,
    gone: AtomicBool,
}

/// What happens, in numbers and in tags.
#[derive(Default)]
struct Events {
    wrong: Mutex<Option<String>>,
    /// Functions handed to the engine, and those that it has called or dropped.
    given: AtomicU64,
    ended: AtomicU64,
    deletions: AtomicU64,
    /// Tags of functions that failed, and of failures that waits returned.
    failed: Mutex<Vec<u64>>,
    surfaced: Mutex<Vec<u64>>,
    pushed: AtomicU64,
}

/// Of what a step of a program fails with; every other tag is used once.
const STEP: u64 = u64::MAX;

impl Events {
    fn wrong(&self, what: String) {
        eprintln!("wrong: {what}");
        self.wrong.lock().unwrap().get_or_insert(what);
    }

    fn note(&self, result: Result<(), WaitError>) {
        match result {
            Ok(()) | Err(WaitError::StaleVariable(_) | WaitError::TooManyBlocked) => {}
            Err(WaitError::Failed(failure)) if failure.error().is::<PushError>() => {}
            Err(WaitError::Failed(failure)) => self.surfaced.lock().unwrap().push(failure.tag),
            Err(other) => self.wrong(format!("a wait returned {other}")),
        }
    }
}

impl Data {
    fn enter(&self, events: &Events, writes: bool) {
        let old = if writes {
            self.inside.swap(WRITER, Relaxed)
        } else {
            self.inside.fetch_add(1, Relaxed)
        };
        if (writes && old != 0) || old & WRITER != 0 {
            events.wrong(format!("writes {writes}, met {old:#x} inside"));
        }
        if self.gone.load(Relaxed) {
            events.wrong("used after its deletion".to_owned());
        }
    }

    fn leave(&self, writes: bool) {
        if writes {
            self.inside.store(0, Relaxed);
        } else {
            self.inside.fetch_sub(1, Relaxed);
        }
    }
}

/// Lies in a function, and tells when that is gone.
struct Given(Arc<Events>);

impl Given {
    fn new(events: &Arc<Events>) -> Self {
        events.given.fetch_add(1, Relaxed);
        Self(events.clone())
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Relaxed);
    }
}

type Slots = Arc<Mutex<Vec<(Var, Arc<Data>)>>>;

#[derive(Clone)]
struct Pusher {
    engine: Engine,
    events: Arc<Events>,
    slots: Slots,
    program: Program,
    finish: Finisher,
}

impl Pusher {
    fn slot(&self, random: &mut Random) -> (usize, Var, Arc<Data>) {
        let slots = self.slots.lock().unwrap();
        let index = random.below(slots.len() as u64) as usize;
        let (var, data) = slots[index].clone();
        (index, var, data)
    }

    fn act(&self, random: &mut Random) {
        self.events.pushed.fetch_add(1, Relaxed);
        match random.below(18) {
            0 | 1 => self.delete(random),
            2 => {
                let (_, var, _) = self.slot(random);
                self.events.note(self.engine.wait_for_var(var));
            }
            3 => {
                let (_, var, _) = self.slot(random);
                let (engine, events) = (self.engine.clone(), self.events.clone());
                let given = Given::new(&self.events);
                let pushed = self.engine.push_sync(&OpSpec::new("waits"), move |_| {
                    events.note(engine.wait_for_var(var));
                    drop((engine, given));
                    Ok(())
                });
                self.expect(pushed);
            }
            4 | 5 => self.expect(self.engine.launch(&self.program)),
            16 => {
                if self.engine.stop().is_err() {
                    self.events.wrong("stop was refused".to_owned());
                }
                self.engine.start();
            }
            17 => self.fork_and_join(),
            kind => self.push(random, kind),
        }
    }

    /// An operation that pushes another one and waits for it.
    fn fork_and_join(&self) {
        let (engine, events) = (self.engine.clone(), self.events.clone());
        let given = Given::new(&self.events);
        let pushed = self.engine.push_sync(&OpSpec::new("parent"), move |_| {
            let var = engine.owned_variable();
            let (seen, set) = (Arc::new(AtomicU64::new(0)), [var.var()]);
            let inner = seen.clone();
            engine.push_sync(&OpSpec::new("child").writes(&set), move |_| {
                pause();
                inner.store(1, Relaxed);
                Ok(())
            })?;
            let ended = engine.wait_for_var(var.var());
            if ended.is_ok() && seen.load(Relaxed) == 0 {
                events.wrong("a wait for a child ended before it".to_owned());
            }
            events.note(ended);
            drop((var, engine, given));
            Ok(())
        });
        self.expect(pushed);
    }

    fn expect(&self, result: Result<(), PushError>) {
        match result {
            Ok(()) | Err(PushError::StaleVariable(_)) => {}
            Err(other) => self.events.wrong(format!("a push returned {other}")),
        }
    }

    fn delete(&self, random: &mut Random) {
        let (index, ..) = self.slot(random);
        let new = (self.engine.new_variable(), Arc::<Data>::default());
        let (var, data) = std::mem::replace(&mut self.slots.lock().unwrap()[index], new);
        let (events, given) = (self.events.clone(), Given::new(&self.events));
        events.deletions.fetch_add(1, Relaxed);
        let deleted = self.engine.delete_variable(var, move || {
            data.enter(&events, true);
            data.gone.store(true, Relaxed);
            drop(given);
        });
        if deleted.is_err() {
            self.events.wrong("a live variable was stale".to_owned());
        }
    }

    fn push(&self, random: &mut Random, kind: u64) {
        let mut uses: Vec<(usize, Var, Arc<Data>, bool)> = Vec::new();
        for _ in 0..random.below(3) {
            let (index, var, data) = self.slot(random);
            if uses.iter().all(|(other, ..)| *other != index) {
                uses.push((index, var, data, random.below(2) == 0));
            }
        }
        let pick = |wanted: bool| {
            let of = uses.iter().filter(|(.., writes)| *writes == wanted);
            of.map(|(_, var, ..)| *var).collect::<Vec<_>>()
        };
        let (reads, writes) = (pick(false), pick(true));
        let tag = self.events.pushed.fetch_add(1, Relaxed);
        let spec = OpSpec::new("push").reads(&reads).writes(&writes).tag(tag);
        let spec = spec.inline(kind % 5 == 1);
        let (events, given, fails) = (self.events.clone(), Given::new(&self.events), kind < 10);
        let body = move || {
            uses.iter()
                .for_each(|(.., data, writes)| data.enter(&events, *writes));
            pause();
            uses.iter()
                .for_each(|(.., data, writes)| data.leave(*writes));
            if fails {
                events.failed.lock().unwrap().push(tag);
            }
            drop(given);
        };
        let result = move || if fails { Err("fails".into()) } else { Ok(()) };
        let pushed = if kind % 4 == 0 {
            let finish = self.finish.clone();
            self.engine.push_async(&spec, move |_, done| {
                if fails {
                    body();
                    done.complete(result());
                } else {
                    finish(Box::new(body), done);
                    pause();
                }
            })
        } else {
            self.engine.push_sync(&spec, move |_| {
                body();
                result()
            })
        };
        self.expect(pushed);
    }
}

/// One step that fails now and then, and one behind it.
fn program(events: &Arc<Events>, slots: &Slots) -> Program {
    let slots = slots.lock().unwrap().clone();
    let (first, second) = (slots[0].clone(), slots[1].clone());
    let (one, two) = ([first.0], [second.0]);
    let (runs, events) = (AtomicU64::new(0), events.clone());
    let (also, source) = (events.clone(), first.1.clone());
    Program::builder("program")
        .op(&OpSpec::new("one").writes(&one).tag(STEP), move |_| {
            first.1.enter(&events, true);
            pause();
            first.1.leave(true);
            if runs.fetch_add(1, Relaxed) % 2 == 1 {
                events.failed.lock().unwrap().push(STEP);
                return Err("step fails".into());
            }
            Ok(())
        })
        .op(&OpSpec::new("two").reads(&one).writes(&two), move |_| {
            source.enter(&also, false);
            second.1.enter(&also, true);
            pause();
            second.1.leave(true);
            source.leave(false);
            Ok(())
        })
        .build()
}

/// Everything at once. Returns the number of operations.
pub(super) fn chaos(random: &mut Random) -> usize {
    let (finish, thread) = finisher();
    let (engine, events) = (engine(random), Arc::<Events>::default());
    let vars = (0..3).map(|_| (engine.new_variable(), Arc::<Data>::default()));
    let slots: Slots = Arc::new(Mutex::new(vars.collect()));
    let pusher = Pusher {
        program: program(&events, &slots),
        engine,
        events: events.clone(),
        slots,
        finish,
    };
    let per_pusher = 1 + random.below(4);
    let threads: Vec<_> = (0..1 + random.below(2))
        .map(|_| {
            let (pusher, mut random) = (pusher.clone(), Random(random.next()));
            spawn(move || (0..per_pusher).for_each(|_| pusher.act(&mut random)))
        })
        .collect();
    (0..per_pusher).for_each(|_| pusher.act(random));
    for thread in threads {
        assert!(thread.join().is_ok(), "a pusher panicked");
    }
    finish_up(&pusher);
    drop(pusher);
    assert!(thread.join().is_ok(), "the finishing thread panicked");
    if let Some(wrong) = events.wrong.lock().unwrap().take() {
        panic!("{wrong}");
    }
    let (given, ended) = (events.given.load(Relaxed), events.ended.load(Relaxed));
    assert_eq!(given, ended, "functions given, and called or dropped");
    events.pushed.load(Relaxed) as usize
}

/// Nothing else is being pushed: every failure that is still there surfaces now, and none twice.
fn finish_up(pusher: &Pusher) {
    let (engine, events) = (&pusher.engine, &pusher.events);
    let vars: Vec<Var> = pusher
        .slots
        .lock()
        .unwrap()
        .iter()
        .map(|(var, _)| *var)
        .collect();
    for var in &vars {
        events.note(engine.wait_for_var(*var));
    }
    // Operations without variables may still be waiting, and surface a failure by that.
    let end = engine.wait_for_all();
    let surfaced = events.surfaced.lock().unwrap().clone();
    let mut left = events.failed.lock().unwrap().clone();
    for tag in &surfaced {
        let place = left.iter().position(|other| other == tag);
        assert!(
            place.is_some(),
            "failure {tag} surfaced twice, or never happened"
        );
        place.map(|place| left.swap_remove(place));
    }
    match &end {
        Err(WaitError::Failed(failure)) if failure.error().is::<PushError>() => {
            assert!(events.deletions.load(Relaxed) > 0, "nothing was deleted");
        }
        Err(WaitError::Failed(failure)) => assert!(left.contains(&failure.tag)),
        Err(other) => panic!("{other}"),
        Ok(()) => assert!(left.is_empty(), "failures {left:?} were lost"),
    }
    for var in &vars {
        assert!(engine.wait_for_var(*var).is_ok(), "surfaced twice");
    }
    assert!(engine.wait_for_all().is_ok(), "surfaced twice");
    assert_eq!(engine.counters().in_flight, 0);
}
